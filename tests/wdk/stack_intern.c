/* SPDX-License-Identifier: MIT */
/* Stacks of frequent events: complete, each stored once, and in the reports about locks and timers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"

#include "report.h"
#include "verify/stack_intern.h"
#include "wdk/common/inuse.h"
#include "openndk/verify.h"

static const void *after_inner, *after_outer; /* return addresses of the two functions below */

/* Actions of a driver, two calls deep. */
static __attribute__((noinline)) const struct stack *inner(const struct stack *(*act)(void *), void *context)
{
    const struct stack *s = act(context);

    after_inner = __builtin_return_address(0);
    return s;
}

static __attribute__((noinline)) const struct stack *outer(const struct stack *(*act)(void *), void *context)
{
    const struct stack *s = inner(act, context);

    after_outer = __builtin_return_address(0);
    return s;
}

static __attribute__((noinline)) const struct stack *intern(void *context)
{
    UNREFERENCED_PARAMETER(context);
    return stack_intern(__builtin_return_address(0));
}

static void test_whole(void **state)
{
    const struct stack *s;

    (void)state;
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    s = outer(intern, NULL);
    assert_true(s->depth >= 3);
    assert_ptr_equal(s->frames[1], after_inner);
    assert_ptr_equal(s->frames[2], after_outer);
}

static void test_stored_once(void **state)
{
    const struct stack *first = NULL, *s, *other;

    (void)state;
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    for (volatile int i = 0; i < 3; i++) { /* from one place: not to be unrolled */
        s = outer(intern, NULL);
        assert_true(!first || s == first);
        first = s;
    }
    other = outer(intern, NULL);
    assert_ptr_not_equal(other, first);
    assert_ptr_equal(other->frames[1], first->frames[1]);
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    assert_int_equal(outer(intern, NULL)->depth, 0);
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
}

static const struct stack *acquire(void *context)
{
    KIRQL irql;

    KeAcquireSpinLock(context, &irql);
    return NULL;
}

static const struct stack *set(void *context)
{
    LARGE_INTEGER late = { .QuadPart = -36000000000LL };

    KeSetTimer(context, late, NULL);
    return NULL;
}

/* The report about freed memory has both functions, behind the one that uses the memory and its caller. */
static void is_reported(struct report *r)
{
    void *a = (void *)(uintptr_t)after_inner, *b = (void *)(uintptr_t)after_outer;
    struct stack wanted = { .frames = { a, a, a, b }, .depth = 4 };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    stack_print(&wanted, out, "    ");
    fclose(out);
    report_says(r, "object-freed-in-use in ExFreePool", strstr(text, "    #2 "));
    free(text);
}

static void test_lock(void **state)
{
    struct report *r;
    KSPIN_LOCK lock;

    (void)state;
    KeInitializeSpinLock(&lock);
    r = report_start();
    (void)outer(acquire, &lock);
    inuse_check("ExFreePool", &lock, sizeof lock);
    KeReleaseSpinLock(&lock, PASSIVE_LEVEL);
    is_reported(r);
}

static void test_timer(void **state)
{
    struct report *r;
    KTIMER timer;

    (void)state;
    KeInitializeTimer(&timer);
    r = report_start();
    (void)outer(set, &timer);
    inuse_check("ExFreePool", &timer, sizeof timer);
    assert_true(KeCancelTimer(&timer));
    is_reported(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_stored_once),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_timer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
