/* SPDX-License-Identifier: MIT */
/*
 * What a driver has to give back before it is unloaded, pool apart (pool.h keeps that): each thing with the stack that
 * made it. Threads may add and remove at once; nothing is called out to with the lock held.
 */
#ifndef ONDK_WDK_LIVE_H
#define ONDK_WDK_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/private_export.h"
#include "verify/stack.h"

enum live_kind {
    LIVE_THREAD,
    LIVE_TIMER,      /* set and not yet expired or cancelled */
    LIVE_DPC,        /* queued */
    LIVE_WORK_ITEM,  /* allocated; or, Ex, queued */
    LIVE_LOCK,       /* held */
    LIVE_RESOURCE,   /* ERESOURCE not deleted */
    LIVE_LOOKASIDE,
    LIVE_MDL,
    LIVE_HANDLE,
    LIVE_DEVICE,
    LIVE_SYMLINK,
    LIVE_WSK,        /* registration, captured provider */
    LIVE_NDK_OBJECT,
    LIVE_NDK_REQUEST,
    LIVE_REFERENCE,  /* ObReferenceObject... */
    LIVE_IRP,        /* allocated, not yet freed or completed */
    LIVE_SRB,        /* given to a miniport, not completed */
    LIVE_STORPORT_TIMER,
    LIVE_STORPORT_WORKER,
    LIVE_WDF,        /* framework object */
    LIVE_KINDS
};

/* `what` is static: "NDK_QP", "IO_WORKITEM". The stack is the caller's, taken only while checks are on. */
void live_add(enum live_kind kind, const void *thing, const char *what) PRIVATE_EXPORT(live_add);
/* With the stack of another moment, for what comes to the driver by a callback. */
void live_add_made(enum live_kind kind, const void *thing, const char *what, const struct stack *made)
    PRIVATE_EXPORT(live_add_made);
/* False: it was not there. */
bool live_remove(enum live_kind kind, const void *thing) PRIVATE_EXPORT(live_remove);
bool live_has(enum live_kind kind, const void *thing) PRIVATE_EXPORT(live_has);
uint32_t live_count(void);
/* How many will go away by themselves: threads, timers that are set, DPCs, pending requests. */
uint32_t live_busy(void);
/* First of this kind inside of [start, start + size); NULL if there is none. *what, if not NULL, receives its name. */
const void *live_inside(enum live_kind kind, const void *start, uint64_t size, const char **what);

/*
 * For what changes too often to be registered each time (set timers, queued DPCs, held locks): a source walks over what
 * there is now. It is counted and reported like the rest, and inuse.h finds it too. visit must not call back.
 */
typedef void live_on_entry(void *context, enum live_kind kind, const void *thing, const char *what,
                        const struct stack *made);
typedef void live_walk(live_on_entry *visit, void *context);
void live_add_source(live_walk *walk);
void live_walk_sources(live_on_entry *visit, void *context);
/* The same for what never lies in the driver's memory: counted and reported, but inuse.h does not search it. */
void live_add_foreign_source(live_walk *walk);

/* One entry a thing; returns how many there were. */
uint32_t live_report(FILE *out);
/*
 * The same for those whose stack has a frame in the module at [start, start + size); none is known while checks are
 * off.
 */
uint32_t live_report_of(FILE *out, const void *start, uint64_t size);

#endif
