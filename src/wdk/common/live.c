/* SPDX-License-Identifier: MIT */
/* Registers things that a driver must release: see live.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "wdk/common/check.h"
#include "wdk/common/live.h"

/* The name of each kind in reports, and as one word in the summary of a run. */
static const struct {
    const char *name, *word;
} kinds[LIVE_KINDS] = {
    [LIVE_THREAD] = { "system thread", "system-thread" },
    [LIVE_TIMER] = { "timer that is set", "set-timer" },
    [LIVE_EX_TIMER] = { "allocated timer", "allocated-timer" },
    [LIVE_DPC] = { "queued DPC", "queued-DPC" },
    [LIVE_WORK_ITEM] = { "work item", "work-item" },
    [LIVE_LOCK] = { "held lock", "held-lock" },
    [LIVE_RESOURCE] = { "ERESOURCE", "ERESOURCE" },
    [LIVE_LOOKASIDE] = { "lookaside list", "lookaside-list" },
    [LIVE_MDL] = { "MDL", "MDL" },
    [LIVE_HANDLE] = { "handle", "handle" },
    [LIVE_DEVICE] = { "device object", "device-object" },
    [LIVE_SYMLINK] = { "symbolic link", "symbolic-link" },
    [LIVE_WSK_REGISTRATION] = { "WSK registration", "WSK-registration" },
    [LIVE_WSK_PROVIDER] = { "WSK provider that is captured", "captured-WSK-provider" },
    [LIVE_WSK_SOCKET] = { "WSK socket", "WSK-socket" },
    [LIVE_WSK_INDICATION] = { "WSK indication", "WSK-indication" },
    [LIVE_WSK_ADDRESS_LIST] = { "WSK address list", "WSK-address-list" },
    [LIVE_NDK_OBJECT] = { "NDK object", "NDK-object" },
    [LIVE_NDK_REQUEST] = { "pending NDK request", "pending-NDK-request" },
    [LIVE_REFERENCE] = { "object reference", "object-reference" },
    [LIVE_IRP] = { "IRP", "IRP" },
    [LIVE_SRB] = { "SRB", "SRB" },
    [LIVE_STORPORT_TIMER] = { "Storport timer", "Storport-timer" },
    [LIVE_STORPORT_WORKER] = { "Storport worker", "Storport-worker" },
    [LIVE_WDF] = { "framework object", "framework-object" },
    [LIVE_VIEW] = { "view of a section", "section-view" },
    [LIVE_CALLBACK] = { "registered callback", "registered-callback" },
    [LIVE_CNG] = { "CNG handle", "CNG-handle" },
    [LIVE_MEMORY] = { "virtual memory", "virtual-memory" },
};

struct key {
    const void *thing;
    uint64_t kind; /* 64 bits, because the hashed struct must not have padding */
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
    struct stack now = { .depth = 0 };

    if (check_on())
        stack_capture(&now, __builtin_return_address(0));
    live_add_made(kind, thing, what, &now);
}

void live_add_made(enum live_kind kind, const void *thing, const char *what, const struct stack *made)
{
    struct entry *e = calloc(1, sizeof *e), *old;

    if (!e)
        return; /* out of memory: the thing is not registered, so reports omit it */
    e->key = (struct key){ thing, kind };
    e->what = what;
    e->stack = *made;
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

enum { MAX_SOURCES = 8 };

struct source_list {
    _Atomic(live_walk *) walks[MAX_SOURCES];
};

static struct source_list sources, foreign_sources;

static void source_add(struct source_list *list, live_walk *walk)
{
    int i = 0;

    pthread_mutex_lock(&lock);
    while (i < MAX_SOURCES && list->walks[i])
        i++;
    if (i == MAX_SOURCES)
        abort();
    atomic_store(&list->walks[i], walk);
    pthread_mutex_unlock(&lock);
}

static void source_walk(struct source_list *list, live_on_entry *visit, void *context)
{
    live_walk *walk;

    for (int i = 0; i < MAX_SOURCES && (walk = atomic_load(&list->walks[i])); i++)
        walk(visit, context);
}

void live_add_source(live_walk *walk)
{
    source_add(&sources, walk);
}

void live_add_foreign_source(live_walk *walk)
{
    source_add(&foreign_sources, walk);
}

void live_walk_sources(live_on_entry *visit, void *context)
{
    source_walk(&sources, visit, context);
}

static void live_walk_all_sources(live_on_entry *visit, void *context)
{
    source_walk(&sources, visit, context);
    source_walk(&foreign_sources, visit, context);
}

/*
 * Copies of the things that the sources (see live.h) visit. The copies are printed after the visit, because a source
 * holds its lock during the visit.
 */
struct shown {
    uint32_t count, room;
    struct shown_entry {
        enum live_kind kind;
        const void *thing;
        const char *what;
        struct stack stack;
    } * entries;
};

static void live_collect(void *context, enum live_kind kind, const void *thing, const char *what,
                         const struct stack *made)
{
    struct shown *s = context;

    if (s->count < s->room)
        s->entries[s->count] = (struct shown_entry){ kind, thing, what, *made };
    s->count++;
}

static void live_add_to_kind(void *context, enum live_kind kind, const void *thing, const char *what,
                             const struct stack *made)
{
    uint32_t *counts = context;

    (void)thing;
    (void)what;
    (void)made;
    counts[kind]++;
}

void live_count_kinds(uint32_t counts[LIVE_KINDS])
{
    memset(counts, 0, LIVE_KINDS * sizeof *counts);
    live_walk_all_sources(live_add_to_kind, counts);
    pthread_mutex_lock(&lock);
    for (struct entry *e = entries; e; e = e->hh.next)
        counts[e->key.kind]++;
    pthread_mutex_unlock(&lock);
}

const char *live_kind_word(enum live_kind kind)
{
    return kinds[kind].word;
}

static bool live_is_busy(enum live_kind kind)
{
    return kind == LIVE_THREAD || kind == LIVE_TIMER || kind == LIVE_DPC || kind == LIVE_NDK_REQUEST ||
           kind == LIVE_SRB;
}

/*
 * Increments the number at `context` if the thing ends without a further call by the driver. Every work item that a
 * source visits is queued or running, so it is counted. live_is_busy returns false for work items, because an
 * IO_WORKITEM that is registered may be idle.
 */
static void live_count_busy(void *context, enum live_kind kind, const void *thing, const char *what,
                            const struct stack *made)
{
    uint32_t *n = context;

    (void)thing;
    (void)what;
    (void)made;
    *n += live_is_busy(kind) || kind == LIVE_WORK_ITEM;
}

uint32_t live_busy(void)
{
    uint32_t n = 0;

    live_walk_all_sources(live_count_busy, &n);
    pthread_mutex_lock(&lock);
    for (struct entry *e = entries; e; e = e->hh.next)
        n += live_is_busy((enum live_kind)e->key.kind);
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

static void live_print(FILE *out, enum live_kind kind, const void *thing, const char *what, const struct stack *made)
{
    fprintf(out, "left: %s %p (%s)\n", kinds[kind].name, thing, what);
    stack_print(made, out, "    ");
}

/*
 * Prints the live things that the sources visit, and returns the number of printed things. If `start` is not NULL,
 * prints only things whose stack has a frame in [start, start + size). Calls all sources twice: to count the things,
 * and then to copy them. Omits some things if their number has grown between the two calls.
 */
static uint32_t live_report_sources(FILE *out, const void *start, uint64_t size)
{
    struct shown shown = { 0 };
    uint32_t n = 0, stored;

    live_walk_all_sources(live_collect, &shown);
    shown.room = shown.count;
    shown.count = 0;
    shown.entries = calloc(shown.room + 1, sizeof *shown.entries);
    if (shown.entries)
        live_walk_all_sources(live_collect, &shown);
    stored = shown.count < shown.room ? shown.count : shown.room;
    for (uint32_t i = 0; shown.entries && i < stored; i++) {
        struct shown_entry *e = &shown.entries[i];

        if (start && !stack_has_frame_in(&e->stack, start, size))
            continue;
        live_print(out, e->kind, e->thing, e->what, &e->stack);
        n++;
    }
    free(shown.entries);
    return n;
}

/*
 * Prints the registered things, sorted by kind and then by time of creation, and then the things of the sources.
 * Returns the number of printed things. `start` and `size` are as for live_report_sources. Holds the lock while it
 * prints the registered things, so live_add and live_remove wait.
 */
static uint32_t live_report_all(FILE *out, const void *start, uint64_t size)
{
    uint32_t n = 0;

    pthread_mutex_lock(&lock);
    for (uint64_t kind = 0; kind < LIVE_KINDS; kind++)
        for (struct entry *e = entries; e; e = e->hh.next) {
            if (e->key.kind != kind || (start && !stack_has_frame_in(&e->stack, start, size)))
                continue;
            live_print(out, (enum live_kind)kind, e->key.thing, e->what, &e->stack);
            n++;
        }
    pthread_mutex_unlock(&lock);
    return n + live_report_sources(out, start, size);
}

uint32_t live_report(FILE *out)
{
    return live_report_all(out, NULL, 0);
}

uint32_t live_report_of(FILE *out, const void *start, uint64_t size)
{
    return live_report_all(out, start, size);
}
