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

/* Returns a sent request with a reference on it, or NULL. Requires the lock. */
static struct wdf_request *target_first_sent(struct wdf_sent *sent)
{
    struct wdf_request *r;

    if (IsListEmpty(&sent->requests))
        return NULL;
    r = CONTAINING_RECORD(sent->requests.Flink, struct wdf_send, link)->request;
    wdf_object_ref(&r->object);
    /* Moves the request to the end of the list, so that the next call returns another request. */
    RemoveEntryList(&r->send->link);
    InsertTailList(&sent->requests, &r->send->link);
    return r;
}

static unsigned target_count_sent(const struct wdf_sent *sent)
{
    unsigned n = 0;

    pthread_mutex_lock(&wdf_target_lock);
    for (const LIST_ENTRY *e = sent->requests.Flink; e != &sent->requests; e = e->Flink)
        n++;
    pthread_mutex_unlock(&wdf_target_lock);
    return n;
}

void wdf_target_cancel(struct wdf_sent *sent)
{
    for (unsigned n = target_count_sent(sent); n; n--) {
        struct wdf_request *r;

        pthread_mutex_lock(&wdf_target_lock);
        r = target_first_sent(sent);
        pthread_mutex_unlock(&wdf_target_lock);
        if (!r)
            break;
        (void)wdf_send_cancel(r);
        wdf_object_unref(&r->object);
    }
}

/* Returns a request that waited and is now SENT, or NULL. */
static struct wdf_send *target_pop_waiting(struct wdf_target *t, bool only_if_started)
{
    struct wdf_send *s;

    pthread_mutex_lock(&wdf_target_lock);
    s = only_if_started && t->state != WdfIoTargetStarted ? NULL : wdf_send_pop_waiting(t);
    pthread_mutex_unlock(&wdf_target_lock);
    return s;
}

void wdf_target_refuse_waiting(struct wdf_target *t)
{
    for (struct wdf_send *s = target_pop_waiting(t, false); s; s = target_pop_waiting(t, false))
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
 * Begins a change of the state. Returns false if the target is closed or deleted; its state then stays. On success the
 * caller must call target_end_change. Until then the change has a reference, because a completion routine that it calls
 * may delete the target.
 */
static bool target_begin_change(const char *routine, struct wdf_target *t, WDF_IO_TARGET_STATE state)
{
    bool overlaps, is_open;

    pthread_mutex_lock(&wdf_target_lock);
    is_open = t->state == WdfIoTargetStarted || t->state == WdfIoTargetStopped || t->state == WdfIoTargetPurged;
    overlaps = t->changes != 0;
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

    if (!t)
        return STATUS_INVALID_PARAMETER;
    if (!target_begin_change("WdfIoTargetStart", t, WdfIoTargetStarted))
        return STATUS_INVALID_DEVICE_STATE;
    for (struct wdf_send *s = target_pop_waiting(t, true); s; s = target_pop_waiting(t, true))
        wdf_send_resume(s);
    target_end_change(t);
    return STATUS_SUCCESS;
}

/* Waits until the sent requests are back, except those that ignore the target's state. */
static void target_wait_for_sent(struct wdf_target *t)
{
    pthread_mutex_lock(&wdf_target_lock);
    while (!wdf_target_is_back(t, &t->sent))
        pthread_cond_wait(&wdf_target_changed, &wdf_target_lock);
    pthread_mutex_unlock(&wdf_target_lock);
}

/* The requests that wait stay in the target. */
VOID WdfIoTargetStop(WDFIOTARGET IoTarget, WDF_IO_TARGET_SENT_IO_ACTION Action)
{
    struct wdf_target *t = wdf_target_of("WdfIoTargetStop", IoTarget,
                                         Action == WdfIoTargetLeaveSentIoPending ? DISPATCH_LEVEL : PASSIVE_LEVEL);
    bool waits = Action == WdfIoTargetCancelSentIo;

    if (!t || Action <= WdfIoTargetSentIoUndefined || Action > WdfIoTargetLeaveSentIoPending)
        return;
    if (Action == WdfIoTargetWaitForSentIoToComplete)
        waits = target_may_wait("WdfIoTargetStop", t);
    if (!target_begin_change("WdfIoTargetStop", t, WdfIoTargetStopped))
        return;
    if (Action == WdfIoTargetCancelSentIo)
        wdf_target_cancel(&t->sent);
    if (waits)
        target_wait_for_sent(t);
    target_end_change(t);
}

VOID WdfIoTargetPurge(WDFIOTARGET IoTarget, WDF_IO_TARGET_PURGE_IO_ACTION Action)
{
    struct wdf_target *t = wdf_target_of("WdfIoTargetPurge", IoTarget,
                                         Action == WdfIoTargetPurgeIo ? DISPATCH_LEVEL : PASSIVE_LEVEL);
    bool waits;

    if (!t || Action <= WdfIoTargetPurgeIoUndefined || Action > WdfIoTargetPurgeIo)
        return;
    waits = Action == WdfIoTargetPurgeIoAndWait && target_may_wait("WdfIoTargetPurge", t);
    if (!target_begin_change("WdfIoTargetPurge", t, WdfIoTargetPurged))
        return;
    wdf_target_refuse_waiting(t);
    wdf_target_cancel(&t->sent);
    if (waits)
        target_wait_for_sent(t);
    target_end_change(t);
}
