/* SPDX-License-Identifier: MIT */
/* ONDK_VERIFY and the settings of openndk/verify.h, with this library's provider behind. Each case has a process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <net/if.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "openndk/adapter.h"
#include "openndk/counters.h"
#include "openndk/verify.h"

static NDK_ADAPTER *open_adapter(void)
{
    NDK_ADAPTER *adapter = NULL;

    if (ondk_open_adapter((NDK_VERSION){ 2, 1 }, if_nametoindex("lo"), &adapter) != STATUS_SUCCESS)
        abort();
    return adapter;
}

static void ignore_notification(PVOID context, NTSTATUS status)
{
    (void)context;
    (void)status;
}

static void ignore_close(PVOID context)
{
    (void)context;
}

/* Uses a closed completion queue, but only if verification can report it. Returns the number of breaches. */
static unsigned use_after_close(void)
{
    NDK_ADAPTER *adapter = open_adapter();
    NDK_CQ *cq = NULL;
    ondk_verify_config_t config;
    ondk_counters_t counters;

    ondk_verify_config_init(&config);
    ondk_adapter_counters(adapter, &counters); /* finds the provider's adapter behind */
    if (adapter->Dispatch->NdkCreateCq(adapter, 8, ignore_notification, NULL, NULL, NULL, NULL, &cq) != STATUS_SUCCESS)
        abort();
    (void)cq->Dispatch->NdkCloseCq(&cq->Header, ignore_close, NULL);
    if (config.mode != ONDK_VERIFY_OFF)
        cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    ondk_close_adapter(adapter);
    return ondk_verify_breaches();
}

static unsigned full_is_read(void)
{
    ondk_verify_config_t config;

    ondk_verify_config_init(&config);
    return config.full;
}

/* The program's own setting is above the environment's. */
static unsigned set_before_opening(void)
{
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    return use_after_close();
}

/* An adapter that was opened while verification was off has the provider's own objects. */
static unsigned turned_on_too_late(void)
{
    NDK_ADAPTER *adapter = open_adapter();

    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    if (ondk_verify_unwrap(adapter) != adapter)
        abort();
    ondk_close_adapter(adapter);
    return ondk_verify_breaches();
}

/* Runs `body` in a child with ONDK_VERIFY=value. Returns the child's status as waitpid reports it. */
static int run(const char *value, unsigned (*body)(void))
{
    int status = -1;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        if (value)
            setenv("ONDK_VERIFY", value, 1);
        else
            unsetenv("ONDK_VERIFY");
        ondk_verify_set_output(fopen("/dev/null", "w"));
        _exit((int)body());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void assert_exits(int status, int code)
{
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

static void test_environment(void **state)
{
    int status = run("stop", use_after_close);

    (void)state;
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_exits(run("report", use_after_close), 1);
    assert_exits(run("off", use_after_close), 0);
    assert_exits(run(NULL, use_after_close), 0);
    assert_exits(run("sometimes", use_after_close), 0);
    assert_exits(run("report,full", full_is_read), 1);
    assert_exits(run("report", full_is_read), 0);
    assert_exits(run("report,fully", full_is_read), 0);
}

static void test_configured(void **state)
{
    (void)state;
    assert_exits(run("off", set_before_opening), 1);
    assert_exits(run(NULL, turned_on_too_late), 0);
}

static void test_wrong_settings(void **state)
{
    ondk_verify_config_t before, config;

    (void)state;
    ondk_verify_config_init(&before);
    config = before;
    config.mode = 3;
    assert_int_equal(ondk_verify_configure(&config), STATUS_INVALID_PARAMETER);
    config = before;
    config.full = 2;
    assert_int_equal(ondk_verify_configure(&config), STATUS_INVALID_PARAMETER);
    config = before;
    config.format = 2;
    assert_int_equal(ondk_verify_configure(&config), STATUS_INVALID_PARAMETER);
    config = before;
    config.size = 4;
    assert_int_equal(ondk_verify_configure(&config), STATUS_INVALID_PARAMETER);
    assert_int_equal(ondk_verify_config_parse(&config, "report"), STATUS_INVALID_PARAMETER);
    config = before;
    assert_int_equal(ondk_verify_config_parse(&config, "reports"), STATUS_INVALID_PARAMETER);
    assert_memory_equal(&config, &before, sizeof config);
    assert_int_equal(ondk_verify_wrap(NULL, NULL), STATUS_INVALID_PARAMETER);
}

static void test_reports(void **state)
{
    ondk_verify_config_t config;

    (void)state;
    ondk_verify_config_init(&config);
    assert_int_equal(config.format, ONDK_VERIFY_TEXT);
    assert_int_equal(config.max_written, 1);
    config.format = ONDK_VERIFY_JSON;
    config.max_written = 7;
    assert_int_equal(ondk_verify_configure(&config), STATUS_SUCCESS);
    ondk_verify_set_mode(ONDK_VERIFY_REPORT); /* leaves the other settings as they are */
    ondk_verify_config_init(&config);
    assert_int_equal(config.format, ONDK_VERIFY_JSON);
    assert_int_equal(config.max_written, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_configured),
        cmocka_unit_test(test_wrong_settings),
        cmocka_unit_test(test_reports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
