/* SPDX-License-Identifier: MIT */
/*
 * A KMDF control driver with one queue of each kind: parallel (at most four requests), sequential for reads, manual
 * with and without EvtIoCanceledOnQueue. wdfcontrol.h has its requests.
 */
#include <ntddk.h>
#include <wdf.h>

#include "wdfcontrol_driver.h"

struct control control;

VOID note(CHAR what)
{
    LONG at = InterlockedIncrement(&control.n_events) - 1;

    if (at < (LONG)sizeof control.events - 1)
        control.events[at] = what;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static VOID create(WDFDEVICE Device, WDFREQUEST Request, WDFFILEOBJECT FileObject)
{
    PUNICODE_STRING name = WdfFileObjectGetFileName(FileObject);
    NTSTATUS status = STATUS_SUCCESS;

    if (WdfFileObjectGetDevice(FileObject) != Device || WdfRequestGetFileObject(Request) != FileObject)
        status = STATUS_INTERNAL_ERROR;
    if (name->Length >= 2 * sizeof(WCHAR) && name->Buffer[1] == 'x')
        status = STATUS_ACCESS_DENIED;
    note('o');
    WdfRequestComplete(Request, status);
}

static VOID cleanup(WDFFILEOBJECT FileObject)
{
    UNREFERENCED_PARAMETER(FileObject);
    note('c');
}

static VOID closed(WDFFILEOBJECT FileObject)
{
    UNREFERENCED_PARAMETER(FileObject);
    note('C');
}

static VOID file_deleted(WDFOBJECT FileObject)
{
    UNREFERENCED_PARAMETER(FileObject);
    note('d');
}

static VOID request_deleted(WDFOBJECT Request)
{
    struct request *r = request_of(Request);

    if (r->noted)
        note('r');
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static VOID reverse_bytes(UCHAR *to, const UCHAR *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[n - 1 - i];
}

/* The two memory objects of a buffered request are the same buffer, so the bytes are copied first. */
static NTSTATUS reverse(WDFREQUEST Request, ULONG_PTR *Information)
{
    struct request *r = request_of(Request);
    UCHAR copy[64];
    size_t in, out;
    NTSTATUS status = STATUS_SUCCESS;
    UCHAR *from, *to;

    if (!r->input)
        status = WdfRequestRetrieveInputMemory(Request, &r->input);
    if (NT_SUCCESS(status) && !r->output)
        status = WdfRequestRetrieveOutputMemory(Request, &r->output);
    if (!NT_SUCCESS(status))
        return status;
    from = WdfMemoryGetBuffer(r->input, &in);
    to = WdfMemoryGetBuffer(r->output, &out);
    if (in > sizeof copy || out < in)
        return STATUS_BUFFER_TOO_SMALL;
    reverse_bytes(copy, from, in);
    RtlCopyMemory(to, copy, in);
    *Information = in;
    return STATUS_SUCCESS;
}

static VOID caller_context(WDFDEVICE Device, WDFREQUEST Request)
{
    struct request *r = request_of(Request);
    WDF_REQUEST_PARAMETERS p;
    NTSTATUS status = STATUS_SUCCESS;
    size_t in = 0, out = 0;
    PVOID from, to;

    WdfRequestGetParameters(Request, &p);
    if (p.Type == WdfRequestTypeDeviceControl &&
        METHOD_FROM_CTL_CODE(p.Parameters.DeviceIoControl.IoControlCode) == METHOD_NEITHER) {
        if (break_in_caller_context(Request, p.Parameters.DeviceIoControl.IoControlCode))
            return;
        status = WdfRequestRetrieveUnsafeUserInputBuffer(Request, 1, &from, &in);
        if (NT_SUCCESS(status))
            status = WdfRequestRetrieveUnsafeUserOutputBuffer(Request, 1, &to, &out);
        if (NT_SUCCESS(status))
            status = WdfRequestProbeAndLockUserBufferForRead(Request, from, in, &r->input);
        if (NT_SUCCESS(status))
            status = WdfRequestProbeAndLockUserBufferForWrite(Request, to, out, &r->output);
    }
    if (NT_SUCCESS(status))
        status = WdfDeviceEnqueueRequest(Device, Request);
    if (!NT_SUCCESS(status))
        WdfRequestComplete(Request, status);
}

/* Completes writes of 3 bytes, and passes on the others. */
static NTSTATUS preprocess(WDFDEVICE Device, PIRP Irp)
{
    if (IoGetCurrentIrpStackLocation(Irp)->Parameters.Write.Length != 3) {
        IoSkipCurrentIrpStackLocation(Irp);
        return WdfDeviceWdmDispatchPreprocessedIrp(Device, Irp);
    }
    Irp->IoStatus.Status = STATUS_SUCCESS;
    Irp->IoStatus.Information = 3;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

static VOID canceled_on_queue(WDFQUEUE Queue, WDFREQUEST Request)
{
    UNREFERENCED_PARAMETER(Queue);
    note('q');
    WdfRequestComplete(Request, STATUS_CANCELLED);
}

/* The lock ensures that `unmark` does not use a request that this callback has completed. */
static VOID canceled(WDFREQUEST Request)
{
    note('k');
    WdfSpinLockAcquire(control.lock);
    if (control.marked == Request)
        control.marked = NULL;
    WdfSpinLockRelease(control.lock);
    WdfRequestComplete(Request, STATUS_CANCELLED);
}

static VOID pend(WDFREQUEST Request, WDFQUEUE Queue)
{
    NTSTATUS status;

    request_of(Request)->noted = TRUE;
    status = WdfRequestForwardToIoQueue(Request, Queue);
    if (!NT_SUCCESS(status))
        WdfRequestComplete(Request, status);
}

static NTSTATUS mark(WDFREQUEST Request)
{
    NTSTATUS status;

    WdfSpinLockAcquire(control.lock);
    status = WdfRequestMarkCancelableEx(Request, canceled);
    if (NT_SUCCESS(status)) {
        control.marked = Request;
        control.marks++;
    }
    WdfSpinLockRelease(control.lock);
    return NT_SUCCESS(status) ? STATUS_PENDING : status;
}

static NTSTATUS unmark(ULONG *Result)
{
    WDFREQUEST request;
    NTSTATUS status = STATUS_NOT_FOUND;

    WdfSpinLockAcquire(control.lock);
    request = control.marked;
    if (request)
        status = WdfRequestUnmarkCancelable(request);
    control.marked = NULL;
    WdfSpinLockRelease(control.lock);
    if (NT_SUCCESS(status))
        WdfRequestComplete(request, STATUS_SUCCESS);
    *Result = (ULONG)status;
    return status == STATUS_NOT_FOUND ? status : STATUS_SUCCESS;
}

static NTSTATUS release_first(VOID)
{
    WDFREQUEST request = NULL;
    NTSTATUS status = WdfIoQueueRetrieveNextRequest(control.queues[WDFCONTROL_QUEUE_MANUAL], &request);

    if (!NT_SUCCESS(status))
        request = InterlockedExchangePointer((PVOID *)&control.reading, NULL);
    if (!request)
        return status;
    WdfRequestComplete(request, STATUS_SUCCESS);
    return STATUS_SUCCESS;
}

/* Finds the request as the documentation's example does. */
static NTSTATUS find(CHAR Text)
{
    WDFQUEUE queue = control.queues[WDFCONTROL_QUEUE_MANUAL];
    WDFREQUEST found = NULL, last = NULL, request;
    WDF_REQUEST_PARAMETERS p;
    NTSTATUS status;
    CHAR *text;

    for (;;) {
        WDF_REQUEST_PARAMETERS_INIT(&p);
        status = WdfIoQueueFindRequest(queue, last, NULL, &p, &found);
        if (last)
            WdfObjectDereference(last);
        last = NULL;
        if (status == STATUS_NOT_FOUND)
            continue;
        if (!NT_SUCCESS(status))
            return status;
        if (request_of(found)->first == Text)
            break;
        last = found;
    }
    status = WdfIoQueueRetrieveFoundRequest(queue, found, &request);
    WdfObjectDereference(found);
    if (!NT_SUCCESS(status))
        return status;
    status = WdfRequestRetrieveInputBuffer(request, 1, (PVOID *)&text, NULL);
    WdfRequestComplete(request, NT_SUCCESS(status) && *text == Text ? STATUS_SUCCESS : STATUS_INTERNAL_ERROR);
    return status;
}

static ULONG release_own(WDFREQUEST Request)
{
    WDFFILEOBJECT file = WdfRequestGetFileObject(Request);
    WDFREQUEST request;
    ULONG n = 0;

    while (NT_SUCCESS(
        WdfIoQueueRetrieveRequestByFileObject(control.queues[WDFCONTROL_QUEUE_MANUAL], file, &request))) {
        WdfRequestComplete(request, STATUS_SUCCESS);
        n++;
    }
    return n;
}

static VOID changed(WDFQUEUE Queue, WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Queue);
    note(*(CHAR *)Context);
}

static VOID ready(WDFQUEUE Queue, WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Queue);
    UNREFERENCED_PARAMETER(Context);
    note('!');
    InterlockedExchange(&control.notified, TRUE);
}

static NTSTATUS change(const struct wdfcontrol_change *c)
{
    static CHAR names[] = "SDPZ";
    WDFQUEUE queue;

    if (c->queue >= ARRAYSIZE(control.queues))
        return STATUS_INVALID_PARAMETER;
    queue = control.queues[c->queue];
    switch (c->change) {
    case WDFCONTROL_STOP:
        WdfIoQueueStop(queue, changed, &names[0]);
        return STATUS_SUCCESS;
    case WDFCONTROL_DRAIN:
        WdfIoQueueDrain(queue, changed, &names[1]);
        return STATUS_SUCCESS;
    case WDFCONTROL_PURGE:
        WdfIoQueuePurge(queue, changed, &names[2]);
        return STATUS_SUCCESS;
    case WDFCONTROL_STOP_AND_PURGE:
        WdfIoQueueStopAndPurge(queue, changed, &names[3]);
        return STATUS_SUCCESS;
    case WDFCONTROL_START:
        WdfIoQueueStart(queue);
        return STATUS_SUCCESS;
    default:
        return STATUS_INVALID_PARAMETER;
    }
}

static NTSTATUS query_state(struct wdfcontrol_state *Out, ULONG Queue)
{
    ULONG waiting, owned;

    if (Queue >= ARRAYSIZE(control.queues))
        return STATUS_INVALID_PARAMETER;
    Out->state = (ULONG)WdfIoQueueGetState(control.queues[Queue], &waiting, &owned);
    Out->waiting = waiting;
    Out->owned = owned;
    Out->reading = InterlockedCompareExchangePointer((PVOID *)&control.reading, NULL, NULL) != NULL;
    Out->notified = (ULONG)InterlockedCompareExchange(&control.notified, FALSE, FALSE);
    WdfSpinLockAcquire(control.lock);
    Out->marks = control.marks;
    WdfSpinLockRelease(control.lock);
    return STATUS_SUCCESS;
}

/* ---- Handlers ---------------------------------------------------------------------------------------------------- */

static NTSTATUS read_events(CHAR *Out, size_t Room, ULONG_PTR *Information)
{
    ULONG n = (ULONG)min((size_t)control.n_events, Room);

    RtlCopyMemory(Out, control.events, n);
    RtlZeroMemory(control.events, sizeof control.events);
    InterlockedExchange(&control.n_events, 0);
    InterlockedExchange(&control.notified, FALSE);
    *Information = n;
    return STATUS_SUCCESS;
}

/* Requests that complete at once. The output is at least 64 bytes, and the input at least as long as needed. */
static NTSTATUS handle_now(WDFREQUEST Request, ULONG Function, PVOID Buffer, size_t Room, ULONG_PTR *Information)
{
    struct wdfcontrol_change input = *(struct wdfcontrol_change *)Buffer;
    ULONG result = 0;
    NTSTATUS status;

    switch (Function) {
    case WDFCONTROL_RELEASE:
        return release_first();
    case WDFCONTROL_UNMARK:
        status = unmark(&result);
        break;
    case WDFCONTROL_STATE:
        *Information = sizeof(struct wdfcontrol_state);
        return query_state(Buffer, input.queue);
    case WDFCONTROL_CHANGE:
        return change(&input);
    case WDFCONTROL_EVENTS:
        return read_events(Buffer, Room, Information);
    case WDFCONTROL_FIND:
        return find(*(CHAR *)&input);
    case WDFCONTROL_OBJECTS:
        result = check_objects(control.device);
        status = STATUS_SUCCESS;
        break;
    case WDFCONTROL_OWN_FILE:
        result = release_own(Request);
        status = STATUS_SUCCESS;
        break;
    default:
        return handle_purge(Function);
    }
    *(ULONG *)Buffer = result;
    *Information = sizeof result;
    return status;
}

static VOID device_control(WDFQUEUE Queue, WDFREQUEST Request, size_t OutputBufferLength, size_t InputBufferLength,
                           ULONG IoControlCode)
{
    ULONG function = (IoControlCode & 0x1ffc) >> 2;
    ULONG_PTR information = 0;
    NTSTATUS status;
    CHAR *buffer;

    UNREFERENCED_PARAMETER(Queue);
    if (function == WDFCONTROL_REVERSE) {
        status = reverse(Request, &information);
        WdfRequestCompleteWithInformation(Request, status, information);
        return;
    }
    status = WdfRequestRetrieveInputBuffer(Request, 8, (PVOID *)&buffer, NULL);
    if (NT_SUCCESS(status) && (InputBufferLength < 8 || OutputBufferLength < 64))
        status = STATUS_BUFFER_TOO_SMALL;
    if (!NT_SUCCESS(status)) {
        WdfRequestComplete(Request, status);
        return;
    }
    request_of(Request)->first = buffer[0];
    switch (function) {
    case WDFCONTROL_HOLD:
        pend(Request, control.queues[WDFCONTROL_QUEUE_MANUAL]);
        return;
    case WDFCONTROL_HOLD_TOLD:
        pend(Request, control.queues[WDFCONTROL_QUEUE_TOLD]);
        return;
    case WDFCONTROL_MARK:
        status = mark(Request);
        break;
    case WDFCONTROL_MARK_ALONE:
        status = mark_alone(Request);
        break;
    case WDFCONTROL_BREAK:
        break_rule(Request, *(ULONG *)buffer);
        return;
    default:
        status = handle_now(Request, function, buffer, OutputBufferLength, &information);
    }
    if (status != STATUS_PENDING)
        WdfRequestCompleteWithInformation(Request, status, information);
}

/* A read of at least 8 bytes completes at RELEASE; a shorter one in the handler. */
static VOID read(WDFQUEUE Queue, WDFREQUEST Request, size_t Length)
{
    PVOID buffer;
    PMDL mdl;

    UNREFERENCED_PARAMETER(Queue);
    if (Length == WDFCONTROL_LINGER) {
        linger(Request);
        return;
    }
    if (Length >= 8) {
        InterlockedExchangePointer((PVOID *)&control.reading, Request);
        return;
    }
    if (!NT_SUCCESS(WdfRequestRetrieveOutputBuffer(Request, Length, &buffer, NULL)) ||
        WdfRequestRetrieveInputBuffer(Request, 0, &buffer, NULL) != STATUS_INVALID_DEVICE_REQUEST ||
        !NT_SUCCESS(WdfRequestRetrieveOutputWdmMdl(Request, &mdl))) {
        WdfRequestComplete(Request, STATUS_INTERNAL_ERROR);
        return;
    }
    RtlFillMemory(MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority), Length, 'R');
    WdfRequestCompleteWithInformation(Request, STATUS_SUCCESS, Length);
}

/* ---- The scoped devices ------------------------------------------------------------------------------------------ */

static VOID inside(WDFQUEUE Queue, WDFREQUEST Request, size_t OutputBufferLength, size_t InputBufferLength,
                   ULONG IoControlCode)
{
    struct scoped *s = scoped_of(WdfIoQueueGetDevice(Queue));
    LONG now = InterlockedIncrement(&s->inside);
    struct wdfcontrol_inside *out;

    UNREFERENCED_PARAMETER(OutputBufferLength);
    UNREFERENCED_PARAMETER(InputBufferLength);
    UNREFERENCED_PARAMETER(IoControlCode);
    if (now > s->most)
        s->most = now;
    KeStallExecutionProcessor(50);
    InterlockedDecrement(&s->inside);
    if (!NT_SUCCESS(WdfRequestRetrieveOutputBuffer(Request, sizeof *out, (PVOID *)&out, NULL))) {
        WdfRequestComplete(Request, STATUS_BUFFER_TOO_SMALL);
        return;
    }
    out->most = (unsigned)s->most;
    out->irql = KeGetCurrentIrql();
    WdfRequestCompleteWithInformation(Request, STATUS_SUCCESS, sizeof *out);
}

/* ---- Setup ------------------------------------------------------------------------------------------------------- */

static NTSTATUS make_device(PCWSTR Name, PCWSTR Link, PWDF_OBJECT_ATTRIBUTES Attributes, BOOLEAN Files,
                            WDFDEVICE *Device)
{
    DECLARE_CONST_UNICODE_STRING(sddl, L"D:P(A;;GA;;;SY)(A;;GA;;;BA)");
    PWDFDEVICE_INIT init = WdfControlDeviceInitAllocate(control.driver, &sddl);
    WDF_OBJECT_ATTRIBUTES requests, files;
    WDF_FILEOBJECT_CONFIG config;
    UNICODE_STRING name;
    NTSTATUS status;

    if (!init)
        return STATUS_INSUFFICIENT_RESOURCES;
    RtlInitUnicodeString(&name, Name);
    status = WdfDeviceInitAssignName(init, &name);
    WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(&requests, struct_request);
    requests.EvtCleanupCallback = request_deleted;
    WdfDeviceInitSetRequestAttributes(init, &requests);
    WdfDeviceInitSetDeviceType(init, FILE_DEVICE_UNKNOWN);
    WdfDeviceInitSetIoType(init, WdfDeviceIoDirect);
    if (Files) {
        WDF_FILEOBJECT_CONFIG_INIT(&config, create, closed, cleanup);
        WDF_OBJECT_ATTRIBUTES_INIT(&files);
        files.EvtDestroyCallback = file_deleted;
        WdfDeviceInitSetFileObjectConfig(init, &config, &files);
        WdfDeviceInitSetIoInCallerContextCallback(init, caller_context);
        if (NT_SUCCESS(status))
            status = WdfDeviceInitAssignWdmIrpPreprocessCallback(init, preprocess, IRP_MJ_WRITE, NULL, 0);
    }
    if (NT_SUCCESS(status))
        status = WdfDeviceCreate(&init, Attributes, Device);
    if (!NT_SUCCESS(status)) {
        WdfDeviceInitFree(init);
        return status;
    }
    RtlInitUnicodeString(&name, Link);
    return WdfDeviceCreateSymbolicLink(*Device, &name);
}

static NTSTATUS make_queues(VOID)
{
    WDFQUEUE *queues = control.queues;
    WDF_IO_QUEUE_CONFIG config;
    NTSTATUS status;

    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&config, WdfIoQueueDispatchParallel);
    config.Settings.Parallel.NumberOfPresentedRequests = 4;
    config.EvtIoDeviceControl = device_control;
    status = WdfIoQueueCreate(control.device, &config, NULL, &queues[WDFCONTROL_QUEUE_DEFAULT]);
    if (NT_SUCCESS(status) && WdfIoQueueCreate(control.device, &config, NULL, NULL) != STATUS_UNSUCCESSFUL)
        return STATUS_INTERNAL_ERROR;
    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchSequential);
    if (NT_SUCCESS(status) && WdfIoQueueCreate(control.device, &config, NULL, NULL) != STATUS_WDF_NO_CALLBACK)
        return STATUS_INTERNAL_ERROR;
    config.EvtIoRead = read;
    if (NT_SUCCESS(status))
        status = WdfIoQueueCreate(control.device, &config, NULL, &queues[WDFCONTROL_QUEUE_READ]);
    if (NT_SUCCESS(status))
        status = WdfDeviceConfigureRequestDispatching(control.device, queues[WDFCONTROL_QUEUE_READ],
                                                      WdfRequestTypeRead);
    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    if (NT_SUCCESS(status))
        status = WdfIoQueueCreate(control.device, &config, NULL, &queues[WDFCONTROL_QUEUE_MANUAL]);
    if (NT_SUCCESS(status))
        status = WdfIoQueueReadyNotify(queues[WDFCONTROL_QUEUE_MANUAL], ready, NULL);
    config.EvtIoCanceledOnQueue = canceled_on_queue;
    if (NT_SUCCESS(status))
        status = WdfIoQueueCreate(control.device, &config, NULL, &queues[WDFCONTROL_QUEUE_TOLD]);
    return status;
}

/* A device whose two queues are serialized by the scope, at the execution level. */
static NTSTATUS make_scoped(PCWSTR Name, PCWSTR Link, WDF_SYNCHRONIZATION_SCOPE Scope, WDF_EXECUTION_LEVEL Level,
                            WDFDEVICE *Device)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG config;
    NTSTATUS status;

    WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(&attributes, struct_scoped);
    attributes.SynchronizationScope = Scope;
    attributes.ExecutionLevel = Level;
    status = make_device(Name, Link, &attributes, FALSE, Device);
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&config, WdfIoQueueDispatchParallel);
    config.EvtIoDeviceControl = inside;
    if (NT_SUCCESS(status))
        status = WdfIoQueueCreate(*Device, &config, NULL, NULL);
    if (NT_SUCCESS(status))
        WdfControlFinishInitializing(*Device);
    return status;
}

static VOID unload(WDFDRIVER Driver)
{
    UNREFERENCED_PARAMETER(Driver);
    for (ULONG i = 1; i < ARRAYSIZE(control.queues); i++) {
        WdfIoQueuePurgeSynchronously(control.queues[i]);
        if (!WDF_IO_QUEUE_PURGED(WdfIoQueueGetState(control.queues[i], NULL, NULL)))
            DbgPrint("wdfcontrol: queue %u is not purged\n", i);
    }
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    WDF_DRIVER_CONFIG config;
    NTSTATUS status;

    WDF_DRIVER_CONFIG_INIT(&config, WDF_NO_EVENT_CALLBACK);
    config.DriverInitFlags |= WdfDriverInitNonPnpDriver;
    config.EvtDriverUnload = unload;
    status = WdfDriverCreate(DriverObject, RegistryPath, WDF_NO_OBJECT_ATTRIBUTES, &config, &control.driver);
    if (NT_SUCCESS(status))
        status = WdfSpinLockCreate(WDF_NO_OBJECT_ATTRIBUTES, &control.lock);
    if (NT_SUCCESS(status))
        status = make_device(L"\\Device\\WdfControl", L"\\DosDevices\\WdfControl", NULL, TRUE, &control.device);
    if (NT_SUCCESS(status))
        status = make_queues();
    if (NT_SUCCESS(status))
        WdfControlFinishInitializing(control.device);
    if (NT_SUCCESS(status))
        status = make_scoped(L"\\Device\\WdfScoped", L"\\DosDevices\\WdfScoped", WdfSynchronizationScopeDevice,
                             WdfExecutionLevelInheritFromParent, &control.dispatch);
    if (NT_SUCCESS(status))
        status = make_scoped(L"\\Device\\WdfPassive", L"\\DosDevices\\WdfPassive", WdfSynchronizationScopeQueue,
                             WdfExecutionLevelPassive, &control.passive);
    if (NT_SUCCESS(status))
        status = make_device(L"\\Device\\WdfUnfinished", L"\\DosDevices\\WdfUnfinished", NULL, FALSE,
                             &control.unfinished);
    return status;
}
