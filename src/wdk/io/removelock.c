/* SPDX-License-Identifier: MIT */
/*
 * Implements remove locks: a count of acquisitions, which starts at 1, and an event that is set when the count reaches
 * 0.
 */
#include "wdm.h"

#include "wdk/common/inuse.h"
#include "wdk/ke/thread.h"

VOID IoInitializeRemoveLockEx(PIO_REMOVE_LOCK Lock, ULONG AllocateTag, ULONG MaxLockedMinutes, ULONG HighWatermark,
                              ULONG RemlockSize)
{
    UNREFERENCED_PARAMETER(MaxLockedMinutes);
    UNREFERENCED_PARAMETER(HighWatermark);
    UNREFERENCED_PARAMETER(RemlockSize);
    irql_check_max("IoInitializeRemoveLock", PASSIVE_LEVEL);
    KeInitializeEvent(&Lock->RemoveEvent, NotificationEvent, FALSE);
    Lock->Tag = AllocateTag;
    __atomic_store_n(&Lock->Removed, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&Lock->IoCount, 1, __ATOMIC_RELAXED);
}

static void removelock_release(PIO_REMOVE_LOCK lock)
{
    if (__atomic_sub_fetch(&lock->IoCount, 1, __ATOMIC_ACQ_REL) == 0)
        KeSetEvent(&lock->RemoveEvent, IO_NO_INCREMENT, FALSE);
}

NTSTATUS IoAcquireRemoveLockEx(PIO_REMOVE_LOCK RemoveLock, PVOID Tag, PCSTR File, ULONG Line, ULONG RemlockSize)
{
    UNREFERENCED_PARAMETER(Tag);
    UNREFERENCED_PARAMETER(File);
    UNREFERENCED_PARAMETER(Line);
    UNREFERENCED_PARAMETER(RemlockSize);
    irql_check_max("IoAcquireRemoveLock", DISPATCH_LEVEL);
    __atomic_fetch_add(&RemoveLock->IoCount, 1, __ATOMIC_ACQ_REL);
    if (!__atomic_load_n(&RemoveLock->Removed, __ATOMIC_ACQUIRE))
        return STATUS_SUCCESS;
    removelock_release(RemoveLock);
    return STATUS_DELETE_PENDING;
}

VOID IoReleaseRemoveLockEx(PIO_REMOVE_LOCK RemoveLock, PVOID Tag, ULONG RemlockSize)
{
    LONG inside = __atomic_load_n(&RemoveLock->IoCount, __ATOMIC_RELAXED);

    UNREFERENCED_PARAMETER(Tag);
    UNREFERENCED_PARAMETER(RemlockSize);
    irql_check_max("IoReleaseRemoveLock", DISPATCH_LEVEL);
    if (check_on() && inside <= !__atomic_load_n(&RemoveLock->Removed, __ATOMIC_RELAXED)) {
        check_failed(CHECK_LOCK_NOT_HELD, "IoReleaseRemoveLock", (uintptr_t)RemoveLock, 0, 0, 0,
                     "remove lock %p is released more often than acquired", (void *)RemoveLock);
        return;
    }
    removelock_release(RemoveLock);
}

/*
 * Drops the caller's acquisition and the initial count of 1. Then waits until all other acquisitions are released. As
 * soon as this call has begun, IoAcquireRemoveLock fails.
 */
VOID IoReleaseRemoveLockAndWaitEx(PIO_REMOVE_LOCK RemoveLock, PVOID Tag, ULONG RemlockSize)
{
    UNREFERENCED_PARAMETER(Tag);
    UNREFERENCED_PARAMETER(RemlockSize);
    irql_check_max("IoReleaseRemoveLockAndWait", PASSIVE_LEVEL);
    __atomic_store_n(&RemoveLock->Removed, 1, __ATOMIC_SEQ_CST);
    removelock_release(RemoveLock);
    removelock_release(RemoveLock);
    (void)KeWaitForSingleObject(&RemoveLock->RemoveEvent, Executive, KernelMode, FALSE, NULL);
}
