/* SPDX-License-Identifier: MIT */
/*
 * Implements special pool, and the signal handler that reports accesses to pages that allow none: see special_pool.h.
 */
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
    MAX_ORDER = 10,         /* a run has at most 1 << MAX_ORDER pages (4 MiB) */
    MAX_RESIDENT_PAGES = 4, /* a freed block returns the memory of its run to the host if the run has more pages */
    FRESH_FILL = 0xcd,      /* fills a new block that need not be zeroed */
    DEFAULT_MAPPINGS = 65530,
    MAPPINGS_PER_BLOCK = 4 /* a block needs two mappings; as many are reserved for the rest of the process */
};

static const size_t arena_sizes[] = { (size_t)16 << 30, (size_t)1 << 30, (size_t)64 << 20 };

static struct arena {
    char *base;
    size_t size;
    char *unused;                /* the first address that no run has used */
    struct special_run **run_of; /* the run of each page */
    struct special_run *spare[MAX_ORDER + 1];
    atomic_uint live; /* number of allocated blocks that are not freed yet */
    unsigned max_live;
} arena;

/*
 * Serialises special_open and special_close, which change mappings. The host also serialises such changes, but a thread
 * that waits in the host sleeps, and a thread that waits for this lock spins.
 */
static struct ticket_lock mapping;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction previous; /* the handler of SIGSEGV that special_on_fault has replaced */

/* ---- Faults ------------------------------------------------------------------------------------------------------ */

/*
 * Calls the previous handler, which may longjmp. Without a previous handler, restores the default action, so that the
 * program ends at the faulting instruction. If the previous handler calls special_on_fault, this function runs a second
 * time for the same signal, and then also restores the default action.
 */
static void fault_pass_on(int number, siginfo_t *info, void *context)
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
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(number, info, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(number);
    } else {
        signal(number, SIG_DFL);
        if (info->si_code <= 0)
            raise(number); /* kill() sent the signal: no instruction repeats the fault after the return */
    }
}

static bool fault_is_write(const void *context)
{
#if defined(__x86_64__)
    return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)context;
    return false;
#endif
}

static void special_on_fault(int number, siginfo_t *info, void *context)
{
    if (info->si_code != SEGV_ACCERR || !special_contains(info->si_addr) ||
        !checked_pool_handle_fault(info->si_addr, fault_is_write(context)))
        fault_pass_on(number, info, context);
}

/*
 * Installs the handler, even if the program has replaced it. The handler that was installed before becomes `previous`.
 */
static void special_install_handler(void)
{
    struct sigaction ours = { .sa_sigaction = special_on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK }, now;

    if (sigaction(SIGSEGV, NULL, &now) || ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == special_on_fault))
        return;
    previous = now;
    sigemptyset(&ours.sa_mask);
    (void)sigaction(SIGSEGV, &ours, NULL);
}

/* ---- The reservation --------------------------------------------------------------------------------------------- */

static unsigned host_max_mappings(void)
{
    FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
    unsigned max = DEFAULT_MAPPINGS;

    if (f) {
        if (fscanf(f, "%u", &max) != 1)
            max = DEFAULT_MAPPINGS;
        fclose(f);
    }
    return max;
}

static void *arena_reserve(size_t size, int protection)
{
    void *at = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

static void arena_init(void)
{
    size_t size = 0;
    char *base = NULL;

    for (size_t i = 0; i < sizeof arena_sizes / sizeof arena_sizes[0] && !base; i++)
        base = arena_reserve(size = arena_sizes[i], PROT_NONE);
    if (!base)
        return;
    arena.run_of = arena_reserve(size / SPECIAL_PAGE * sizeof arena.run_of[0], PROT_READ | PROT_WRITE);
    if (!arena.run_of)
        return;
    arena.unused = base + SPECIAL_PAGE; /* the first page, which precedes the first run, never allows access */
    arena.max_live = host_max_mappings() / MAPPINGS_PER_BLOCK;
    arena.size = size;
    arena.base = base;
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

static size_t special_run_pages(const struct special_run *r)
{
    return (size_t)1 << r->order;
}

static struct special_run *special_run_create(unsigned order)
{
    size_t bytes = (((size_t)1 << order) + 1) * SPECIAL_PAGE;
    struct special_run *r;

    if (bytes > arena.size - (size_t)(arena.unused - arena.base) || !(r = calloc(1, sizeof *r)))
        return NULL;
    r->base = arena.unused;
    r->order = order;
    arena.unused += bytes;
    for (size_t i = 0; i < bytes / SPECIAL_PAGE; i++)
        arena.run_of[(size_t)(r->base - arena.base) / SPECIAL_PAGE + i] = r;
    return r;
}

static struct special_run *special_run_alloc(unsigned order)
{
    struct special_run *r = arena.spare[order];

    if (!r)
        return special_run_create(order);
    arena.spare[order] = r->next;
    return r;
}

static void special_run_free(struct special_run *r)
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

    pthread_once(&once, arena_init);
    while (order <= MAX_ORDER && (size_t)1 << order < pages)
        order++;
    if (!arena.base || order > MAX_ORDER || atomic_load(&arena.live) >= arena.max_live)
        return false;
    r = special_run_alloc(order);
    if (!r)
        return false;
    special_install_handler();
    atomic_fetch_add(&arena.live, 1);
    r->end = r->base + special_run_pages(r) * SPECIAL_PAGE;
    r->data = r->end - pages * SPECIAL_PAGE;
    block->start = size >= SPECIAL_PAGE ? r->data : r->end - ((size + align - 1) & ~(align - 1));
    block->run = r;
    return true;
}

bool special_open(const struct pool_block *block, bool zero)
{
    struct special_run *r = block->run;
    size_t bytes = (size_t)(r->end - r->data);
    bool opened;

    ticket_lock_acquire(&mapping);
    opened = !mprotect(r->data, bytes, PROT_READ | PROT_WRITE);
    if (opened)
        pool_make_resident(r->data, bytes);
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
    special_run_free(block->run);
    block->run = NULL;
}

/*
 * Makes the pages of a freed block inaccessible. If special_open_page has opened a page of the block's run, makes the
 * whole run and its guard page inaccessible. Otherwise the other pages of the run are inaccessible already.
 */
void special_close(struct pool_block *block)
{
    struct special_run *r = block->run;
    size_t bytes = special_run_pages(r) * SPECIAL_PAGE;

    ticket_lock_acquire(&mapping);
    if (bytes > MAX_RESIDENT_PAGES * SPECIAL_PAGE)
        (void)madvise(r->base, bytes, MADV_DONTNEED);
    if (atomic_exchange(&r->opened, false))
        (void)mprotect(r->base, bytes + SPECIAL_PAGE, PROT_NONE);
    else
        (void)mprotect(r->data, (size_t)(r->end - r->data), PROT_NONE);
    ticket_lock_release(&mapping);
    atomic_fetch_sub(&arena.live, 1);
}

void special_retire(struct pool_block *block)
{
    struct special_run *r = block->run;

    if (atomic_exchange(&r->opened, false)) /* special_open_page has run after special_close */
        (void)mprotect(r->base, (special_run_pages(r) + 1) * SPECIAL_PAGE, PROT_NONE);
    special_run_free(r);
}
