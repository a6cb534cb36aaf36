/* SPDX-License-Identifier: MIT */
/*
 * Implements exceptions: each thread has a chain of frames. A raise jumps to the innermost frame. The end of the
 * frame's block removes the frame from the chain. The code after the block then checks whether an exception was raised.
 */
#include <setjmp.h>
#include <stdbool.h>

#include "wdm.h"

#include "wdk/common/bug_code.h"
#include "wdk/common/check.h"
#include "wdk/ke/seh.h"
#include "wdk/ke/thread.h"

C_ASSERT(sizeof(jmp_buf) <= sizeof(((struct ondk_seh_frame *)0)->jump));

static _Thread_local struct {
    struct ondk_seh_frame *innermost;
    bool raised;     /* an exception was raised, and no handler has run yet */
    NTSTATUS status; /* the status of the last exception */
} seh;

/* Converts `jump` of a struct ondk_seh_frame to the type that the host's longjmp requires. */
union jump {
    ULONG64 *words;
    struct __jmp_buf_tag *buffer;
};

static _Noreturn void seh_raise_status(NTSTATUS status)
{
    union jump jump;

    if (!seh.innermost)
        check_bug(KMODE_EXCEPTION_NOT_HANDLED, (ULONG)status, (uintptr_t)__builtin_return_address(0), 0, 0);
    seh.raised = true;
    seh.status = status;
    jump.words = seh.innermost->jump;
    _longjmp(jump.buffer, 1);
}

void seh_raise(NTSTATUS status)
{
    if (seh.innermost || !check_on())
        seh_raise_status(status);
}

VOID ExRaiseStatus(NTSTATUS Status)
{
    irql_check_max(__func__, APC_LEVEL);
    seh_raise_status(Status);
}

VOID ExRaiseAccessViolation(VOID)
{
    irql_check_max(__func__, APC_LEVEL);
    seh_raise_status(STATUS_ACCESS_VIOLATION);
}

VOID ExRaiseDatatypeMisalignment(VOID)
{
    irql_check_max(__func__, APC_LEVEL);
    seh_raise_status(STATUS_DATATYPE_MISALIGNMENT);
}

ULONG64 *ondk_seh_push(struct ondk_seh_frame *frame)
{
    frame->outer = seh.innermost;
    seh.innermost = frame;
    return frame->jump;
}

VOID ondk_seh_pop(struct ondk_seh_frame *frame)
{
    seh.innermost = frame->outer;
}

BOOLEAN ondk_seh_raised(VOID)
{
    return seh.raised;
}

/*
 * Returns TRUE if the handler must run. For EXCEPTION_CONTINUE_SEARCH, raises the exception in the outer frame. A
 * negative filter value causes a bug check, because the code that has raised the exception cannot be continued.
 */
BOOLEAN ondk_seh_handles(LONG filter)
{
    if (filter == EXCEPTION_CONTINUE_SEARCH)
        seh_raise_status(seh.status);
    if (filter < 0)
        check_bug(KMODE_EXCEPTION_NOT_HANDLED, (ULONG)seh.status, (uintptr_t)__builtin_return_address(0), 0, 0);
    seh.raised = false;
    return TRUE;
}

struct ondk_seh_unwind ondk_seh_unwind_start(VOID)
{
    struct ondk_seh_unwind unwind = { .abnormal = seh.raised, .once = TRUE, .status = seh.status };

    seh.raised = false;
    return unwind;
}

VOID ondk_seh_unwind_end(const struct ondk_seh_unwind *unwind)
{
    if (unwind->abnormal)
        seh_raise_status(unwind->status);
}

NTSTATUS ondk_seh_status(VOID)
{
    return seh.status;
}
