/* SPDX-License-Identifier: MIT */
/* Debug output, assertions and bug checks. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "wdm.h"

#include "openndk/wdk.h"
#include "openndk/verify.h"

static FILE *out;
static char *text;
static size_t length;

static int start(void **state)
{
    (void)state;
    out = open_memstream(&text, &length);
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    ondk_wdk_set_output(out);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    ondk_wdk_set_output(NULL);
    fclose(out);
    free(text);
    return 0;
}

static void prefixed(const char *prefix, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vDbgPrintExWithPrefix(prefix, DPFLTR_IHVNETWORK_ID, DPFLTR_ERROR_LEVEL, format, args);
    va_end(args);
}

/* Each line has a prefix, whether one call prints many lines or many calls print one. */
static void test_lines(void **state)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"wide");
    char expected[600], *at;
    int fronts = 0;

    (void)state;
    DbgPrint("one %wZ ", &name);
    DbgPrint("line %ld\nand %I64d\n", (LONG)-1, 1LL << 40);
    prefixed("fore: ", "%s\n", "prefix");
    memset(expected, 'x', 599);
    expected[599] = 0;
    KdPrint(("%s\n", expected));
    fflush(out);
    assert_non_null(strstr(text, " IRQL 0] one wide line -1\n["));
    assert_non_null(strstr(text, "] and 1099511627776\n["));
    assert_non_null(strstr(text, "] fore: prefix\n"));
    assert_non_null(strstr(text, expected));
    for (at = text; (at = strstr(at, " IRQL 0] ")); at++)
        fronts++;
    assert_int_equal(fronts, 4);
}

static void test_report_after_open_line(void **state)
{
    int zero = 0;

    (void)state;
    DbgPrint("no line end");
    NT_ASSERT(zero == 1);
    DbgPrint("next\n");
    fflush(out);
    assert_non_null(strstr(text, " IRQL 0] no line end\n*** driver rule broken: assertion"));
    assert_non_null(strstr(text, " IRQL 0] next\n"));
}

static void test_filter(void **state)
{
    (void)state;
    assert_int_equal(DbgQueryDebugFilterState(DPFLTR_IHVDRIVER_ID, DPFLTR_INFO_LEVEL), TRUE);
    assert_int_equal(DbgSetDebugFilterState(DPFLTR_IHVDRIVER_ID, DPFLTR_INFO_LEVEL, FALSE), STATUS_SUCCESS);
    assert_int_equal(DbgQueryDebugFilterState(DPFLTR_IHVDRIVER_ID, DPFLTR_INFO_LEVEL), FALSE);
    DbgPrintEx(DPFLTR_IHVDRIVER_ID, DPFLTR_INFO_LEVEL, "hidden\n");
    KdPrintEx((DPFLTR_IHVDRIVER_ID, DPFLTR_ERROR_LEVEL, "shown %d\n", 1));
    DbgSetDebugFilterState(DPFLTR_IHVDRIVER_ID, DPFLTR_MASK | 0xff, TRUE);
    DbgPrintEx(DPFLTR_IHVDRIVER_ID, DPFLTR_INFO_LEVEL, "shown %d\n", 2);
    fflush(out);
    assert_null(strstr(text, "hidden"));
    assert_non_null(strstr(text, "shown 1\n"));
    assert_non_null(strstr(text, "shown 2\n"));
    assert_int_equal(DbgQueryDebugFilterState(5000, 0), STATUS_INVALID_PARAMETER_1);
}

static void test_assert(void **state)
{
    uint32_t before = ondk_verify_breaches();
    int zero = 0, one = 1;

    (void)state;
    NT_ASSERT(one == 1);
    ASSERT(one);
    assert_true(NT_VERIFY(one));
    assert_int_equal(ondk_verify_breaches(), before);
    NT_ASSERTMSG("as it must", zero == 1);
    assert_false(NT_VERIFY(zero++));
    assert_int_equal(zero, 1);
    fflush(out);
    assert_int_equal(ondk_verify_breaches(), before + 2);
    assert_non_null(strstr(text, "driver rule broken: assertion in NT_ASSERT: zero == 1 ("));
    assert_non_null(strstr(text, "debug.c:"));
    assert_non_null(strstr(text, ") as it must\n"));
}

static void breakpoint(void)
{
    DbgBreakPoint();
}

static void bug_check(void)
{
    KeBugCheckEx(0xe2, 1, 2, 3, 4);
}

static void fast_fail(void)
{
    __fastfail(FAST_FAIL_CORRUPT_LIST_ENTRY);
}

static void assert_unchecked(void)
{
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    NT_ASSERT(!*text || !"never");
    _exit(*text == 0 ? 0 : 1);
}

/* The child ends with abort() after printing the reason. */
static void ends(void (*routine)(void), const char *words)
{
    int pipes[2], status;
    char said[4096] = "";
    size_t have = 0;
    ssize_t n;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        ondk_wdk_set_output(fdopen(pipes[1], "w"));
        DbgPrint("child\n");
        fflush(out);
        routine();
        _exit(0);
    }
    close(pipes[1]);
    while (have < sizeof said - 1 && (n = read(pipes[0], said + have, sizeof said - 1 - have)) > 0)
        have += (size_t)n;
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    if (!strstr(said, words))
        fail_msg("\"%s\" is missing: %s", words, said);
}

static void test_stops(void **state)
{
    (void)state;
    fprintf(out, "not empty");
    fflush(out);
    ends(breakpoint, "DbgBreakPoint: no debugger is attached. Run gdb --args ndkrun OPTIONS DRIVER.so");
    ends(breakpoint, "bug check 0x1E (0x0000000080000003, ");
    ends(bug_check, "bug check 0xE2 (0x0000000000000001, 0x0000000000000002, 0x0000000000000003, 0x0000000000000004)");
    ends(fast_fail, "bug check 0x139 (0x0000000000000003, ");
    ends(assert_unchecked, "bug check 0x1E (0x00000000C0000420, ");
}

#define WITH_OUTPUT(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = { WITH_OUTPUT(test_lines), WITH_OUTPUT(test_report_after_open_line),
                                        WITH_OUTPUT(test_filter), WITH_OUTPUT(test_assert), WITH_OUTPUT(test_stops) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
