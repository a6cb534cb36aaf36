/* SPDX-License-Identifier: MIT */
/*
 * Requests that take too long. When the time of a started one is over, its unit is reset
 * (SRB_FUNCTION_RESET_LOGICAL_UNIT); when that has not ended it, the bus (HwResetBus); and when that has not, its
 * sender gets a timeout and the request stays with the miniport.
 */
#include <pthread.h>

#include "storport.h"

#include "wdk/ke/clock.h"
#include "wdk/ke/timer.h"
#include "wdk/storport/port.h"

enum { RESCUE_SECONDS = 1 };

/* Under the lock. */
void port_watch_start(struct port_adapter *a)
{
    if (a->watched)
        return;
    a->watched = true;
    (void)timer_set(&a->watch, -CLOCK_UNITS / 4, 0, &a->watch_dpc, NULL);
}

/* Under the lock: something that is late and goes to its next stage now. */
static struct port_request *next_late(struct port_adapter *a, int64_t now)
{
    for (LIST_ENTRY *e = a->started.Flink; e != &a->started; e = e->Flink) {
        struct port_request *r = CONTAINING_RECORD(e, struct port_request, link);

        if (r->until <= now && !r->abandoned)
            return r;
    }
    return NULL;
}

/* Under the lock. Nobody waits for a reset: only the queue has it. NULL: no memory. */
static struct port_request *make_reset(struct port_adapter *a, const struct port_request *late)
{
    struct port_call call = { .function = SRB_FUNCTION_RESET_LOGICAL_UNIT, .path = late->call.path,
                              .target = late->call.target, .lun = late->call.lun, .timeout = RESCUE_SECONDS };
    struct port_request *r = port_request_new(a, &call);

    if (!r)
        return NULL;
    r->references = 1;
    r->unit = late->unit;
    r->rescue = RESCUE_BUS_RESET; /* what comes after a reset that hangs itself */
    r->until = clock_interrupt() + RESCUE_SECONDS * CLOCK_UNITS;
    InsertHeadList(&a->waiting, &r->link);
    return r;
}

static bool is_reset(const struct port_request *r)
{
    return r->call.function == SRB_FUNCTION_RESET_LOGICAL_UNIT;
}

/* Under the lock. True: the bus of *path is to be reset. */
static bool advance(struct port_adapter *a, struct port_request *r, int64_t now, UCHAR *path)
{
    r->until = now + RESCUE_SECONDS * CLOCK_UNITS;
    *path = r->call.path;
    if (r->rescue == RESCUE_NONE) {
        r->rescue = RESCUE_UNIT_RESET;
        a->refused = false;
        return !make_reset(a, r);
    }
    if (r->rescue == RESCUE_UNIT_RESET) {
        r->rescue = RESCUE_BUS_RESET;
        return true;
    }
    r->abandoned = true;
    if (is_reset(r))
        return false;
    r->call.srb_status = SRB_STATUS_TIMEOUT;
    r->call.length = 0;
    r->call.sense_length = 0;
    pthread_cond_broadcast(&a->changed);
    return false;
}

void port_end_waiting(struct port_adapter *a)
{
    int64_t now = clock_interrupt();

    for (LIST_ENTRY *e = a->waiting.Flink, *next; e != &a->waiting; e = next) {
        struct port_request *r = CONTAINING_RECORD(e, struct port_request, link);

        next = e->Flink;
        if (r->until > now && !a->removing)
            continue;
        RemoveEntryList(e);
        port_srb_set_status(r->srb, a->removing ? SRB_STATUS_NO_HBA : SRB_STATUS_TIMEOUT);
        r->call.length = 0;
        r->call.srb_status = port_srb_status(r->srb);
        r->state = REQUEST_IS_OVER;
        r->over = true;
        pthread_cond_broadcast(&a->changed);
        port_request_put(r);
    }
}

/* Under the lock: something that the watch may have to do with yet. */
static bool has_more(const struct port_adapter *a)
{
    const LIST_ENTRY *e = a->started.Flink;

    while (e != &a->started && CONTAINING_RECORD(e, struct port_request, link)->abandoned)
        e = e->Flink;
    return e != &a->started || a->waiting.Flink != &a->waiting;
}

static bool rescue_one(struct port_adapter *a)
{
    int64_t now = clock_interrupt();
    struct port_request *late;
    bool reset = false;
    UCHAR path = 0;

    pthread_mutex_lock(&a->lock);
    port_end_waiting(a);
    late = next_late(a, now);
    if (late)
        reset = advance(a, late, now, &path);
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
    while (rescue_one(a))
        ;
    pthread_mutex_lock(&a->lock);
    a->watched = false;
    if (!a->removing && has_more(a))
        port_watch_start(a);
    pthread_mutex_unlock(&a->lock);
}
