/* SPDX-License-Identifier: MIT */
/*
 * Excludes forks and changes from each other. A change is what a thread does between fork_change_begin and
 * fork_change_end (fork.h). `forks` is the number of threads that fork, and `changes` is the number of threads that are
 * in a change. A forking thread increments `forks` and then waits until `changes` is 0. A changing thread increments
 * `changes` and then reads `forks`. If `forks` is not 0, the changing thread decrements `changes` again and waits. The
 * invariant: these accesses are sequentially consistent, so at least one of the two threads sees the other's increment.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/fork.h"

#include <assert.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_GUARDS = 16, MAX_HOOKS = 16 };

static _Atomic uint32_t forks, changes;
static atomic_uint generation;
static _Atomic(struct spin *) guards[MAX_GUARDS];
static _Atomic(void (*)(void)) hooks[MAX_HOOKS];

static void fork_wait(_Atomic uint32_t *word, uint32_t seen)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, NULL, NULL, 0);
}

static void fork_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
}

/* ---- changes ---- */

void fork_change_begin(void)
{
    for (;;) {
        uint32_t n;

        atomic_fetch_add(&changes, 1);
        if (atomic_load(&forks) == 0)
            return;
        fork_change_end();
        while ((n = atomic_load(&forks)) != 0)
            fork_wait(&forks, n);
    }
}

void fork_change_end(void)
{
    if (atomic_fetch_sub(&changes, 1) == 1 && atomic_load(&forks) != 0)
        fork_wake(&changes);
}

/* ---- the handlers ---- */

static void fork_prepare(void)
{
    uint32_t n;

    atomic_fetch_add(&forks, 1);
    while ((n = atomic_load(&changes)) != 0)
        fork_wait(&changes, n);
    for (int i = 0; i < MAX_GUARDS && atomic_load(&guards[i]); i++)
        spin_lock(atomic_load(&guards[i]));
}

static void fork_unlock_guards(void)
{
    for (int i = MAX_GUARDS - 1; i >= 0; i--)
        if (atomic_load(&guards[i]))
            spin_unlock(atomic_load(&guards[i]));
}

static void fork_in_parent(void)
{
    fork_unlock_guards();
    if (atomic_fetch_sub(&forks, 1) == 1)
        fork_wake(&forks);
}

/* Handles a fork in the child. Resets both counts, because they include threads of the parent. */
static void fork_in_child(void)
{
    atomic_store(&changes, 0);
    atomic_store(&forks, 0);
    atomic_fetch_add(&generation, 1);
    fork_unlock_guards();
    for (int i = 0; i < MAX_HOOKS && atomic_load(&hooks[i]); i++)
        atomic_load (&hooks[i])();
}

__attribute__((constructor(FORK_FIRST))) static void fork_install(void)
{
    (void)pthread_atfork(fork_prepare, fork_in_parent, fork_in_child);
}

/* ---- registration of locks and hooks ---- */

void fork_guard(struct spin *lock)
{
    int i;

    fork_change_begin();
    for (i = 0; i < MAX_GUARDS; i++) {
        struct spin *there = NULL;

        if (atomic_compare_exchange_strong(&guards[i], &there, lock) || there == lock)
            break;
    }
    fork_change_end();
    assert(i < MAX_GUARDS);
}

void fork_on_child(void (*run)(void))
{
    int i;

    fork_change_begin();
    for (i = 0; i < MAX_HOOKS; i++) {
        void (*there)(void) = NULL;

        if (atomic_compare_exchange_strong(&hooks[i], &there, run) || there == run)
            break;
    }
    fork_change_end();
    assert(i < MAX_HOOKS);
}

unsigned fork_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}
