/* SPDX-License-Identifier: MIT */
/* Implements ZwSetInformationThread and KeSetBasePriorityThread: see wdm/process.h. The host schedules all threads. */
#include "ntddk.h"

#include "wdk/common/check.h"
#include "wdk/ke/processor.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"

enum { BASE_PRIORITY = 8, LOWEST_PRIORITY = 1, HIGHEST_VARIABLE_PRIORITY = 15, HIGHEST_PAGE_PRIORITY = 5 };

LONG KeSetBasePriorityThread(PKTHREAD Thread, LONG Increment)
{
    LONG lowest = LOWEST_PRIORITY - BASE_PRIORITY, highest = HIGHEST_VARIABLE_PRIORITY - BASE_PRIORITY;
    LONG increment = Increment < lowest ? lowest : Increment > highest ? highest : Increment;

    irql_check_max("KeSetBasePriorityThread", PASSIVE_LEVEL);
    return KeSetPriorityThread(Thread, BASE_PRIORITY + increment) - BASE_PRIORITY;
}

/* Returns the size of the class' structure, or 0 if the class cannot be set. */
static ULONG thread_information_size(THREADINFOCLASS class)
{
    switch ((int)class) {
    case ThreadPriority:
        return sizeof(KPRIORITY);
    case ThreadBasePriority:
        return sizeof(LONG);
    case ThreadPagePriority:
        return sizeof(PAGE_PRIORITY_INFORMATION);
    case ThreadGroupInformation:
        return sizeof(GROUP_AFFINITY);
    case ThreadIdealProcessorEx:
        return sizeof(PROCESSOR_NUMBER);
    case ThreadNameInformation:
        return sizeof(UNICODE_STRING);
    default:
        return 0;
    }
}

static NTSTATUS thread_set_priority(PKTHREAD thread, KPRIORITY priority)
{
    if (priority <= LOW_PRIORITY || priority > HIGH_PRIORITY)
        return STATUS_INVALID_PARAMETER;
    KeSetPriorityThread(thread, priority);
    return STATUS_SUCCESS;
}

static NTSTATUS thread_check_group(const GROUP_AFFINITY *a)
{
    return a->Mask && !(a->Mask & ~processor_group(a->Group)) ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

static NTSTATUS thread_set_ideal_processor(PROCESSOR_NUMBER *number)
{
    if (KeGetProcessorIndexFromNumber(number) == INVALID_PROCESSOR_INDEX)
        return STATUS_INVALID_PARAMETER;
    *number = (PROCESSOR_NUMBER){ 0 };
    return STATUS_SUCCESS;
}

static NTSTATUS thread_set_information(PKTHREAD thread, THREADINFOCLASS class, void *information)
{
    const UNICODE_STRING *name = information;
    ULONG page_priority;

    switch ((int)class) {
    case ThreadPriority:
        return thread_set_priority(thread, *(KPRIORITY *)information);
    case ThreadBasePriority:
        KeSetBasePriorityThread(thread, *(LONG *)information);
        return STATUS_SUCCESS;
    case ThreadPagePriority:
        page_priority = ((PAGE_PRIORITY_INFORMATION *)information)->PagePriority;
        return page_priority && page_priority <= HIGHEST_PAGE_PRIORITY ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
    case ThreadGroupInformation:
        return thread_check_group(information);
    case ThreadIdealProcessorEx:
        return thread_set_ideal_processor(information);
    default:
        return name->Length % sizeof(WCHAR) || (name->Length && !name->Buffer) ? STATUS_INVALID_PARAMETER
                                                                               : STATUS_SUCCESS;
    }
}

NTSTATUS ZwSetInformationThread(HANDLE ThreadHandle, THREADINFOCLASS ThreadInformationClass, PVOID ThreadInformation,
                                ULONG ThreadInformationLength)
{
    ULONG size = thread_information_size(ThreadInformationClass);
    NTSTATUS status;
    PVOID thread;

    irql_check_max("ZwSetInformationThread", PASSIVE_LEVEL);
    status = ObReferenceObjectByHandle(ThreadHandle, 0, *PsThreadType, KernelMode, &thread, NULL);
    if (!NT_SUCCESS(status))
        return status;
    if (!size || ThreadInformationLength != size)
        status = size ? STATUS_INFO_LENGTH_MISMATCH : STATUS_INVALID_INFO_CLASS;
    else
        status = thread_set_information(thread, ThreadInformationClass, ThreadInformation);
    ObDereferenceObject(thread);
    return status;
}

/* ---- Names of user mode ------------------------------------------------------------------------------------------ */

__typeof__(ZwSetInformationThread) NtSetInformationThread __attribute__((alias("ZwSetInformationThread")));
