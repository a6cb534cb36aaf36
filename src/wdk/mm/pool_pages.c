/* SPDX-License-Identifier: MIT */
/* Single pages: see pool_pages.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/spin.h"
#include "wdk/mm/pool_pages.h"

enum { KEPT = 32, MOVED = KEPT / 2, NEW = 16 };

/* In a page that nobody has. */
struct spare {
    struct spare *next;
};

struct magazine {
    unsigned count;
    void *pages[KEPT];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct spare *spares;
static pthread_key_t leaving;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local struct magazine *magazine __attribute__((tls_model("initial-exec")));

static void put_spare(void *page)
{
    struct spare *s = page;

    s->next = spares;
    spares = s;
}

/* The newest `count` become everybody's. */
static void unload(struct magazine *m, unsigned count)
{
    pthread_mutex_lock(&lock);
    while (count--)
        put_spare(m->pages[--m->count]);
    pthread_mutex_unlock(&lock);
}

static void leave(void *ending)
{
    struct magazine *m = ending;

    unload(m, m->count);
    magazine = NULL;
    free(m);
}

static void start(void)
{
    if (pthread_key_create(&leaving, leave))
        abort();
}

static __attribute__((noinline)) struct magazine *new_magazine(void)
{
    struct magazine *m = calloc(1, sizeof *m);

    pthread_once(&once, start);
    if (!m || pthread_setspecific(leaving, m))
        abort(); /* some hundred octets at a thread's first page */
    return magazine = m;
}

static __attribute__((noinline)) void load(struct magazine *m)
{
    void *pages;

    pthread_mutex_lock(&lock);
    for (; spares && m->count < MOVED; spares = spares->next)
        m->pages[m->count++] = spares;
    pthread_mutex_unlock(&lock);
    if (!m->count && !posix_memalign(&pages, POOL_PAGE, NEW * POOL_PAGE))
        for (size_t i = NEW; i-- > 0;)
            m->pages[m->count++] = (char *)pages + i * POOL_PAGE;
}

void *pool_page_alloc(void)
{
    struct magazine *m = magazine ? magazine : new_magazine();

    if (__builtin_expect(!m->count, 0))
        load(m);
    return m->count ? m->pages[--m->count] : NULL;
}

void pool_page_free(void *page)
{
    struct magazine *m = magazine ? magazine : new_magazine();

    if (__builtin_expect(m->count == KEPT, 0))
        unload(m, MOVED);
    m->pages[m->count++] = page;
}

void pool_make_resident(void *start, size_t size)
{
    size_t before = (uintptr_t)start & (POOL_PAGE - 1);

    (void)madvise((char *)start - before, before + size, MADV_POPULATE_WRITE);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

enum { HUGE_PAGE = 2 << 20, CHUNK = 4 * HUGE_PAGE };

static struct spin runs_lock;
static struct spare *spare_runs[POOL_RUN_MOST + 1]; /* by their pages */
static char *unused, *unused_end;                   /* of the newest chunk */

/* Huge pages, where the host has them, are brought in ten times as fast. */
static char *new_chunk(void)
{
    char *at = mmap(NULL, CHUNK + HUGE_PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t before;

    if (at == MAP_FAILED)
        return NULL;
    before = -(uintptr_t)at & (HUGE_PAGE - 1);
    if (before)
        (void)munmap(at, before);
    if (before < HUGE_PAGE)
        (void)munmap(at + before + CHUNK, HUGE_PAGE - before);
    at += before;
    (void)madvise(at, CHUNK, MADV_HUGEPAGE);
    pool_make_resident(at, CHUNK);
    return at;
}

/* Under the lock. NULL: there is none. */
static void *take_run(size_t pages)
{
    struct spare *s = spare_runs[pages];

    if (s) {
        spare_runs[pages] = s->next;
        return s;
    }
    if ((size_t)(unused_end - unused) < pages * POOL_PAGE)
        return NULL;
    unused += pages * POOL_PAGE;
    return unused - pages * POOL_PAGE;
}

void *pool_run_alloc(size_t pages)
{
    void *run;
    char *chunk;

    spin_lock(&runs_lock);
    run = take_run(pages);
    spin_unlock(&runs_lock);
    if (run || !(chunk = new_chunk()))
        return run;
    spin_lock(&runs_lock);
    run = take_run(pages);
    if (!run) {
        unused = chunk;
        unused_end = chunk + CHUNK;
        chunk = NULL;
        run = take_run(pages);
    }
    spin_unlock(&runs_lock);
    if (chunk) /* another thread was faster */
        (void)munmap(chunk, CHUNK);
    return run;
}

void pool_run_free(void *run, size_t pages)
{
    struct spare *s = run;

    spin_lock(&runs_lock);
    s->next = spare_runs[pages];
    spare_runs[pages] = s;
    spin_unlock(&runs_lock);
}

static void prepare(void)
{
    void *run = pool_run_alloc(2);

    if (run)
        pool_run_free(run, 2);
}

void pool_runs_prepare(void)
{
    static pthread_once_t prepared = PTHREAD_ONCE_INIT;

    (void)pthread_once(&prepared, prepare);
}
