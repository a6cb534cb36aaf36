/* SPDX-License-Identifier: MIT */
/*
 * Starts requests in the miniport and completes them. The adapter's lock is not held while the miniport is called.
 * Therefore several threads may run HwStartIo at the same time, which a virtual miniport must expect. A completion
 * during HwStartIo does not start the next request. The caller of HwStartIo starts that request afterwards, so that
 * HwStartIo never nests on one thread.
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

/*
 * The adapter whose requests this thread is starting, or NULL. The TLS model is initial-exec, because LeakSanitizer of
 * GCC 12 often crashes with other models if the library is loaded after the program's start.
 */
static _Thread_local struct port_adapter *pumping __attribute__((tls_model("initial-exec")));

static struct port_request *port_request_of_link(LIST_ENTRY *e)
{
    return CONTAINING_RECORD(e, struct port_request, link);
}

struct port_inside port_enter(KIRQL level)
{
    struct port_inside inside = { irql_set(level), { 0 } };

    inside.mark = thread_mark_get();
    return inside;
}

void port_exit(const struct port_inside *inside, const char *routine, const void *called)
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

static bool port_is_paused(ULONG active, ULONG busy_until, int64_t paused_until, int64_t now)
{
    return (busy_until != UINT32_MAX && active > busy_until) || paused_until > now;
}

/*
 * Returns true if the request can be started now. SCSI commands wait while the unit is busy. Other requests do not: for
 * example, a reset must not wait for a request that hangs.
 */
static bool port_can_start(const struct port_adapter *a, const struct port_request *r, int64_t now)
{
    const struct port_unit *u = r->unit;

    if (r->call.function != SRB_FUNCTION_EXECUTE_SCSI)
        return true;
    return !port_is_paused(u->active, u->busy_until, u->paused_until, now) && u->active < u->depth &&
           a->active < a->config.MaxNumberOfIO;
}

/*
 * Finds the first waiting request that can start, moves it to the list `started`, and returns it with a reference.
 * Returns NULL if no request can start. Requires the lock.
 */
static struct port_request *port_start_next(struct port_adapter *a)
{
    int64_t now = clock_interrupt();

    if (a->link_down || a->resetting || a->refused || port_is_paused(a->active, a->busy_until, a->paused_until, now))
        return NULL;
    for (LIST_ENTRY *e = a->waiting.Flink; e != &a->waiting; e = e->Flink) {
        struct port_request *r = port_request_of_link(e);

        if (!port_can_start(a, r, now))
            continue;
        RemoveEntryList(e);
        InsertTailList(&a->started, e);
        r->state = REQUEST_STARTED;
        r->references++;
        r->unit->active++;
        a->active++;
        return r;
    }
    return NULL;
}

/* Registers the SRB as live, with HwStartIo as its stack, so that a report names the miniport. */
static void port_add_live(struct port_adapter *a, const void *srb)
{
    struct stack start_io = { .frames = { (char *)(uintptr_t)a->miniport.HwStartIo + 1 }, .depth = 1 };

    if (check_on())
        live_add_made(LIVE_SRB, srb, "passed to HwStartIo", &start_io);
}

/*
 * Moves a request that HwStartIo has refused to the head of `waiting`. Does nothing if the miniport has completed the
 * request. Requires the lock.
 */
static void port_requeue_refused(struct port_adapter *a, struct port_request *r, const void *srb)
{
    if (r->state == REQUEST_STARTED && r->srb == srb) {
        RemoveEntryList(&r->link);
        InsertHeadList(&a->waiting, &r->link);
        r->state = REQUEST_WAITING;
        r->unit->active--;
        a->active--;
        a->refused = true;
        (void)live_remove(LIVE_SRB, srb);
    }
}

/* Calls HwBuildIo if the miniport has one. Returns true if HwStartIo must be called. */
static bool port_call_build_io(struct port_adapter *a, void *srb)
{
    struct port_inside inside;
    bool must_start;

    if (!a->miniport.HwBuildIo)
        return true;
    inside = port_enter(DISPATCH_LEVEL);
    must_start = a->miniport.HwBuildIo(a->extension->data, srb);
    port_exit(&inside, "HwBuildIo", (const void *)(uintptr_t)a->miniport.HwBuildIo);
    return must_start;
}

static bool port_call_start_io(struct port_adapter *a, void *srb)
{
    struct port_inside inside = port_enter(DISPATCH_LEVEL);
    bool started = a->miniport.HwStartIo(a->extension->data, srb);

    port_exit(&inside, "HwStartIo", (const void *)(uintptr_t)a->miniport.HwStartIo);
    return started;
}

/*
 * Starts the request in the miniport. Requires the lock, and unlocks it during the call into the miniport. The
 * miniport may complete the request before HwStartIo returns. Drops the reference from port_start_next.
 */
static void port_start_request(struct port_adapter *a, struct port_request *r)
{
    void *srb = r->srb;
    bool refused;

    pthread_mutex_unlock(&a->lock);
    port_add_live(a, srb);
    refused = port_call_build_io(a, srb) && !port_call_start_io(a, srb);
    pthread_mutex_lock(&a->lock);
    if (refused)
        port_requeue_refused(a, r, srb);
    port_request_unref(r);
}

void port_unref(struct port_adapter *a)
{
    if (--a->users == 0)
        pthread_cond_broadcast(&a->changed);
}

/* Starts every request that can be started. Requires the lock, and unlocks it during each call into the miniport. */
static void port_pump_locked(struct port_adapter *a)
{
    struct port_adapter *outer = pumping;
    struct port_request *r;

    if (outer == a)
        return;
    pumping = a;
    a->users++;
    while ((r = port_start_next(a)))
        port_start_request(a, r);
    port_unref(a);
    pumping = outer;
}

void port_pump(struct port_adapter *a)
{
    pthread_mutex_lock(&a->lock);
    port_pump_locked(a);
    pthread_mutex_unlock(&a->lock);
}

/* ---- From the miniport ------------------------------------------------------------------------------------------- */

struct port_request *port_find(struct port_adapter *a, const void *srb)
{
    for (LIST_ENTRY *e = a->started.Flink; e != &a->started; e = e->Flink)
        if (port_request_of_link(e)->srb == srb)
            return port_request_of_link(e);
    return NULL;
}

/*
 * Records the stack of this completion while checks are on. If the SRB is completed a second time, the report prints
 * that stack. Requires the lock.
 */
static void port_record_completion(struct port_adapter *a, const void *srb, const void *by)
{
    if (!check_on())
        return;
    a->recent[a->recent_next].srb = srb;
    stack_walk(&a->recent[a->recent_next].by, by);
    a->recent_next = (a->recent_next + 1) % PORT_MAX_RECENT;
}

static void port_report_not_started(struct port_adapter *a, const void *srb)
{
    struct stack by = { .depth = 0 };

    if (!check_on())
        return;
    pthread_mutex_lock(&a->lock);
    for (int i = 0; i < PORT_MAX_RECENT; i++)
        if (a->recent[i].srb == srb)
            by = a->recent[i].by;
    pthread_mutex_unlock(&a->lock);
    if (by.depth)
        report_add_stack("completed by", &by);
    check_failed(CHECK_SRB_COMPLETED, "StorPortNotification", 0x1003, (uintptr_t)srb, 0, 0, "SRB %p %s", srb,
                 by.depth ? "is complete already" : "is not one that the miniport has received");
}

/* Removes a started request, so that only one completion finds it. Counts the caller in `users`. Requires the lock. */
static void port_remove_started(struct port_adapter *a, struct port_request *r)
{
    r->state = REQUEST_COMPLETED;
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

/* Sets *paused_until to now + `time`, unless a longer pause, for example of the miniport, is already set. */
static void port_pause_until(int64_t *paused_until, int64_t time)
{
    int64_t deadline = clock_interrupt() + time;

    if (deadline > *paused_until)
        *paused_until = deadline;
}

void port_pause_after_reset(struct port_adapter *a)
{
    port_pause_until(&a->paused_until, a->config.BusResetHoldTime * 10LL);
}

/*
 * Lets a request with SRB_STATUS_BUSY wait again, with a new SRB. Returns false if the request must end, for example
 * because its deadline has passed. Requires the lock.
 */
static bool port_retry(struct port_adapter *a, struct port_request *r)
{
    if (SRB_STATUS(port_srb_status(r->srb)) != SRB_STATUS_BUSY || r->abandoned || a->removing ||
        clock_interrupt() > r->deadline || !port_request_renew(a, r))
        return false;
    InsertHeadList(&a->waiting, &r->link);
    r->state = REQUEST_WAITING;
    port_pause_until(&r->unit->paused_until, BUSY_PAUSE);
    port_watch_arm(a); /* the watch may have stopped while the request was in no list */
    return true;
}

static void port_end_request(struct port_request *r)
{
    port_request_collect(r);
    r->completed = true;
    pthread_cond_signal(&r->ended);
    port_request_unref(r);
}

static void port_check_status(const void *srb)
{
    UCHAR status = port_srb_status(srb);

    if (SRB_STATUS(status) == SRB_STATUS_PENDING && check_on())
        check_failed(CHECK_SRB_COMPLETED, "StorPortNotification", 0x1004, (uintptr_t)srb, status, 0,
                     "SRB %p is completed with status 0x%02x, which means that it is pending", srb, status);
}

/* Completes or retries a request that port_remove_started has removed. */
static void port_finish(struct port_adapter *a, struct port_request *r, const void *by)
{
    port_check_status(r->srb);
    pthread_mutex_lock(&a->lock);
    port_record_completion(a, r->srb, by);
    if (!port_retry(a, r))
        port_end_request(r);
    port_pump_locked(a);
    port_unref(a);
    pthread_mutex_unlock(&a->lock);
}

void port_complete(struct port_adapter *a, void *srb, const void *by)
{
    struct port_request *r;

    pthread_mutex_lock(&a->lock);
    r = port_find(a, srb);
    if (r)
        port_remove_started(a, r);
    pthread_mutex_unlock(&a->lock);
    if (r)
        port_finish(a, r, by);
    else
        port_report_not_started(a, srb);
}

static bool port_matches_address(const struct port_request *r, UCHAR path, UCHAR target, UCHAR lun)
{
    return (path == SP_UNTAGGED || path == r->call.path) && (target == SP_UNTAGGED || target == r->call.target) &&
           (lun == SP_UNTAGGED || lun == r->call.lun);
}

/*
 * Completes only requests that were started before this call. A completion may start further requests, which this
 * function does not complete.
 */
void port_complete_all(struct port_adapter *a, const UCHAR address[3], UCHAR status, const void *by)
{
    LIST_ENTRY completing;

    InitializeListHead(&completing);
    pthread_mutex_lock(&a->lock);
    for (LIST_ENTRY *e = a->started.Flink, *next; e != &a->started; e = next) {
        struct port_request *r = port_request_of_link(e);

        next = e->Flink;
        if (!port_matches_address(r, address[0], address[1], address[2]))
            continue;
        port_remove_started(a, r);
        port_srb_set_status(r->srb, status);
        InsertTailList(&completing, e);
    }
    pthread_mutex_unlock(&a->lock);
    while (!IsListEmpty(&completing))
        port_finish(a, port_request_of_link(RemoveHeadList(&completing)), by);
}

/* ---- The senders ------------------------------------------------------------------------------------------------- */

void port_reset_bus(struct port_adapter *a, UCHAR path)
{
    struct port_inside inside = port_enter(DISPATCH_LEVEL);

    (void)a->miniport.HwResetBus(a->extension->data, path);
    port_exit(&inside, "HwResetBus", (const void *)(uintptr_t)a->miniport.HwResetBus);
    pthread_mutex_lock(&a->lock);
    a->resetting = false;
    a->refused = false;
    port_pause_after_reset(a);
    pthread_mutex_unlock(&a->lock);
    port_pump(a);
}

/* Adds the request to `waiting`. Returns false if out of memory or the adapter is stopped. Requires the lock. */
static bool port_enqueue(struct port_adapter *a, struct port_request *r)
{
    r->unit = port_unit_get(a, r->call.path, r->call.target, r->call.lun, true);
    if (!r->unit || !a->running)
        return false;
    r->deadline = clock_interrupt() + r->call.timeout * CLOCK_UNITS;
    InsertTailList(&a->waiting, &r->link);
    port_watch_arm(a);
    return true;
}

/*
 * Waits until the request is completed or abandoned. Needs no timeout, because the watch abandons a request that hangs.
 * Returns false for an abandoned request.
 */
static bool port_wait_for_request(struct port_adapter *a, struct port_request *r, struct port_call *call)
{
    bool completed;

    pthread_mutex_lock(&a->lock);
    while (!r->completed && !r->abandoned)
        pthread_cond_wait(&r->ended, &a->lock);
    completed = r->completed;
    *call = r->call;
    port_request_unref(r);
    pthread_mutex_unlock(&a->lock);
    return completed;
}

bool port_send(struct port_adapter *a, struct port_call *call)
{
    struct port_request *r = port_request_alloc(a, call);
    bool queued;

    call->srb_status = r ? SRB_STATUS_NO_HBA : SRB_STATUS_INTERNAL_ERROR;
    if (!r)
        return false;
    pthread_mutex_lock(&a->lock);
    queued = port_enqueue(a, r);
    pthread_mutex_unlock(&a->lock);
    if (!queued) {
        port_request_free(r);
        return false;
    }
    port_pump(a);
    return port_wait_for_request(a, r, call);
}
