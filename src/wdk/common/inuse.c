/* SPDX-License-Identifier: MIT */
/* Detects memory that is freed while it is in use: see inuse.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "wdk/common/inuse.h"
#include "wdk/common/live.h"

enum { MAX_SOURCES = 16, MAX_TEXT = 512 };

static _Atomic(inuse_find *) sources[MAX_SOURCES];
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

void inuse_add_source(inuse_find *find)
{
    int i = 0;

    pthread_mutex_lock(&adding);
    while (i < MAX_SOURCES && sources[i] && sources[i] != find)
        i++;
    if (i == MAX_SOURCES)
        abort();
    atomic_store(&sources[i], find);
    pthread_mutex_unlock(&adding);
}

struct place {
    const void *start;
    size_t size;
    struct inuse_found *found;
};

static const char *inuse_describe(enum live_kind kind)
{
    switch (kind) {
    case LIVE_TIMER:
        return "timer that is set";
    case LIVE_DPC:
        return "DPC that is queued";
    case LIVE_WORK_ITEM:
        return "work item that is queued";
    case LIVE_LOCK:
        return "lock that is held";
    default:
        return "object that is in use";
    }
}

static void inuse_match(void *context, enum live_kind kind, const void *thing, const char *what,
                        const struct stack *made)
{
    struct place *p = context;

    (void)what;
    if (p->found->object || (uintptr_t)thing - (uintptr_t)p->start >= p->size)
        return;
    p->found->object = thing;
    p->found->what = inuse_describe(kind);
    p->found->by = *made;
}

/*
 * Finds a use of the memory and describes it in *found. If `objects` is true, finds only kernel objects that must not
 * be initialized again while they are in use. Returns false if there is no such use.
 */
static bool inuse_search(const void *start, size_t size, bool objects, struct inuse_found *found)
{
    const struct rule *freed = &check_rules[CHECK_OBJECT_FREED_IN_USE];
    inuse_find *find;

    for (int i = 0; i < MAX_SOURCES && (find = atomic_load(&sources[i])); i++) {
        *found = (struct inuse_found){ .rule = freed };
        if (find(start, size, found) && (!objects || (found->rule == freed && !found->may_begin_anew)))
            return true;
    }
    *found = (struct inuse_found){ .rule = freed };
    live_walk_sources(inuse_match, &(struct place){ start, size, found });
    return found->object != NULL;
}

/*
 * Writes for example "0x7f...: context of a pending request: NdkConnect of NDK_CONNECTOR 0x7f..., in block 0x7f... of
 * 64 bytes, tag Test".
 */
static void inuse_describe_use(char *text, size_t room, const struct inuse_found *f, const struct inuse_block *block)
{
    int n = snprintf(text, room, "%p: %s", f->object, f->what);

    if (f->owner_type)
        n += snprintf(text + n, room - (size_t)n, ": %s%s%s %p", f->routine ? f->routine : "", f->routine ? " of " : "",
                      f->owner_type, f->owner);
    if (block)
        (void)snprintf(text + n, room - (size_t)n, ", in block %p of %zu bytes, tag %s", block->start, block->size,
                       block->tag);
}

/* Reports the use `found`. If the memory is a pool block, `block` describes that block. Otherwise `block` is NULL. */
static void inuse_report(const char *routine, const void *start, const struct inuse_found *found,
                         const struct inuse_block *block)
{
    char text[MAX_TEXT];

    inuse_describe_use(text, sizeof text, found, block);
    if (found->by.depth)
        report_add_stack("in use since", &found->by);
    if (block && block->allocated->depth)
        report_add_stack("allocated by", block->allocated);
    if (found->owner_type)
        report_set_object(&(struct report_object){ found->owner, found->owner_type, NULL, { NULL } });
    report_breach(found->rule, routine, (uintptr_t)start, (uintptr_t)found->object, 0, 0, "%s", text);
}

void inuse_check(const char *routine, const void *start, size_t size)
{
    struct inuse_found found;

    if (check_on() && inuse_search(start, size, false, &found))
        inuse_report(routine, start, &found, NULL);
}

void inuse_check_block(const char *routine, const struct inuse_block *block)
{
    struct inuse_found found;

    if (check_on() && inuse_search(block->start, block->size, false, &found))
        inuse_report(routine, block->start, &found, block);
}

void inuse_check_init(const char *routine, const void *object, size_t size)
{
    struct inuse_found found;

    if (!check_on() || !inuse_search(object, size, true, &found))
        return;
    found.rule = &check_rules[CHECK_OBJECT_REINITIALIZED];
    inuse_report(routine, object, &found, NULL);
}
