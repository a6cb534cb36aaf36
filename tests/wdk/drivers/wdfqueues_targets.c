/* SPDX-License-Identifier: MIT */
/* Cases of wdfqueues: I/O targets. The driver is the target of its own requests. */
#include <ntifs.h>

#include "wdfqueues_targets.h"

WDFIOTARGET target;
struct completed completed;
static BOOLEAN shrinks; /* the scene's device needs only one stack location when it forwards a request */

static CHAR buffer[4] = "abc";

/* ---- The target -------------------------------------------------------------------------------------------------- */

static VOID complete_canceled(WDFREQUEST Request)
{
    WdfRequestComplete(Request, STATUS_CANCELLED);
}

static VOID forwarded(WDFREQUEST Request, WDFIOTARGET Target, PWDF_REQUEST_COMPLETION_PARAMS Params, WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Target);
    UNREFERENCED_PARAMETER(Context);
    InterlockedIncrement(&scene.first);
    WdfRequestComplete(Request, Params->IoStatus.Status);
}

static VOID forward(WDFREQUEST Request)
{
    if (shrinks)
        WdfDeviceWdmGetDeviceObject(scene.device)->StackSize = 1;
    WdfRequestFormatRequestUsingCurrentType(Request);
    WdfRequestSetCompletionRoutine(Request, forwarded, NULL);
    if (!WdfRequestSend(Request, target, WDF_NO_SEND_OPTIONS))
        WdfRequestComplete(Request, WdfRequestGetStatus(Request));
}

/* Counts an output buffer of the request that is not the sender's. */
static VOID expect_output(WDFREQUEST Request, const void *Output)
{
    PVOID out;

    if (!NT_SUCCESS(WdfRequestRetrieveOutputBuffer(Request, 4, &out, NULL)) || out != Output)
        InterlockedIncrement(&scene.second);
}

static VOID reformatted(WDFREQUEST Request, WDFIOTARGET Target, PWDF_REQUEST_COMPLETION_PARAMS Params,
                        WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Target);
    expect_output(Request, Context);
    WdfRequestComplete(Request, Params->IoStatus.Status);
}

/* The request keeps the sender's buffers while it is formatted with others. */
static VOID reformat(WDFREQUEST Request)
{
    PVOID own = NULL;
    WDFMEMORY memory;
    NTSTATUS status;

    status = WdfMemoryCreate(NULL, NonPagedPoolNx, 'tseT', 4, &memory, NULL);
    if (!NT_SUCCESS(status)) {
        WdfRequestComplete(Request, status);
        return;
    }
    (VOID)WdfRequestRetrieveOutputBuffer(Request, 4, &own, NULL);
    status = WdfIoTargetFormatRequestForIoctl(target, Request, REVERSE(METHOD_BUFFERED), memory, NULL, memory, NULL);
    WdfObjectDelete(memory);
    expect_output(Request, own);
    WdfRequestSetCompletionRoutine(Request, reformatted, own);
    if (!NT_SUCCESS(status) || !WdfRequestSend(Request, target, WDF_NO_SEND_OPTIONS))
        WdfRequestComplete(Request, WdfRequestGetStatus(Request));
}

static VOID control(WDFQUEUE Queue, WDFREQUEST Request, size_t OutputBufferLength, size_t InputBufferLength,
                    ULONG IoControlCode)
{
    UCHAR *in, *out, copy[16];
    NTSTATUS status;

    UNREFERENCED_PARAMETER(Queue);
    UNREFERENCED_PARAMETER(OutputBufferLength);
    if (IoControlCode == MARK) {
        scene.held = Request;
        WdfRequestMarkCancelable(Request, complete_canceled);
        KeSetEvent(&scene.arrived, IO_NO_INCREMENT, FALSE);
        return;
    }
    if (IoControlCode == FORWARD) {
        forward(Request);
        return;
    }
    if (IoControlCode == PURGE) {
        WdfIoTargetPurge(target, WdfIoTargetPurgeIoAndWait);
        WdfRequestComplete(Request, STATUS_SUCCESS);
        return;
    }
    if (IoControlCode == REFORMAT) {
        reformat(Request);
        return;
    }
    status = WdfRequestRetrieveInputBuffer(Request, 1, (PVOID *)&in, NULL);
    if (NT_SUCCESS(status))
        status = WdfRequestRetrieveOutputBuffer(Request, InputBufferLength, (PVOID *)&out, NULL);
    if (!NT_SUCCESS(status) || InputBufferLength > sizeof copy) {
        WdfRequestComplete(Request, status);
        return;
    }
    RtlCopyMemory(copy, in, InputBufferLength);
    for (size_t i = 0; i < InputBufferLength; i++)
        out[i] = copy[InputBufferLength - 1 - i];
    WdfRequestCompleteWithInformation(Request, STATUS_SUCCESS, InputBufferLength);
}

static VOID read(WDFQUEUE Queue, WDFREQUEST Request, size_t Length)
{
    PVOID out;

    UNREFERENCED_PARAMETER(Queue);
    if (NT_SUCCESS(WdfRequestRetrieveOutputBuffer(Request, Length, &out, NULL)))
        RtlFillMemory(out, Length, 'r');
    WdfRequestCompleteWithInformation(Request, STATUS_SUCCESS, Length);
}

static VOID write(WDFQUEUE Queue, WDFREQUEST Request, size_t Length)
{
    WDF_REQUEST_PARAMETERS p;
    CHAR *in;

    UNREFERENCED_PARAMETER(Queue);
    WDF_REQUEST_PARAMETERS_INIT(&p);
    WdfRequestGetParameters(Request, &p);
    if (NT_SUCCESS(WdfRequestRetrieveInputBuffer(Request, Length, (PVOID *)&in, NULL)) && in[0] == 'w' &&
        p.Parameters.Write.DeviceOffset == 512)
        WdfRequestCompleteWithInformation(Request, STATUS_SUCCESS, Length);
    else
        WdfRequestComplete(Request, STATUS_INVALID_PARAMETER);
}

NTSTATUS open_target(PWDF_OBJECT_ATTRIBUTES Attributes, WDFIOTARGET *Target)
{
    struct {
        OBJECT_NAME_INFORMATION info;
        WCHAR text[64];
    } name;
    WDF_IO_TARGET_OPEN_PARAMS open;
    NTSTATUS status;
    ULONG size;

    status = ObQueryNameString(WdfDeviceWdmGetDeviceObject(scene.device), &name.info, sizeof name, &size);
    if (NT_SUCCESS(status))
        status = WdfIoTargetCreate(scene.device, Attributes, Target);
    if (!NT_SUCCESS(status))
        return status;
    WDF_IO_TARGET_OPEN_PARAMS_INIT_OPEN_BY_NAME(&open, &name.info.Name, GENERIC_READ | GENERIC_WRITE);
    return WdfIoTargetOpen(*Target, &open);
}

NTSTATUS open_scene(VOID)
{
    WDF_IO_QUEUE_CONFIG config;
    WDFQUEUE queue = NULL;
    NTSTATUS status = scene_open(WdfIoQueueDispatchParallel, WdfSynchronizationScopeNone,
                                 WdfExecutionLevelInheritFromParent);

    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchParallel);
    config.EvtIoDeviceControl = control;
    config.EvtIoRead = read;
    config.EvtIoWrite = write;
    if (NT_SUCCESS(status))
        status = WdfIoQueueCreate(scene.device, &config, WDF_NO_OBJECT_ATTRIBUTES, &queue);
    for (WDF_REQUEST_TYPE type = WdfRequestTypeRead; NT_SUCCESS(status) && type <= WdfRequestTypeDeviceControl; type++)
        if (type == WdfRequestTypeRead || type == WdfRequestTypeWrite || type == WdfRequestTypeDeviceControl)
            status = WdfDeviceConfigureRequestDispatching(scene.device, queue, type);
    KeInitializeEvent(&completed.done, SynchronizationEvent, FALSE);
    return NT_SUCCESS(status) ? open_target(WDF_NO_OBJECT_ATTRIBUTES, &target) : status;
}

/* ---- Synchronous requests ---------------------------------------------------------------------------------------- */

static ULONG check_synchronous(VOID)
{
    static const CHAR constant[4] = { 'a', 'b', 'c', 'd' }; /* in memory that cannot be written */
    CHAR in[4] = { 'a', 'b', 'c', 'd' }, out[8];
    WDF_MEMORY_DESCRIPTOR input, output;
    WDF_REQUEST_SEND_OPTIONS options;
    LONGLONG offset = 512;
    ULONG_PTR bytes;

    for (ULONG method = METHOD_BUFFERED; method <= METHOD_NEITHER; method++) {
        RtlZeroMemory(out, sizeof out);
        WDF_MEMORY_DESCRIPTOR_INIT_BUFFER(&input, in, sizeof in);
        WDF_MEMORY_DESCRIPTOR_INIT_BUFFER(&output, out, sizeof out);
        CHECK(NT_SUCCESS(
            WdfIoTargetSendIoctlSynchronously(target, NULL, REVERSE(method), &input, &output, NULL, &bytes)));
        CHECK(bytes == 4 && RtlEqualMemory(out, "dcba\0\0\0\0", 8));
    }
    WDF_MEMORY_DESCRIPTOR_INIT_BUFFER(&output, (PVOID)(ULONG_PTR)constant, sizeof constant);
    CHECK(WdfIoTargetSendIoctlSynchronously(target, NULL, REVERSE(METHOD_IN_DIRECT), NULL, &output, NULL, NULL) ==
          STATUS_BUFFER_TOO_SMALL); /* the target's answer to the missing input */
    WDF_MEMORY_DESCRIPTOR_INIT_BUFFER(&output, out, sizeof out);
    CHECK(NT_SUCCESS(WdfIoTargetSendReadSynchronously(target, NULL, &output, NULL, NULL, &bytes)));
    CHECK(bytes == 8 && out[7] == 'r');
    in[0] = 'w';
    CHECK(NT_SUCCESS(WdfIoTargetSendWriteSynchronously(target, NULL, &input, &offset, NULL, &bytes)) && bytes == 4);
    CHECK(WdfIoTargetSendWriteSynchronously(target, NULL, &input, NULL, NULL, NULL) == STATUS_INVALID_PARAMETER);
    WDF_REQUEST_SEND_OPTIONS_INIT(&options, 0);
    WDF_REQUEST_SEND_OPTIONS_SET_TIMEOUT(&options, WDF_REL_TIMEOUT_IN_MS(5));
    CHECK(WdfIoTargetSendIoctlSynchronously(target, NULL, MARK, NULL, NULL, &options, NULL) == STATUS_IO_TIMEOUT);
    options.Size--;
    CHECK(WdfIoTargetSendIoctlSynchronously(target, NULL, MARK, NULL, NULL, &options, NULL) ==
          STATUS_INFO_LENGTH_MISMATCH);
    return 0;
}

/* ---- Requests of the driver -------------------------------------------------------------------------------------- */

VOID on_completion(WDFREQUEST Request, WDFIOTARGET Target, PWDF_REQUEST_COMPLETION_PARAMS Params,
                          WDFCONTEXT Context)
{
    completed.params = *Params;
    completed.status = Target == target ? WdfRequestGetStatus(Request) : STATUS_INTERNAL_ERROR;
    completed.context = Context;
    KeSetEvent(&completed.done, IO_NO_INCREMENT, FALSE);
}

static VOID count_second(WDFOBJECT Object)
{
    UNREFERENCED_PARAMETER(Object);
    InterlockedIncrement(&scene.second);
}

static ULONG check_asynchronous(VOID)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFMEMORY_OFFSET offset = { 1, 3 };
    WDF_REQUEST_COMPLETION_PARAMS params;
    WDF_REQUEST_REUSE_PARAMS reuse;
    WDF_REQUEST_SEND_OPTIONS options;
    WDFMEMORY in, out;
    WDFREQUEST request;
    CHAR *from, *to;

    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.EvtDestroyCallback = count_second;
    CHECK(NT_SUCCESS(WdfMemoryCreate(&attributes, NonPagedPoolNx, 'tseT', 4, &in, (PVOID *)&from)));
    CHECK(NT_SUCCESS(WdfMemoryCreate(NULL, NonPagedPoolNx, 'tseT', 4, &out, (PVOID *)&to)));
    RtlCopyMemory(from, "abcd", 4);
    CHECK(NT_SUCCESS(WdfRequestCreate(NULL, target, &request)));
    CHECK(!WdfRequestSend(request, target, NULL) && WdfRequestGetStatus(request) == STATUS_INVALID_DEVICE_REQUEST);
    CHECK(NT_SUCCESS(WdfIoTargetFormatRequestForIoctl(target, request, REVERSE(METHOD_BUFFERED), in, &offset, out,
                                                      NULL)));
    WdfObjectDelete(in); /* the request keeps it */
    WdfRequestSetCompletionRoutine(request, on_completion, &scene);
    CHECK(WdfRequestSend(request, target, WDF_NO_SEND_OPTIONS));
    wait_for(&completed.done);
    CHECK(NT_SUCCESS(completed.status) && completed.context == &scene && RtlEqualMemory(to, "dcb", 3));
    CHECK(completed.params.Type == WdfRequestTypeDeviceControl && completed.params.Parameters.Ioctl.Output.Length == 3);
    CHECK(completed.params.Parameters.Ioctl.Input.Offset == 1);
    CHECK(completed.params.Parameters.Ioctl.Output.Buffer == out);
    WdfRequestGetCompletionParams(request, &params);
    CHECK(params.IoStatus.Information == 3 && WdfRequestGetInformation(request) == 3 && scene.second == 0);
    WDF_REQUEST_REUSE_PARAMS_INIT(&reuse, WDF_REQUEST_REUSE_NO_FLAGS, STATUS_NOT_SUPPORTED);
    CHECK(NT_SUCCESS(WdfRequestReuse(request, &reuse)) && WdfRequestGetStatus(request) == STATUS_NOT_SUPPORTED);
    CHECK(scene.second == 1);
    offset.BufferLength = 4;
    CHECK(WdfIoTargetFormatRequestForRead(target, request, out, &offset, NULL) == STATUS_INVALID_DEVICE_REQUEST);
    CHECK(NT_SUCCESS(WdfIoTargetFormatRequestForRead(target, request, out, NULL, NULL)));
    WDF_REQUEST_SEND_OPTIONS_INIT(&options, WDF_REQUEST_SEND_OPTION_SYNCHRONOUS);
    CHECK(WdfRequestSend(request, target, &options) && NT_SUCCESS(WdfRequestGetStatus(request)) && to[3] == 'r');
    WdfObjectDelete(request);
    WdfObjectDelete(out);
    return 0;
}

static NTSTATUS reuse_with(WDFREQUEST Request, PIRP Irp)
{
    WDF_REQUEST_REUSE_PARAMS reuse;

    WDF_REQUEST_REUSE_PARAMS_INIT(&reuse, WDF_REQUEST_REUSE_NO_FLAGS, STATUS_NOT_SUPPORTED);
    WDF_REQUEST_REUSE_PARAMS_SET_NEW_IRP(&reuse, Irp);
    return WdfRequestReuse(Request, &reuse);
}

/* Reads with the request, and returns its status. */
static NTSTATUS read_with(WDFREQUEST Request, WDFMEMORY Memory)
{
    NTSTATUS status = WdfIoTargetFormatRequestForRead(target, Request, Memory, NULL, NULL);
    WDF_REQUEST_SEND_OPTIONS options;

    WDF_REQUEST_SEND_OPTIONS_INIT(&options, WDF_REQUEST_SEND_OPTION_SYNCHRONOUS);
    if (NT_SUCCESS(status))
        (VOID)WdfRequestSend(Request, target, &options);
    return NT_SUCCESS(status) ? WdfRequestGetStatus(Request) : status;
}

/* Forwards an IRP that has a current stack location, as a dispatch routine receives it. */
static ULONG check_forwarded_irp(VOID)
{
    PIRP irp = IoAllocateIrp(2, FALSE);
    WDF_REQUEST_SEND_OPTIONS options;
    PIO_STACK_LOCATION current;
    WDFREQUEST request;

    CHECK(irp);
    IoSetNextIrpStackLocation(irp);
    current = IoGetCurrentIrpStackLocation(irp);
    current->MajorFunction = IRP_MJ_READ;
    irp->UserBuffer = buffer;
    CHECK(NT_SUCCESS(WdfRequestCreateFromIrp(NULL, irp, FALSE, &request)));
    WdfRequestFormatRequestUsingCurrentType(request);
    WDF_REQUEST_SEND_OPTIONS_INIT(&options, WDF_REQUEST_SEND_OPTION_SYNCHRONOUS);
    CHECK(WdfRequestSend(request, target, &options) && NT_SUCCESS(WdfRequestGetStatus(request)));
    WdfObjectDelete(request);
    CHECK(IoGetCurrentIrpStackLocation(irp) == current && irp->UserBuffer == buffer);
    IoFreeIrp(irp);
    return 0;
}

/* Deletes the request. The IRP is then the driver's, so the framework must not write it any more. */
static VOID delete_and_use_irp(WDFREQUEST Request, WDFIOTARGET Target, PWDF_REQUEST_COMPLETION_PARAMS Params,
                               WDFCONTEXT Context)
{
    PIRP irp = WdfRequestWdmGetIrp(Request), *used = Context;

    UNREFERENCED_PARAMETER(Target);
    UNREFERENCED_PARAMETER(Params);
    WdfObjectDelete(Request);
    if (irp->UserBuffer == buffer && !irp->AssociatedIrp.SystemBuffer && !irp->MdlAddress)
        *used = irp;
    irp->UserBuffer = used;
}

/* The driver has the IRP back, with its buffers, as soon as the request is deleted. */
static ULONG check_deleted_in_completion(WDFMEMORY Memory)
{
    PIRP irp = IoAllocateIrp(1, FALSE), used = NULL;
    WDFREQUEST request;

    CHECK(irp);
    irp->UserBuffer = buffer;
    CHECK(NT_SUCCESS(WdfRequestCreateFromIrp(NULL, irp, FALSE, &request)));
    CHECK(NT_SUCCESS(WdfIoTargetFormatRequestForRead(target, request, Memory, NULL, NULL)));
    WdfRequestSetCompletionRoutine(request, delete_and_use_irp, &used);
    CHECK(WdfRequestSend(request, target, WDF_NO_SEND_OPTIONS));
    CHECK(used == irp && irp->UserBuffer == &used);
    IoFreeIrp(irp);
    return 0;
}

/* WdfRequestReuse leaves the result in an IRP of the driver. */
static ULONG check_reused_irp(WDFMEMORY Memory)
{
    WDF_REQUEST_REUSE_PARAMS reuse;
    PIRP irp = IoAllocateIrp(1, FALSE);
    WDFREQUEST request;

    CHECK(irp && NT_SUCCESS(WdfRequestCreateFromIrp(NULL, irp, FALSE, &request)));
    CHECK(NT_SUCCESS(read_with(request, Memory)) && irp->IoStatus.Information == 4);
    WDF_REQUEST_REUSE_PARAMS_INIT(&reuse, WDF_REQUEST_REUSE_NO_FLAGS, STATUS_NOT_SUPPORTED);
    CHECK(NT_SUCCESS(WdfRequestReuse(request, &reuse)) && WdfRequestGetStatus(request) == STATUS_NOT_SUPPORTED);
    CHECK(NT_SUCCESS(irp->IoStatus.Status) && irp->IoStatus.Information == 4);
    WdfObjectDelete(request);
    IoFreeIrp(irp);
    return 0;
}

/* A second request for the IRP of a received request, or the driver itself, may change the IRP's DriverContext. */
static ULONG check_changed_context(VOID)
{
    WDF_IO_QUEUE_CONFIG config;
    struct sent sent;
    WDFQUEUE queue;

    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    CHECK(NT_SUCCESS(WdfIoQueueCreate(scene.device, &config, WDF_NO_OBJECT_ATTRIBUTES, &queue)));
    CHECK(send(&sent, MARK) == STATUS_PENDING);
    wait_for(&scene.arrived);
    CHECK(NT_SUCCESS(WdfRequestUnmarkCancelable(scene.held)));
    sent.irp->Tail.Overlay.DriverContext[3] = NULL;
    CHECK(NT_SUCCESS(WdfRequestMarkCancelableEx(scene.held, complete_canceled)));
    CHECK(IoCancelIrp(sent.irp) && sent_status(&sent) == STATUS_CANCELLED);
    CHECK(send(&sent, MARK) == STATUS_PENDING);
    wait_for(&scene.arrived);
    CHECK(NT_SUCCESS(WdfRequestUnmarkCancelable(scene.held)));
    sent.irp->Tail.Overlay.DriverContext[3] = NULL;
    CHECK(NT_SUCCESS(WdfRequestForwardToIoQueue(scene.held, queue)));
    CHECK(IoCancelIrp(sent.irp) && sent_status(&sent) == STATUS_CANCELLED);
    WdfObjectDelete(queue);
    return 0;
}

/* IRPs that are not freed, or freed twice, are found by the checks of the kernel. */
static ULONG check_from_irp(VOID)
{
    PDEVICE_OBJECT device = WdfDeviceWdmGetDeviceObject(scene.device);
    PIRP own = IoAllocateIrp(1, FALSE), freed = IoAllocateIrp(1, FALSE);
    WDFREQUEST request;
    WDFMEMORY memory;
    PCHAR to;

    CHECK(own && freed);
    CHECK(NT_SUCCESS(WdfMemoryCreate(NULL, NonPagedPoolNx, 'tseT', 4, &memory, (PVOID *)&to)));
    CHECK(NT_SUCCESS(WdfRequestCreateFromIrp(NULL, freed, TRUE, &request)));
    CHECK(WdfRequestWdmGetIrp(request) == freed && NT_SUCCESS(read_with(request, memory)) && to[3] == 'r');
    CHECK(NT_SUCCESS(reuse_with(request, own)) && WdfRequestGetStatus(request) == STATUS_NOT_SUPPORTED);
    device->StackSize = 2;
    CHECK(read_with(request, memory) == STATUS_REQUEST_NOT_ACCEPTED);
    device->StackSize = 1;
    CHECK(NT_SUCCESS(read_with(request, memory)) && WdfRequestWdmGetIrp(request) == own && !own->MdlAddress);
    CHECK(NT_SUCCESS(reuse_with(request, NULL)) && !WdfRequestWdmGetIrp(request));
    CHECK(NT_SUCCESS(read_with(request, memory))); /* with an IRP of the framework */
    WdfObjectDelete(request);
    CHECK(NT_SUCCESS(WdfRequestCreateFromIrp(NULL, own, TRUE, &request)));
    device->StackSize = 2;
    CHECK(NT_SUCCESS(read_with(request, memory))); /* with an IRP of the framework, which has freed the other one */
    device->StackSize = 1;
    WdfObjectDelete(request);
    CHECK(NT_SUCCESS(WdfRequestCreate(NULL, target, &request)));
    CHECK(reuse_with(request, NULL) == STATUS_WDF_REQUEST_INVALID_STATE);
    WdfObjectDelete(request);
    CHECK_PART(check_deleted_in_completion(memory));
    CHECK_PART(check_reused_irp(memory));
    WdfObjectDelete(memory);
    CHECK_PART(check_changed_context());
    return check_forwarded_irp();
}

NTSTATUS send_marked_with(WDFREQUEST *Request, PFN_WDF_REQUEST_COMPLETION_ROUTINE Routine)
{
    NTSTATUS status = WdfRequestCreate(NULL, target, Request);

    if (!NT_SUCCESS(status))
        return status;
    status = WdfIoTargetFormatRequestForIoctl(target, *Request, MARK, NULL, NULL, NULL, NULL);
    WdfRequestSetCompletionRoutine(*Request, Routine, NULL);
    if (NT_SUCCESS(status) && !WdfRequestSend(*Request, target, NULL))
        status = WdfRequestGetStatus(*Request);
    if (NT_SUCCESS(status))
        wait_for(&scene.arrived);
    return status;
}

NTSTATUS send_marked(WDFREQUEST *Request)
{
    return send_marked_with(Request, on_completion);
}

static ULONG check_cancel_sent(VOID)
{
    WDF_IO_TARGET_OPEN_PARAMS open;
    WDFREQUEST request;

    CHECK(NT_SUCCESS(send_marked(&request)));
    CHECK(WdfRequestCancelSentRequest(request));
    wait_for(&completed.done);
    CHECK(completed.status == STATUS_CANCELLED && !WdfRequestCancelSentRequest(request));
    WdfObjectDelete(request);
    CHECK(NT_SUCCESS(send_marked(&request)));
    WdfIoTargetClose(target); /* cancels it */
    wait_for(&completed.done);
    CHECK(completed.status == STATUS_CANCELLED && WdfIoTargetGetState(target) == WdfIoTargetClosed);
    CHECK(!WdfIoTargetWdmGetTargetDeviceObject(target));
    CHECK(WdfIoTargetFormatRequestForIoctl(target, request, MARK, NULL, NULL, NULL, NULL) ==
          STATUS_INVALID_DEVICE_STATE);
    WDF_IO_TARGET_OPEN_PARAMS_INIT_REOPEN(&open);
    CHECK(NT_SUCCESS(WdfIoTargetOpen(target, &open)) && WdfIoTargetGetState(target) == WdfIoTargetStarted);
    CHECK(WdfIoTargetOpen(target, &open) == STATUS_INVALID_DEVICE_STATE);
    WdfObjectDelete(request);
    return 0;
}

/* A received request needs a stack location for the target, which the device's StackSize reserves. */
static ULONG check_forwarded(VOID)
{
    PDEVICE_OBJECT device = WdfDeviceWdmGetDeviceObject(scene.device);
    WDF_IO_TARGET_OPEN_PARAMS open;
    struct sent sent;
    NTSTATUS status;

    (VOID)send(&sent, FORWARD);
    CHECK(sent_status(&sent) == STATUS_REQUEST_NOT_ACCEPTED);
    WdfIoTargetClose(target);
    WDF_IO_TARGET_OPEN_PARAMS_INIT_EXISTING_DEVICE(&open, device);
    CHECK(NT_SUCCESS(WdfIoTargetOpen(target, &open)));
    device->StackSize = 3; /* the target needs as many as the whole IRP has */
    (VOID)send(&sent, FORWARD);
    status = sent_status(&sent);
    CHECK(status == STATUS_REQUEST_NOT_ACCEPTED && scene.first == 0);
    shrinks = TRUE; /* sent on twice, then none is left */
    (VOID)send(&sent, FORWARD);
    status = sent_status(&sent);
    shrinks = FALSE;
    CHECK(status == STATUS_REQUEST_NOT_ACCEPTED && scene.first == 2);
    return 0;
}

NTSTATUS send_with_location(struct sent *Sent, ULONG Code)
{
    PDEVICE_OBJECT device = WdfDeviceWdmGetDeviceObject(scene.device);

    KeInitializeEvent(&Sent->done, NotificationEvent, FALSE);
    device->StackSize = 2; /* one location more for the target */
    Sent->irp = IoBuildDeviceIoControlRequest(Code, device, buffer, 4, buffer, 4, FALSE, &Sent->done, &Sent->result);
    device->StackSize = 1;
    return Sent->irp ? IoCallDriver(device, Sent->irp) : STATUS_INSUFFICIENT_RESOURCES;
}

static ULONG check_reformatted(VOID)
{
    PDEVICE_OBJECT device = WdfDeviceWdmGetDeviceObject(scene.device);
    WDF_IO_TARGET_OPEN_PARAMS open;
    struct sent sent;

    WdfIoTargetClose(target);
    WDF_IO_TARGET_OPEN_PARAMS_INIT_EXISTING_DEVICE(&open, device);
    CHECK(NT_SUCCESS(WdfIoTargetOpen(target, &open)));
    (VOID)send_with_location(&sent, REFORMAT);
    CHECK(NT_SUCCESS(sent_status(&sent)) && scene.second == 0);
    return 0;
}

ULONG run_target_case(ULONG Case)
{
    ULONG line;

    CHECK(NT_SUCCESS(open_scene()));
    CHECK(!WdfDeviceGetIoTarget(scene.device));
    switch (Case) {
    case WDFQUEUES_TARGET_SYNCHRONOUS:
        line = check_synchronous();
        break;
    case WDFQUEUES_TARGET_ASYNCHRONOUS:
        line = check_asynchronous();
        break;
    case WDFQUEUES_TARGET_FROM_IRP:
        line = check_from_irp();
        break;
    case WDFQUEUES_TARGET_CANCELS:
        line = check_cancel_sent();
        break;
    case WDFQUEUES_TARGET_REFORMATS:
        line = check_reformatted();
        break;
    case WDFQUEUES_TARGET_FORWARDS:
        line = check_forwarded();
        break;
    default:
        line = check_target_state(Case);
    }
    if (target)
        WdfObjectDelete(target);
    scene_close();
    return line;
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

VOID break_target_rule(ULONG Case)
{
    WDF_REQUEST_REUSE_PARAMS reuse;
    WDFREQUEST request;

    if (!NT_SUCCESS(open_scene()))
        return;
    if (Case >= WDFQUEUES_TARGET_RULES) {
        break_target_state(Case);
        return;
    }
    if (!NT_SUCCESS(send_marked(&request)))
        return;
    if (Case == WDFQUEUES_REUSE_SENT) {
        WDF_REQUEST_REUSE_PARAMS_INIT(&reuse, WDF_REQUEST_REUSE_NO_FLAGS, STATUS_SUCCESS);
        (VOID)WdfRequestReuse(request, &reuse);
    } else if (Case == WDFQUEUES_DELETE_SENT) {
        WdfObjectReference(request);
        WdfObjectDelete(request);
    } else if (Case == WDFQUEUES_SEND_CANCELABLE) {
        (VOID)WdfRequestSend(scene.held, target, WDF_NO_SEND_OPTIONS);
    } else if (Case == WDFQUEUES_SEND_UNWATCHED) {
        (VOID)WdfRequestUnmarkCancelable(scene.held);
        (VOID)WdfRequestSend(scene.held, target, WDF_NO_SEND_OPTIONS);
        WdfRequestComplete(scene.held, STATUS_SUCCESS);
    }
    (VOID)WdfRequestCancelSentRequest(request);
    wait_for(&completed.done);
    if (Case == WDFQUEUES_COMPLETE_CREATED)
        WdfRequestComplete(request, STATUS_SUCCESS);
    if (Case == WDFQUEUES_DELETE_SENT)
        WdfObjectDereference(request);
    else
        WdfObjectDelete(request);
    WdfObjectDelete(target);
    scene_close();
}
