/* SPDX-License-Identifier: MIT */
/*
 * Structured exception handling: ExRaiseStatus, the routines that raise (MmProbeAndLockPages, ProbeForRead...), and
 * __try with __except, __finally and __leave. Such blocks may be nested, even across functions. Differences from
 * Windows:
 *
 *   - An access through an invalid pointer raises no exception. The program ends there with SIGSEGV or SIGBUS.
 *   - A filter is called after the inner __finally handlers, not before. EXCEPTION_CONTINUE_EXECUTION is a bug check.
 *   - If the __try body is left with return, goto, break or continue, its __finally handler does not run. Use __leave.
 *   - break and continue inside a __finally handler apply to the handler itself.
 *   - If clang compiles with optimization, a local variable that the __try body changes and that is not volatile may
 *     have its old value after an exception, as with C's setjmp. gcc keeps the new value.
 */
#ifndef ONDK_WDK_WDM_SEH_H
#define ONDK_WDK_WDM_SEH_H

#include "../ntdef.h"

EXTERN_C_START

#define EXCEPTION_EXECUTE_HANDLER 1
#define EXCEPTION_CONTINUE_SEARCH 0
#define EXCEPTION_CONTINUE_EXECUTION (-1)

/* IRQL <= APC_LEVEL. A call outside of __try causes the bug check KMODE_EXCEPTION_NOT_HANDLED. */
NTKERNELAPI DECLSPEC_NORETURN VOID ExRaiseStatus(_In_ NTSTATUS Status);
NTKERNELAPI DECLSPEC_NORETURN VOID ExRaiseAccessViolation(VOID);
NTKERNELAPI DECLSPEC_NORETURN VOID ExRaiseDatatypeMisalignment(VOID);

/* ---- The implementation of the keywords below -------------------------------------------------------------------- */

struct ondk_seh_frame {
    struct ondk_seh_frame *outer;
    ULONG64 jump[32]; /* the host's jmp_buf */
};

/* State of a __finally handler. */
struct ondk_seh_unwind {
    BOOLEAN abnormal, once;
    NTSTATUS status;
};

extern int ondk_seh_jump(ULONG64 *jump) __asm__("_setjmp") __attribute__((returns_twice));
NTKERNELAPI ULONG64 *ondk_seh_push(struct ondk_seh_frame *frame);
NTKERNELAPI VOID ondk_seh_pop(struct ondk_seh_frame *frame);
NTKERNELAPI BOOLEAN ondk_seh_raised(VOID);
NTKERNELAPI BOOLEAN ondk_seh_handles(LONG filter);
NTKERNELAPI struct ondk_seh_unwind ondk_seh_unwind_start(VOID);
NTKERNELAPI VOID ondk_seh_unwind_end(const struct ondk_seh_unwind *unwind);
NTKERNELAPI NTSTATUS ondk_seh_status(VOID);

#define GetExceptionCode() ((ULONG)ondk_seh_status())
#define _exception_code() GetExceptionCode()
#define exception_code() GetExceptionCode()
#define AbnormalTermination() (ondk_seh_unwinding.abnormal)
#define _abnormal_termination() AbnormalTermination()

#define __try                                                                              \
    {                                                                                      \
        __label__ ondk_seh_body_end;                                                       \
        struct ondk_seh_frame ondk_seh_here __attribute__((cleanup(ondk_seh_pop), unused)); \
        if (ondk_seh_jump(ondk_seh_push(&ondk_seh_here)) == 0)

#define __leave goto ondk_seh_body_end

#define ONDK_SEH_BODY_END                           \
    ondk_seh_body_end : __attribute__((unused));    \
    }

#define __except(filter) ONDK_SEH_BODY_END if (ondk_seh_raised() && ondk_seh_handles(filter))

#define __finally                                                                                  \
    ONDK_SEH_BODY_END for (struct ondk_seh_unwind ondk_seh_unwinding = ondk_seh_unwind_start();    \
                           ondk_seh_unwinding.once;                                                \
                           ondk_seh_unwinding.once = FALSE, ondk_seh_unwind_end(&ondk_seh_unwinding))

/* The other spellings of Microsoft's compiler and of its excpt.h. */
#define _try __try
#define _leave __leave
#define _except __except
#define _finally __finally
#ifndef __cplusplus
#define try __try
#define leave __leave
#define except __except
#define finally __finally
#endif

EXTERN_C_END

#endif
