/* SPDX-License-Identifier: MIT */
/* What a driver has to give back: see live.h. */
#include <pthread.h>
#include <stdlib.h>
#include <uthash.h>

#include "wdk/check.h"
#include "wdk/live.h"

static const char *const kind_names[LIVE_KINDS] = {
    [LIVE_THREAD] = "system thread",
    [LIVE_TIMER] = "timer that is set",
    [LIVE_DPC] = "queued DPC",
    [LIVE_WORK_ITEM] = "work item",
    [LIVE_LOCK] = "held lock",
    [LIVE_RESOURCE] = "ERESOURCE",
    [LIVE_LOOKASIDE] = "lookaside list",
    [LIVE_MDL] = "MDL",
    [LIVE_HANDLE] = "handle",
    [LIVE_DEVICE] = "device object",
    [LIVE_SYMLINK] = "symbolic link",
    [LIVE_WSK] = "WSK client",
    [LIVE_NDK_OBJECT] = "NDK object",
    [LIVE_NDK_REQUEST] = "pending NDK request",
    [LIVE_REFERENCE] = "object reference",
    [LIVE_IRP] = "IRP",
};

struct key {
    const void *thing;
    uint64_t kind; /* as wide as the pointer: no padding in what is hashed */
};

struct entry {
    struct key key;
    const char *what;
    struct stack stack;
    UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;

void live_add(enum live_kind kind, const void *thing, const char *what)
{
    struct entry *e = calloc(1, sizeof *e), *old;

    if (!e)
        return; /* one line less in the report, then */
    e->key = (struct key){ thing, kind };
    e->what = what;
    if (check_on())
        stack_take(&e->stack, 1);
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, entries, &e->key, sizeof e->key, old);
    if (!old)
        HASH_ADD(hh, entries, key, sizeof e->key, e);
    pthread_mutex_unlock(&lock);
    if (old)
        free(e);
}

bool live_remove(enum live_kind kind, const void *thing)
{
    struct key key = { thing, kind };
    struct entry *e;

    pthread_mutex_lock(&lock);
    HASH_FIND(hh, entries, &key, sizeof key, e);
    if (e)
        HASH_DEL(entries, e);
    pthread_mutex_unlock(&lock);
    free(e);
    return e != NULL;
}

bool live_has(enum live_kind kind, const void *thing)
{
    struct key key = { thing, kind };
    struct entry *e;

    pthread_mutex_lock(&lock);
    HASH_FIND(hh, entries, &key, sizeof key, e);
    pthread_mutex_unlock(&lock);
    return e != NULL;
}

uint32_t live_count(void)
{
    uint32_t n;

    pthread_mutex_lock(&lock);
    n = HASH_COUNT(entries);
    pthread_mutex_unlock(&lock);
    return n;
}

uint32_t live_busy(void)
{
    uint32_t n = 0;

    pthread_mutex_lock(&lock);
    for (struct entry *e = entries; e; e = e->hh.next)
        n += e->key.kind == LIVE_THREAD || e->key.kind == LIVE_TIMER || e->key.kind == LIVE_DPC ||
             e->key.kind == LIVE_NDK_REQUEST;
    pthread_mutex_unlock(&lock);
    return n;
}

const void *live_inside(enum live_kind kind, const void *start, uint64_t size, const char **what)
{
    const void *found = NULL;

    pthread_mutex_lock(&lock);
    for (struct entry *e = entries; e && !found; e = e->hh.next)
        if (e->key.kind == (uint64_t)kind && (uintptr_t)e->key.thing - (uintptr_t)start < size) {
            found = e->key.thing;
            if (what)
                *what = e->what;
        }
    pthread_mutex_unlock(&lock);
    return found;
}

static bool stack_touches(const struct stack *s, const void *start, uint64_t size)
{
    for (int i = 0; i < s->depth; i++)
        if ((uintptr_t)s->frames[i] - (uintptr_t)start < size)
            return true;
    return false;
}

/* By kind, then in the order of making. Printed under the lock: threads that still run may wait for the report. */
static uint32_t report(FILE *out, const void *start, uint64_t size)
{
    uint32_t n = 0;

    pthread_mutex_lock(&lock);
    for (uint64_t kind = 0; kind < LIVE_KINDS; kind++)
        for (struct entry *e = entries; e; e = e->hh.next) {
            if (e->key.kind != kind || (start && !stack_touches(&e->stack, start, size)))
                continue;
            fprintf(out, "left: %s %p (%s)\n", kind_names[kind], e->key.thing, e->what);
            stack_print(&e->stack, out, "    ");
            n++;
        }
    pthread_mutex_unlock(&lock);
    return n;
}

uint32_t live_report(FILE *out)
{
    return report(out, NULL, 0);
}

uint32_t live_report_of(FILE *out, const void *start, uint64_t size)
{
    return report(out, start, size);
}
