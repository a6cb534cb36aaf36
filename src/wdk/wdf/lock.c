/* SPDX-License-Identifier: MIT */
/*
 * Implements the framework's spin lock and wait lock. Both are framework objects. The spin lock stores the IRQL that
 * its owner had before the acquisition.
 */
#include "wdf.h"

#include "wdk/ke/lock.h"
#include "wdk/ke/thread.h"
#include "wdk/wdf/object.h"

struct wdf_spinlock {
    struct wdf_object object;
    KSPIN_LOCK lock;
    KIRQL before;
};

struct wdf_waitlock {
    struct wdf_object object;
    KEVENT is_free;
    _Atomic(struct kernel_thread *) owner;
};

NTSTATUS WdfSpinLockCreate(PWDF_OBJECT_ATTRIBUTES SpinLockAttributes, WDFSPINLOCK *SpinLock)
{
    struct wdf_object *o = NULL;
    NTSTATUS status = wdf_object_new_for(WDF_SPINLOCK, sizeof(struct wdf_spinlock), SpinLockAttributes, LOCK_CALLER,
                                         &o);

    if (status)
        return status;
    KeInitializeSpinLock(&CONTAINING_RECORD(o, struct wdf_spinlock, object)->lock);
    status = wdf_object_publish(o);
    if (!status)
        *SpinLock = (WDFSPINLOCK)o;
    return status;
}

VOID WdfSpinLockAcquire(WDFSPINLOCK SpinLock)
{
    struct wdf_spinlock *s = wdf_object_lookup("WdfSpinLockAcquire", SpinLock, WDF_SPINLOCK);
    KIRQL before;

    if (!s)
        return;
    KeAcquireSpinLock(&s->lock, &before);
    s->before = before;
}

VOID WdfSpinLockRelease(WDFSPINLOCK SpinLock)
{
    struct wdf_spinlock *s = wdf_object_lookup("WdfSpinLockRelease", SpinLock, WDF_SPINLOCK);

    if (s)
        KeReleaseSpinLock(&s->lock, s->before);
}

NTSTATUS WdfWaitLockCreate(PWDF_OBJECT_ATTRIBUTES LockAttributes, WDFWAITLOCK *Lock)
{
    struct wdf_object *o = NULL;
    NTSTATUS status = wdf_object_new_for(WDF_WAITLOCK, sizeof(struct wdf_waitlock), LockAttributes, LOCK_CALLER, &o);

    if (status)
        return status;
    KeInitializeEvent(&CONTAINING_RECORD(o, struct wdf_waitlock, object)->is_free, SynchronizationEvent, TRUE);
    status = wdf_object_publish(o);
    if (!status)
        *Lock = (WDFWAITLOCK)o;
    return status;
}

/* Does not call KeEnterCriticalRegion, because a caller may try the lock at DISPATCH_LEVEL. */
NTSTATUS WdfWaitLockAcquire(WDFWAITLOCK Lock, PLONGLONG Timeout)
{
    struct wdf_waitlock *w = wdf_object_lookup("WdfWaitLockAcquire", Lock, WDF_WAITLOCK);
    LARGE_INTEGER timeout = { .QuadPart = Timeout ? *Timeout : 0 };
    NTSTATUS status;

    if (!w)
        return STATUS_INVALID_HANDLE;
    if (check_on() && atomic_load(&w->owner) == thread_self()) {
        lock_report_recursive("WdfWaitLockAcquire", "WDFWAITLOCK", w);
        return STATUS_SUCCESS;
    }
    status = KeWaitForSingleObject(&w->is_free, Executive, KernelMode, FALSE, Timeout ? &timeout : NULL);
    if (!status) {
        thread_self()->critical++;
        atomic_store(&w->owner, thread_self());
    }
    return status;
}

VOID WdfWaitLockRelease(WDFWAITLOCK Lock)
{
    struct wdf_waitlock *w = wdf_object_lookup("WdfWaitLockRelease", Lock, WDF_WAITLOCK);

    if (!w)
        return;
    if (check_on() && atomic_load(&w->owner) != thread_self()) {
        lock_report_not_held("WdfWaitLockRelease", "WDFWAITLOCK", w, atomic_load(&w->owner));
        return;
    }
    if (atomic_exchange(&w->owner, NULL) == thread_self())
        thread_self()->critical--;
    KeSetEvent(&w->is_free, IO_NO_INCREMENT, FALSE);
}
