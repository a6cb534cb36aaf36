/* SPDX-License-Identifier: MIT */
/* Pages of their own for each block: see special_pool.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "wdk/common/ticket_lock.h"
#include "wdk/mm/checked_pool.h"
#include "wdk/mm/pool_pages.h"
#include "wdk/mm/special_pool.h"

enum {
    ORDER_MOST = 10,           /* blocks of at most 4 MiB */
    KEPT_PAGES = 4,            /* the contents of larger blocks are given back when they are freed */
    FRESH_FILL = 0xcd,         /* what nobody has initialized */
    MAPS_DEFAULT = 65530,
    MAPS_EACH = 4              /* a block has two mappings; others need some as well */
};

static const size_t arena_sizes[] = { (size_t)16 << 30, (size_t)1 << 30, (size_t)64 << 20 };

static struct arena {
    char *base;
    size_t size;
    char *unused;             /* what lies behind has not been handed out */
    struct special_run **run_of; /* by page */
    struct special_run *spare[ORDER_MOST + 1];
    atomic_uint live;
    unsigned live_most;
} arena;

/* The host changes a process' mappings one after the other: threads wait here, awake, and not in the host, asleep. */
static struct ticket_lock mapping;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction before;

/* ---- Faults ------------------------------------------------------------------------------------------------------ */

/*
 * To whom it belonged before us; without anybody the program ends at the same place, as ever. One who hands it back to
 * us (the same signal, further down the stack) does not get it again. He may also jump away from here.
 */
static void pass_on(int number, siginfo_t *info, void *context)
{
    static _Thread_local const siginfo_t *passed;
    static _Thread_local uintptr_t passed_at;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    if (passed == info && here < passed_at) {
        signal(number, SIG_DFL);
        return;
    }
    passed = info;
    passed_at = here;
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        signal(number, SIG_DFL);
        if (info->si_code <= 0)
            raise(number); /* somebody sent it: it does not come again by itself */
    }
}

static bool is_write(const void *context)
{
#if defined(__x86_64__)
    return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)context;
    return false;
#endif
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    if (info->si_code != SEGV_ACCERR || !special_contains(info->si_addr) ||
        !checked_pool_handle_fault(info->si_addr, is_write(context)))
        pass_on(number, info, context);
}

/* Whoever has put himself in our place (test programs do, for each test) stands behind us again. */
static void watch(void)
{
    struct sigaction ours = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK }, now;

    if (sigaction(SIGSEGV, NULL, &now) || ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault))
        return;
    before = now;
    sigemptyset(&ours.sa_mask);
    (void)sigaction(SIGSEGV, &ours, NULL);
}

/* ---- The reservation --------------------------------------------------------------------------------------------- */

static unsigned mappings_most(void)
{
    FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
    unsigned most = MAPS_DEFAULT;

    if (f) {
        if (fscanf(f, "%u", &most) != 1)
            most = MAPS_DEFAULT;
        fclose(f);
    }
    return most;
}

static void *reserve(size_t size, int protection)
{
    void *at = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

static void start(void)
{
    size_t size = 0;
    char *base = NULL;

    for (size_t i = 0; i < sizeof arena_sizes / sizeof arena_sizes[0] && !base; i++)
        base = reserve(size = arena_sizes[i], PROT_NONE);
    if (!base)
        return;
    arena.run_of = reserve(size / SPECIAL_PAGE * sizeof arena.run_of[0], PROT_READ | PROT_WRITE);
    if (!arena.run_of)
        return;
    arena.unused = base + SPECIAL_PAGE; /* the first one stays closed, in front of the first block */
    arena.live_most = mappings_most() / MAPS_EACH;
    arena.size = size;
    arena.base = base;
}

void special_limit(unsigned most)
{
    pthread_once(&once, start);
    arena.live_most = most;
}

bool special_contains(const void *address)
{
    return (uintptr_t)address - (uintptr_t)arena.base < arena.size;
}

struct special_run *special_run_at(const void *address)
{
    return special_contains(address) ? arena.run_of[((uintptr_t)address - (uintptr_t)arena.base) / SPECIAL_PAGE] : NULL;
}

bool special_open_page(const void *address)
{
    char *page = arena.base + (((uintptr_t)address - (uintptr_t)arena.base) & ~((size_t)SPECIAL_PAGE - 1));

    atomic_store(&special_run_at(address)->opened, true);
    return !mprotect(page, SPECIAL_PAGE, PROT_READ | PROT_WRITE);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static size_t pages_of(const struct special_run *r)
{
    return (size_t)1 << r->order;
}

static struct special_run *new_run(unsigned order)
{
    size_t octets = (((size_t)1 << order) + 1) * SPECIAL_PAGE;
    struct special_run *r;

    if (octets > arena.size - (size_t)(arena.unused - arena.base) || !(r = calloc(1, sizeof *r)))
        return NULL;
    r->base = arena.unused;
    r->order = order;
    arena.unused += octets;
    for (size_t i = 0; i < octets / SPECIAL_PAGE; i++)
        arena.run_of[(size_t)(r->base - arena.base) / SPECIAL_PAGE + i] = r;
    return r;
}

static struct special_run *take_run(unsigned order)
{
    struct special_run *r = arena.spare[order];

    if (!r)
        return new_run(order);
    arena.spare[order] = r->next;
    return r;
}

static void give_run(struct special_run *r)
{
    r->block = NULL;
    r->next = arena.spare[r->order];
    arena.spare[r->order] = r;
}

bool special_alloc(struct pool_block *block, size_t align)
{
    size_t size = block->size ? block->size : 1;
    size_t pages = size / SPECIAL_PAGE + (size % SPECIAL_PAGE != 0);
    struct special_run *r;
    unsigned order = 0;

    pthread_once(&once, start);
    while (order <= ORDER_MOST && (size_t)1 << order < pages)
        order++;
    if (!arena.base || order > ORDER_MOST || atomic_load(&arena.live) >= arena.live_most || !(r = take_run(order)))
        return false;
    watch();
    atomic_fetch_add(&arena.live, 1);
    r->end = r->base + pages_of(r) * SPECIAL_PAGE;
    r->data = r->end - pages * SPECIAL_PAGE;
    block->start = size >= SPECIAL_PAGE ? r->data : r->end - ((size + align - 1) & ~(align - 1));
    block->run = r;
    return true;
}

bool special_open(const struct pool_block *block, bool zero)
{
    struct special_run *r = block->run;
    size_t octets = (size_t)(r->end - r->data);
    bool opened;

    ticket_lock_acquire(&mapping);
    opened = !mprotect(r->data, octets, PROT_READ | PROT_WRITE);
    if (opened)
        pool_make_resident(r->data, octets);
    ticket_lock_release(&mapping);
    if (!opened)
        return false;
    memset(r->data, SPECIAL_FILL, (size_t)(block->start - r->data));
    memset(block->start, zero ? 0 : FRESH_FILL, block->size);
    memset(block->start + block->size, SPECIAL_FILL, (size_t)(r->end - block->start) - block->size);
    return true;
}

void special_free(struct pool_block *block)
{
    atomic_fetch_sub(&arena.live, 1);
    give_run(block->run);
    block->run = NULL;
}

/* With the page behind it, if somebody has been let through. */
void special_close(struct pool_block *block)
{
    struct special_run *r = block->run;
    size_t octets = pages_of(r) * SPECIAL_PAGE;

    ticket_lock_acquire(&mapping);
    if (octets > KEPT_PAGES * SPECIAL_PAGE)
        (void)madvise(r->base, octets, MADV_DONTNEED);
    if (atomic_exchange(&r->opened, false))
        (void)mprotect(r->base, octets + SPECIAL_PAGE, PROT_NONE);
    else (void)mprotect(r->data, (size_t)(r->end - r->data), PROT_NONE);
    ticket_lock_release(&mapping);
    atomic_fetch_sub(&arena.live, 1);
}

void special_retire(struct pool_block *block)
{
    struct special_run *r = block->run;

    if (atomic_exchange(&r->opened, false)) /* since it was closed: the next block's surroundings shall not be open */
        (void)mprotect(r->base, (pages_of(r) + 1) * SPECIAL_PAGE, PROT_NONE);
    give_run(r);
}
