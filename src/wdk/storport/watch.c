/* SPDX-License-Identifier: MIT */
/*
 * Handles requests that take too long. At the deadline of a started request the watch resets the unit
 * (SRB_FUNCTION_RESET_LOGICAL_UNIT). RESCUE_S seconds later the watch resets the bus (HwResetBus). After another
 * RESCUE_S seconds the request is abandoned: its sender receives a timeout, and the request's memory stays until the
 * miniport completes it.
 */
#include <pthread.h>

#include "storport.h"

#include "wdk/ke/clock.h"
#include "wdk/ke/timer.h"
#include "wdk/storport/port.h"

enum { RESCUE_S = 1 };

void port_watch_arm(struct port_adapter *a)
{
    if (a->watched)
        return;
    a->watched = true;
    (void)timer_set(&a->watch, -CLOCK_UNITS / 4, 0, &a->watch_dpc, NULL);
}

/* Returns a started request whose deadline has passed, or NULL. Requires the lock. */
static struct port_request *port_watch_find_late(struct port_adapter *a, int64_t now)
{
    for (LIST_ENTRY *e = a->started.Flink; e != &a->started; e = e->Flink) {
        struct port_request *r = CONTAINING_RECORD(e, struct port_request, link);

        if (r->deadline <= now && !r->abandoned)
            return r;
    }
    return NULL;
}

/*
 * Inserts a request that resets the late request's unit. No sender waits for the reset. Returns NULL if out of memory.
 * Requires the lock.
 */
static struct port_request *port_watch_insert_reset(struct port_adapter *a, const struct port_request *late)
{
    struct port_call call = { .function = SRB_FUNCTION_RESET_LOGICAL_UNIT,
                              .path = late->call.path,
                              .target = late->call.target,
                              .lun = late->call.lun,
                              .timeout = RESCUE_S };
    struct port_request *r = port_request_alloc(a, &call);

    if (!r)
        return NULL;
    r->references = 1;
    r->unit = late->unit;
    r->rescue = RESCUE_BUS_RESET; /* if this reset hangs, the watch abandons it and resets nothing else */
    r->deadline = clock_interrupt() + RESCUE_S * CLOCK_UNITS;
    InsertHeadList(&a->waiting, &r->link);
    return r;
}

static bool port_watch_is_reset(const struct port_request *r)
{
    return r->call.function == SRB_FUNCTION_RESET_LOGICAL_UNIT;
}

/*
 * Takes the next measure against a late request: a unit reset, a bus reset, or abandoning the request. Returns true if
 * the caller must reset the bus *path. Requires the lock.
 */
static bool port_watch_escalate(struct port_adapter *a, struct port_request *r, int64_t now, UCHAR *path)
{
    r->deadline = now + RESCUE_S * CLOCK_UNITS;
    *path = r->call.path;
    if (r->rescue == RESCUE_NONE) {
        r->rescue = RESCUE_UNIT_RESET;
        a->refused = false;
        return !port_watch_insert_reset(a, r);
    }
    if (r->rescue == RESCUE_UNIT_RESET) {
        r->rescue = RESCUE_BUS_RESET;
        return true;
    }
    r->abandoned = true;
    if (port_watch_is_reset(r))
        return false;
    r->call.srb_status = SRB_STATUS_TIMEOUT;
    r->call.length = 0;
    r->call.sense_length = 0;
    pthread_cond_signal(&r->ended);
    return false;
}

void port_end_waiting(struct port_adapter *a)
{
    int64_t now = clock_interrupt();

    for (LIST_ENTRY *e = a->waiting.Flink, *next; e != &a->waiting; e = next) {
        struct port_request *r = CONTAINING_RECORD(e, struct port_request, link);

        next = e->Flink;
        if (r->deadline > now && !a->removing)
            continue;
        RemoveEntryList(e);
        port_srb_set_status(r->srb, a->removing ? SRB_STATUS_NO_HBA : SRB_STATUS_TIMEOUT);
        r->call.length = 0;
        r->call.srb_status = port_srb_status(r->srb);
        r->state = REQUEST_COMPLETED;
        r->completed = true;
        pthread_cond_signal(&r->ended);
        port_request_unref(r);
    }
}

/* Returns true if a request waits, or is started and not abandoned. Requires the lock. */
static bool port_watch_is_needed(const struct port_adapter *a)
{
    const LIST_ENTRY *e = a->started.Flink;

    while (e != &a->started && CONTAINING_RECORD(e, struct port_request, link)->abandoned)
        e = e->Flink;
    return e != &a->started || a->waiting.Flink != &a->waiting;
}

static bool port_watch_rescue_one(struct port_adapter *a)
{
    int64_t now = clock_interrupt();
    struct port_request *late;
    bool reset = false;
    UCHAR path = 0;

    pthread_mutex_lock(&a->lock);
    port_end_waiting(a);
    late = port_watch_find_late(a, now);
    if (late)
        reset = port_watch_escalate(a, late, now, &path);
    if (reset)
        a->resetting = true; /* from now on, so that the reset ends no request that starts later */
    pthread_mutex_unlock(&a->lock);
    if (reset)
        port_reset_bus(a, path);
    else if (late)
        port_pump(a);
    return late != NULL;
}

VOID port_watch(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    struct port_adapter *a = DeferredContext;

    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    pthread_mutex_lock(&a->lock);
    a->refused = false;
    pthread_mutex_unlock(&a->lock);
    port_pump(a);
    while (port_watch_rescue_one(a))
        ;
    pthread_mutex_lock(&a->lock);
    a->watched = false;
    if (!a->removing && port_watch_is_needed(a))
        port_watch_arm(a);
    pthread_mutex_unlock(&a->lock);
}
