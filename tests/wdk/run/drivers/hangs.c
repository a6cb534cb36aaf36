/* SPDX-License-Identifier: MIT */
/* A driver whose DriverUnload waits for a thread that never ends. */
#include <ntddk.h>

DRIVER_INITIALIZE DriverEntry;
static DRIVER_UNLOAD HangsUnload;
static KSTART_ROUTINE HangsThread;
static KEVENT Never;
static PKTHREAD Thread;

static VOID HangsThread(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    KeWaitForSingleObject(&Never, Executive, KernelMode, FALSE, NULL);
    PsTerminateSystemThread(STATUS_SUCCESS);
}

static VOID HangsUnload(PDRIVER_OBJECT DriverObject)
{
    UNREFERENCED_PARAMETER(DriverObject);
    KeWaitForSingleObject(Thread, Executive, KernelMode, FALSE, NULL);
    ObDereferenceObject(Thread);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    NTSTATUS status;
    HANDLE handle;

    UNREFERENCED_PARAMETER(RegistryPath);
    DriverObject->DriverUnload = HangsUnload;
    KeInitializeEvent(&Never, NotificationEvent, FALSE);
    status = PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, HangsThread, NULL);
    if (!NT_SUCCESS(status))
        return status;
    ObReferenceObjectByHandle(handle, THREAD_ALL_ACCESS, NULL, KernelMode, (PVOID *)&Thread, NULL);
    ZwClose(handle);
    return STATUS_SUCCESS;
}
