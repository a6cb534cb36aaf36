/* SPDX-License-Identifier: MIT */
/*
 * Allocates pages that stay resident: see pool_pages.h. Each thread has a cache of free pages, its magazine. All other
 * free pages are in a list under a lock.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/spin.h"
#include "wdk/mm/accessible.h"
#include "wdk/mm/pool_pages.h"

enum { MAGAZINE_PAGES = 32, MAGAZINE_BATCH = MAGAZINE_PAGES / 2, NEW_PAGES = 16 };

/* A list entry, which lies at the start of each page or run in a list of free ones. */
struct spare {
    struct spare *next;
};

struct magazine {
    unsigned count;
    void *pages[MAGAZINE_PAGES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct spare *spares;
static pthread_key_t thread_exit_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local struct magazine *magazine __attribute__((tls_model("initial-exec")));

static void spare_push(void *page)
{
    struct spare *s = page;

    s->next = spares;
    spares = s;
}

/* Moves the newest `count` free pages from the thread's magazine to the list that all threads share. */
static void magazine_unload(struct magazine *m, unsigned count)
{
    pthread_mutex_lock(&lock);
    while (count--)
        spare_push(m->pages[--m->count]);
    pthread_mutex_unlock(&lock);
}

static void magazine_destroy(void *ending)
{
    struct magazine *m = ending;

    magazine_unload(m, m->count);
    magazine = NULL;
    free(m);
}

static void magazine_init_key(void)
{
    if (pthread_key_create(&thread_exit_key, magazine_destroy))
        abort();
}

static __attribute__((noinline)) struct magazine *magazine_create(void)
{
    struct magazine *m = calloc(1, sizeof *m);

    pthread_once(&once, magazine_init_key);
    if (!m || pthread_setspecific(thread_exit_key, m))
        abort(); /* out of memory */
    return magazine = m;
}

static __attribute__((noinline)) void magazine_load(struct magazine *m)
{
    void *pages;

    pthread_mutex_lock(&lock);
    for (; spares && m->count < MAGAZINE_BATCH; spares = spares->next)
        m->pages[m->count++] = spares;
    pthread_mutex_unlock(&lock);
    if (!m->count && !posix_memalign(&pages, POOL_PAGE, NEW_PAGES * POOL_PAGE))
        for (size_t i = NEW_PAGES; i-- > 0;)
            m->pages[m->count++] = (char *)pages + i * POOL_PAGE;
}

void *pool_page_alloc(void)
{
    struct magazine *m = magazine ? magazine : magazine_create();

    if (__builtin_expect(!m->count, 0))
        magazine_load(m);
    return m->count ? m->pages[--m->count] : NULL;
}

void pool_page_free(void *page)
{
    struct magazine *m = magazine ? magazine : magazine_create();

    if (__builtin_expect(m->count == MAGAZINE_PAGES, 0))
        magazine_unload(m, MAGAZINE_BATCH);
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
static struct spare *spare_runs[MAX_POOL_RUN_PAGES + 1]; /* lists of free runs, by number of pages */
static char *unused, *unused_end;                        /* start and end of the unused rest of the newest chunk */

/*
 * Maps a chunk of resident memory, from which runs of pages are allocated. Requests huge pages, because they become
 * resident ten times as fast.
 */
static char *chunk_create(void)
{
    char *at = mmap(NULL, CHUNK + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                    0);
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

/*
 * Returns a free run of this length, or takes a run from the rest of the newest chunk. Returns NULL if there is
 * neither. Requires the lock.
 */
static void *pool_run_pop(size_t pages)
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
    run = pool_run_pop(pages);
    spin_unlock(&runs_lock);
    if (run || !(chunk = chunk_create()))
        return run;
    spin_lock(&runs_lock);
    run = pool_run_pop(pages);
    if (!run) {
        unused = chunk;
        unused_end = chunk + CHUNK;
        chunk = NULL;
        run = pool_run_pop(pages);
    }
    spin_unlock(&runs_lock);
    if (chunk) /* not used, because another thread has freed a run or created a chunk meanwhile */
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

static void run_prepare(void)
{
    void *run = pool_run_alloc(2);

    if (run)
        pool_run_free(run, 2);
}

void pool_runs_prepare(void)
{
    static pthread_once_t prepared = PTHREAD_ONCE_INIT;

    (void)pthread_once(&prepared, run_prepare);
}
