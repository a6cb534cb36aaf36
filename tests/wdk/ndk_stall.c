/* SPDX-License-Identifier: MIT */
/* Drivers that leave NDK objects and adapters open, and calls that wait for long. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wsk.h"
#include "wskndk.h"

#include "ndk_driver.h"
#include "openndk/verify.h"
#include "report.h"

enum { LOOPBACK = 1, HOUR_MS = 3600000 };

static void set_limit(uint32_t ms)
{
    ondk_verify_config_t config;

    ondk_verify_config_init(&config);
    config.stall_ms = ms;
    assert_int_equal(ondk_verify_configure(&config), 0);
}

static struct report *start(uint32_t stall_ms)
{
    set_limit(stall_ms);
    return report_start();
}

/* A client of its own, because close_adapter expects that nothing is left. */
struct client {
    WSK_REGISTRATION registration;
    WSK_PROVIDER_NPI npi;
    WSK_PROVIDER_NDK_DISPATCH ndk;
    NDK_ADAPTER *adapter;
};

static void client_open(struct client *c)
{
    static const WSK_CLIENT_DISPATCH dispatch = { .Version = MAKE_WSK_VERSION(1, 0) };
    WSK_CLIENT_NPI npi = { NULL, &dispatch };

    assert_int_equal(WskRegister(&npi, &c->registration), STATUS_SUCCESS);
    assert_int_equal(WskCaptureProviderNPI(&c->registration, WSK_INFINITE_WAIT, &c->npi), STATUS_SUCCESS);
    assert_int_equal(c->npi.Dispatch->WskControlClient(c->npi.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, NULL,
                                                       sizeof c->ndk, &c->ndk, NULL, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(c->ndk.WskOpenNdkAdapter(c->npi.Client, (NDK_VERSION){ 2, 1 }, LOOPBACK, &c->adapter),
                     STATUS_SUCCESS);
}

/* WskCloseNdkAdapter returns although an object is open, and WskDeregister does not wait for the adapter. */
static void test_object_left(void **state)
{
    struct report *r = start(1);
    static struct client c;
    NDK_PD *left = NULL;

    (void)state;
    client_open(&c);
    assert_int_equal(c.adapter->Dispatch->NdkCreatePd(c.adapter, create_done, NULL, &left), STATUS_SUCCESS);
    c.ndk.WskCloseNdkAdapter(c.npi.Client, c.adapter);
    WskReleaseProviderNPI(&c.registration);
    WskDeregister(&c.registration);
    report_says(r, "objects-left in WskCloseNdkAdapter", "NDK_PD 0x");
}

/* WskDeregister returns although an adapter is open. */
static void test_adapter_left(void **state)
{
    struct report *r = start(1);
    static struct client c;

    (void)state;
    client_open(&c);
    WskReleaseProviderNPI(&c.registration);
    WskDeregister(&c.registration);
    report_says(r, "objects-left in WskDeregister", "nobody has closed 1 adapter(s)");
}

/* A connect request that nobody answers: NdkConnect is a stall, which is no breach. */
static void test_connect_stalls(void **state)
{
    uint32_t before = ondk_verify_advices();
    struct call connecting;
    struct report *r = start(HOUR_MS);
    NTSTATUS status;

    (void)state;
    open_all();
    call_init(&connecting);
    status = start_connect(request_done, &connecting);
    far.connector = wait_asked();
    set_limit(1);
    while (ondk_verify_advices() == before)
        sched_yield();
    set_limit(HOUR_MS);
    assert_int_equal(far.connector->Dispatch->NdkReject(far.connector, NULL, 0), STATUS_SUCCESS);
    assert_int_equal(finish(&connecting, status), STATUS_CONNECTION_REFUSED);
    close_all();
    fflush(r->out);
    assert_non_null(strstr(r->text, "stall in NdkConnect"));
    report_is_empty(r);
}

/* Calls that complete are no stalls. */
static void test_nothing_stalls(void **state)
{
    uint32_t before = ondk_verify_advices();
    struct report *r = start(HOUR_MS);

    (void)state;
    open_all();
    establish();
    disconnect();
    close_all();
    assert_int_equal(ondk_verify_advices(), before);
    report_is_empty(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_stalls), /* first, because the later tests leave objects */
        cmocka_unit_test(test_connect_stalls),
        cmocka_unit_test(test_object_left),
        cmocka_unit_test(test_adapter_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
