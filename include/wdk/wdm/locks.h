/* SPDX-License-Identifier: MIT */
/*
 * Spin locks, fast and guarded mutexes, push locks, ERESOURCE, rundown protection, remove locks. While checks are on,
 * each held lock is recorded with the place where it was acquired. The checks report these mistakes: the release of a
 * lock that another thread holds, a second acquisition of a lock that is not recursive, a lock that is still held at
 * the end of a callback, and a lock that is freed while it is held.
 */
#ifndef ONDK_WDK_WDM_LOCKS_H
#define ONDK_WDK_WDM_LOCKS_H

#include "../ntdef.h"
#include "dispatcher.h"
#include "list.h"
#include "pool.h"
#include "thread.h"

EXTERN_C_START

/* ---- Spin locks: KSPIN_LOCK. A waiting thread spins for a while and then yields. --------------------------------- */

NTKERNELAPI VOID KeInitializeSpinLock(_Out_ PKSPIN_LOCK SpinLock);
NTKERNELAPI KIRQL KeAcquireSpinLockRaiseToDpc(_Inout_ PKSPIN_LOCK SpinLock);
#define KeAcquireSpinLock(lock, irql) (*(irql) = KeAcquireSpinLockRaiseToDpc(lock))
NTKERNELAPI VOID KeReleaseSpinLock(_Inout_ PKSPIN_LOCK SpinLock, _In_ KIRQL NewIrql);
NTKERNELAPI VOID KeAcquireSpinLockAtDpcLevel(_Inout_ PKSPIN_LOCK SpinLock);
NTKERNELAPI VOID KeReleaseSpinLockFromDpcLevel(_Inout_ PKSPIN_LOCK SpinLock);
NTKERNELAPI BOOLEAN KeTryToAcquireSpinLockAtDpcLevel(_Inout_ PKSPIN_LOCK SpinLock);
NTKERNELAPI BOOLEAN KeTestSpinLock(_In_ PKSPIN_LOCK SpinLock);
NTKERNELAPI KIRQL KeAcquireSpinLockForDpc(_Inout_ PKSPIN_LOCK SpinLock);
NTKERNELAPI VOID KeReleaseSpinLockForDpc(_Inout_ PKSPIN_LOCK SpinLock, _In_ KIRQL OldIrql);

/*
 * In-stack queued spin locks: threads get the lock in the order of arrival. Such a lock must not be used with the
 * routines above.
 */
typedef struct _KSPIN_LOCK_QUEUE {
    struct _KSPIN_LOCK_QUEUE *volatile Next;
    PKSPIN_LOCK volatile Lock; /* bit 0 is set while the thread waits */
} KSPIN_LOCK_QUEUE, *PKSPIN_LOCK_QUEUE;

typedef struct _KLOCK_QUEUE_HANDLE {
    KSPIN_LOCK_QUEUE LockQueue;
    KIRQL OldIrql;
} KLOCK_QUEUE_HANDLE, *PKLOCK_QUEUE_HANDLE;

NTKERNELAPI VOID KeAcquireInStackQueuedSpinLock(_Inout_ PKSPIN_LOCK SpinLock, _Out_ PKLOCK_QUEUE_HANDLE LockHandle);
NTKERNELAPI VOID KeReleaseInStackQueuedSpinLock(_In_ PKLOCK_QUEUE_HANDLE LockHandle);
NTKERNELAPI VOID KeAcquireInStackQueuedSpinLockAtDpcLevel(_Inout_ PKSPIN_LOCK SpinLock,
                                                          _Out_ PKLOCK_QUEUE_HANDLE LockHandle);
NTKERNELAPI VOID KeReleaseInStackQueuedSpinLockFromDpcLevel(_In_ PKLOCK_QUEUE_HANDLE LockHandle);
NTKERNELAPI VOID KeAcquireInStackQueuedSpinLockForDpc(_Inout_ PKSPIN_LOCK SpinLock,
                                                      _Out_ PKLOCK_QUEUE_HANDLE LockHandle);
NTKERNELAPI VOID KeReleaseInStackQueuedSpinLockForDpc(_In_ PKLOCK_QUEUE_HANDLE LockHandle);

/*
 * Reader-writer spin locks. While a thread waits for exclusive access, new readers must wait, too. The initial value is
 * 0.
 */
typedef volatile LONG EX_SPIN_LOCK, *PEX_SPIN_LOCK;

NTKERNELAPI KIRQL ExAcquireSpinLockShared(_Inout_ PEX_SPIN_LOCK SpinLock);
NTKERNELAPI VOID ExReleaseSpinLockShared(_Inout_ PEX_SPIN_LOCK SpinLock, _In_ KIRQL OldIrql);
NTKERNELAPI VOID ExAcquireSpinLockSharedAtDpcLevel(_Inout_ PEX_SPIN_LOCK SpinLock);
NTKERNELAPI VOID ExReleaseSpinLockSharedFromDpcLevel(_Inout_ PEX_SPIN_LOCK SpinLock);
NTKERNELAPI KIRQL ExAcquireSpinLockExclusive(_Inout_ PEX_SPIN_LOCK SpinLock);
NTKERNELAPI VOID ExReleaseSpinLockExclusive(_Inout_ PEX_SPIN_LOCK SpinLock, _In_ KIRQL OldIrql);
NTKERNELAPI VOID ExAcquireSpinLockExclusiveAtDpcLevel(_Inout_ PEX_SPIN_LOCK SpinLock);
NTKERNELAPI VOID ExReleaseSpinLockExclusiveFromDpcLevel(_Inout_ PEX_SPIN_LOCK SpinLock);
NTKERNELAPI LOGICAL ExTryConvertSharedSpinLockExclusive(_Inout_ PEX_SPIN_LOCK SpinLock);
NTKERNELAPI LOGICAL ExTryAcquireSpinLockSharedAtDpcLevel(_Inout_ PEX_SPIN_LOCK SpinLock);
NTKERNELAPI LOGICAL ExTryAcquireSpinLockExclusiveAtDpcLevel(_Inout_ PEX_SPIN_LOCK SpinLock);

/* ---- Fast and guarded mutexes: IRQL <= APC_LEVEL ----------------------------------------------------------------- */

typedef struct _FAST_MUTEX {
    volatile LONG Count; /* 0 free, 1 held, 2 held with waiters */
    PVOID Owner;
    ULONG Contention;
    KEVENT Event;
    ULONG OldIrql;
} FAST_MUTEX, *PFAST_MUTEX, KGUARDED_MUTEX, *PKGUARDED_MUTEX;

NTKERNELAPI VOID ExInitializeFastMutex(_Out_ PFAST_MUTEX FastMutex);
NTKERNELAPI VOID ExAcquireFastMutex(_Inout_ PFAST_MUTEX FastMutex);
NTKERNELAPI BOOLEAN ExTryToAcquireFastMutex(_Inout_ PFAST_MUTEX FastMutex);
NTKERNELAPI VOID ExReleaseFastMutex(_Inout_ PFAST_MUTEX FastMutex);
NTKERNELAPI VOID ExAcquireFastMutexUnsafe(_Inout_ PFAST_MUTEX FastMutex);
NTKERNELAPI VOID ExReleaseFastMutexUnsafe(_Inout_ PFAST_MUTEX FastMutex);
NTKERNELAPI VOID KeInitializeGuardedMutex(_Out_ PKGUARDED_MUTEX Mutex);
NTKERNELAPI VOID KeAcquireGuardedMutex(_Inout_ PKGUARDED_MUTEX Mutex);
NTKERNELAPI BOOLEAN KeTryToAcquireGuardedMutex(_Inout_ PKGUARDED_MUTEX Mutex);
NTKERNELAPI VOID KeReleaseGuardedMutex(_Inout_ PKGUARDED_MUTEX Mutex);
NTKERNELAPI VOID KeAcquireGuardedMutexUnsafe(_Inout_ PKGUARDED_MUTEX Mutex);
NTKERNELAPI VOID KeReleaseGuardedMutexUnsafe(_Inout_ PKGUARDED_MUTEX Mutex);

/* ---- Push locks: IRQL <= APC_LEVEL, in a critical region; the Flt routines enter the region ---------------------- */

typedef struct _EX_PUSH_LOCK {
    volatile ULONG_PTR Value;
} EX_PUSH_LOCK, *PEX_PUSH_LOCK;

#define EX_DEFAULT_PUSH_LOCK_FLAGS 0

NTKERNELAPI VOID ExInitializePushLock(_Out_ PEX_PUSH_LOCK PushLock);
NTKERNELAPI VOID ExAcquirePushLockExclusiveEx(_Inout_ PEX_PUSH_LOCK PushLock, _In_ ULONG Flags);
NTKERNELAPI VOID ExAcquirePushLockSharedEx(_Inout_ PEX_PUSH_LOCK PushLock, _In_ ULONG Flags);
NTKERNELAPI VOID ExReleasePushLockExclusiveEx(_Inout_ PEX_PUSH_LOCK PushLock, _In_ ULONG Flags);
NTKERNELAPI VOID ExReleasePushLockSharedEx(_Inout_ PEX_PUSH_LOCK PushLock, _In_ ULONG Flags);
#define ExAcquirePushLockExclusive(lock) ExAcquirePushLockExclusiveEx(lock, EX_DEFAULT_PUSH_LOCK_FLAGS)
#define ExAcquirePushLockShared(lock) ExAcquirePushLockSharedEx(lock, EX_DEFAULT_PUSH_LOCK_FLAGS)
#define ExReleasePushLockExclusive(lock) ExReleasePushLockExclusiveEx(lock, EX_DEFAULT_PUSH_LOCK_FLAGS)
#define ExReleasePushLockShared(lock) ExReleasePushLockSharedEx(lock, EX_DEFAULT_PUSH_LOCK_FLAGS)
NTKERNELAPI VOID FltInitializePushLock(_Out_ PEX_PUSH_LOCK PushLock);
NTKERNELAPI VOID FltDeletePushLock(_Inout_ PEX_PUSH_LOCK PushLock);
NTKERNELAPI VOID FltAcquirePushLockExclusive(_Inout_ PEX_PUSH_LOCK PushLock);
NTKERNELAPI VOID FltAcquirePushLockShared(_Inout_ PEX_PUSH_LOCK PushLock);
NTKERNELAPI VOID FltReleasePushLock(_Inout_ PEX_PUSH_LOCK PushLock);

/* ---- ERESOURCE: recursive, shared or exclusive. Acquired at IRQL <= APC_LEVEL, in a critical region -------------- */

typedef ULONG_PTR ERESOURCE_THREAD, *PERESOURCE_THREAD;

typedef struct _ERESOURCE {
    LIST_ENTRY Owners;  /* shared owners */
    LIST_ENTRY Waiters; /* in the order of arrival */
    ERESOURCE_THREAD OwnerThread; /* exclusive owner */
    ULONG OwnerCount;
    ULONG ContentionCount;
    ULONG NumberOfSharedWaiters;
    ULONG NumberOfExclusiveWaiters;
    ULONG_PTR Reserved[4];
} ERESOURCE, *PERESOURCE;

NTKERNELAPI NTSTATUS ExInitializeResourceLite(_Out_ PERESOURCE Resource);
NTKERNELAPI NTSTATUS ExReinitializeResourceLite(_Inout_ PERESOURCE Resource);
NTKERNELAPI NTSTATUS ExDeleteResourceLite(_Inout_ PERESOURCE Resource);
NTKERNELAPI BOOLEAN ExAcquireResourceExclusiveLite(_Inout_ PERESOURCE Resource, _In_ BOOLEAN Wait);
NTKERNELAPI BOOLEAN ExAcquireResourceSharedLite(_Inout_ PERESOURCE Resource, _In_ BOOLEAN Wait);
NTKERNELAPI BOOLEAN ExAcquireSharedStarveExclusive(_Inout_ PERESOURCE Resource, _In_ BOOLEAN Wait);
NTKERNELAPI BOOLEAN ExAcquireSharedWaitForExclusive(_Inout_ PERESOURCE Resource, _In_ BOOLEAN Wait);
NTKERNELAPI VOID ExReleaseResourceLite(_Inout_ PERESOURCE Resource);
NTKERNELAPI VOID ExReleaseResourceForThreadLite(_Inout_ PERESOURCE Resource, _In_ ERESOURCE_THREAD ResourceThreadId);
NTKERNELAPI VOID ExConvertExclusiveToSharedLite(_Inout_ PERESOURCE Resource);
NTKERNELAPI BOOLEAN ExIsResourceAcquiredExclusiveLite(_In_ PERESOURCE Resource);
NTKERNELAPI ULONG ExIsResourceAcquiredSharedLite(_In_ PERESOURCE Resource);
NTKERNELAPI ULONG ExGetExclusiveWaiterCount(_In_ PERESOURCE Resource);
NTKERNELAPI ULONG ExGetSharedWaiterCount(_In_ PERESOURCE Resource);
NTKERNELAPI PVOID ExEnterCriticalRegionAndAcquireResourceExclusive(_Inout_ PERESOURCE Resource);
NTKERNELAPI PVOID ExEnterCriticalRegionAndAcquireResourceShared(_Inout_ PERESOURCE Resource);
NTKERNELAPI VOID ExReleaseResourceAndLeaveCriticalRegion(_Inout_ PERESOURCE Resource);
#define ExTryToAcquireResourceExclusiveLite(resource) ExAcquireResourceExclusiveLite(resource, FALSE)
#define ExIsResourceAcquiredLite(resource) ExIsResourceAcquiredSharedLite(resource)
#define ExIsResourceAcquired(resource) ExIsResourceAcquiredSharedLite(resource)
#define ExGetCurrentResourceThread() ((ERESOURCE_THREAD)KeGetCurrentThread())
#define ExReleaseResource(resource) ExReleaseResourceLite(resource)

/* ---- Rundown protection. IRQL: to initialize, acquire or release <= DISPATCH_LEVEL; otherwise <= APC_LEVEL ------- */

#define EX_RUNDOWN_ACTIVE 1
#define EX_RUNDOWN_COUNT_SHIFT 1
#define EX_RUNDOWN_COUNT_INC 2

typedef struct _EX_RUNDOWN_REF {
    __extension__ union {
        volatile ULONG_PTR Count;
        PVOID volatile Ptr;
    };
} EX_RUNDOWN_REF, *PEX_RUNDOWN_REF;

typedef struct _EX_RUNDOWN_REF_CACHE_AWARE *PEX_RUNDOWN_REF_CACHE_AWARE;

NTKERNELAPI VOID ExInitializeRundownProtection(_Out_ PEX_RUNDOWN_REF RunRef);
NTKERNELAPI VOID ExReInitializeRundownProtection(_Inout_ PEX_RUNDOWN_REF RunRef);
NTKERNELAPI BOOLEAN ExAcquireRundownProtection(_Inout_ PEX_RUNDOWN_REF RunRef);
NTKERNELAPI BOOLEAN ExAcquireRundownProtectionEx(_Inout_ PEX_RUNDOWN_REF RunRef, _In_ ULONG Count);
NTKERNELAPI VOID ExReleaseRundownProtection(_Inout_ PEX_RUNDOWN_REF RunRef);
NTKERNELAPI VOID ExReleaseRundownProtectionEx(_Inout_ PEX_RUNDOWN_REF RunRef, _In_ ULONG Count);
NTKERNELAPI VOID ExRundownCompleted(_Out_ PEX_RUNDOWN_REF RunRef);
NTKERNELAPI VOID ExWaitForRundownProtectionRelease(_Inout_ PEX_RUNDOWN_REF RunRef);

NTKERNELAPI PEX_RUNDOWN_REF_CACHE_AWARE ExAllocateCacheAwareRundownProtection(_In_ POOL_TYPE PoolType,
                                                                              _In_ ULONG PoolTag);
NTKERNELAPI VOID ExFreeCacheAwareRundownProtection(_Inout_ PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware);
NTKERNELAPI SIZE_T ExSizeOfRundownProtectionCacheAware(VOID);
NTKERNELAPI VOID ExInitializeRundownProtectionCacheAware(_Out_ PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware,
                                                         _In_ SIZE_T RunRefSize);
NTKERNELAPI VOID ExReInitializeRundownProtectionCacheAware(_Inout_ PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware);
NTKERNELAPI BOOLEAN ExAcquireRundownProtectionCacheAware(_Inout_ PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware);
NTKERNELAPI BOOLEAN ExAcquireRundownProtectionCacheAwareEx(_Inout_ PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware,
                                                           _In_ ULONG Count);
NTKERNELAPI VOID ExReleaseRundownProtectionCacheAware(_Inout_ PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware);
NTKERNELAPI VOID ExReleaseRundownProtectionCacheAwareEx(_Inout_ PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware,
                                                        _In_ ULONG Count);
NTKERNELAPI VOID ExRundownCompletedCacheAware(_Inout_ PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware);
NTKERNELAPI VOID ExWaitForRundownProtectionReleaseCacheAware(_Inout_ PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware);

/* ---- Remove locks: count the users of a device that may be removed ----------------------------------------------- */

typedef struct _IO_REMOVE_LOCK {
    volatile LONG IoCount; /* number of acquisitions, plus 1 from IoInitializeRemoveLock */
    volatile LONG Removed;
    ULONG Tag;
    KEVENT RemoveEvent;
} IO_REMOVE_LOCK, *PIO_REMOVE_LOCK;

NTKERNELAPI VOID IoInitializeRemoveLockEx(_Out_ PIO_REMOVE_LOCK Lock, _In_ ULONG AllocateTag,
                                          _In_ ULONG MaxLockedMinutes,
                                          _In_ ULONG HighWatermark, _In_ ULONG RemlockSize);
NTKERNELAPI NTSTATUS IoAcquireRemoveLockEx(_Inout_ PIO_REMOVE_LOCK RemoveLock, _In_opt_ PVOID Tag, _In_ PCSTR File,
                                           _In_ ULONG Line, _In_ ULONG RemlockSize);
NTKERNELAPI VOID IoReleaseRemoveLockEx(_Inout_ PIO_REMOVE_LOCK RemoveLock, _In_opt_ PVOID Tag, _In_ ULONG RemlockSize);
NTKERNELAPI VOID IoReleaseRemoveLockAndWaitEx(_Inout_ PIO_REMOVE_LOCK RemoveLock, _In_opt_ PVOID Tag,
                                              _In_ ULONG RemlockSize);
#define IoInitializeRemoveLock(lock, tag, minutes, most) \
    IoInitializeRemoveLockEx(lock, tag, minutes, most, sizeof(IO_REMOVE_LOCK))
#define IoAcquireRemoveLock(lock, tag) IoAcquireRemoveLockEx(lock, tag, __FILE__, __LINE__, sizeof(IO_REMOVE_LOCK))
#define IoReleaseRemoveLock(lock, tag) IoReleaseRemoveLockEx(lock, tag, sizeof(IO_REMOVE_LOCK))
#define IoReleaseRemoveLockAndWait(lock, tag) IoReleaseRemoveLockAndWaitEx(lock, tag, sizeof(IO_REMOVE_LOCK))

EXTERN_C_END

#endif
