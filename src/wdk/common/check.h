/* SPDX-License-Identifier: MIT */
/*
 * The kernel's rules for drivers. src/verify has the rules for NDK calls, and prints the reports of all rules. Each
 * check first calls check_on(), so a check costs one load while checks are off. A few routines detect and report a
 * broken rule even while checks are off.
 */
#ifndef ONDK_WDK_CHECK_H
#define ONDK_WDK_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/private_export.h"
#include "openndk/wdk.h"
#include "verify/report.h"
#include "verify/stack.h"

/* Returns true if checks are on. One mode applies to drivers and to NDK consumers. */
static inline bool check_on(void)
{
    return verify_on();
}

/*
 * The rules. check.c has the name, bug check and text of each rule, and docs/driver-checks.md lists them. The comment
 * on a rule describes the driver's mistake, or lists the parameters p1 to p4 of the report.
 */
enum check_rule {
    CHECK_WAIT_AT_DISPATCH,    /* KeWait... or KeDelayExecutionThread is called at or above DISPATCH_LEVEL */
    CHECK_PAGED_CODE,          /* PAGED_CODE() above APC_LEVEL */
    CHECK_IRQL_TOO_LOW,        /* p1 IRQL now, p2 lowest allowed */
    CHECK_IRQL_LOWERED_WRONG,  /* KeLowerIrql is called with a higher IRQL, or KeRaiseIrql with a lower one */
    CHECK_IRQL_CHANGED,        /* a callback or thread routine has returned at another IRQL */
    CHECK_LOCK_RECURSIVE,      /* p1 lock, or a registered callback that unregisters itself while it runs */
    CHECK_LOCK_NOT_HELD,       /* a thread releases what it does not hold: p1 lock, or 0 for a region; p2 owner or 0 */
    CHECK_LOCK_HELD_AT_END,    /* a callback, work item or thread has ended with a lock held */
    CHECK_POOL_OVERRUN,        /* p1 block, p2 size, p3 address of the access, p4 is 1 for a write */
    CHECK_POOL_UNDERRUN,       /* p1 block, p2 size, p3 address of the access, p4 is 1 for a write */
    CHECK_POOL_DOUBLE_FREE,    /* p1 block, p2 size */
    CHECK_POOL_USE_AFTER_FREE, /* p1 block, p2 size, p3 address of the access, p4 is 1 for a write */
    CHECK_POOL_WRONG_TAG,      /* p1 block, p2 its tag, p3 the caller's tag */
    CHECK_POOL_BAD_ADDRESS,    /* the driver frees an address that was never allocated */
    CHECK_POOL_BAD_REQUEST,    /* size zero, tag zero, or paged pool above APC_LEVEL */
    CHECK_LIST_CORRUPT,        /* p1 is 3, as on Windows; p2 is the entry whose neighbours do not point back at it */
    /* The driver frees pool that contains the buffer of a request, or an object that is waited for, queued or held. */
    CHECK_OBJECT_FREED_IN_USE,
    CHECK_OBJECT_REINITIALIZED, /* an object is initialized again while it is waited for, queued or held */
    CHECK_OBJECT_NOT_INITIALIZED,
    CHECK_MDL_NOT_LOCKED, /* the driver uses an MDL that is neither locked nor built */
    /* an MDL is locked or mapped twice, built over paged pool or a stack, or unlocked while in use: p1 MDL, p2 flags */
    CHECK_MDL_MISUSED,
    CHECK_MDL_FREED_LOCKED,   /* IoFreeMdl is called for an MDL whose pages are locked */
    CHECK_UNLOAD_OUTSTANDING, /* DriverUnload has returned before everything was released */
    CHECK_IRP_COMPLETED_TWICE,
    CHECK_HANDLE_INVALID,
    CHECK_REFERENCE,        /* p2 is not the address of an object on which the driver has a reference */
    CHECK_IRP_MISUSE,       /* an IRP is freed, completed or dispatched wrongly: p1 IRP */
    CHECK_EXCEPTION,        /* the routine raises a status for which there is no handler: p1 status */
    CHECK_ASSERTION,        /* a false NT_ASSERT (p2 line), or a StorPortNotification of unknown type (p2 type) */
    CHECK_WORK_ITEM_QUEUED, /* a work item is queued again while it is in the queue: p1 item */
    CHECK_WSK_CLOSED_USED,  /* a socket is used after WskCloseSocket: p1 socket */
    CHECK_WSK_INDICATION,   /* list p1 is released but not retained, or socket p1 is closed with p2 bytes retained */
    CHECK_SRB_COMPLETED,    /* SRB p2 is completed, but is not started (p1 0x1003) or has status pending (p1 0x1004) */
    /* KMDF. p1 is the error code of WDF_VIOLATION: see wdf/object.h. */
    CHECK_WDF_HANDLE,
    CHECK_WDF_PARAMETER,
    CHECK_WDF_REQUEST,
    CHECK_WDF_DELETE,
    CHECK_WDF_QUEUE,
    CHECK_WDF_TARGET,
    CHECK_WDF_LOCK,
    CHECK_WDF_CALLBACK,
    CHECK_CNG_HANDLE, /* p1 is not a valid handle of CNG, or p2 objects of provider p1 are left */
    CHECK_RULES       /* the number of rules */
};

extern const struct rule check_rules[CHECK_RULES];

/*
 * Reports a broken rule with the stack of the caller: see report_breach. p1 to p4 are the bug check's parameters.
 */
__attribute__((format(printf, 7, 8))) void check_failed(enum check_rule rule, const char *routine, uint64_t p1,
                                                        uint64_t p2, uint64_t p3, uint64_t p4, const char *text, ...)
    PRIVATE_EXPORT(check_failed);

/*
 * Prints a bug check and calls abort(), even while checks are off. Called for KeBugCheckEx, and after an error after
 * which the driver cannot continue, for example an exception without a handler.
 */
__attribute__((noreturn)) void check_bug(uint32_t code, uint64_t p1, uint64_t p2, uint64_t p3, uint64_t p4)
    PRIVATE_EXPORT(check_bug);

#endif
