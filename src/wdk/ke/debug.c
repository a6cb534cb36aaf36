/* SPDX-License-Identifier: MIT */
/* Implements debug output, assertions and bug checks: see wdm/debug.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "wdm.h"

#include "wdk/common/bug_code.h"
#include "wdk/common/check.h"
#include "wdk/common/format.h"
#include "wdk/ke/thread.h"

enum { COMPONENTS = 256, TEXT_SHORT = 512 };

static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

/* For each component, a mask of levels. Texts of the levels in the mask are not printed. */
static atomic_uint hidden[COMPONENTS];

/* ---- Output ----------------------------------------------------------------------------------------------------- */

static void debug_print_prefix(FILE *out)
{
    struct timespec now;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    fprintf(out, "[%02d:%02d:%02d.%06ld %d IRQL %d] ", tm.tm_hour, tm.tm_min, tm.tm_sec, now.tv_nsec / 1000, gettid(),
            irql_now());
}

/*
 * Writes the text. If the previous text has no line end, the new text continues that line. While this function writes,
 * report_is_line_open returns false. Otherwise ndkrun's output stream would end the line first.
 */
static void debug_print_text(const char *text, size_t length)
{
    FILE *out = report_output();
    bool is_open;

    pthread_mutex_lock(&printing);
    flockfile(out);
    is_open = report_is_line_open();
    report_set_line_open(false);
    while (length) {
        const char *end = memchr(text, '\n', length);
        size_t n = end ? (size_t)(end - text) + 1 : length;

        if (!is_open)
            debug_print_prefix(out);
        fwrite(text, 1, n, out);
        is_open = !end;
        text += n;
        length -= n;
    }
    fflush(out);
    report_set_line_open(is_open);
    funlockfile(out);
    pthread_mutex_unlock(&printing);
}

static void debug_print(const char *prefix, const char *format, va_list args)
{
    char fixed[TEXT_SHORT], *text = fixed;
    size_t front = strlen(prefix), length = front + format_narrow(NULL, 0, NULL, format, args);

    if (length > sizeof fixed) {
        text = malloc(length);
        if (!text) { /* out of memory: only the beginning is printed */
            text = fixed;
            length = sizeof fixed;
        }
    }
    front = min(front, length);
    memcpy(text, prefix, front);
    (void)format_narrow(text + front, length - front, &length, format, args);
    debug_print_text(text, front + length);
    if (text != fixed)
        free(text);
}

static unsigned debug_level_mask(ULONG level)
{
    return level < 32 ? 1u << level : level;
}

NTSTATUS DbgQueryDebugFilterState(ULONG ComponentId, ULONG Level)
{
    if (ComponentId >= COMPONENTS)
        return STATUS_INVALID_PARAMETER_1;
    return debug_level_mask(Level) & ~atomic_load_explicit(&hidden[ComponentId], memory_order_relaxed) ? TRUE : FALSE;
}

NTSTATUS DbgSetDebugFilterState(ULONG ComponentId, ULONG Level, BOOLEAN State)
{
    if (ComponentId >= COMPONENTS)
        return STATUS_INVALID_PARAMETER_1;
    if (State)
        atomic_fetch_and(&hidden[ComponentId], ~debug_level_mask(Level));
    else
        atomic_fetch_or(&hidden[ComponentId], debug_level_mask(Level));
    return STATUS_SUCCESS;
}

ULONG vDbgPrintExWithPrefix(PCCH Prefix, ULONG ComponentId, ULONG Level, PCCH Format, va_list arglist)
{
    if (DbgQueryDebugFilterState(ComponentId, Level) == TRUE)
        debug_print(Prefix, Format, arglist);
    return STATUS_SUCCESS;
}

ULONG vDbgPrintEx(ULONG ComponentId, ULONG Level, PCCH Format, va_list arglist)
{
    return vDbgPrintExWithPrefix("", ComponentId, Level, Format, arglist);
}

ULONG DbgPrintEx(ULONG ComponentId, ULONG Level, PCSTR Format, ...)
{
    va_list args;

    va_start(args, Format);
    (void)vDbgPrintEx(ComponentId, Level, Format, args);
    va_end(args);
    return STATUS_SUCCESS;
}

ULONG DbgPrint(PCSTR Format, ...)
{
    va_list args;

    va_start(args, Format);
    (void)vDbgPrintEx(DPFLTR_DEFAULT_ID, DPFLTR_INFO_LEVEL, Format, args);
    va_end(args);
    return STATUS_SUCCESS;
}

/* Prints the text. Always returns FALSE, because there is no debugger in which the user could press Ctrl-C. */
ULONG DbgPrintReturnControlC(PCCH Format, ...)
{
    va_list args;

    va_start(args, Format);
    (void)vDbgPrintEx(DPFLTR_DEFAULT_ID, DPFLTR_INFO_LEVEL, Format, args);
    va_end(args);
    return FALSE;
}

/* ---- Stops ------------------------------------------------------------------------------------------------------ */

BOOLEAN KdRefreshDebuggerNotPresent(VOID)
{
    char line[128];
    FILE *status = fopen("/proc/self/status", "re");
    int tracer = 0;

    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "TracerPid: %d", &tracer) == 1)
            break;
    if (status)
        fclose(status);
    return tracer == 0;
}

VOID DbgBreakPointWithStatus(ULONG Status)
{
    if (KdRefreshDebuggerNotPresent()) {
        fprintf(report_output(),
                "DbgBreakPoint: no debugger is attached. Run gdb --args ndkrun OPTIONS DRIVER.so, then "
                "`run`: gdb stops here.\n");
        check_bug(KMODE_EXCEPTION_NOT_HANDLED, (uint32_t)STATUS_BREAKPOINT, (uintptr_t)__builtin_return_address(0),
                  Status, 0);
    }
    raise(SIGTRAP);
}

VOID DbgBreakPoint(VOID)
{
    DbgBreakPointWithStatus(0);
}

VOID KeBugCheckEx(ULONG BugCheckCode, ULONG_PTR BugCheckParameter1, ULONG_PTR BugCheckParameter2,
                  ULONG_PTR BugCheckParameter3, ULONG_PTR BugCheckParameter4)
{
    check_bug(BugCheckCode, BugCheckParameter1, BugCheckParameter2, BugCheckParameter3, BugCheckParameter4);
}

VOID KeBugCheck(ULONG BugCheckCode)
{
    check_bug(BugCheckCode, 0, 0, 0, 0);
}

VOID RtlAssert(PVOID VoidFailedAssertion, PVOID VoidFileName, ULONG LineNumber, PSTR MutableMessage)
{
    const char *message = MutableMessage ? MutableMessage : "";

    if (check_on()) {
        check_failed(CHECK_ASSERTION, "NT_ASSERT", (uint32_t)STATUS_ASSERTION_FAILURE, LineNumber, 0, 0,
                     "%s (%s:%u) %s", (const char *)VoidFailedAssertion, (const char *)VoidFileName, LineNumber,
                     message);
        return;
    }
    (void)DbgPrint("assertion failed: %s (%s:%u) %s\n", VoidFailedAssertion, VoidFileName, LineNumber, message);
    check_bug(KMODE_EXCEPTION_NOT_HANDLED, (uint32_t)STATUS_ASSERTION_FAILURE, (uintptr_t)__builtin_return_address(0),
              0, 0);
}
