/* SPDX-License-Identifier: MIT */
/* Leaves one thing behind at unload; which one is LEAVES, a function below. */
#include <ntddk.h>

DRIVER_INITIALIZE DriverEntry;
static DRIVER_UNLOAD LeavesUnload;

typedef VOID LEAVES_ROUTINE(PDRIVER_OBJECT DriverObject);
LEAVES_ROUTINE LeavesDevice, LeavesLink, LeavesTimer, LeavesIrp, LeavesPool, LeavesMdl, LeavesWork, LeavesLookaside,
    LeavesResource, LeavesHandle, LeavesThread;

VOID LeavesDevice(PDRIVER_OBJECT DriverObject)
{
    PDEVICE_OBJECT device;

    IoCreateDevice(DriverObject, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
}

VOID LeavesLink(PDRIVER_OBJECT DriverObject)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\DosDevices\\Left");
    UNICODE_STRING target = RTL_CONSTANT_STRING(L"\\Device\\Nothing");

    UNREFERENCED_PARAMETER(DriverObject);
    IoCreateSymbolicLink(&name, &target);
}

VOID LeavesTimer(PDRIVER_OBJECT DriverObject)
{
    static KTIMER timer;
    LARGE_INTEGER hour;

    UNREFERENCED_PARAMETER(DriverObject);
    hour.QuadPart = -36000000000LL;
    KeInitializeTimer(&timer);
    KeSetTimer(&timer, hour, NULL);
}

VOID LeavesIrp(PDRIVER_OBJECT DriverObject)
{
    UNREFERENCED_PARAMETER(DriverObject);
    IoAllocateIrp(1, FALSE);
}

VOID LeavesPool(PDRIVER_OBJECT DriverObject)
{
    UNREFERENCED_PARAMETER(DriverObject);
    ExAllocatePoolWithTag(NonPagedPoolNx, 100, 'tfeL');
}

VOID LeavesMdl(PDRIVER_OBJECT DriverObject)
{
    static UCHAR memory[64];

    UNREFERENCED_PARAMETER(DriverObject);
    IoAllocateMdl(memory, sizeof(memory), FALSE, FALSE, NULL);
}

VOID LeavesWork(PDRIVER_OBJECT DriverObject)
{
    IoAllocateWorkItem((PDEVICE_OBJECT)DriverObject); /* as published drivers do */
}

VOID LeavesLookaside(PDRIVER_OBJECT DriverObject)
{
    static NPAGED_LOOKASIDE_LIST list;

    UNREFERENCED_PARAMETER(DriverObject);
    ExInitializeNPagedLookasideList(&list, NULL, NULL, 0, 64, 'tfeL', 0);
}

VOID LeavesResource(PDRIVER_OBJECT DriverObject)
{
    static ERESOURCE resource;

    UNREFERENCED_PARAMETER(DriverObject);
    ExInitializeResourceLite(&resource);
}

VOID LeavesHandle(PDRIVER_OBJECT DriverObject)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Registry\\Machine\\System");
    OBJECT_ATTRIBUTES attributes;
    HANDLE key;

    UNREFERENCED_PARAMETER(DriverObject);
    InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, NULL, NULL);
    ZwOpenKey(&key, KEY_READ, &attributes);
}

static VOID Sleeper(PVOID Context)
{
    LARGE_INTEGER hour;

    UNREFERENCED_PARAMETER(Context);
    hour.QuadPart = -36000000000LL;
    KeDelayExecutionThread(KernelMode, FALSE, &hour);
}

VOID LeavesThread(PDRIVER_OBJECT DriverObject)
{
    HANDLE thread;

    UNREFERENCED_PARAMETER(DriverObject);
    if (NT_SUCCESS(PsCreateSystemThread(&thread, THREAD_ALL_ACCESS, NULL, NULL, NULL, Sleeper, NULL)))
        ZwClose(thread);
}

static VOID LeavesUnload(PDRIVER_OBJECT DriverObject)
{
    UNREFERENCED_PARAMETER(DriverObject);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    UNREFERENCED_PARAMETER(RegistryPath);
    DriverObject->DriverUnload = LeavesUnload;
    LEAVES(DriverObject);
    return STATUS_SUCCESS;
}
