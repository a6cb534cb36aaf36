/* SPDX-License-Identifier: MIT */
/* Cases of wdfqueues: I/O targets that are closed and deleted while requests are sent or complete. */
#include "wdfqueues_targets.h"

static WDFREQUEST request;

/* ---- Completion routines that run meanwhile ---------------------------------------------------------------------- */

static VOID linger_on(WDFREQUEST Request, WDFIOTARGET Target, PWDF_REQUEST_COMPLETION_PARAMS Params, WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Request);
    UNREFERENCED_PARAMETER(Target);
    UNREFERENCED_PARAMETER(Params);
    UNREFERENCED_PARAMETER(Context);
    KeSetEvent(&scene.arrived, IO_NO_INCREMENT, FALSE);
    wait_for(&scene.go);
    InterlockedIncrement(&scene.first);
}

static VOID cancel_request(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    (VOID)WdfRequestCancelSentRequest(request);
}

/* Lets `linger_on` end after another thread has begun to close the target. A shorter time only weakens the test. */
static VOID end_linger(PVOID Context)
{
    LARGE_INTEGER time = { .QuadPart = WDF_REL_TIMEOUT_IN_MS(20) };

    UNREFERENCED_PARAMETER(Context);
    (VOID)KeDelayExecutionThread(KernelMode, FALSE, &time);
    KeSetEvent(&scene.go, IO_NO_INCREMENT, FALSE);
}

static NTSTATUS start_linger(struct linger *Linger)
{
    NTSTATUS status = send_marked_with(&request, linger_on);

    if (!NT_SUCCESS(status))
        return status;
    Linger->runs = thread_begin(cancel_request);
    wait_for(&scene.arrived);
    return status;
}

NTSTATUS begin_linger_until_set(struct linger *Linger)
{
    Linger->ends = NULL;
    return start_linger(Linger);
}

NTSTATUS begin_linger(struct linger *Linger)
{
    NTSTATUS status = start_linger(Linger);

    if (NT_SUCCESS(status))
        Linger->ends = thread_begin(end_linger);
    return status;
}

VOID finish_linger(struct linger *Linger)
{
    thread_end(Linger->runs);
    if (Linger->ends)
        thread_end(Linger->ends);
    WdfObjectDelete(request);
}

static VOID close_target(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    WdfIoTargetClose(target);
}

static ULONG check_close_waits(VOID)
{
    struct linger linger;
    PVOID closer;
    WDF_IO_TARGET_OPEN_PARAMS open;
    LONG ended;

    CHECK(NT_SUCCESS(begin_linger(&linger)));
    closer = thread_begin(close_target); /* two closes at the same time */
    WdfIoTargetClose(target);
    ended = ReadAcquire(&scene.first);
    thread_end(closer);
    finish_linger(&linger);
    CHECK(ended == 1 && WdfIoTargetGetState(target) == WdfIoTargetClosed);
    CHECK(!WdfIoTargetWdmGetTargetFileObject(target) && !WdfIoTargetWdmGetTargetFileHandle(target));
    WDF_IO_TARGET_OPEN_PARAMS_INIT_REOPEN(&open);
    CHECK(NT_SUCCESS(WdfIoTargetOpen(target, &open)));
    return 0;
}

static ULONG check_delete_waits(VOID)
{
    struct linger linger;
    LONG ended;

    CHECK(NT_SUCCESS(begin_linger(&linger)));
    WdfObjectDelete(target);
    target = NULL;
    ended = ReadAcquire(&scene.first);
    finish_linger(&linger);
    CHECK(ended == 1);
    return 0;
}

/* ---- Calls in a completion routine ------------------------------------------------------------------------------- */

static VOID close_inside(WDFREQUEST Request, WDFIOTARGET Target, PWDF_REQUEST_COMPLETION_PARAMS Params,
                         WDFCONTEXT Context)
{
    on_completion(Request, Target, Params, Context);
    WdfIoTargetClose(Target);
    scene.first = WdfIoTargetGetState(Target);
}

/* The close cancels a second request, and waits for its routine, but not for its own one. */
static ULONG check_closed_inside(VOID)
{
    WDFREQUEST second;

    CHECK(NT_SUCCESS(send_marked_with(&request, close_inside)));
    CHECK(NT_SUCCESS(send_marked(&second)));
    CHECK(WdfRequestCancelSentRequest(request));
    CHECK(scene.first == WdfIoTargetClosed && WdfRequestGetStatus(second) == STATUS_CANCELLED);
    WdfObjectDelete(second);
    WdfObjectDelete(request);
    return 0;
}

static VOID reopen_inside(WDFREQUEST Request, WDFIOTARGET Target, PWDF_REQUEST_COMPLETION_PARAMS Params,
                          WDFCONTEXT Context)
{
    WDF_IO_TARGET_OPEN_PARAMS open;

    linger_on(Request, Target, Params, Context);
    WdfIoTargetClose(Target);
    WDF_IO_TARGET_OPEN_PARAMS_INIT_REOPEN(&open);
    if (NT_SUCCESS(WdfIoTargetOpen(Target, &open)))
        InterlockedIncrement(&scene.second);
}

/* The first close waits for the completion routine. */
static ULONG check_reopened_inside(VOID)
{
    PVOID runs, closes;

    CHECK(NT_SUCCESS(send_marked_with(&request, reopen_inside)));
    runs = thread_begin(cancel_request);
    wait_for(&scene.arrived);
    closes = thread_begin(close_target);
    while (WdfIoTargetGetState(target) != WdfIoTargetClosed)
        YieldProcessor();
    KeSetEvent(&scene.go, IO_NO_INCREMENT, FALSE);
    thread_end(runs);
    thread_end(closes);
    WdfObjectDelete(request);
    CHECK(scene.second == 1 && WdfIoTargetGetState(target) == WdfIoTargetStarted);
    CHECK(WdfIoTargetWdmGetTargetDeviceObject(target));
    return 0;
}

static WDFREQUEST later;

/* Closes the target, opens it again and sends `later`. */
static VOID reopen_and_send(WDFREQUEST Request, WDFIOTARGET Target, PWDF_REQUEST_COMPLETION_PARAMS Params,
                            WDFCONTEXT Context)
{
    WDF_IO_TARGET_OPEN_PARAMS open;

    UNREFERENCED_PARAMETER(Request);
    UNREFERENCED_PARAMETER(Params);
    UNREFERENCED_PARAMETER(Context);
    WdfIoTargetClose(Target);
    KeClearEvent(&completed.done);
    WDF_IO_TARGET_OPEN_PARAMS_INIT_REOPEN(&open);
    if (NT_SUCCESS(WdfIoTargetOpen(Target, &open)) && NT_SUCCESS(send_marked(&later)))
        InterlockedIncrement(&scene.first);
}

/* The stop, the purge or the close has two requests to cancel. The completion routine of the first one reopens. */
static ULONG check_late(VOID (*Change)(VOID))
{
    WDFREQUEST second;

    scene.first = 0;
    CHECK(NT_SUCCESS(send_marked_with(&request, reopen_and_send)));
    CHECK(NT_SUCCESS(send_marked(&second)));
    Change();
    CHECK(scene.first == 1 && WdfRequestGetStatus(second) == STATUS_CANCELLED);
    CHECK(!KeReadStateEvent(&completed.done) && WdfIoTargetGetState(target) == WdfIoTargetStarted);
    CHECK(WdfRequestCancelSentRequest(later) && KeReadStateEvent(&completed.done));
    WdfObjectDelete(later);
    WdfObjectDelete(second);
    WdfObjectDelete(request);
    return 0;
}

static VOID close_now(VOID)
{
    WdfIoTargetClose(target);
}

static VOID purge_now(VOID)
{
    WdfIoTargetPurge(target, WdfIoTargetPurgeIo);
}

static VOID stop_now(VOID)
{
    WdfIoTargetStop(target, WdfIoTargetCancelSentIo);
}

static ULONG check_close_late(VOID)
{
    ULONG line = check_late(close_now);

    if (!line)
        line = check_late(purge_now);
    return line ? line : check_late(stop_now);
}

/* ---- The deletion ------------------------------------------------------------------------------------------------ */

static WDFIOTARGET deleted;

/* The deletion has cancelled nothing yet. */
static VOID check_pending(WDFOBJECT Object)
{
    WDFIOTARGET cleaned = (WDFIOTARGET)Object;

    if (cleaned == deleted && WdfIoTargetGetState(cleaned) == WdfIoTargetStarted && !KeReadStateEvent(&completed.done))
        InterlockedIncrement(&scene.first);
}

/* No completion routine runs any more. */
static VOID check_finished(WDFOBJECT Object)
{
    UNREFERENCED_PARAMETER(Object);
    if (KeReadStateEvent(&completed.done) && completed.status == STATUS_CANCELLED)
        InterlockedIncrement(&scene.second);
}

static ULONG check_cleanup_first(VOID)
{
    WDF_OBJECT_ATTRIBUTES attributes;

    WdfObjectDelete(target);
    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.EvtCleanupCallback = check_pending;
    attributes.EvtDestroyCallback = check_finished;
    CHECK(NT_SUCCESS(open_target(&attributes, &target)));
    deleted = target;
    CHECK(NT_SUCCESS(send_marked(&request)));
    WdfObjectDelete(target);
    target = NULL;
    CHECK(scene.first == 1 && scene.second == 1);
    WdfObjectDelete(request);
    return 0;
}

/* The driver keeps the object, but a deleted target stays closed. */
static ULONG check_not_reopened(VOID)
{
    WDF_IO_TARGET_OPEN_PARAMS open;
    WDFIOTARGET kept = target;

    WdfObjectReference(kept);
    WdfObjectDelete(kept);
    target = NULL;
    WDF_IO_TARGET_OPEN_PARAMS_INIT_REOPEN(&open);
    CHECK(WdfIoTargetOpen(kept, &open) == STATUS_INVALID_DEVICE_STATE);
    CHECK(WdfIoTargetGetState(kept) == WdfIoTargetDeleted);
    WdfObjectDereference(kept);
    return 0;
}

/* ---- File objects ------------------------------------------------------------------------------------------------ */

/* Returns the file object that the receiver of a request finds. */
static PFILE_OBJECT file_of_request(WDFIOTARGET Target)
{
    PFILE_OBJECT file = NULL;
    WDFREQUEST sent = NULL;

    if (!NT_SUCCESS(WdfRequestCreate(NULL, Target, &sent)))
        return NULL;
    if (NT_SUCCESS(WdfIoTargetFormatRequestForIoctl(Target, sent, MARK, NULL, NULL, NULL, NULL)) &&
        WdfRequestSend(sent, Target, WDF_NO_SEND_OPTIONS)) {
        wait_for(&scene.arrived);
        file = IoGetCurrentIrpStackLocation(WdfRequestWdmGetIrp(scene.held))->FileObject;
        (VOID)WdfRequestCancelSentRequest(sent);
    }
    WdfObjectDelete(sent);
    return file;
}

/* The second target has a reference of its own on the first one's file object. */
static ULONG check_file(VOID)
{
    PFILE_OBJECT file = WdfIoTargetWdmGetTargetFileObject(target);
    WDF_IO_TARGET_OPEN_PARAMS open;
    WDFIOTARGET second;

    CHECK(file && file_of_request(target) == file);
    CHECK(NT_SUCCESS(WdfIoTargetCreate(scene.device, WDF_NO_OBJECT_ATTRIBUTES, &second)));
    WDF_IO_TARGET_OPEN_PARAMS_INIT_EXISTING_DEVICE(&open, WdfDeviceWdmGetDeviceObject(scene.device));
    open.TargetFileObject = file;
    CHECK(NT_SUCCESS(WdfIoTargetOpen(second, &open)));
    WdfIoTargetClose(target);
    CHECK(WdfIoTargetWdmGetTargetFileObject(second) == file && !WdfIoTargetWdmGetTargetFileHandle(second));
    CHECK(file_of_request(second) == file);
    WDF_IO_TARGET_OPEN_PARAMS_INIT_REOPEN(&open);
    CHECK(WdfIoTargetOpen(second, &open) == STATUS_INVALID_DEVICE_STATE);
    WdfObjectDelete(second);
    return 0;
}

/* ---- Requests that the driver forgets ---------------------------------------------------------------------------- */

typedef struct {
    UCHAR unused;
} EMPTY_CONTEXT;
WDF_DECLARE_CONTEXT_TYPE(EMPTY_CONTEXT)

static WDFDEVICE other; /* a device without queues */

static NTSTATUS create_other(VOID)
{
    DECLARE_CONST_UNICODE_STRING(sddl, L"D:P(A;;GA;;;SY)(A;;GA;;;BA)");
    PWDFDEVICE_INIT init = WdfControlDeviceInitAllocate(scene.driver, &sddl);
    NTSTATUS status = init ? WdfDeviceCreate(&init, WDF_NO_OBJECT_ATTRIBUTES, &other) : STATUS_INSUFFICIENT_RESOURCES;

    if (!NT_SUCCESS(status) && init)
        WdfDeviceInitFree(init);
    return status;
}

/* The target then has the last reference on the device, and drops it. */
static VOID close_and_delete(WDFOBJECT Object)
{
    UNREFERENCED_PARAMETER(Object);
    WdfObjectDelete(other);
    WdfIoTargetClose(target);
}

static ULONG check_closed_forgetting(VOID)
{
    WDF_REQUEST_SEND_OPTIONS options;
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_TARGET_OPEN_PARAMS open;
    struct sent sent;
    PVOID context;

    CHECK(NT_SUCCESS(create_other()));
    WdfIoTargetClose(target);
    WDF_IO_TARGET_OPEN_PARAMS_INIT_EXISTING_DEVICE(&open, WdfDeviceWdmGetDeviceObject(other));
    CHECK(NT_SUCCESS(WdfIoTargetOpen(target, &open)));
    CHECK(send_with_location(&sent, MARK) == STATUS_PENDING);
    wait_for(&scene.arrived);
    CHECK(NT_SUCCESS(WdfRequestUnmarkCancelable(scene.held)));
    WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(&attributes, EMPTY_CONTEXT);
    attributes.EvtCleanupCallback = close_and_delete;
    CHECK(NT_SUCCESS(WdfObjectAllocateContext(scene.held, &attributes, &context)));
    WDF_REQUEST_SEND_OPTIONS_INIT(&options, WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET);
    CHECK(WdfRequestSend(scene.held, target, &options));
    CHECK(sent_status(&sent) == STATUS_INVALID_DEVICE_REQUEST); /* of the deleted device */
    return 0;
}

ULONG check_target_state(ULONG Case)
{
    switch (Case) {
    case WDFQUEUES_TARGET_CLOSED_FORGETTING:
        return check_closed_forgetting();
    case WDFQUEUES_TARGET_FILE:
        return check_file();
    case WDFQUEUES_TARGET_CLOSE_WAITS:
        return check_close_waits();
    case WDFQUEUES_TARGET_DELETE_WAITS:
        return check_delete_waits();
    case WDFQUEUES_TARGET_CLOSED_INSIDE:
        return check_closed_inside();
    case WDFQUEUES_TARGET_REOPENED_INSIDE:
        return check_reopened_inside();
    case WDFQUEUES_TARGET_CLOSE_LATE:
        return check_close_late();
    case WDFQUEUES_TARGET_CLEANUP_FIRST:
        return check_cleanup_first();
    case WDFQUEUES_TARGET_NOT_REOPENED:
        return check_not_reopened();
    default:
        return check_target_stopping(Case);
    }
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

static VOID delete_inside(WDFREQUEST Request, WDFIOTARGET Target, PWDF_REQUEST_COMPLETION_PARAMS Params,
                          WDFCONTEXT Context)
{
    on_completion(Request, Target, Params, Context);
    WdfObjectDelete(Target);
}

/* The request stays with the driver, and is cancelled at the end. */
static VOID break_forget(ULONG Case)
{
    PDEVICE_OBJECT device = WdfDeviceWdmGetDeviceObject(scene.device);
    WDF_REQUEST_SEND_OPTIONS options;

    device->StackSize = 2; /* one location more for the target */
    if (!NT_SUCCESS(send_marked(&request)) || !NT_SUCCESS(WdfRequestUnmarkCancelable(scene.held)))
        return;
    device->StackSize = 1;
    if (Case == WDFQUEUES_FORGET_FORMATTED)
        (VOID)WdfIoTargetFormatRequestForIoctl(target, scene.held, MARK, NULL, NULL, NULL, NULL);
    WDF_REQUEST_SEND_OPTIONS_INIT(&options, WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET);
    if (!WdfRequestSend(scene.held, target, &options))
        WdfRequestComplete(scene.held, WdfRequestGetStatus(scene.held));
    wait_for(&completed.done);
    WdfObjectDelete(request);
    WdfObjectDelete(target);
    scene_close();
}

VOID break_target_state(ULONG Case)
{
    if (Case == WDFQUEUES_FORGET_TO_FILE || Case == WDFQUEUES_FORGET_FORMATTED) {
        break_forget(Case);
        return;
    }
    if (Case > WDFQUEUES_TARGET_DELETED_BY_CLOSE) {
        break_target_stopping(Case);
        return;
    }
    if (!NT_SUCCESS(send_marked_with(&request, delete_inside)))
        return;
    if (Case == WDFQUEUES_TARGET_DELETED_BY_STOP)
        WdfIoTargetStop(target, WdfIoTargetCancelSentIo);
    else if (Case == WDFQUEUES_TARGET_DELETED_BY_PURGE)
        WdfIoTargetPurge(target, WdfIoTargetPurgeIo);
    else if (Case == WDFQUEUES_TARGET_DELETED_BY_CLOSE)
        WdfIoTargetClose(target);
    else
        (VOID)WdfRequestCancelSentRequest(request);
    WdfObjectDelete(request);
    scene_close();
}
