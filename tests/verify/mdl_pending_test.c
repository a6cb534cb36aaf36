/* SPDX-License-Identifier: MIT */
/* An MDL chain that is used again while a call with it is pending, and what is near it but legal. */
#include "verify/reported.h"

#include "verify/mdl_pending.h"

static int start_region(void **state)
{
    start(state);
    open_region();
    return 0;
}

static int stop_region(void **state)
{
    close_region();
    return stop(state);
}

/* Checks that there is one report since the last call of this function, with the words. NULL: that there is none. */
static void assert_report(const char *words)
{
    uint32_t n = ondk_verify_breaches() - breaches_before;

    if (n != (words ? 1 : 0) || (words && !occurrences(words)))
        fail_msg("expected \"%s\", but there were %u:\n%s", words ? words : "nothing", n, output_text());
    breaches_before += n;
}

static void test_used_by_build(void **state)
{
    (void)state;
    assert_int_equal(call_register(&first_mdl, true), STATUS_PENDING);
    assert_report(NULL);
    assert_int_equal(call_build(&first_mdl, false), STATUS_SUCCESS);
    assert_report("mdl-used-pending in NdkBuildLAM");
    call_release();
    assert_int_equal(call_build(&second_mdl, false), STATUS_SUCCESS); /* a part of the chain */
    assert_report("mdl-used-pending in NdkBuildLAM");
    call_release();
    fake_provider_complete(fake, STATUS_SUCCESS);
    assert_int_equal(call_build(&first_mdl, false), STATUS_SUCCESS);
    call_release();
    call_deregister();
    assert_report(NULL);
}

static void test_used_by_registration(void **state)
{
    (void)state;
    assert_int_equal(call_build(&second_mdl, true), STATUS_PENDING);
    assert_int_equal(call_register(&first_mdl, false), STATUS_SUCCESS);
    assert_report("mdl-used-pending in NdkRegisterMr");
    call_deregister();
    fake_provider_complete(fake, STATUS_SUCCESS);
    assert_int_equal(call_register(&first_mdl, false), STATUS_SUCCESS);
    call_deregister();
    call_release();
    assert_report(NULL);
}

static void test_other_mdl(void **state)
{
    MDL same_memory = first_mdl;

    (void)state;
    same_memory.Next = NULL;
    assert_int_equal(call_register(&first_mdl, true), STATUS_PENDING);
    assert_int_equal(call_build(&same_memory, false), STATUS_SUCCESS);
    call_release();
    fake_provider_complete(fake, STATUS_SUCCESS);
    call_deregister();
    assert_report(NULL);
}

static void *build_and_release(void *arg)
{
    (void)arg;
    (void)call_build(&first_mdl, false);
    call_release();
    return NULL;
}

/* The call of another thread may not have returned yet, so it is not compared. */
static void test_other_thread(void **state)
{
    pthread_t thread;

    (void)state;
    assert_int_equal(call_register(&first_mdl, true), STATUS_PENDING);
    assert_int_equal(pthread_create(&thread, NULL, build_and_release, NULL), 0);
    pthread_join(thread, NULL);
    fake_provider_complete(fake, STATUS_SUCCESS);
    call_deregister();
    assert_report(NULL);
}

/* A region is registered while its registration, or the end of it, is pending. */
static void test_registered_twice(void **state)
{
    MDL other;

    (void)state;
    describe(&other, (char *)&other, NULL);
    assert_int_equal(call_register(&first_mdl, true), STATUS_PENDING);
    (void)call_register(&other, false);
    assert_report("mr-registered-twice in NdkRegisterMr");
    fake_provider_complete(fake, STATUS_SUCCESS);
    fake->pend = true;
    call_deregister();
    (void)call_register(&other, false);
    assert_report("mr-registered-twice in NdkRegisterMr");
    fake_provider_complete(fake, STATUS_SUCCESS);
    call_deregister(); /* the fake provider has accepted the second registration */
    assert_int_equal(call_register(&other, true), STATUS_PENDING);
    fake_provider_complete(fake, STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(call_register(&other, false), STATUS_SUCCESS);
    call_deregister();
    assert_report(NULL);
}

static void test_freed(void **state)
{
    (void)state;
    assert_int_equal(call_build(&first_mdl, true), STATUS_PENDING);
    ondk_verify_check_free(&second_mdl, sizeof second_mdl);
    assert_report("mdl-used-pending in ondk_verify_check_free");
    fake_provider_complete(fake, STATUS_SUCCESS);
    ondk_verify_check_free(&second_mdl, sizeof second_mdl); /* a mapping does not need its MDLs */
    call_release();
    assert_report(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_used_by_build, start_region, stop_region),
        cmocka_unit_test_setup_teardown(test_used_by_registration, start_region, stop_region),
        cmocka_unit_test_setup_teardown(test_other_mdl, start_region, stop_region),
        cmocka_unit_test_setup_teardown(test_other_thread, start_region, stop_region),
        cmocka_unit_test_setup_teardown(test_registered_twice, start_region, stop_region),
        cmocka_unit_test_setup_teardown(test_freed, start_region, stop_region),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
