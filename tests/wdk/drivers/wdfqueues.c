/* SPDX-License-Identifier: MIT */
/*
 * A KMDF driver that tests queues from inside the kernel. Each case runs on a system thread, as a driver's own code
 * does, with a device of its own, and sends its requests itself.
 */
#include "wdfqueues_driver.h"

struct scene scene;

/* ---- Helpers ----------------------------------------------------------------------------------------------------- */

VOID wait_for(PKEVENT Event)
{
    (VOID)KeWaitForSingleObject(Event, Executive, KernelMode, FALSE, NULL);
}

VOID count_state(WDFQUEUE Queue, WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Queue);
    InterlockedIncrement((volatile LONG *)Context);
}

static VOID thread_run(PVOID Context)
{
    ((VOID(*)(PVOID))Context)(NULL);
    PsTerminateSystemThread(STATUS_SUCCESS);
}

PVOID thread_begin(VOID (*Routine)(PVOID))
{
    PVOID thread = NULL;
    HANDLE handle;

    if (!NT_SUCCESS(PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, thread_run, (PVOID)Routine)))
        return NULL;
    (VOID)ObReferenceObjectByHandle(handle, THREAD_ALL_ACCESS, *PsThreadType, KernelMode, &thread, NULL);
    (VOID)ZwClose(handle);
    return thread;
}

VOID thread_end(PVOID Thread)
{
    (VOID)KeWaitForSingleObject(Thread, Executive, KernelMode, FALSE, NULL);
    ObDereferenceObject(Thread);
}

NTSTATUS send(struct sent *Sent, ULONG Code)
{
    PDEVICE_OBJECT device = WdfDeviceWdmGetDeviceObject(scene.device);

    KeInitializeEvent(&Sent->done, NotificationEvent, FALSE);
    Sent->irp = IoBuildDeviceIoControlRequest(Code, device, NULL, 0, NULL, 0, FALSE, &Sent->done, &Sent->result);
    return Sent->irp ? IoCallDriver(device, Sent->irp) : STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS sent_status(struct sent *Sent)
{
    wait_for(&Sent->done);
    return Sent->result.Status;
}

/* ---- The scene --------------------------------------------------------------------------------------------------- */

static VOID act(WDFQUEUE Queue, WDFREQUEST Request, size_t OutputBufferLength, size_t InputBufferLength,
                ULONG IoControlCode)
{
    UNREFERENCED_PARAMETER(Queue);
    UNREFERENCED_PARAMETER(OutputBufferLength);
    UNREFERENCED_PARAMETER(InputBufferLength);
    if (IoControlCode == LINGER) {
        WdfRequestComplete(Request, STATUS_SUCCESS);
        KeSetEvent(&scene.arrived, IO_NO_INCREMENT, FALSE);
        wait_for(&scene.go);
        return;
    }
    scene.held = Request;
    if (IoControlCode == MARK)
        WdfRequestMarkCancelable(Request, scene.cancel);
    KeSetEvent(&scene.arrived, IO_NO_INCREMENT, FALSE);
}

NTSTATUS scene_open(WDF_IO_QUEUE_DISPATCH_TYPE Type, WDF_SYNCHRONIZATION_SCOPE Scope, WDF_EXECUTION_LEVEL Level)
{
    DECLARE_CONST_UNICODE_STRING(sddl, L"D:P(A;;GA;;;SY)(A;;GA;;;BA)");
    PWDFDEVICE_INIT init = WdfControlDeviceInitAllocate(scene.driver, &sddl);
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG config;
    NTSTATUS status;

    if (!init)
        return STATUS_INSUFFICIENT_RESOURCES;
    scene.held = NULL;
    scene.first = scene.second = 0;
    KeInitializeEvent(&scene.arrived, SynchronizationEvent, FALSE);
    KeInitializeEvent(&scene.go, NotificationEvent, FALSE);
    KeInitializeEvent(&scene.done, NotificationEvent, FALSE);
    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.SynchronizationScope = Scope;
    attributes.ExecutionLevel = Level;
    status = WdfDeviceCreate(&init, &attributes, &scene.device);
    if (!NT_SUCCESS(status)) {
        WdfDeviceInitFree(init);
        return status;
    }
    WdfControlFinishInitializing(scene.device);
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&config, Type);
    if (Type != WdfIoQueueDispatchManual)
        config.EvtIoDeviceControl = act;
    return WdfIoQueueCreate(scene.device, &config, WDF_NO_OBJECT_ATTRIBUTES, &scene.queue);
}

VOID scene_close(VOID)
{
    WdfObjectDelete(scene.device);
}

/* ---- The driver -------------------------------------------------------------------------------------------------- */

struct run {
    ULONG number, line;
};
static struct run run;

static VOID run_case(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    run.line = 0;
    if (run.number >= WDFQUEUES_REUSE_SENT)
        break_target_rule(run.number);
    else if (run.number >= WDFQUEUES_CHECKS)
        break_queue_rule(run.number);
    else if (run.number >= WDFQUEUES_TARGET_SYNCHRONOUS)
        run.line = run_target_case(run.number);
    else if (run.number >= WDFQUEUES_IS_CANCELED)
        run.line = run_object_case(run.number);
    else
        run.line = run_request_case(run.number);
}

static VOID device_control(WDFQUEUE Queue, WDFREQUEST Request, size_t OutputBufferLength, size_t InputBufferLength,
                           ULONG IoControlCode)
{
    NTSTATUS status;
    PVOID thread;
    ULONG *out;

    UNREFERENCED_PARAMETER(Queue);
    UNREFERENCED_PARAMETER(OutputBufferLength);
    UNREFERENCED_PARAMETER(InputBufferLength);
    status = WdfRequestRetrieveOutputBuffer(Request, sizeof *out, (PVOID *)&out, NULL);
    run.number = IoControlCode >> 2 & 0x7ff;
    thread = NT_SUCCESS(status) ? thread_begin(run_case) : NULL;
    if (!thread) {
        WdfRequestComplete(Request, STATUS_INSUFFICIENT_RESOURCES);
        return;
    }
    thread_end(thread);
    *out = run.line;
    WdfRequestCompleteWithInformation(Request, STATUS_SUCCESS, sizeof *out);
}

static NTSTATUS make_device(VOID)
{
    DECLARE_CONST_UNICODE_STRING(sddl, L"D:P(A;;GA;;;SY)(A;;GA;;;BA)");
    DECLARE_CONST_UNICODE_STRING(name, L"\\Device\\WdfQueues");
    DECLARE_CONST_UNICODE_STRING(link, L"\\DosDevices\\WdfQueues");
    PWDFDEVICE_INIT init = WdfControlDeviceInitAllocate(scene.driver, &sddl);
    WDF_IO_QUEUE_CONFIG config;
    WDFDEVICE device;
    NTSTATUS status;

    if (!init)
        return STATUS_INSUFFICIENT_RESOURCES;
    status = WdfDeviceInitAssignName(init, &name);
    if (NT_SUCCESS(status))
        status = WdfDeviceCreate(&init, WDF_NO_OBJECT_ATTRIBUTES, &device);
    if (!NT_SUCCESS(status)) {
        WdfDeviceInitFree(init);
        return status;
    }
    status = WdfDeviceCreateSymbolicLink(device, &link);
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&config, WdfIoQueueDispatchSequential);
    config.EvtIoDeviceControl = device_control;
    if (NT_SUCCESS(status))
        status = WdfIoQueueCreate(device, &config, WDF_NO_OBJECT_ATTRIBUTES, WDF_NO_HANDLE);
    if (NT_SUCCESS(status))
        WdfControlFinishInitializing(device);
    return status;
}

static VOID unload(WDFDRIVER Driver)
{
    UNREFERENCED_PARAMETER(Driver);
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    WDF_DRIVER_CONFIG config;
    NTSTATUS status;

    WDF_DRIVER_CONFIG_INIT(&config, WDF_NO_EVENT_CALLBACK);
    config.DriverInitFlags |= WdfDriverInitNonPnpDriver;
    config.EvtDriverUnload = unload;
    status = WdfDriverCreate(DriverObject, RegistryPath, WDF_NO_OBJECT_ATTRIBUTES, &config, &scene.driver);
    return NT_SUCCESS(status) ? make_device() : status;
}
