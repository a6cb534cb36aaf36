/* SPDX-License-Identifier: MIT */
/*
 * Requests on their way to the miniport and back. The adapter's lock is not held while the miniport is called, so that
 * several threads may be in HwStartIo at once, as a virtual miniport has to expect. Who completes a request inside of
 * HwStartIo does not start the next one there: the caller of HwStartIo looks again.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "storport.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/clock.h"
#include "wdk/mm/pool.h"
#include "wdk/storport/port.h"

enum { BUSY_PAUSE = CLOCK_UNITS / 10 };

static _Thread_local struct port_adapter *pumping;

static struct port_request *request_at(LIST_ENTRY *e)
{
    return CONTAINING_RECORD(e, struct port_request, link);
}

struct port_inside port_enter(KIRQL level)
{
    struct port_inside inside = { irql_set(level), { 0 } };

    inside.mark = thread_mark_get();
    return inside;
}

void port_leave(const struct port_inside *inside, const char *routine, const void *called)
{
    thread_mark_check(&inside->mark, routine, called);
    (void)irql_set(inside->before);
}

/* ---- Units ------------------------------------------------------------------------------------------------------- */

struct port_unit *port_unit_get(struct port_adapter *a, UCHAR path, UCHAR target, UCHAR lun, bool make)
{
    struct port_unit *u = a->units;

    while (u && (u->path != path || u->target != target || u->lun != lun))
        u = u->next;
    if (u || !make)
        return u;
    u = calloc(1, sizeof *u);
    if (!u)
        return NULL;
    u->extension = a->config.SpecificLuExtensionSize ? pool_alloc(a->config.SpecificLuExtensionSize) : NULL;
    if (a->config.SpecificLuExtensionSize && !u->extension) {
        free(u);
        return NULL;
    }
    u->path = path;
    u->target = target;
    u->lun = lun;
    u->busy_until = UINT32_MAX;
    u->depth = a->config.InitialLunQueueDepth;
    u->next = a->units;
    a->units = u;
    return u;
}

/* ---- To the miniport --------------------------------------------------------------------------------------------- */

static bool is_held(ULONG active, ULONG busy_until, int64_t paused_until, int64_t now)
{
    return (busy_until != UINT32_MAX && active > busy_until) || paused_until > now;
}

/* What resets units does not wait behind what hangs. */
static bool may_start(const struct port_adapter *a, const struct port_request *r, int64_t now)
{
    const struct port_unit *u = r->unit;

    if (r->call.function != SRB_FUNCTION_EXECUTE_SCSI)
        return true;
    return !is_held(u->active, u->busy_until, u->paused_until, now) && u->active < u->depth &&
           a->active < a->config.MaxNumberOfIO;
}

/* Under the lock: takes the first that may be started, and marks it so. */
static struct port_request *take(struct port_adapter *a)
{
    int64_t now = clock_interrupt();

    if (a->link_down || a->resetting || a->refused || is_held(a->active, a->busy_until, a->paused_until, now))
        return NULL;
    for (LIST_ENTRY *e = a->waiting.Flink; e != &a->waiting; e = e->Flink) {
        struct port_request *r = request_at(e);

        if (!may_start(a, r, now))
            continue;
        RemoveEntryList(e);
        InsertTailList(&a->started, e);
        r->state = REQUEST_IS_STARTED;
        r->references++;
        r->unit->active++;
        a->active++;
        return r;
    }
    return NULL;
}

/* Its stack is that of the routine that it was given to: the report names the driver. */
static void add_live(struct port_adapter *a, const void *srb)
{
    struct stack given = { .frames = { (char *)(uintptr_t)a->miniport.HwStartIo + 1 }, .depth = 1 };

    if (check_on())
        live_add_made(LIVE_SRB, srb, "given to HwStartIo", &given);
}

/* HwStartIo has refused it: it is the first again, unless it was completed nevertheless. */
static void take_back(struct port_adapter *a, struct port_request *r, const void *srb)
{
    if (r->state == REQUEST_IS_STARTED && r->srb == srb) {
        RemoveEntryList(&r->link);
        InsertHeadList(&a->waiting, &r->link);
        r->state = REQUEST_WAITS;
        r->unit->active--;
        a->active--;
        a->refused = true;
        (void)live_remove(LIVE_SRB, srb);
    }
}

/* True: HwStartIo has to be called. */
static bool build(struct port_adapter *a, void *srb)
{
    struct port_inside inside;
    bool go_on;

    if (!a->miniport.HwBuildIo)
        return true;
    inside = port_enter(DISPATCH_LEVEL);
    go_on = a->miniport.HwBuildIo(a->extension->data, srb);
    port_leave(&inside, "HwBuildIo", (const void *)(uintptr_t)a->miniport.HwBuildIo);
    return go_on;
}

static bool start(struct port_adapter *a, void *srb)
{
    struct port_inside inside = port_enter(DISPATCH_LEVEL);
    bool started = a->miniport.HwStartIo(a->extension->data, srb);

    port_leave(&inside, "HwStartIo", (const void *)(uintptr_t)a->miniport.HwStartIo);
    return started;
}

/* Under the lock, but not meanwhile. The request may be over before the miniport comes back: take() has counted this. */
static void give_to_miniport(struct port_adapter *a, struct port_request *r)
{
    void *srb = r->srb;
    bool refused;

    pthread_mutex_unlock(&a->lock);
    add_live(a, srb);
    refused = build(a, srb) && !start(a, srb);
    pthread_mutex_lock(&a->lock);
    if (refused)
        take_back(a, r, srb);
    port_request_put(r);
}

void port_unuse(struct port_adapter *a)
{
    if (--a->users == 0)
        pthread_cond_broadcast(&a->changed);
}

/* Under the lock, but not meanwhile. */
static void pump(struct port_adapter *a)
{
    struct port_adapter *outer = pumping;
    struct port_request *r;

    if (outer == a)
        return;
    pumping = a;
    a->users++;
    while ((r = take(a)))
        give_to_miniport(a, r);
    port_unuse(a);
    pumping = outer;
}

void port_pump(struct port_adapter *a)
{
    pthread_mutex_lock(&a->lock);
    pump(a);
    pthread_mutex_unlock(&a->lock);
}

/* ---- From the miniport ------------------------------------------------------------------------------------------- */

struct port_request *port_find(struct port_adapter *a, const void *srb)
{
    for (LIST_ENTRY *e = a->started.Flink; e != &a->started; e = e->Flink)
        if (request_at(e)->srb == srb)
            return request_at(e);
    return NULL;
}

/* Under the lock: the SRB's memory goes back to the pool, and what it was is remembered for who completes it again. */
static void forget(struct port_adapter *a, const void *srb, const void *by)
{
    if (!check_on())
        return;
    a->forgotten[a->forgotten_next].srb = srb;
    stack_walk(&a->forgotten[a->forgotten_next].by, by);
    a->forgotten_next = (a->forgotten_next + 1) % PORT_FORGOTTEN;
}

static void not_started(struct port_adapter *a, const void *srb)
{
    struct stack by = { .depth = 0 };

    if (!check_on())
        return;
    pthread_mutex_lock(&a->lock);
    for (int i = 0; i < PORT_FORGOTTEN; i++)
        if (a->forgotten[i].srb == srb)
            by = a->forgotten[i].by;
    pthread_mutex_unlock(&a->lock);
    if (by.depth)
        report_add_stack("completed by", &by);
    check_failed(CHECK_SRB_COMPLETED, "StorPortNotification", 0x1003, (uintptr_t)srb, 0, 0,
                 "SRB %p %s", srb, by.depth ? "is complete already" : "is none that the miniport has been given");
}

/* Under the lock: out of the miniport's hands, for one completion alone. */
static void take_from_miniport(struct port_adapter *a, struct port_request *r)
{
    r->state = REQUEST_IS_OVER;
    RemoveEntryList(&r->link);
    r->unit->active--;
    a->active--;
    a->users++;
    a->refused = false;
    if (a->active <= a->busy_until)
        a->busy_until = UINT32_MAX;
    if (r->unit->active <= r->unit->busy_until)
        r->unit->busy_until = UINT32_MAX;
    (void)live_remove(LIVE_SRB, r->srb);
}

/* A longer pause of the miniport's own stays as it is. */
static void hold(int64_t *paused_until, int64_t time)
{
    int64_t until = clock_interrupt() + time;

    if (until > *paused_until)
        *paused_until = until;
}

void port_hold_after_reset(struct port_adapter *a)
{
    hold(&a->paused_until, a->config.BusResetHoldTime * 10LL);
}

/* Under the lock: SRB_STATUS_BUSY sends it once more, with another extension, while there is time. */
static bool try_again(struct port_adapter *a, struct port_request *r)
{
    if (SRB_STATUS(port_srb_status(r->srb)) != SRB_STATUS_BUSY || r->abandoned || a->removing ||
        clock_interrupt() > r->until || !port_request_renew(a, r))
        return false;
    InsertHeadList(&a->waiting, &r->link);
    r->state = REQUEST_WAITS;
    hold(&r->unit->paused_until, BUSY_PAUSE);
    port_watch_start(a); /* which may have stopped while the request was in no list */
    return true;
}

static void end(struct port_adapter *a, struct port_request *r)
{
    port_request_collect(r);
    r->over = true;
    pthread_cond_broadcast(&a->changed);
    port_request_put(r);
}

static void check_status(const void *srb)
{
    UCHAR status = port_srb_status(srb);

    if (SRB_STATUS(status) == SRB_STATUS_PENDING && check_on())
        check_failed(CHECK_SRB_COMPLETED, "StorPortNotification", 0x1004, (uintptr_t)srb, status, 0,
                     "SRB %p is completed with status 0x%02x, which says that it is not", srb, status);
}

/* What take_from_miniport has taken goes to its sender, or is tried again. */
static void finish(struct port_adapter *a, struct port_request *r, const void *by)
{
    check_status(r->srb);
    pthread_mutex_lock(&a->lock);
    forget(a, r->srb, by);
    if (!try_again(a, r))
        end(a, r);
    pump(a);
    port_unuse(a);
    pthread_mutex_unlock(&a->lock);
}

void port_complete(struct port_adapter *a, void *srb, const void *by)
{
    struct port_request *r;

    pthread_mutex_lock(&a->lock);
    r = port_find(a, srb);
    if (r)
        take_from_miniport(a, r);
    pthread_mutex_unlock(&a->lock);
    if (r)
        finish(a, r, by);
    else
        not_started(a, srb);
}

static bool is_meant(const struct port_request *r, UCHAR path, UCHAR target, UCHAR lun)
{
    return (path == SP_UNTAGGED || path == r->call.path) && (target == SP_UNTAGGED || target == r->call.target) &&
           (lun == SP_UNTAGGED || lun == r->call.lun);
}

/* Those that the miniport has now: what is started meanwhile is not meant. */
void port_complete_all(struct port_adapter *a, const UCHAR address[3], UCHAR status, const void *by)
{
    LIST_ENTRY taken;

    InitializeListHead(&taken);
    pthread_mutex_lock(&a->lock);
    for (LIST_ENTRY *e = a->started.Flink, *next; e != &a->started; e = next) {
        struct port_request *r = request_at(e);

        next = e->Flink;
        if (!is_meant(r, address[0], address[1], address[2]))
            continue;
        take_from_miniport(a, r);
        port_srb_set_status(r->srb, status);
        InsertTailList(&taken, e);
    }
    pthread_mutex_unlock(&a->lock);
    while (!IsListEmpty(&taken))
        finish(a, request_at(RemoveHeadList(&taken)), by);
}

/* ---- The senders ------------------------------------------------------------------------------------------------- */

void port_reset_bus(struct port_adapter *a, UCHAR path)
{
    struct port_inside inside;

    pthread_mutex_lock(&a->lock);
    a->resetting = true;
    pthread_mutex_unlock(&a->lock);
    inside = port_enter(DISPATCH_LEVEL);
    (void)a->miniport.HwResetBus(a->extension->data, path);
    port_leave(&inside, "HwResetBus", (const void *)(uintptr_t)a->miniport.HwResetBus);
    pthread_mutex_lock(&a->lock);
    a->resetting = false;
    a->refused = false;
    port_hold_after_reset(a);
    pthread_mutex_unlock(&a->lock);
    port_pump(a);
}

/* Under the lock. */
static bool enqueue(struct port_adapter *a, struct port_request *r)
{
    r->unit = port_unit_get(a, r->call.path, r->call.target, r->call.lun, true);
    if (!r->unit || !a->running)
        return false;
    r->until = clock_interrupt() + r->call.timeout * CLOCK_UNITS;
    InsertTailList(&a->waiting, &r->link);
    port_watch_start(a);
    return true;
}

/* The watch ends what hangs: it is waited for without a limit here. */
static bool wait_for_end(struct port_adapter *a, struct port_request *r, struct port_call *call)
{
    bool over;

    pthread_mutex_lock(&a->lock);
    while (!r->over && !r->abandoned)
        pthread_cond_wait(&a->changed, &a->lock);
    over = r->over;
    *call = r->call;
    port_request_put(r);
    pthread_mutex_unlock(&a->lock);
    return over;
}

bool port_send(struct port_adapter *a, struct port_call *call)
{
    struct port_request *r = port_request_new(a, call);
    bool queued;

    call->srb_status = r ? SRB_STATUS_NO_HBA : SRB_STATUS_INTERNAL_ERROR;
    if (!r)
        return false;
    pthread_mutex_lock(&a->lock);
    queued = enqueue(a, r);
    pthread_mutex_unlock(&a->lock);
    if (!queued) {
        port_request_free(r);
        return false;
    }
    port_pump(a);
    return wait_for_end(a, r, call);
}
