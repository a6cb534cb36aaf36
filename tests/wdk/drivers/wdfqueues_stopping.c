/* SPDX-License-Identifier: MIT */
/* Cases of wdfqueues: I/O targets that are stopped, purged and started. */
#include "wdfqueues_targets.h"

static WDFREQUEST first, second;
static struct sent received; /* a request that the driver forwards to `target` */

/* ---- Helpers ----------------------------------------------------------------------------------------------------- */

/* Sends a request that the target completes at once. Flags are WDF_REQUEST_SEND_OPTION_... */
static BOOLEAN send_plain(WDFREQUEST *Request, ULONG Flags)
{
    WDF_REQUEST_SEND_OPTIONS options;

    KeClearEvent(&completed.done);
    WDF_REQUEST_SEND_OPTIONS_INIT(&options, Flags);
    if (!NT_SUCCESS(WdfRequestCreate(NULL, target, Request)) ||
        !NT_SUCCESS(WdfIoTargetFormatRequestForRead(target, *Request, NULL, NULL, NULL)))
        return FALSE;
    WdfRequestSetCompletionRoutine(*Request, on_completion, NULL);
    return WdfRequestSend(*Request, target, &options);
}

static BOOLEAN is_complete(VOID)
{
    return KeReadStateEvent(&completed.done) != 0;
}

/* Returns FALSE, and deletes the request, if its completion routine was not called, or with another status. */
static BOOLEAN ended_with(WDFREQUEST Request, NTSTATUS Status)
{
    BOOLEAN ended = is_complete() && completed.status == Status;

    WdfObjectDelete(Request);
    return ended;
}

/* ---- Stopped ----------------------------------------------------------------------------------------------------- */

static ULONG check_stopped(VOID)
{
    WDF_REQUEST_SEND_OPTIONS options;
    WDF_MEMORY_DESCRIPTOR memory;
    CHAR out[4];

    WdfIoTargetStop(target, WdfIoTargetLeaveSentIoPending);
    CHECK(WdfIoTargetGetState(target) == WdfIoTargetStopped);
    CHECK(send_plain(&first, 0) && !is_complete());
    CHECK(send_plain(&second, WDF_REQUEST_SEND_OPTION_IGNORE_TARGET_STATE));
    CHECK(ended_with(second, STATUS_SUCCESS));
    KeClearEvent(&completed.done);
    WdfIoTargetStop(target, WdfIoTargetCancelSentIo); /* what waits was not sent */
    CHECK(!is_complete());
    CHECK(NT_SUCCESS(WdfIoTargetStart(target)) && WdfIoTargetGetState(target) == WdfIoTargetStarted);
    CHECK(ended_with(first, STATUS_SUCCESS));
    WdfIoTargetStop(target, WdfIoTargetLeaveSentIoPending);
    CHECK(send_plain(&first, 0) && WdfRequestCancelSentRequest(first) && ended_with(first, STATUS_CANCELLED));
    WDF_REQUEST_SEND_OPTIONS_INIT(&options, 0);
    WDF_REQUEST_SEND_OPTIONS_SET_TIMEOUT(&options, WDF_REL_TIMEOUT_IN_MS(5));
    WDF_MEMORY_DESCRIPTOR_INIT_BUFFER(&memory, out, sizeof out);
    CHECK(WdfIoTargetSendReadSynchronously(target, NULL, &memory, NULL, &options, NULL) == STATUS_IO_TIMEOUT);
    CHECK(send_plain(&first, 0));
    WdfIoTargetClose(target);
    CHECK(ended_with(first, STATUS_WDF_DEVICE_REMOVED_NOT_SENT));
    WdfIoTargetStop(target, WdfIoTargetCancelSentIo);
    WdfIoTargetPurge(target, WdfIoTargetPurgeIoAndWait);
    CHECK(WdfIoTargetStart(target) == STATUS_INVALID_DEVICE_STATE && WdfIoTargetGetState(target) == WdfIoTargetClosed);
    return 0;
}

static VOID count_completion(WDFREQUEST Request, WDFIOTARGET Target, PWDF_REQUEST_COMPLETION_PARAMS Params,
                             WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Request);
    UNREFERENCED_PARAMETER(Target);
    UNREFERENCED_PARAMETER(Params);
    UNREFERENCED_PARAMETER(Context);
    InterlockedIncrement(&scene.first);
}

/* One request ignores the target's state, so the stop does not cancel it. */
static ULONG check_stop_cancels(VOID)
{
    WDF_REQUEST_SEND_OPTIONS options;

    WDF_REQUEST_SEND_OPTIONS_INIT(&options, WDF_REQUEST_SEND_OPTION_IGNORE_TARGET_STATE);
    CHECK(NT_SUCCESS(WdfRequestCreate(NULL, target, &first)));
    CHECK(NT_SUCCESS(WdfIoTargetFormatRequestForIoctl(target, first, MARK, NULL, NULL, NULL, NULL)));
    WdfRequestSetCompletionRoutine(first, count_completion, NULL);
    CHECK(WdfRequestSend(first, target, &options));
    wait_for(&scene.arrived);
    CHECK(NT_SUCCESS(send_marked(&second)));
    WdfIoTargetStop(target, WdfIoTargetCancelSentIo);
    CHECK(ended_with(second, STATUS_CANCELLED) && scene.first == 0);
    KeClearEvent(&completed.done);
    WdfIoTargetPurge(target, WdfIoTargetPurgeIoAndWait);
    CHECK(scene.first == 0);
    WdfIoTargetClose(target);
    CHECK(scene.first == 1 && WdfRequestGetStatus(first) == STATUS_CANCELLED);
    WdfObjectDelete(first);
    return 0;
}

static ULONG check_stop_waits(BOOLEAN Purges)
{
    struct linger linger;
    LONG ended;

    CHECK(NT_SUCCESS(begin_linger(&linger)));
    if (Purges)
        WdfIoTargetPurge(target, WdfIoTargetPurgeIoAndWait);
    else
        WdfIoTargetStop(target, WdfIoTargetWaitForSentIoToComplete);
    ended = ReadAcquire(&scene.first);
    finish_linger(&linger);
    CHECK(ended == 1);
    return 0;
}

static ULONG check_purged(VOID)
{
    CHECK(NT_SUCCESS(send_marked(&first)));
    WdfIoTargetPurge(target, WdfIoTargetPurgeIo);
    CHECK(ended_with(first, STATUS_CANCELLED) && WdfIoTargetGetState(target) == WdfIoTargetPurged);
    CHECK(!send_plain(&first, 0) && WdfRequestGetStatus(first) == STATUS_INVALID_DEVICE_STATE);
    WdfObjectDelete(first);
    CHECK(send_plain(&first, WDF_REQUEST_SEND_OPTION_IGNORE_TARGET_STATE) && ended_with(first, STATUS_SUCCESS));
    WdfIoTargetStop(target, WdfIoTargetLeaveSentIoPending);
    CHECK(send_plain(&first, 0) && !is_complete());
    WdfIoTargetPurge(target, WdfIoTargetPurgeIo);
    CHECK(ended_with(first, STATUS_WDF_DEVICE_REMOVED_NOT_SENT));
    CHECK(NT_SUCCESS(WdfIoTargetStart(target)) && send_plain(&first, 0) && ended_with(first, STATUS_SUCCESS));
    return 0;
}

/* A received request waits in a target. The second time its sender cancels it meanwhile. */
static ULONG check_forwarded_waits(VOID)
{
    PDEVICE_OBJECT device = WdfDeviceWdmGetDeviceObject(scene.device);
    WDF_IO_TARGET_OPEN_PARAMS open;

    WdfIoTargetClose(target);
    WDF_IO_TARGET_OPEN_PARAMS_INIT_EXISTING_DEVICE(&open, device);
    CHECK(NT_SUCCESS(WdfIoTargetOpen(target, &open)));
    WdfIoTargetStop(target, WdfIoTargetWaitForSentIoToComplete);
    CHECK(send_with_location(&received, FORWARD) == STATUS_PENDING);
    CHECK(NT_SUCCESS(WdfIoTargetStart(target)));
    /* The target forwards the request again, without a location for it. */
    CHECK(sent_status(&received) == STATUS_REQUEST_NOT_ACCEPTED && scene.first == 1);
    WdfIoTargetStop(target, WdfIoTargetWaitForSentIoToComplete);
    CHECK(send_with_location(&received, FORWARD) == STATUS_PENDING);
    CHECK(IoCancelIrp(received.irp));
    CHECK(sent_status(&received) == STATUS_CANCELLED && scene.first == 2);
    return 0;
}

/* ---- Races ------------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 300 };

static VOID stop_and_start(PVOID Context)
{
    LARGE_INTEGER now = { .QuadPart = 0 };
    ULONG round = 0;

    UNREFERENCED_PARAMETER(Context);
    while (KeWaitForSingleObject(&scene.done, Executive, KernelMode, FALSE, &now) == STATUS_TIMEOUT) {
        if (round++ % 2)
            WdfIoTargetStop(target, WdfIoTargetWaitForSentIoToComplete);
        else
            WdfIoTargetPurge(target, WdfIoTargetPurgeIo);
        (VOID)WdfIoTargetStart(target);
    }
}

/* Returns FALSE if a request ends in another way than sent, cancelled or refused. */
static BOOLEAN send_once(ULONG Round)
{
    NTSTATUS status;

    if (send_plain(&first, 0)) {
        if (Round % 2)
            (VOID)WdfRequestCancelSentRequest(first);
        wait_for(&completed.done);
        status = completed.status;
    } else {
        status = WdfRequestGetStatus(first);
    }
    WdfObjectDelete(first);
    return NT_SUCCESS(status) || status == STATUS_CANCELLED || status == STATUS_WDF_DEVICE_REMOVED_NOT_SENT ||
           status == STATUS_INVALID_DEVICE_STATE;
}

/* Each request that is sent is finished once. */
static ULONG check_stop_race(VOID)
{
    PVOID thread = thread_begin(stop_and_start);
    BOOLEAN good = TRUE;

    for (ULONG i = 0; i < ROUNDS && good; i++)
        good = send_once(i);
    KeSetEvent(&scene.done, IO_NO_INCREMENT, FALSE);
    thread_end(thread);
    CHECK(good);
    return 0;
}

ULONG check_target_stopping(ULONG Case)
{
    switch (Case) {
    case WDFQUEUES_TARGET_STOPPED:
        return check_stopped();
    case WDFQUEUES_TARGET_STOP_CANCELS:
        return check_stop_cancels();
    case WDFQUEUES_TARGET_STOP_WAITS:
        return check_stop_waits(FALSE);
    case WDFQUEUES_TARGET_PURGE_WAITS:
        return check_stop_waits(TRUE);
    case WDFQUEUES_TARGET_PURGED:
        return check_purged();
    case WDFQUEUES_TARGET_FORWARDED_WAITS:
        return check_forwarded_waits();
    default:
        return check_stop_race();
    }
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

static VOID stop_inside(WDFREQUEST Request, WDFIOTARGET Target, PWDF_REQUEST_COMPLETION_PARAMS Params,
                        WDFCONTEXT Context)
{
    on_completion(Request, Target, Params, Context);
    WdfIoTargetStop(Target, WdfIoTargetWaitForSentIoToComplete);
}

static VOID stop_and_wait(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    WdfIoTargetStop(target, WdfIoTargetWaitForSentIoToComplete);
}

static VOID break_overlap(VOID)
{
    struct linger linger;
    PVOID thread;

    if (!NT_SUCCESS(begin_linger_until_set(&linger)))
        return;
    thread = thread_begin(stop_and_wait);
    while (WdfIoTargetGetState(target) != WdfIoTargetStopped)
        YieldProcessor();
    (VOID)WdfIoTargetStart(target);
    KeSetEvent(&scene.go, IO_NO_INCREMENT, FALSE);
    thread_end(thread);
    finish_linger(&linger);
}

VOID break_target_stopping(ULONG Case)
{
    if (Case == WDFQUEUES_TARGET_OVERLAP) {
        break_overlap();
    } else if (Case == WDFQUEUES_TARGET_STOP_INSIDE) {
        if (NT_SUCCESS(send_marked_with(&first, stop_inside))) {
            (VOID)WdfRequestCancelSentRequest(first);
            WdfObjectDelete(first);
        }
    } else {
        (VOID)send(&received, PURGE); /* the request handler purges the target */
        (VOID)sent_status(&received);
    }
    WdfObjectDelete(target);
    scene_close();
}
