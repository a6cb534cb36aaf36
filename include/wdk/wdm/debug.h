/* SPDX-License-Identifier: MIT */
/*
 * Debug output, assertions, bug checks. Drivers are checked builds here (DBG is 1) unless compiled with -DDBG=0.
 */
#ifndef ONDK_WDK_WDM_DEBUG_H
#define ONDK_WDK_WDM_DEBUG_H

#include "../ntdef.h"

EXTERN_C_START

typedef ULONG64 TRACEHANDLE, *PTRACEHANDLE;

#ifndef DBG
#define DBG 1
#endif

/* ---- Output ----------------------------------------------------------------------------------------------------- */

#define DPFLTR_ERROR_LEVEL 0
#define DPFLTR_WARNING_LEVEL 1
#define DPFLTR_TRACE_LEVEL 2
#define DPFLTR_INFO_LEVEL 3
#define DPFLTR_MASK 0x80000000

typedef enum _DPFLTR_TYPE {
    DPFLTR_SYSTEM_ID = 0,
    DPFLTR_TCPIP_ID = 30,
    DPFLTR_INFINIBAND_ID = 76,
    DPFLTR_IHVDRIVER_ID = 77,
    DPFLTR_IHVVIDEO_ID = 78,
    DPFLTR_IHVAUDIO_ID = 79,
    DPFLTR_IHVNETWORK_ID = 80,
    DPFLTR_IHVSTREAMING_ID = 81,
    DPFLTR_IHVBUS_ID = 82,
    DPFLTR_STORMINIPORT_ID = 90,
    DPFLTR_DEFAULT_ID = 101,
} DPFLTR_TYPE;

/*
 * Prints to the host's output. Each line begins with time, thread and IRQL. Formats are those of Windows (%wZ, %I64u):
 * long has 32 bits. Every message is printed, unless DbgSetDebugFilterState has disabled its component and level. Any
 * IRQL; Windows requires PASSIVE_LEVEL for wide characters.
 */
NTKERNELAPI ULONG DbgPrint(_In_z_ _Printf_format_string_ PCSTR Format, ...);
NTKERNELAPI ULONG DbgPrintEx(_In_ ULONG ComponentId, _In_ ULONG Level, _In_z_ _Printf_format_string_ PCSTR Format,
                             ...);
NTKERNELAPI ULONG vDbgPrintEx(_In_ ULONG ComponentId, _In_ ULONG Level, _In_z_ PCCH Format, _In_ va_list arglist);
NTKERNELAPI ULONG vDbgPrintExWithPrefix(_In_z_ PCCH Prefix, _In_ ULONG ComponentId, _In_ ULONG Level,
                                        _In_z_ PCCH Format, _In_ va_list arglist);
NTKERNELAPI ULONG DbgPrintReturnControlC(_In_z_ _Printf_format_string_ PCCH Format, ...);
/*
 * Returns TRUE if messages of the component and level are printed, FALSE if not, or STATUS_INVALID_PARAMETER_1 for an
 * unknown component. Level is the number of one level, or, with DPFLTR_MASK, a mask of levels.
 */
NTKERNELAPI NTSTATUS DbgQueryDebugFilterState(_In_ ULONG ComponentId, _In_ ULONG Level);
NTKERNELAPI NTSTATUS DbgSetDebugFilterState(_In_ ULONG ComponentId, _In_ ULONG Level, _In_ BOOLEAN State);

#if DBG
#define KdPrint(arguments_in_parentheses) DbgPrint arguments_in_parentheses
#define KdPrintEx(arguments_in_parentheses) DbgPrintEx arguments_in_parentheses
#define vKdPrintEx(arguments_in_parentheses) vDbgPrintEx arguments_in_parentheses
#define KdBreakPoint() DbgBreakPoint()
#define KdBreakPointWithStatus(status) DbgBreakPointWithStatus(status)
#else
#define KdPrint(arguments_in_parentheses) ((void)0)
#define KdPrintEx(arguments_in_parentheses) ((void)0)
#define vKdPrintEx(arguments_in_parentheses) ((void)0)
#define KdBreakPoint() ((void)0)
#define KdBreakPointWithStatus(status) ((void)0)
#endif

/* ---- Stops ------------------------------------------------------------------------------------------------------ */

/* Stops in an attached debugger. If there is none, ends the program; on Windows this would be a bug check. */
NTKERNELAPI VOID DbgBreakPoint(VOID);
NTKERNELAPI VOID DbgBreakPointWithStatus(_In_ ULONG Status);
/* Returns TRUE if no debugger is attached. */
NTKERNELAPI BOOLEAN KdRefreshDebuggerNotPresent(VOID);
#define KD_DEBUGGER_NOT_PRESENT KdRefreshDebuggerNotPresent()
#define KD_DEBUGGER_ENABLED (!KdRefreshDebuggerNotPresent())

NTKERNELAPI DECLSPEC_NORETURN VOID KeBugCheck(_In_ ULONG BugCheckCode);
NTKERNELAPI DECLSPEC_NORETURN VOID KeBugCheckEx(_In_ ULONG BugCheckCode, _In_ ULONG_PTR BugCheckParameter1,
                                                _In_ ULONG_PTR BugCheckParameter2, _In_ ULONG_PTR BugCheckParameter3,
                                                _In_ ULONG_PTR BugCheckParameter4);

/*
 * A failed assertion is reported as rule "assertion" with file and line. The driver then stops or continues as after
 * any other broken rule. If checks are off, the program ends.
 */
NTKERNELAPI VOID RtlAssert(_In_ PVOID VoidFailedAssertion, _In_ PVOID VoidFileName, _In_ ULONG LineNumber,
                           _In_opt_ PSTR MutableMessage);

#define ONDK_ASSERT(expression, message) \
    ((expression) \
         ? TRUE \
         : (RtlAssert((PVOID)(ULONG_PTR) #expression, (PVOID)(ULONG_PTR)__FILE__, __LINE__, (message)), FALSE))
#define NT_VERIFY_ALWAYS(expression) ONDK_ASSERT(expression, NULL)
#define NT_FRE_ASSERT(expression) ((void)ONDK_ASSERT(expression, NULL))
#define NT_FRE_ASSERTMSG(message, expression) ((void)ONDK_ASSERT(expression, (PSTR)(ULONG_PTR)(message)))
#if DBG
#define NT_ASSERT(expression) ((void)ONDK_ASSERT(expression, NULL))
#define NT_ASSERTMSG(message, expression) ((void)ONDK_ASSERT(expression, (PSTR)(ULONG_PTR)(message)))
#define NT_ASSERTMSGW(message, expression) NT_ASSERT(expression)
#define NT_VERIFY(expression) ONDK_ASSERT(expression, NULL)
#define NT_VERIFYMSG(message, expression) ONDK_ASSERT(expression, (PSTR)(ULONG_PTR)(message))
#define ASSERTMSG(message, expression) NT_ASSERTMSG(message, expression)
#define RTL_SOFT_ASSERT(expression) \
    ((expression) ? (void)0 : (void)DbgPrint("%s(%d): soft assertion failed: %s\n", __FILE__, __LINE__, #expression))
#define RTL_VERIFY(expression) ONDK_ASSERT(expression, NULL)
#else
#define NT_ASSERT(expression) ((void)0)
#define NT_ASSERTMSG(message, expression) ((void)0)
#define NT_ASSERTMSGW(message, expression) ((void)0)
#define NT_VERIFY(expression) ((expression) ? TRUE : FALSE)
#define NT_VERIFYMSG(message, expression) ((expression) ? TRUE : FALSE)
#define ASSERTMSG(message, expression) ((void)0)
#define RTL_SOFT_ASSERT(expression) ((void)0)
#define RTL_VERIFY(expression) ((expression) ? TRUE : FALSE)
#endif
#ifndef ASSERT
#define ASSERT(expression) NT_ASSERT(expression)
#endif
#define RTL_ASSERT(expression) NT_ASSERT(expression)
#define DbgRaiseAssertionFailure() DbgBreakPoint()
#define NT_ANALYSIS_ASSUME(expression) ((void)0)
#define NT_ASSERT_ASSUME NT_ASSERT
#define NT_ASSERTMSG_ASSUME NT_ASSERTMSG
#define NT_ASSERT_NOASSUME NT_ASSERT

/* Intrinsics of MSVC. */
#define __debugbreak() DbgBreakPoint()
#define __int2c() RtlAssert((PVOID)(ULONG_PTR)"__int2c", (PVOID)(ULONG_PTR)__FILE__, __LINE__, NULL)
#define FAST_FAIL_LEGACY_GS_VIOLATION 0
#define FAST_FAIL_CORRUPT_LIST_ENTRY 3
#define FAST_FAIL_INVALID_ARG 5
#define FAST_FAIL_FATAL_APP_EXIT 7
#define FAST_FAIL_RANGE_CHECK_FAILURE 8
#define FAST_FAIL_INVALID_REFERENCE_COUNT 14
#define __fastfail(code) KeBugCheckEx(0x139, (code), 0, 0, 0) /* KERNEL_SECURITY_CHECK_FAILURE */
#define RtlFailFast(code) __fastfail(code)

EXTERN_C_END

#endif
