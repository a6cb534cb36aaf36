/* SPDX-License-Identifier: MIT */
/*
 * The registry of things that a driver must release before its unload. Each entry has the stack that has created the
 * thing. Pool memory is not registered, because mm/pool.h counts it. Any thread may call these functions. While the
 * registry's lock is held, functions of other files are called only to print a report.
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
    LIVE_TIMER,     /* a KTIMER that is set and not yet expired or cancelled */
    LIVE_EX_TIMER,  /* allocated; if it is set, its KTIMER is a LIVE_TIMER, too */
    LIVE_DPC,       /* queued */
    LIVE_WORK_ITEM, /* an allocated IO_WORKITEM, or any work item that is queued or running */
    LIVE_LOCK,      /* held */
    LIVE_RESOURCE,  /* ERESOURCE not deleted */
    LIVE_LOOKASIDE,
    LIVE_MDL,
    LIVE_HANDLE,
    LIVE_DEVICE,
    LIVE_SYMLINK,
    LIVE_WSK_REGISTRATION,
    LIVE_WSK_PROVIDER, /* captured by a registration */
    LIVE_WSK_SOCKET,
    LIVE_WSK_INDICATION,   /* data or datagrams that the driver has retained */
    LIVE_WSK_ADDRESS_LIST, /* of WskGetAddressInfo */
    LIVE_NDK_OBJECT,
    LIVE_NDK_REQUEST,
    LIVE_REFERENCE, /* ObReferenceObject... */
    LIVE_IRP,       /* allocated, not yet freed or completed */
    LIVE_SRB,       /* sent to a miniport, not completed */
    LIVE_STORPORT_TIMER,
    LIVE_STORPORT_WORKER,
    LIVE_WDF,      /* framework object */
    LIVE_VIEW,     /* of a section */
    LIVE_CALLBACK, /* a routine that is registered for notifications */
    LIVE_CNG,      /* provider, hash, key */
    LIVE_MEMORY,   /* ZwAllocateVirtualMemory */
    LIVE_KINDS
};

/*
 * Registers a thing. `what` is a static string, for example "NDK_QP". Stores the caller's stack if checks are on.
 * Idempotent.
 */
void live_add(enum live_kind kind, const void *thing, const char *what) PRIVATE_EXPORT(live_add);
/*
 * Works like live_add, but stores *made instead of the caller's stack, for example for a thing that a callback
 * receives.
 */
void live_add_made(enum live_kind kind, const void *thing, const char *what, const struct stack *made)
    PRIVATE_EXPORT(live_add_made);
/* Ends the registration of a thing. Returns false if the thing was not registered. */
bool live_remove(enum live_kind kind, const void *thing) PRIVATE_EXPORT(live_remove);
bool live_has(enum live_kind kind, const void *thing) PRIVATE_EXPORT(live_has);
/* Stores the number of live things of each kind. */
void live_count_kinds(uint32_t counts[LIVE_KINDS]);
/* Returns the name of a kind as one word, for example "system-thread". The name is in static storage. */
const char *live_kind_word(enum live_kind kind);
/*
 * Returns the number of live things that end without a further call by the driver: threads, set timers, DPCs, queued
 * work items and pending requests. Memory, for example, does not count, because the driver must free it.
 */
uint32_t live_busy(void);
/*
 * Finds the first thing of this kind inside [start, start + size). Returns NULL if there is none. *what receives the
 * thing's name; `what` may be NULL.
 */
const void *live_inside(enum live_kind kind, const void *start, uint64_t size, const char **what)
    PRIVATE_EXPORT(live_inside);

/*
 * A source is a function that visits things which change too often to be registered: set timers, queued DPCs, held
 * locks. They are counted and reported like registered things, and inuse.h finds them. `visit` must not call the
 * functions of live.h.
 */
typedef void live_on_entry(void *context, enum live_kind kind, const void *thing, const char *what,
                           const struct stack *made);
typedef void live_walk(live_on_entry *visit, void *context);
void live_add_source(live_walk *walk);
/* Calls all sources that live_add_source has added. */
void live_walk_sources(live_on_entry *visit, void *context);
/*
 * Works like live_add_source, for things that never lie in the driver's memory. So inuse.h does not search for them in
 * memory that is freed.
 */
void live_add_foreign_source(live_walk *walk);

/* Prints each thing that the driver has not released. Returns the number of these things. */
uint32_t live_report(FILE *out);
/*
 * Works like live_report, but reports only things whose stack has a frame in the module at [start, start + size). Finds
 * none while checks are off, because no stacks are stored then.
 */
uint32_t live_report_of(FILE *out, const void *start, uint64_t size);

#endif
