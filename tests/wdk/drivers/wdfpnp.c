/* SPDX-License-Identifier: MIT */
/*
 * A KMDF driver that the PnP manager gives a device without hardware. Each callback appends a letter to a text, which
 * the unload prints. Capital letters are those of the start:
 *
 *   A EvtDriverDeviceAdd, P EvtDevicePrepareHardware, D EvtDeviceD0Entry, I EvtDeviceD0EntryPostInterruptsEnabled,
 *   R a request is delivered, h a request handler returns that has waited, n an EvtIoQueueState returns,
 *   S EvtDeviceSelfManagedIoInit;
 *   q EvtDeviceQueryRemove, s EvtDeviceSelfManagedIoSuspend,
 *   t EvtIoStop, i EvtDeviceD0ExitPreInterruptsDisabled, d EvtDeviceD0Exit, p EvtDeviceReleaseHardware,
 *   f EvtDeviceSelfManagedIoFlush, c EvtDeviceSelfManagedIoCleanup, x the device is cleaned up, ! something is wrong
 */
#include <initguid.h>
#include <ntddk.h>
#include <wdf.h>

#include "wdfpnp.h"

DEFINE_GUID(WDFPNP_GUID, 0x3d2a0c51, 0x5f5e, 0x4a4e, 0x8a, 0x0e, 0x3f, 0x2f, 0x61, 0xb0, 0xa7, 0xc4);

DEFINE_GUID(WDFPNP_START_GUID, 0x3d2a0c52, 0x5f5e, 0x4a4e, 0x8a, 0x0e, 0x3f, 0x2f, 0x61, 0xb0, 0xa7, 0xc4);

/* The requests that the driver sends to itself. */
#define FINISH 0x220000 /* completes at once */
#define HOLD 0x220004   /* completes when the queue stops */

static CHAR events[64];
static volatile LONG n_events;
static ULONG mode;
static WDFREQUEST held;
static WDFIOTARGET self; /* the driver's own device */
/* Has the writes that the driver sends to itself. Power-managed in WDFPNP_CANCELLED and WDFPNP_NOTICE_RUNS. */
static WDFQUEUE parked;

struct sent {
    PIRP irp; /* of send_write */
    KEVENT done;
    IO_STATUS_BLOCK result;
};
static struct sent early, late; /* sent before the queue delivers, and before the queue stops */
static struct sent managed, other; /* wait in the default queue and in `parked` after the queues have stopped */

static KEVENT busy, go; /* a callback has begun, and may go on */

static VOID note(CHAR what)
{
    events[InterlockedIncrement(&n_events) - 1] = what;
}

static VOID expect(BOOLEAN condition)
{
    if (!condition)
        note('!');
}

static NTSTATUS send(struct sent *Sent, WDFDEVICE Device, ULONG Code)
{
    PDEVICE_OBJECT device = WdfDeviceWdmGetDeviceObject(Device);
    PIRP irp;

    KeInitializeEvent(&Sent->done, NotificationEvent, FALSE);
    device->StackSize++; /* a location more, for `self` */
    irp = IoBuildDeviceIoControlRequest(Code, device, NULL, 0, NULL, 0, FALSE, &Sent->done, &Sent->result);
    device->StackSize--;
    return irp ? IoCallDriver(device, irp) : STATUS_INSUFFICIENT_RESOURCES;
}

static NTSTATUS send_write(struct sent *Sent, WDFDEVICE Device)
{
    PDEVICE_OBJECT device = WdfDeviceWdmGetDeviceObject(Device);
    LARGE_INTEGER offset = { .QuadPart = 0 };
    static CHAR byte;
    PIRP irp;

    KeInitializeEvent(&Sent->done, NotificationEvent, FALSE);
    irp = IoBuildSynchronousFsdRequest(IRP_MJ_WRITE, device, &byte, 1, &offset, &Sent->done, &Sent->result);
    Sent->irp = irp;
    return irp ? IoCallDriver(device, irp) : STATUS_INSUFFICIENT_RESOURCES;
}

static VOID wait_for(struct sent *Sent)
{
    (VOID)KeWaitForSingleObject(&Sent->done, Executive, KernelMode, FALSE, NULL);
}

/* ---- Plug and play ----------------------------------------------------------------------------------------------- */

static NTSTATUS prepare(WDFDEVICE Device, WDFCMRESLIST ResourcesRaw, WDFCMRESLIST ResourcesTranslated)
{
    note('P');
    expect(NT_SUCCESS(WdfDeviceCreateDeviceInterface(Device, &WDFPNP_START_GUID, NULL)));
    expect(WdfCmResourceListGetCount(ResourcesRaw) == 0 && WdfCmResourceListGetCount(ResourcesTranslated) == 0);
    expect(!WdfCmResourceListGetDescriptor(ResourcesTranslated, 0) && KeGetCurrentIrql() == PASSIVE_LEVEL);
    return mode == WDFPNP_PREPARE_FAILS ? STATUS_INSUFFICIENT_RESOURCES : STATUS_SUCCESS;
}

/* The removal waits for requests whose stop was acknowledged only after this callback. */
static NTSTATUS release(WDFDEVICE Device, WDFCMRESLIST ResourcesTranslated)
{
    WDFREQUEST request;

    UNREFERENCED_PARAMETER(Device);
    note('p');
    expect(WdfCmResourceListGetCount(ResourcesTranslated) == 0);
    if (mode == WDFPNP_ACKNOWLEDGES)
        WdfRequestComplete(held, STATUS_SUCCESS);
    if (mode == WDFPNP_ACKNOWLEDGES_SENT) {
        expect(NT_SUCCESS(WdfIoQueueRetrieveNextRequest(parked, &request)));
        WdfRequestComplete(request, STATUS_SUCCESS);
        wait_for(&late);
    }
    return STATUS_SUCCESS;
}

/* ---- Queues that are created during the start -------------------------------------------------------------------- */

static PVOID threads[4];
static ULONG n_threads;

static VOID run_thread(VOID (*Routine)(PVOID), PVOID Context)
{
    HANDLE handle;

    expect(NT_SUCCESS(PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, Routine, Context)));
    expect(n_threads < ARRAYSIZE(threads) &&
           NT_SUCCESS(ObReferenceObjectByHandle(handle, THREAD_ALL_ACCESS, *PsThreadType, KernelMode,
                                                &threads[n_threads++], NULL)));
    (VOID)ZwClose(handle);
}

/* The threads must not run the driver's code when it is unloaded. */
static VOID end_threads(VOID)
{
    while (n_threads) {
        (VOID)KeWaitForSingleObject(threads[--n_threads], Executive, KernelMode, FALSE, NULL);
        ObDereferenceObject(threads[n_threads]);
    }
}

static WDFQUEUE created[200];
static ULONG n_created;
static KEVENT creates, all_created;

/* Returns when the thread has created all queues. The thread sets `creates` after the first one. */
static VOID create_queues(PVOID Context)
{
    WDF_IO_QUEUE_CONFIG config;

    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    for (n_created = 0; n_created < ARRAYSIZE(created); n_created++) {
        expect(NT_SUCCESS(WdfIoQueueCreate(Context, &config, WDF_NO_OBJECT_ATTRIBUTES, &created[n_created])));
        KeSetEvent(&creates, IO_NO_INCREMENT, FALSE);
    }
    KeSetEvent(&all_created, IO_NO_INCREMENT, FALSE);
    PsTerminateSystemThread(STATUS_SUCCESS);
}

/* A queue that does not deliver is paused. */
static VOID check_created(VOID)
{
    WDFREQUEST request;

    (VOID)KeWaitForSingleObject(&all_created, Executive, KernelMode, FALSE, NULL);
    for (ULONG i = 0; i < n_created; i++)
        expect(WdfIoQueueRetrieveNextRequest(created[i], &request) == STATUS_NO_MORE_ENTRIES);
}

static NTSTATUS enter_d0(WDFDEVICE Device, WDF_POWER_DEVICE_STATE PreviousState)
{
    note('D');
    expect(PreviousState == WdfPowerDeviceD3Final);
    if (mode == WDFPNP_ENTRY_FAILS)
        return STATUS_DEVICE_NOT_READY;
    expect(send(&early, Device, FINISH) == STATUS_PENDING); /* waits until the queue delivers */
    if (mode == WDFPNP_CREATES) {
        run_thread(create_queues, Device);
        (VOID)KeWaitForSingleObject(&creates, Executive, KernelMode, FALSE, NULL);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS exit_d0(WDFDEVICE Device, WDF_POWER_DEVICE_STATE TargetState)
{
    note('d');
    expect(TargetState == WdfPowerDeviceD3Final);
    if (mode == WDFPNP_PURGES) {
        expect(send(&managed, Device, FINISH) == STATUS_PENDING);
        expect(send_write(&other, Device) == STATUS_PENDING);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS interrupts_enabled(WDFDEVICE Device, WDF_POWER_DEVICE_STATE PreviousState)
{
    UNREFERENCED_PARAMETER(Device);
    UNREFERENCED_PARAMETER(PreviousState);
    note('I');
    return mode == WDFPNP_INTERRUPTS_FAIL ? STATUS_DEVICE_NOT_READY : STATUS_SUCCESS;
}

static NTSTATUS interrupts_disabled(WDFDEVICE Device, WDF_POWER_DEVICE_STATE TargetState)
{
    UNREFERENCED_PARAMETER(Device);
    UNREFERENCED_PARAMETER(TargetState);
    note('i');
    return STATUS_SUCCESS;
}

static NTSTATUS self_managed_init(WDFDEVICE Device)
{
    UNREFERENCED_PARAMETER(Device);
    wait_for(&early);
    note('S');
    if (mode == WDFPNP_CREATES)
        check_created();
    return mode == WDFPNP_INIT_FAILS ? STATUS_DEVICE_NOT_READY : STATUS_SUCCESS;
}

/* ---- Callbacks that run while the queues stop -------------------------------------------------------------------- */

/* Lets the callback go on after the queues have begun to stop. A shorter time only weakens the test. */
static VOID set_go(PVOID Context)
{
    LARGE_INTEGER time = { .QuadPart = WDF_REL_TIMEOUT_IN_MS(20) };

    UNREFERENCED_PARAMETER(Context);
    (VOID)KeDelayExecutionThread(KernelMode, FALSE, &time);
    KeSetEvent(&go, IO_NO_INCREMENT, FALSE);
    PsTerminateSystemThread(STATUS_SUCCESS);
}

static VOID wait_inside(VOID)
{
    KeSetEvent(&busy, IO_NO_INCREMENT, FALSE);
    (VOID)KeWaitForSingleObject(&go, Executive, KernelMode, FALSE, NULL);
}

static VOID send_late(PVOID Context)
{
    (VOID)send(&late, Context, HOLD);
    PsTerminateSystemThread(STATUS_SUCCESS);
}

static VOID cancel_other(PVOID Context)
{
    expect(IoCancelIrp(Context));
    PsTerminateSystemThread(STATUS_SUCCESS);
}

static VOID parked_stopped(WDFQUEUE Queue, WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Queue);
    UNREFERENCED_PARAMETER(Context);
    wait_inside();
    note('n');
}

/* EvtDeviceD0Exit must not be called meanwhile. A shorter time only weakens the test. */
static VOID default_stopped(WDFQUEUE Queue, WDFCONTEXT Context)
{
    LARGE_INTEGER time = { .QuadPart = WDF_REL_TIMEOUT_IN_MS(20) };

    UNREFERENCED_PARAMETER(Queue);
    UNREFERENCED_PARAMETER(Context);
    (VOID)KeDelayExecutionThread(KernelMode, FALSE, &time);
    note('n');
}

static VOID complete_request(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    WdfRequestComplete(held, STATUS_CANCELLED);
    PsTerminateSystemThread(STATUS_SUCCESS);
}

static VOID stop_parked(PVOID Context)
{
    WdfIoQueueStop(parked, parked_stopped, Context);
    PsTerminateSystemThread(STATUS_SUCCESS);
}

/* The cleanup callback of requests. */
static VOID clean_slowly(WDFOBJECT Object)
{
    if (WdfRequestGetIoQueue((WDFREQUEST)Object) == parked)
        wait_inside();
}

/* Returns when the callback has begun on another thread. */
static VOID begin_callback(VOID (*Routine)(PVOID), PVOID Context)
{
    run_thread(Routine, Context);
    (VOID)KeWaitForSingleObject(&busy, Executive, KernelMode, FALSE, NULL);
    run_thread(set_go, NULL);
}

static NTSTATUS self_managed_suspend(WDFDEVICE Device)
{
    note('s');
    if (mode == WDFPNP_HANDLER_RUNS) {
        begin_callback(send_late, Device);
        return STATUS_SUCCESS;
    }
    expect(send(&late, Device, HOLD) == STATUS_PENDING);
    if (mode == WDFPNP_CANCELLED) {
        expect(send_write(&other, Device) == STATUS_PENDING);
        begin_callback(cancel_other, other.irp);
    }
    if (mode == WDFPNP_NOTICE_RUNS)
        begin_callback(stop_parked, NULL);
    if (mode == WDFPNP_NOTICE_DUE)
        WdfIoQueueStop(WdfDeviceGetDefaultQueue(Device), default_stopped, NULL);
    return STATUS_SUCCESS;
}

/* ---- After the queues -------------------------------------------------------------------------------------------- */

static BOOLEAN is_cancelled(struct sent *Sent)
{
    return KeReadStateEvent(&Sent->done) && Sent->result.Status == STATUS_CANCELLED;
}

static VOID self_managed_flush(WDFDEVICE Device)
{
    struct sent refused;

    note('f');
    if (mode == WDFPNP_NOTICE_AT_END)
        begin_callback(stop_parked, NULL);
    if (mode != WDFPNP_PURGES)
        return;
    expect(is_cancelled(&managed) && !KeReadStateEvent(&other.done));
    WdfIoQueueStart(WdfDeviceGetDefaultQueue(Device));
    (VOID)send(&refused, Device, FINISH);
    wait_for(&refused);
    expect(refused.result.Status == STATUS_INVALID_DEVICE_STATE);
}

static VOID self_managed_cleanup(WDFDEVICE Device)
{
    UNREFERENCED_PARAMETER(Device);
    note('c');
    expect(mode != WDFPNP_PURGES || is_cancelled(&other));
}

static NTSTATUS query_remove(WDFDEVICE Device)
{
    UNREFERENCED_PARAMETER(Device);
    note('q');
    if (mode != WDFPNP_REFUSES_REMOVAL)
        return STATUS_SUCCESS;
    mode = WDFPNP_WORKS;
    return STATUS_DEVICE_BUSY;
}

static VOID cleaned(WDFOBJECT Object)
{
    UNREFERENCED_PARAMETER(Object);
    note('x');
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static VOID answered(WDFREQUEST Request, WDFIOTARGET Target, PWDF_REQUEST_COMPLETION_PARAMS Params, WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Target);
    UNREFERENCED_PARAMETER(Context);
    WdfRequestComplete(Request, Params->IoStatus.Status);
}

static VOID send_on(WDFREQUEST Request)
{
    expect(NT_SUCCESS(WdfIoTargetFormatRequestForWrite(self, Request, NULL, NULL, NULL)));
    WdfRequestSetCompletionRoutine(Request, answered, NULL);
    expect(WdfRequestSend(Request, self, WDF_NO_SEND_OPTIONS));
}

static BOOLEAN forget(WDFREQUEST Request, WDFIOTARGET Target)
{
    WDF_REQUEST_SEND_OPTIONS options;

    WDF_REQUEST_SEND_OPTIONS_INIT(&options, WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET);
    return WdfRequestSend(Request, Target, &options);
}

/* The device below refuses all requests. */
static NTSTATUS check_local(WDFDEVICE Device)
{
    WDFIOTARGET local = WdfDeviceGetIoTarget(Device);

    if (WdfIoTargetGetState(local) != WdfIoTargetStarted || WdfIoTargetGetDevice(local) != Device ||
        WdfIoTargetWdmGetTargetDeviceObject(local) != WdfDeviceWdmGetAttachedDevice(Device))
        return STATUS_UNSUCCESSFUL;
    WdfIoTargetClose(local); /* only for targets that the driver has created */
    return WdfIoTargetSendIoctlSynchronously(local, NULL, FINISH, NULL, NULL, NULL, NULL);
}

/* The option is refused, so the create request stays with the driver. */
static VOID forget_create(WDFDEVICE Device, WDFREQUEST Request, WDFFILEOBJECT FileObject)
{
    UNREFERENCED_PARAMETER(FileObject);
    if (!forget(Request, WdfDeviceGetIoTarget(Device)))
        WdfRequestComplete(Request, WdfRequestGetStatus(Request));
}

static VOID device_control(WDFQUEUE Queue, WDFREQUEST Request, size_t OutputBufferLength, size_t InputBufferLength,
                           ULONG IoControlCode)
{
    UNREFERENCED_PARAMETER(OutputBufferLength);
    UNREFERENCED_PARAMETER(InputBufferLength);
    if (IoControlCode == WDFPNP_FORGET) {
        expect(forget(Request, WdfDeviceGetIoTarget(WdfIoQueueGetDevice(Queue))));
        return;
    }
    if (IoControlCode == WDFPNP_LOCAL) {
        WdfRequestComplete(Request, check_local(WdfIoQueueGetDevice(Queue)));
        return;
    }
    note('R');
    if (IoControlCode == HOLD) {
        held = Request;
        if (mode == WDFPNP_ACKNOWLEDGES_SENT)
            send_on(Request);
        if (mode == WDFPNP_HANDLER_RUNS) {
            wait_inside();
            note('h');
        }
    } else
        WdfRequestComplete(Request, STATUS_SUCCESS);
}

static VOID stop(WDFQUEUE Queue, WDFREQUEST Request, ULONG ActionFlags)
{
    UNREFERENCED_PARAMETER(Queue);
    note('t');
    expect(Request == held && ActionFlags == WdfRequestStopActionPurge);
    if (mode == WDFPNP_ACKNOWLEDGES || mode == WDFPNP_ACKNOWLEDGES_SENT)
        WdfRequestStopAcknowledge(Request, FALSE);
    else if (mode == WDFPNP_REQUEUES)
        WdfRequestStopAcknowledge(Request, TRUE);
    else if (mode == WDFPNP_NOTICE_DUE)
        run_thread(complete_request, NULL);
    else
        WdfRequestComplete(Request, STATUS_CANCELLED);
}

/* ---- The device -------------------------------------------------------------------------------------------------- */

static VOID set_callbacks(PWDFDEVICE_INIT DeviceInit)
{
    WDF_PNPPOWER_EVENT_CALLBACKS callbacks;

    WDF_PNPPOWER_EVENT_CALLBACKS_INIT(&callbacks);
    callbacks.EvtDevicePrepareHardware = prepare;
    callbacks.EvtDeviceReleaseHardware = release;
    callbacks.EvtDeviceD0Entry = enter_d0;
    callbacks.EvtDeviceD0Exit = exit_d0;
    callbacks.EvtDeviceD0EntryPostInterruptsEnabled = interrupts_enabled;
    callbacks.EvtDeviceD0ExitPreInterruptsDisabled = interrupts_disabled;
    callbacks.EvtDeviceSelfManagedIoInit = self_managed_init;
    callbacks.EvtDeviceSelfManagedIoSuspend = self_managed_suspend;
    callbacks.EvtDeviceSelfManagedIoFlush = self_managed_flush;
    callbacks.EvtDeviceSelfManagedIoCleanup = self_managed_cleanup;
    callbacks.EvtDeviceQueryRemove = query_remove;
    WdfDeviceInitSetPnpPowerEventCallbacks(DeviceInit, &callbacks);
}

/* The queue is power-managed, because that is the default. */
static NTSTATUS make_queue(WDFDEVICE Device)
{
    WDF_IO_QUEUE_CONFIG config;

    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&config, WdfIoQueueDispatchSequential);
    config.EvtIoDeviceControl = device_control;
    config.EvtIoStop = stop;
    return WdfIoQueueCreate(Device, &config, WDF_NO_OBJECT_ATTRIBUTES, WDF_NO_HANDLE);
}

static NTSTATUS make_self(WDFDEVICE Device)
{
    WDF_IO_TARGET_OPEN_PARAMS open;
    WDF_IO_QUEUE_CONFIG config;
    NTSTATUS status;

    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    config.PowerManaged = mode == WDFPNP_CANCELLED || mode == WDFPNP_NOTICE_RUNS ? WdfTrue : WdfFalse;
    config.EvtIoStop = stop;
    config.AllowZeroLengthRequests = TRUE;
    status = WdfIoQueueCreate(Device, &config, WDF_NO_OBJECT_ATTRIBUTES, &parked);
    if (NT_SUCCESS(status))
        status = WdfDeviceConfigureRequestDispatching(Device, parked, WdfRequestTypeWrite);
    if (NT_SUCCESS(status))
        status = WdfIoTargetCreate(Device, WDF_NO_OBJECT_ATTRIBUTES, &self);
    if (!NT_SUCCESS(status))
        return status;
    WDF_IO_TARGET_OPEN_PARAMS_INIT_EXISTING_DEVICE(&open, WdfDeviceWdmGetDeviceObject(Device));
    return WdfIoTargetOpen(self, &open);
}

static NTSTATUS make_names(WDFDEVICE Device)
{
    DECLARE_CONST_UNICODE_STRING(link, L"\\DosDevices\\WdfPnp");
    UNICODE_STRING got;
    WDFSTRING string;
    NTSTATUS status;

    status = WdfDeviceCreateSymbolicLink(Device, &link); /* for the name that the system has given the device below */
    if (NT_SUCCESS(status))
        status = WdfDeviceCreateDeviceInterface(Device, &WDFPNP_GUID, NULL);
    /* The last call before the start counts. */
    WdfDeviceSetDeviceInterfaceState(Device, &WDFPNP_GUID, NULL, FALSE);
    WdfDeviceSetDeviceInterfaceState(Device, &WDFPNP_GUID, NULL, TRUE);
    if (NT_SUCCESS(status))
        status = WdfStringCreate(NULL, WDF_NO_OBJECT_ATTRIBUTES, &string);
    if (!NT_SUCCESS(status))
        return status;
    status = WdfDeviceRetrieveDeviceInterfaceString(Device, &WDFPNP_GUID, NULL, string);
    WdfStringGetUnicodeString(string, &got);
    expect(got.Length > 0);
    WdfObjectDelete(string);
    return status;
}

static NTSTATUS preprocess(WDFDEVICE Device, PIRP Irp)
{
    IoSkipCurrentIrpStackLocation(Irp);
    return WdfDeviceWdmDispatchPreprocessedIrp(Device, Irp);
}

static NTSTATUS add(WDFDRIVER Driver, PWDFDEVICE_INIT DeviceInit)
{
    WDF_FILEOBJECT_CONFIG files;
    PDEVICE_OBJECT physical = WdfFdoInitWdmGetPhysicalDevice(DeviceInit);
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFDEVICE device;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(Driver);
    note('A');
    KeInitializeEvent(&busy, SynchronizationEvent, FALSE);
    KeInitializeEvent(&go, NotificationEvent, FALSE);
    KeInitializeEvent(&creates, NotificationEvent, FALSE);
    KeInitializeEvent(&all_created, NotificationEvent, FALSE);
    if (mode == WDFPNP_ADDS_NOTHING)
        return STATUS_SUCCESS;
    set_callbacks(DeviceInit);
    expect(NT_SUCCESS(WdfDeviceInitAssignWdmIrpPreprocessCallback(DeviceInit, preprocess, IRP_MJ_WRITE, NULL, 0)));
    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.EvtCleanupCallback = clean_slowly;
    if (mode == WDFPNP_CANCELLED)
        WdfDeviceInitSetRequestAttributes(DeviceInit, &attributes);
    WDF_FILEOBJECT_CONFIG_INIT(&files, forget_create, WDF_NO_EVENT_CALLBACK, WDF_NO_EVENT_CALLBACK);
    if (mode == WDFPNP_FORGETS_CREATE)
        WdfDeviceInitSetFileObjectConfig(DeviceInit, &files, WDF_NO_OBJECT_ATTRIBUTES);
    attributes.EvtCleanupCallback = cleaned;
    status = WdfDeviceCreate(&DeviceInit, &attributes, &device);
    if (!NT_SUCCESS(status))
        return status;
    expect(WdfDeviceWdmGetPhysicalDevice(device) == physical && WdfDeviceWdmGetAttachedDevice(device) == physical);
    /* One location is for a completion routine of `preprocess`. */
    expect(WdfDeviceWdmGetDeviceObject(device)->StackSize == physical->StackSize + 2);
    if (mode == WDFPNP_DELETES)
        WdfObjectDelete(device);
    status = make_queue(device);
    if (NT_SUCCESS(status))
        status = make_names(device);
    if (NT_SUCCESS(status) &&
        (mode == WDFPNP_ACKNOWLEDGES_SENT || mode == WDFPNP_PURGES ||
         (mode >= WDFPNP_NOTICE_RUNS && mode <= WDFPNP_CANCELLED)))
        status = make_self(device);
    return mode == WDFPNP_ADD_FAILS ? STATUS_UNSUCCESSFUL : status;
}

static VOID unload(WDFDRIVER Driver)
{
    UNREFERENCED_PARAMETER(Driver);
    end_threads();
    DbgPrint("wdfpnp: [%s]\n", events);
}

static ULONG read_mode(WDFDRIVER Driver)
{
    DECLARE_CONST_UNICODE_STRING(name, L"Mode");
    ULONG value = 0;
    WDFKEY key;

    if (!NT_SUCCESS(WdfDriverOpenParametersRegistryKey(Driver, KEY_READ, WDF_NO_OBJECT_ATTRIBUTES, &key)))
        return 0;
    (VOID)WdfRegistryQueryULong(key, &name, &value);
    WdfRegistryClose(key);
    return value;
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    WDF_DRIVER_CONFIG config;
    WDFDRIVER driver;
    NTSTATUS status;

    WDF_DRIVER_CONFIG_INIT(&config, add);
    config.EvtDriverUnload = unload;
    status = WdfDriverCreate(DriverObject, RegistryPath, WDF_NO_OBJECT_ATTRIBUTES, &config, &driver);
    if (NT_SUCCESS(status))
        mode = read_mode(driver);
    return status;
}
