/* SPDX-License-Identifier: MIT */
/*
 * Starts and stops power-managed queues. A stopped queue accepts requests and delivers none. The invariant: when the
 * stop has ended, each request that the driver still owns is one whose stop the driver has acknowledged, and no notice
 * runs or is due because of the stop.
 */
#include "wdf.h"

#include "wdk/ke/thread.h"
#include "wdk/wdf/queue.h"
#include "wdk/wdf/request.h"

/*
 * Finds a delivered request for which EvtIoStop was not called yet. Marks the request STOP_ASKED and returns it with a
 * reference. Returns NULL if there is none. Requires the lock.
 */
static struct wdf_request *queue_next_to_stop(struct wdf_queue *q)
{
    for (LIST_ENTRY *e = q->owned.Flink; e != &q->owned; e = e->Flink) {
        struct wdf_request *r = CONTAINING_RECORD(e, struct wdf_request, link);

        if (r->stop == STOP_NONE) {
            r->stop = STOP_ASKED;
            wdf_object_ref(&r->object);
            return r;
        }
    }
    return NULL;
}

static void queue_call_stop(struct wdf_queue *q, struct wdf_request *r)
{
    PFN_WDF_IO_QUEUE_IO_STOP routine = q->config.EvtIoStop;
    ULONG flags = WdfRequestStopActionPurge;
    struct wdf_call call;

    if (atomic_load(&r->cancel_state) == CANCEL_MARKED)
        flags |= WdfRequestStopRequestCancelable;
    wdf_call_begin(&call, wdf_callback_sync(&q->object));
    routine((WDFQUEUE)q, (WDFREQUEST)r, flags);
    wdf_call_end(&call, "EvtIoStop", (const void *)(uintptr_t)routine);
}

/*
 * Stops the delivery. Waits until no handler or notice runs, because EvtIoStop must not be called for a request that a
 * handler or notice has not received yet.
 */
static void queue_stop_delivery(struct wdf_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->powered = false;
    while (q->handlers || q->notices)
        pthread_cond_wait(&q->done, &q->lock);
    pthread_mutex_unlock(&q->lock);
}

static void queue_stop_requests(struct wdf_queue *q)
{
    struct wdf_request *r;

    pthread_mutex_lock(&q->lock);
    while (q->config.EvtIoStop && (r = queue_next_to_stop(q))) {
        pthread_mutex_unlock(&q->lock);
        queue_call_stop(q, r);
        wdf_object_unref(&r->object);
        pthread_mutex_lock(&q->lock);
    }
    while (q->n_owned > q->n_acknowledged)
        pthread_cond_wait(&q->done, &q->lock);
    pthread_mutex_unlock(&q->lock);
}

/* Returns true if a thread will call a notice, because its goal is reached. Requires the lock. */
static bool queue_has_due_notice(const struct wdf_queue *q)
{
    for (enum wdf_goal goal = 0; goal < GOALS; goal++)
        if (q->waits[goal].notice.routine && wdf_queue_has_reached(q, goal))
            return true;
    return false;
}

/* Waits until no notice of the queue runs or is due. Returns how many notices have begun so far. */
static unsigned queue_wait_for_due_notices(struct wdf_queue *q)
{
    unsigned begun;

    pthread_mutex_lock(&q->lock);
    while (q->notices || queue_has_due_notice(q))
        pthread_cond_wait(&q->done, &q->lock);
    begun = q->notices_begun;
    pthread_mutex_unlock(&q->lock);
    return begun;
}

/*
 * EvtIoStop may have made notices due, which other threads call. A notice may complete a request of another queue, and
 * so make another notice due. So this function repeats until no notice has begun between two passes.
 */
static void device_wait_for_due_notices(struct wdf_device *d)
{
    unsigned begun = 0, before;

    do {
        before = begun;
        begun = 1; /* so that a first pass never ends the loop */
        for (struct wdf_queue *q = wdf_device_next_queue(d, NULL); q; q = wdf_device_next_queue(d, q))
            if (q->power_managed)
                begun += queue_wait_for_due_notices(q);
    } while (begun != before);
}

static void queue_start(struct wdf_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->powered = true;
    q->ready_due = q->n_waiting && q->on_ready.routine;
    pthread_mutex_unlock(&q->lock);
    wdf_queue_dispatch(q, false);
}

struct wdf_queue *wdf_device_next_queue(struct wdf_device *d, struct wdf_queue *q)
{
    struct wdf_queue *next = NULL;
    LIST_ENTRY *e;

    pthread_mutex_lock(&d->lock);
    if (!q)
        e = d->queues.Flink;
    else /* The link is empty if `q` was deleted meanwhile. The walk then starts again, which callers permit. */
        e = IsListEmpty(&q->link) ? d->queues.Flink : q->link.Flink;
    for (; e != &d->queues && !next; e = e->Flink)
        if (wdf_object_try_ref(&CONTAINING_RECORD(e, struct wdf_queue, link)->object))
            next = CONTAINING_RECORD(e, struct wdf_queue, link);
    pthread_mutex_unlock(&d->lock);
    if (q)
        wdf_object_unref(&q->object);
    return next;
}

static void device_for_managed_queues(struct wdf_device *d, void (*routine)(struct wdf_queue *q))
{
    for (struct wdf_queue *q = wdf_device_next_queue(d, NULL); q; q = wdf_device_next_queue(d, q))
        if (q->power_managed)
            routine(q);
}

/*
 * Sets d->pnp.powered before it changes the queues. A queue that another thread creates meanwhile is not missed: it is
 * already in the list, or it takes the new value when it is added.
 */
void wdf_device_set_power(struct wdf_device *d, bool on)
{
    pthread_mutex_lock(&d->lock);
    d->pnp.powered = on;
    pthread_mutex_unlock(&d->lock);
    if (on) {
        device_for_managed_queues(d, queue_start);
        return;
    }
    device_for_managed_queues(d, queue_stop_delivery);
    device_for_managed_queues(d, queue_stop_requests);
    device_wait_for_due_notices(d);
}

bool wdf_queue_acknowledge(struct wdf_queue *q, struct wdf_request *r)
{
    bool asked;

    pthread_mutex_lock(&q->lock);
    asked = r->stop == STOP_ASKED;
    if (asked) {
        r->stop = STOP_ACKNOWLEDGED;
        q->n_acknowledged++;
        pthread_cond_broadcast(&q->done);
    }
    pthread_mutex_unlock(&q->lock);
    return asked;
}
