/* SPDX-License-Identifier: MIT */
/* The report of a broken rule: its text, the count, and the end of the program in stop mode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"

#include "child.h"
#include "openndk/wdk.h"
#include "wdk/common/check.h"
#include "openndk/verify.h"

static void test_report(void **state)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    uint32_t before = ondk_verify_breaches();

    (void)state;
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    ondk_wdk_set_output(out);
    check_failed(CHECK_POOL_WRONG_TAG, "ExFreePoolWithTag", 1, 2, 3, 4, "block of %d bytes", 7);
    ondk_wdk_set_output(NULL);
    fclose(out);
    assert_int_equal(ondk_verify_breaches(), before + 1);
    assert_non_null(strstr(text, "pool-wrong-tag in ExFreePoolWithTag: block of 7 bytes"));
    assert_non_null(strstr(text, "bug check 0xC2 (0x0000000000000001, 0x0000000000000002, "
                                 "0x0000000000000003, 0x0000000000000004)"));
    assert_non_null(strstr(text, "#0 "));
    free(text);
}

static void break_a_rule(void)
{
    ondk_verify_set_mode(ONDK_VERIFY_STOP);
    check_failed(CHECK_PAGED_CODE, "PAGED_CODE", 2, 1, 0, 0, "at DISPATCH_LEVEL");
}

static void test_stop(void **state)
{
    (void)state;
    child_aborts(break_a_rule);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_report), cmocka_unit_test(test_stop) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
