/* SPDX-License-Identifier: MIT */
/* Implements check.h: the table of the kernel's rules, the mode of the checks, and the text of a report. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "openndk/config.h"
#include "verify/setting.h"
#include "wdk/common/bug_code.h"
#include "wdk/common/check.h"

/* The kernel's rules do not set the last members of struct rule: page, sentence, advice and kind. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
/* clang-format off */
const struct rule check_rules[CHECK_RULES] = {
    [CHECK_WAIT_AT_DISPATCH] = { "wait-at-dispatch", ATTEMPTED_SWITCH_FROM_DPC,
        "A thread at DISPATCH_LEVEL must not wait: only a wait with a timeout of zero is allowed there." },
    [CHECK_PAGED_CODE] = { "paged-code", IRQL_NOT_LESS_OR_EQUAL,
        "Pageable code runs at IRQL <= APC_LEVEL: it may have to be read from disk first." },
    [CHECK_IRQL_TOO_LOW] = { "irql-too-low", IRQL_NOT_LESS_OR_EQUAL,
        "The routine's reference names the lowest IRQL at which it may be called." },
    [CHECK_IRQL_LOWERED_WRONG] = { "irql-wrong-way", IRQL_NOT_LESS_OR_EQUAL,
        "KeRaiseIrql never lowers the IRQL; KeLowerIrql restores the value that KeRaiseIrql returned." },
    [CHECK_IRQL_CHANGED] = { "irql-changed", IRQL_UNEXPECTED_VALUE,
        "A routine returns at the IRQL at which it was called." },
    [CHECK_LOCK_RECURSIVE] = { "lock-recursive", SPIN_LOCK_ALREADY_OWNED,
        "A thread must not acquire a lock that it already holds: it would wait for itself for ever." },
    [CHECK_LOCK_NOT_HELD] = { "lock-not-held", SPIN_LOCK_NOT_OWNED,
        "A lock is released by the thread that has acquired it." },
    [CHECK_LOCK_HELD_AT_END] = { "lock-held-at-end", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "Callbacks, work items and threads release every lock before they return." },
    [CHECK_POOL_OVERRUN] = { "pool-overrun", BAD_POOL_HEADER,
        "A driver reads and writes only the bytes that it has allocated." },
    [CHECK_POOL_UNDERRUN] = { "pool-underrun", BAD_POOL_HEADER,
        "A driver reads and writes only the bytes that it has allocated." },
    [CHECK_POOL_DOUBLE_FREE] = { "pool-double-free", BAD_POOL_CALLER,
        "A block of pool is freed once." },
    [CHECK_POOL_USE_AFTER_FREE] = { "pool-use-after-free", DRIVER_CAUGHT_MODIFYING_FREED_POOL,
        "Freed pool belongs to its next owner: the driver neither reads nor writes it." },
    [CHECK_POOL_WRONG_TAG] = { "pool-wrong-tag", BAD_POOL_CALLER,
        "ExFreePoolWithTag names the tag with which the block was allocated." },
    [CHECK_POOL_BAD_ADDRESS] = { "pool-bad-address", BAD_POOL_CALLER,
        "Only the exact address that ExAllocatePool... returned can be freed." },
    [CHECK_POOL_BAD_REQUEST] = { "pool-bad-request", BAD_POOL_CALLER,
        "An allocation has a size and a tag; paged pool is for IRQL <= APC_LEVEL." },
    [CHECK_LIST_CORRUPT] = { "list-corrupt", KERNEL_SECURITY_CHECK_FAILURE,
        "An entry is in at most one list and is removed once; its memory stays allocated until then." },
    [CHECK_OBJECT_FREED_IN_USE] = { "object-freed-in-use", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "The memory of an event, timer, DPC, work item or lock stays allocated while a thread waits for it or it is "
        "queued or held, and the buffer of a request until the request has completed." },
    [CHECK_OBJECT_REINITIALIZED] = { "object-reinitialized", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "An object is not initialized again while a thread waits for it or it is queued or held." },
    [CHECK_OBJECT_NOT_INITIALIZED] = { "object-not-initialized", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "An object is initialized before its first use." },
    [CHECK_MDL_NOT_LOCKED] = { "mdl-not-locked", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "An MDL is used after MmBuildMdlForNonPagedPool or MmProbeAndLockPages, and unlocked as often as locked." },
    [CHECK_MDL_MISUSED] = { "mdl-misused", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "An MDL is built or locked once, over memory of the routine's kind, mapped once, and freed by the routine "
        "that matches the one that allocated it. It stays locked, mapped and allocated until the requests that use it "
        "have completed." },
    [CHECK_MDL_FREED_LOCKED] = { "mdl-freed-locked", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "MmUnlockPages comes before IoFreeMdl." },
    [CHECK_UNLOAD_OUTSTANDING] = { "unload-outstanding", DRIVER_UNLOADED_WITHOUT_CANCELLING_PENDING_OPERATIONS,
        "DriverUnload returns when everything that the driver created is closed, freed, cancelled or finished." },
    [CHECK_IRP_COMPLETED_TWICE] = { "irp-completed-twice", MULTIPLE_IRP_COMPLETE_REQUESTS,
        "IoCompleteRequest is called once for each IRP: afterwards the IRP no longer belongs to the driver." },
    [CHECK_HANDLE_INVALID] = { "handle-invalid", INVALID_KERNEL_HANDLE,
        "A handle is closed once, and only an open one is used." },
    [CHECK_WORK_ITEM_QUEUED] = { "work-item-queued", WORKER_INVALID,
        "A work item that is queued must not be queued again before its routine has been called." },
    [CHECK_EXCEPTION] = { "exception", KMODE_EXCEPTION_NOT_HANDLED,
        "The routine raises an exception, and there is no handler for it." },
    [CHECK_REFERENCE] = { "reference", REFERENCE_BY_POINTER,
        "Each ObDereferenceObject releases one reference that the driver holds on the object." },
    [CHECK_IRP_MISUSE] = { "irp-misuse", DRIVER_VERIFIER_IOMANAGER_VIOLATION,
        "A dispatch routine returns STATUS_PENDING exactly when it has called IoMarkIrpPending; an IRP ends with a "
        "final status, no cancel routine and no more output than there is room for; IoFreeIrp is for IRPs of "
        "IoAllocateIrp, once." },
    [CHECK_WSK_CLOSED_USED] = { "wsk-closed-used", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "WskCloseSocket is called once, and no other function of the socket after it, even while the close is "
        "pending." },
    [CHECK_WSK_INDICATION] = { "wsk-indication", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "Data that an event has kept with STATUS_PENDING is released once with WskRelease, before the socket is "
        "closed; data that it has not kept is not released." },
    [CHECK_SRB_COMPLETED] = { "srb-completed", SCSI_VERIFIER_DETECTED_VIOLATION,
        "A miniport completes each SRB once, with a final SrbStatus; afterwards the SRB belongs to the port." },
    [CHECK_WDF_HANDLE] = { "wdf-handle", WDF_VIOLATION,
        "A KMDF routine gets the handle of an object of its kind that is not deleted." },
    [CHECK_WDF_PARAMETER] = { "wdf-parameter", WDF_VIOLATION,
        "Only parameters that the routine's page calls optional are NULL." },
    [CHECK_WDF_REQUEST] = { "wdf-request", WDF_VIOLATION,
        "A KMDF driver completes, forwards or uses a request only while it owns the request, which is not cancelable "
        "then, and completes it with no more output than there is room for." },
    [CHECK_WDF_DELETE] = { "wdf-delete", WDF_VIOLATION,
        "A KMDF object is deleted once, by the driver or the framework, and each WdfObjectDereference matches a "
        "WdfObjectReference." },
    [CHECK_WDF_QUEUE] = { "wdf-queue", WDF_VIOLATION,
        "A KMDF queue's state is changed again after the callback of the change before, a stopped queue is not "
        "drained, a request handler does not wait for a queue, an EvtIoQueueState does not delete its queue while the "
        "driver owns requests of the queue, and only requests of manual queues are looked for." },
    [CHECK_WDF_TARGET] = { "wdf-target", WDF_VIOLATION,
        "WdfIoTargetStart, WdfIoTargetStop and WdfIoTargetPurge of an I/O target do not overlap, and do not wait for "
        "its requests in a request handler or a completion routine." },
    [CHECK_WDF_LOCK] = { "wdf-lock", WDF_VIOLATION,
        "WdfObjectAcquireLock is for devices and queues, once, and the thread that has acquired the lock releases "
        "it." },
    [CHECK_WDF_CALLBACK] = { "wdf-callback", WDF_VIOLATION,
        "A KMDF callback returns at the IRQL and in the critical regions in which it was called, and does not wait for "
        "its own end." },
    [CHECK_CNG_HANDLE] = { "cng-handle", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "A handle of CNG is released once and not used afterwards, and a provider for DISPATCH_LEVEL is closed after "
        "its hashes and keys were destroyed." },
    [CHECK_ASSERTION] = { "assertion", KMODE_EXCEPTION_NOT_HANDLED,
        "A driver's assertions are true." },
};
/* clang-format on */

static atomic_uint reports[CHECK_RULES];
static struct rule_table rule_table = {
    .layer = "kernel", .rules = check_rules, .count = CHECK_RULES, .reports = reports
};

static void check_print_breach(FILE *out, const struct breach *b)
{
    const uint64_t *p = b->parameters;

    fprintf(out,
            "*** driver rule broken: %s in %s: %s\n"
            "  bug check 0x%02X (0x%016llX, 0x%016llX, 0x%016llX, 0x%016llX)\n",
            b->rule->name, b->routine, b->message, b->rule->bug_check, (unsigned long long)p[0],
            (unsigned long long)p[1], (unsigned long long)p[2], (unsigned long long)p[3]);
}

/*
 * Sets the mode of the checks from the environment variable ONDK_VERIFY, or to VERIFY_STOP if it is not set. The
 * library's other constructors depend on the mode. Priority 101 makes this constructor run first.
 */
__attribute__((constructor(101))) static void check_start(void)
{
    report_add_rules(&rule_table);
    report_set_printer(check_print_breach);
    if (!verify_read_environment(VERIFY_STOP))
        (void)ondk_config_check_environment(); /* reports that the value of ONDK_VERIFY is invalid and ignored */
}

void ondk_wdk_set_output(FILE *out)
{
    report_set_output(out);
}

void check_failed(enum check_rule rule, const char *routine, uint64_t p1, uint64_t p2, uint64_t p3, uint64_t p4,
                  const char *text, ...)
{
    const struct breach breach = { .rule = &check_rules[rule], .routine = routine, .parameters = { p1, p2, p3, p4 } };
    va_list args;

    va_start(args, text);
    report_breach_args(&breach, __builtin_return_address(0), text, args);
    va_end(args);
}

void check_bug(uint32_t code, uint64_t p1, uint64_t p2, uint64_t p3, uint64_t p4)
{
    FILE *out = report_begin();

    fprintf(out, "*** bug check 0x%02X (0x%016llX, 0x%016llX, 0x%016llX, 0x%016llX)\n", code, (unsigned long long)p1,
            (unsigned long long)p2, (unsigned long long)p3, (unsigned long long)p4);
    report_end(out, __builtin_return_address(0), NULL);
    abort();
}
