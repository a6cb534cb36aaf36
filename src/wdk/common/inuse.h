/* SPDX-License-Identifier: MIT */
/*
 * Memory that goes away while something still uses it: an event somebody waits for, a set timer, a queued DPC, a held
 * lock, a context of a pending request. Whoever frees or initializes memory asks; whoever uses memory of the driver's
 * registers a source that is asked.
 */
#ifndef WDK_INUSE_H
#define WDK_INUSE_H

#include <stdbool.h>
#include <stddef.h>

#include "wdk/common/check.h"

struct inuse_found {
    const struct rule *rule; /* CHECK_OBJECT_FREED_IN_USE unless the source says otherwise */
    const void *object;      /* inside of what goes away */
    const char *what;        /* "event that a thread waits for" */
    struct stack by;         /* who put it to use; depth 0: not known */
    bool may_begin_anew;     /* it must stay, but may be initialized again */
};

/* Is something that begins inside of [start, start + size) in use? Called with nothing held; must take no long lock. */
typedef bool inuse_find(const void *start, size_t size, struct inuse_found *out);

/* At most 16 sources, for good; the same one a second time changes nothing. */
void inuse_add_source(inuse_find *find);

/* Before the memory is freed: reports the first thing found (nothing while checks are off). */
void inuse_check(const char *routine, const void *start, size_t size);

/* Before an object is initialized: the same as CHECK_OBJECT_REINITIALIZED. */
void inuse_check_init(const char *routine, const void *object, size_t size);

#endif
