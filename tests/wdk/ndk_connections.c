/* SPDX-License-Identifier: MIT */
/* Drivers that break the rules about connections. tests/verify/connections.c has more of them, and what is legal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"
#include "ndkpi.h"
#include "ws2def.h"

#include "ndk_driver.h"
#include "report.h"

static NTSTATUS complete_connect(void)
{
    struct call c;

    call_init(&c);
    return finish(&c, near.connector->Dispatch->NdkCompleteConnect(near.connector, NULL, NULL, request_done, &c));
}

/* Rejects the request of a connect that start_connect began with `c`. */
static void reject(struct call *c, NTSTATUS status)
{
    far.connector = wait_asked();
    assert_int_equal(far.connector->Dispatch->NdkReject(far.connector, NULL, 0), STATUS_SUCCESS);
    assert_int_equal(finish(c, status), STATUS_CONNECTION_REFUSED);
    close_object(far.connector);
    far.connector = NULL;
}

static void test_connector_phase(void **state)
{
    struct report *r = report_start();
    struct call c;

    (void)state;
    open_all();
    assert_int_equal(complete_connect(), STATUS_CONNECTION_INVALID);
    report_says(r, "connector-phase in NdkCompleteConnect",
                "NdkConnect has not been called (the provider returned STATUS_CONNECTION_INVALID)");
    r = report_start();
    call_init(&c);
    NTSTATUS connecting = start_connect(request_done, &c);
    assert_int_equal(complete_connect(), STATUS_CONNECTION_INVALID);
    report_says(r, "connector-phase in NdkCompleteConnect", "connects to 127.0.0.1:");
    r = report_start();
    reject(&c, connecting);
    establish(); /* a connect may be tried again */
    disconnect();
    report_is_empty(r);
    close_all();
}

static void test_connection_data_phase(void **state)
{
    struct report *r = report_start();
    UCHAR data[512];
    ULONG length = sizeof data, inbound;

    (void)state;
    open_all();
    establish();
    assert_int_equal(far.connector->Dispatch->NdkGetConnectionData(far.connector, &inbound, NULL, NULL, NULL),
                     STATUS_SUCCESS);
    report_is_empty(r);
    r = report_start();
    assert_int_equal(far.connector->Dispatch->NdkGetConnectionData(far.connector, NULL, NULL, data, &length),
                     STATUS_SUCCESS);
    report_says(r, "connection-data-phase in NdkGetConnectionData", "accepted from 127.0.0.1:");
    disconnect();
    close_all();
}

static void test_connection_address_phase(void **state)
{
    struct report *r = report_start();
    SOCKADDR_STORAGE at;
    ULONG length = sizeof at;

    (void)state;
    open_all();
    assert_false(NT_SUCCESS(near.connector->Dispatch->NdkGetPeerAddress(near.connector, (PSOCKADDR)&at, &length)));
    report_says(r, "connection-address-phase in NdkGetPeerAddress", "NdkConnect has not been called");
    r = report_start();
    establish();
    length = sizeof at;
    assert_int_equal(near.connector->Dispatch->NdkGetPeerAddress(near.connector, (PSOCKADDR)&at, &length),
                     STATUS_SUCCESS);
    disconnect();
    close_all();
    report_is_empty(r);
}

static void test_listen_twice(void **state)
{
    struct report *r = report_start();
    SOCKADDR_STORAGE at;
    ULONG length = sizeof at;
    struct call c;

    (void)state;
    open_all();
    assert_int_equal(listener->Dispatch->NdkGetLocalAddress(listener, (PSOCKADDR)&at, &length), STATUS_SUCCESS);
    report_is_empty(r);
    r = report_start();
    call_init(&c);
    assert_false(
        NT_SUCCESS(finish(&c, listener->Dispatch->NdkListen(listener, (PSOCKADDR)&at, length, request_done, &c))));
    report_is(r, "listen-twice in NdkListen");
    close_all();
}

static void test_private_data_length(void **state)
{
    struct report *r = report_start();
    NDK_ADAPTER_INFO info;
    ULONG size = sizeof info;
    UCHAR *data;
    struct call c;

    (void)state;
    open_all();
    assert_int_equal(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_SUCCESS);
    data = calloc(1, info.MaxCalleeData + 1);
    call_init(&c);
    NTSTATUS connecting = start_connect(request_done, &c);
    NDK_CONNECTOR *asked = wait_asked();
    assert_int_equal(asked->Dispatch->NdkReject(asked, data, info.MaxCalleeData + 1), STATUS_INVALID_PARAMETER);
    report_is(r, "private-data-length in NdkReject");
    r = report_start();
    assert_int_equal(asked->Dispatch->NdkReject(asked, data, info.MaxCalleeData), STATUS_SUCCESS);
    assert_int_equal(finish(&c, connecting), STATUS_CONNECTION_REFUSED);
    close_object(asked);
    free(data);
    close_all();
    report_is_empty(r);
}

static void test_buffer_missing(void **state)
{
    struct report *r = report_start();
    ULONG length = 1;
    struct call c;

    (void)state;
    open_all();
    call_init(&c);
    NTSTATUS connecting = start_connect(request_done, &c);
    far.connector = wait_asked();
    assert_int_equal(far.connector->Dispatch->NdkGetConnectionData(far.connector, NULL, NULL, NULL, &length),
                     STATUS_INVALID_PARAMETER);
    report_is(r, "buffer-missing in NdkGetConnectionData");
    r = report_start();
    length = 0;
    assert_int_equal(far.connector->Dispatch->NdkGetConnectionData(far.connector, NULL, NULL, NULL, &length),
                     STATUS_SUCCESS);
    close_object(far.connector); /* rejects the request */
    far.connector = NULL;
    assert_int_equal(finish(&c, connecting), STATUS_CONNECTION_REFUSED);
    close_all();
    report_is_empty(r);
}

static void test_queue_pair_reused(void **state)
{
    struct report *r;
    struct call c;

    (void)state;
    open_all();
    establish();
    disconnect();
    r = report_start();
    call_init(&c);
    assert_int_equal(start_connect(request_done, &c), STATUS_INVALID_DEVICE_STATE);
    report_says(r, "queue-pair-reused in NdkConnect", "NDK_CONNECTOR");
    close_object(near.connector);
    MADE(NDK_CONNECTOR, near.connector, adapter->Dispatch->NdkCreateConnector(adapter, create_done, &c_, &inline_));
    r = report_start();
    assert_int_equal(start_connect(request_done, &c), STATUS_INVALID_DEVICE_STATE);
    report_says(r, "queue-pair-reused in NdkConnect", "NDK_QP");
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connector_phase),          cmocka_unit_test(test_connection_data_phase),
        cmocka_unit_test(test_connection_address_phase), cmocka_unit_test(test_listen_twice),
        cmocka_unit_test(test_private_data_length),      cmocka_unit_test(test_buffer_missing),
        cmocka_unit_test(test_queue_pair_reused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
