/* SPDX-License-Identifier: MIT */
/* The records of posted requests, where a provider of the tests cannot bring about the order of calls or the depth. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "openndk/verify.h"
#include "verify/posted.h"

enum { DEPTH = 4, MAX_DEPTH = 65535, SGES = SOURCE_MAX_SGES };

static struct posted posted;
static atomic_int users;

static int posted_setup(void **state)
{
    (void)state;
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    memset(&posted, 0, sizeof posted);
    atomic_store(&users, 0);
    posted.users = &users;
    return 0;
}

static int posted_teardown(void **state)
{
    (void)state;
    posted_fini(&posted);
    return 0;
}

/* The peer's answer to a silent request may be polled before the request's post has returned. */
static void test_answered_before_the_post_returns(void **state)
{
    struct post first = { .routine = "NdkSend", .flags = NDK_OP_FLAG_SILENT_SUCCESS }, second = first;

    (void)state;
    posted_init(&posted, 0, DEPTH, 1);
    posted_begin(&posted, &first);
    posted_uncount_silent(&posted);
    assert_int_equal(posted_end(&posted, &first, STATUS_SUCCESS), STATUS_SUCCESS);
    assert_int_equal(users, 0);
    posted_begin(&posted, &second);
    assert_int_equal(posted_end(&posted, &second, STATUS_SUCCESS), STATUS_SUCCESS);
    assert_int_equal(second.users, 1);
    assert_int_equal(users, 1);
}

static void test_refused(void **state)
{
    struct post post = { .routine = "NdkSend" };

    (void)state;
    posted_init(&posted, 0, DEPTH, 1);
    posted_begin(&posted, &post);
    assert_int_equal(users, 1);
    assert_int_equal(posted_end(&posted, &post, STATUS_INSUFFICIENT_RESOURCES), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(post.users, 0);
    assert_int_equal(users, 0);
}

/* The records of a deep queue have room for only a part of the SGEs, so the data of the others is not known. */
static void test_more_sges_than_recorded(void **state)
{
    NDK_SGE sgl[SGES];
    struct post post = { .routine = "NdkSend", .sgl = sgl, .sges = SGES, .source = { .has_sum = true } }, few = post;
    struct posted_copy copy;

    (void)state;
    for (int i = 0; i < SGES; i++)
        sgl[i] = (NDK_SGE){ .VirtualAddress = &sgl[i], .Length = 1, .MemoryRegionToken = 1 };
    posted_init(&posted, 0, MAX_DEPTH, SGES);
    assert_true(posted.room < SGES);
    few.sges = posted.room;
    posted_begin(&posted, &few);
    posted_begin(&posted, &post);
    assert_true(posted_copy_completed(&posted, few.passed, &copy));
    assert_true(copy.source.has_sum);
    assert_true(posted_copy_completed(&posted, post.passed, &copy));
    assert_int_equal(copy.sges, posted.room);
    assert_false(copy.source.has_sum);
}

#define POSTED_TEST(function) cmocka_unit_test_setup_teardown(function, posted_setup, posted_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        POSTED_TEST(test_answered_before_the_post_returns),
        POSTED_TEST(test_refused),
        POSTED_TEST(test_more_sges_than_recorded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
