/* SPDX-License-Identifier: MIT */
/* Single pages: see pool_pages.h. */
#include <pthread.h>
#include <stdlib.h>

#include "wdk/pool_pages.h"

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

void *pool_page_take(void)
{
    struct magazine *m = magazine ? magazine : new_magazine();

    if (__builtin_expect(!m->count, 0))
        load(m);
    return m->count ? m->pages[--m->count] : NULL;
}

void pool_page_give(void *page)
{
    struct magazine *m = magazine ? magazine : new_magazine();

    if (__builtin_expect(m->count == KEPT, 0))
        unload(m, MOVED);
    m->pages[m->count++] = page;
}
