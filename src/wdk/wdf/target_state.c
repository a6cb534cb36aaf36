/* SPDX-License-Identifier: MIT */
/*
 * Starts, stops and purges I/O targets. docs/threads.md has the table of states. The invariant: a request waits only in
 * a stopped target, so whoever ends this state sends, refuses or cancels the requests that wait.
 */
#include "wdf.h"

#include "wdk/common/check.h"
#include "wdk/ke/thread.h"
#include "wdk/wdf/queue.h"
#include "wdk/wdf/target.h"

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* Moves the first sent request to the end of the list, so that the next call returns another one. Requires the lock. */
static struct wdf_send *target_rotate_sent(struct wdf_sent *sent)
{
    struct wdf_send *s = CONTAINING_RECORD(sent->requests.Flink, struct wdf_send, link);

    RemoveEntryList(&s->link);
    InsertTailList(&sent->requests, &s->link);
    return s;
}

/* Requires the lock. */
static unsigned target_count_sent(const struct wdf_sent *sent)
{
    unsigned n = 0;

    for (const LIST_ENTRY *e = sent->requests.Flink; e != &sent->requests; e = e->Flink)
        n++;
    return n;
}

/* While a request has a holder, the target is not opened again, so no other use of the request is cancelled. */
void wdf_target_cancel(struct wdf_target *t, struct wdf_sent *sent, unsigned opens)
{
    struct wdf_send *s;

    pthread_mutex_lock(&wdf_target_lock);
    for (unsigned n = target_count_sent(sent); n && t->opens == opens && !IsListEmpty(&sent->requests); n--) {
        s = target_rotate_sent(sent);
        if (!wdf_send_try_ref(s))
            continue;
        pthread_mutex_unlock(&wdf_target_lock);
        (void)wdf_send_cancel_and_unref(s);
        pthread_mutex_lock(&wdf_target_lock);
    }
    pthread_mutex_unlock(&wdf_target_lock);
}

/* Returns a request that waited and is now SENT, or NULL. */
static struct wdf_send *target_pop_to_start(struct wdf_target *t)
{
    struct wdf_send *s;

    pthread_mutex_lock(&wdf_target_lock);
    s = t->state == WdfIoTargetStarted ? wdf_send_pop_waiting(t) : NULL;
    pthread_mutex_unlock(&wdf_target_lock);
    return s;
}

/* Works like target_pop_to_start, for a request that is refused. */
static struct wdf_send *target_pop_to_refuse(struct wdf_target *t, unsigned opens)
{
    struct wdf_send *s;

    pthread_mutex_lock(&wdf_target_lock);
    s = t->opens == opens ? wdf_send_pop_waiting(t) : NULL;
    pthread_mutex_unlock(&wdf_target_lock);
    return s;
}

void wdf_target_refuse_waiting(struct wdf_target *t, unsigned opens)
{
    for (struct wdf_send *s = target_pop_to_refuse(t, opens); s; s = target_pop_to_refuse(t, opens))
        wdf_send_refuse(s, STATUS_WDF_DEVICE_REMOVED_NOT_SENT);
}

bool wdf_target_is_back(const struct wdf_target *t, const struct wdf_sent *sent)
{
    return IsListEmpty(&sent->requests) && (!sent->finishing || wdf_send_is_finishing(t));
}

/* ---- Changes ----------------------------------------------------------------------------------------------------- */

static void target_report(const char *routine, struct wdf_target *t, const char *what)
{
    if (check_on())
        check_failed(CHECK_WDF_TARGET, routine, WDF_TARGET_ERROR, (uintptr_t)t, 0, 0, "WDFIOTARGET %p: %s", (void *)t,
                     what);
}

/*
 * Begins a change of the state, and sets *opens to t->opens. Returns false if the target is closed or deleted; its
 * state then stays. On success the caller must call target_end_change. Until then the change has a reference, because a
 * completion routine that it calls may delete the target.
 */
static bool target_begin_change(const char *routine, struct wdf_target *t, WDF_IO_TARGET_STATE state, unsigned *opens)
{
    bool overlaps, is_open;

    pthread_mutex_lock(&wdf_target_lock);
    is_open = t->state == WdfIoTargetStarted || t->state == WdfIoTargetStopped || t->state == WdfIoTargetPurged;
    overlaps = t->changes != 0;
    *opens = t->opens;
    if (is_open) {
        t->state = state;
        t->changes++;
    }
    pthread_mutex_unlock(&wdf_target_lock);
    if (is_open)
        wdf_object_ref(&t->object);
    if (overlaps)
        target_report(routine, t, "the start, stop or purge before has not returned yet");
    return is_open;
}

static void target_end_change(struct wdf_target *t)
{
    pthread_mutex_lock(&wdf_target_lock);
    t->changes--;
    pthread_mutex_unlock(&wdf_target_lock);
    wdf_object_unref(&t->object);
}

/* Returns false, and reports the routine, if this thread is in a callback that must not wait for a target. */
static bool target_may_wait(const char *routine, struct wdf_target *t)
{
    if (!wdf_in_request_handler(&t->object) && !wdf_send_is_in_routine(wdf_root_of(&t->object)))
        return true;
    target_report(routine, t, "a request handler or completion routine must not wait for the requests of a target");
    return false;
}

NTSTATUS WdfIoTargetStart(WDFIOTARGET IoTarget)
{
    struct wdf_target *t = wdf_target_of("WdfIoTargetStart", IoTarget, DISPATCH_LEVEL);
    unsigned opens;

    if (!t)
        return STATUS_INVALID_PARAMETER;
    if (!target_begin_change("WdfIoTargetStart", t, WdfIoTargetStarted, &opens))
        return STATUS_INVALID_DEVICE_STATE;
    for (struct wdf_send *s = target_pop_to_start(t); s; s = target_pop_to_start(t))
        wdf_send_resume(s);
    target_end_change(t);
    return STATUS_SUCCESS;
}

/* Waits until the sent requests are back, except those that ignore the target's state or were sent after an open. */
static void target_wait_for_sent(struct wdf_target *t, unsigned opens)
{
    pthread_mutex_lock(&wdf_target_lock);
    while (t->opens == opens && !wdf_target_is_back(t, &t->sent))
        pthread_cond_wait(&wdf_target_changed, &wdf_target_lock);
    pthread_mutex_unlock(&wdf_target_lock);
}

/* The requests that wait stay in the target. */
VOID WdfIoTargetStop(WDFIOTARGET IoTarget, WDF_IO_TARGET_SENT_IO_ACTION Action)
{
    struct wdf_target *t = wdf_target_of("WdfIoTargetStop", IoTarget,
                                         Action == WdfIoTargetLeaveSentIoPending ? DISPATCH_LEVEL : PASSIVE_LEVEL);
    bool waits = Action == WdfIoTargetCancelSentIo;
    unsigned opens;

    if (!t || Action <= WdfIoTargetSentIoUndefined || Action > WdfIoTargetLeaveSentIoPending)
        return;
    if (Action == WdfIoTargetWaitForSentIoToComplete)
        waits = target_may_wait("WdfIoTargetStop", t);
    if (!target_begin_change("WdfIoTargetStop", t, WdfIoTargetStopped, &opens))
        return;
    if (Action == WdfIoTargetCancelSentIo)
        wdf_target_cancel(t, &t->sent, opens);
    if (waits)
        target_wait_for_sent(t, opens);
    target_end_change(t);
}

VOID WdfIoTargetPurge(WDFIOTARGET IoTarget, WDF_IO_TARGET_PURGE_IO_ACTION Action)
{
    struct wdf_target *t = wdf_target_of("WdfIoTargetPurge", IoTarget,
                                         Action == WdfIoTargetPurgeIo ? DISPATCH_LEVEL : PASSIVE_LEVEL);
    unsigned opens;
    bool waits;

    if (!t || Action <= WdfIoTargetPurgeIoUndefined || Action > WdfIoTargetPurgeIo)
        return;
    waits = Action == WdfIoTargetPurgeIoAndWait && target_may_wait("WdfIoTargetPurge", t);
    if (!target_begin_change("WdfIoTargetPurge", t, WdfIoTargetPurged, &opens))
        return;
    wdf_target_refuse_waiting(t, opens);
    wdf_target_cancel(t, &t->sent, opens);
    if (waits)
        target_wait_for_sent(t, opens);
    target_end_change(t);
}
