/* SPDX-License-Identifier: MIT */
/*
 * See descriptors.h: a set of numbers, one bit each. Opening and entering, leaving and closing are one change for fork
 * (base/fork.h), so that in the child a number is in the set exactly if the provider's file is behind it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/mutant.h"

enum {
    MAX_DESCRIPTORS = 1 << 22, /* half a MiB, of which only touched pages take memory */
    WORD_BITS = 64,
};

static _Atomic uint64_t numbers[MAX_DESCRIPTORS / WORD_BITS];
static atomic_int words_used; /* every number of the set is in one of so many first words */

/* ---- in a child ---- */

/* Without one the numbers are free in the child. */
static int descriptors_dead_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/*
 * The parent's connections and event sets go on: closing a copy of a descriptor neither ends a connection nor takes a
 * socket out of an event set, both of which belong to the file that the parent still has.
 */
static void descriptors_end_in_child(void)
{
    int dead = descriptors_dead_socket(), n = MUTANT(obs_child_keeps_the_name) ? 0 : atomic_load(&words_used);

    for (int i = 0; i < n; i++) {
        uint64_t bits = atomic_exchange(&numbers[i], 0);

        for (; bits; bits &= bits - 1) {
            int fd = i * WORD_BITS + __builtin_ctzll(bits);

            if (dead >= 0 && dup3(dead, fd, O_CLOEXEC) == fd)
                continue;
            close(fd);
            if (dead < 0) /* every number was taken */
                dead = descriptors_dead_socket();
        }
    }
    if (dead >= 0)
        close(dead);
}

static void descriptors_watch_forks(void)
{
    fork_on_child(descriptors_end_in_child);
}

/* ---- opening and closing ---- */

static void descriptors_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, descriptors_watch_forks);
    fork_change_begin();
}

/* Enters fd, or is told by -1 that there is none. Returns it; -1 with errno if there is no room in the set. */
static int descriptors_enter(int fd)
{
    int err = errno, used = atomic_load_explicit(&words_used, memory_order_relaxed);

    if (fd >= MAX_DESCRIPTORS) {
        close(fd);
        fd = -1;
        err = EMFILE;
    }
    if (fd >= 0) {
        atomic_fetch_or_explicit(&numbers[fd / WORD_BITS], UINT64_C(1) << fd % WORD_BITS, memory_order_relaxed);
        while (used <= fd / WORD_BITS &&
               !atomic_compare_exchange_weak_explicit(&words_used, &used, fd / WORD_BITS + 1, memory_order_relaxed,
                                                      memory_order_relaxed))
            ;
    }
    fork_change_end();
    errno = err;
    return fd;
}

int descriptors_socket(int family, int type, int protocol)
{
    descriptors_begin();
    return descriptors_enter(socket(family, type | SOCK_CLOEXEC, protocol));
}

int descriptors_accept(int listener, struct sockaddr *from, socklen_t *len, int flags)
{
    descriptors_begin();
    return descriptors_enter(accept4(listener, from, len, flags | SOCK_CLOEXEC));
}

int descriptors_epoll(void)
{
    descriptors_begin();
    return descriptors_enter(epoll_create1(EPOLL_CLOEXEC));
}

int descriptors_eventfd(int flags)
{
    descriptors_begin();
    return descriptors_enter(eventfd(0, flags | EFD_CLOEXEC));
}

void descriptors_close(int fd)
{
    descriptors_begin();
    if (fd >= 0 && fd < MAX_DESCRIPTORS)
        atomic_fetch_and_explicit(&numbers[fd / WORD_BITS], ~(UINT64_C(1) << fd % WORD_BITS), memory_order_relaxed);
    close(fd);
    fork_change_end();
}
