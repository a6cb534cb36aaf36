/* SPDX-License-Identifier: MIT */
/* __try, __except, __finally and __leave: which parts run, in which order, and their exception codes. */
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

static char steps[64];

static void step(char letter)
{
    size_t length = strlen(steps);

    assert_true(length + 1 < sizeof(steps));
    steps[length] = letter;
    steps[length + 1] = 0;
}

static int set_up(void **state)
{
    (void)state;
    steps[0] = 0;
    return 0;
}

static LONG filter(LONG answer)
{
    step('?');
    return answer;
}

__attribute__((noinline)) static void raise_inside(NTSTATUS status)
{
    if (status)
        ExRaiseStatus(status);
}

static void test_no_exception(void **state)
{
    (void)state;
    __try {
        step('b');
    } __except (filter(EXCEPTION_EXECUTE_HANDLER)) {
        step('e');
    }
    __try {
        step('b');
    } __finally {
        step(AbnormalTermination() ? 'A' : 'n');
    }
    assert_string_equal(steps, "bbn");
}

static void test_handled(void **state)
{
    (void)state;
    __try {
        step('b');
        raise_inside(STATUS_ACCESS_VIOLATION);
        step('x');
    } __except (GetExceptionCode() == (ULONG)STATUS_ACCESS_VIOLATION ? filter(EXCEPTION_EXECUTE_HANDLER)
                                                                     : EXCEPTION_CONTINUE_SEARCH) {
        step('e');
        assert_int_equal((NTSTATUS)GetExceptionCode(), STATUS_ACCESS_VIOLATION);
    }
    step('.');
    assert_string_equal(steps, "b?e.");
}

static void test_goes_outwards(void **state)
{
    (void)state;
    __try {
        __try {
            __try {
                raise_inside(STATUS_UNSUCCESSFUL);
            } __except (filter(EXCEPTION_CONTINUE_SEARCH)) {
                step('x');
            }
        } __finally {
            step(AbnormalTermination() ? 'A' : 'n');
        }
        step('x');
    } __except (filter(EXCEPTION_EXECUTE_HANDLER)) {
        step('e');
        assert_int_equal((NTSTATUS)GetExceptionCode(), STATUS_UNSUCCESSFUL);
    }
    assert_string_equal(steps, "?A?e");
}

static void test_leave(void **state)
{
    (void)state;
    __try {
        for (int i = 0; i < 3; i++) {
            step('l');
            if (i == 1)
                __leave;
        }
        step('x');
    } __finally {
        step(AbnormalTermination() ? 'A' : 'n');
    }
    __try {
        __leave;
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        step('x');
    }
    assert_string_equal(steps, "lln");
}

/*
 * An exception in a handler reaches the next outer one. An exception in a __finally handler does, too, and replaces the
 * first one.
 */
static void test_raised_in_handler(void **state)
{
    (void)state;
    __try {
        __try {
            raise_inside(STATUS_TIMEOUT);
        } __except (EXCEPTION_EXECUTE_HANDLER) {
            step('1');
            raise_inside(STATUS_NO_MEMORY);
        }
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        step('2');
        assert_int_equal((NTSTATUS)GetExceptionCode(), STATUS_NO_MEMORY);
    }
    __try {
        __try {
            raise_inside(STATUS_TIMEOUT);
        } __finally {
            raise_inside(STATUS_NO_MEMORY);
        }
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        step('3');
        assert_int_equal((NTSTATUS)GetExceptionCode(), STATUS_NO_MEMORY);
    }
    assert_string_equal(steps, "123");
}

__attribute__((noinline)) static int returns_from_body(void)
{
    __try {
        return 7;
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return 8;
    }
    return 9;
}

static void test_frame_goes_with_return(void **state)
{
    (void)state;
    __try {
        assert_int_equal(returns_from_body(), 7);
        raise_inside(STATUS_UNSUCCESSFUL);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        step('e');
    }
    assert_string_equal(steps, "e");
}

static void test_value_changed_in_body(void **state)
{
    char *volatile memory = NULL;

    (void)state;
    __try {
        memory = strdup("held");
        raise_inside(STATUS_UNSUCCESSFUL);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        assert_non_null(memory);
    }
    free(memory);
}

static void raise_for_nobody(void)
{
    __try {
        ExRaiseAccessViolation();
    } __except (EXCEPTION_CONTINUE_SEARCH) {
    }
}

static void test_nobody_handles(void **state)
{
    (void)state;
    child_aborts(raise_for_nobody);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_exception, set_up),
        cmocka_unit_test_setup(test_handled, set_up),
        cmocka_unit_test_setup(test_goes_outwards, set_up),
        cmocka_unit_test_setup(test_leave, set_up),
        cmocka_unit_test_setup(test_raised_in_handler, set_up),
        cmocka_unit_test_setup(test_frame_goes_with_return, set_up),
        cmocka_unit_test_setup(test_value_changed_in_body, set_up),
        cmocka_unit_test_setup(test_nobody_handles, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
