/* SPDX-License-Identifier: MIT */
/* The maps to NTSTATUS are total, every status that they give has a name and an advice; configuration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "openndk/adapter.h"
#include "openndk/config.h"
#include "provider/config.h"
#include "provider/status.h"

static void check_named(NTSTATUS status)
{
    assert_int_not_equal(status, STATUS_INTERNAL_ERROR);
    assert_memory_equal(ondk_status_name(status), "STATUS_", 7);
    assert_true(strlen(ondk_status_advice(status)) > 20);
}

static void test_reasons(void **state)
{
    (void)state;
    for (int why = 0; why < FABRIC_REASON_COUNT; why++) {
        check_named(status_of_reason(why));
        check_named(status_of_connect(why));
        /* NdkConnect documents no abort; everything else is the same. */
        if (why == FABRIC_PEER_SILENT)
            assert_int_equal(status_of_connect(why), STATUS_IO_TIMEOUT);
        else if (why == FABRIC_INTERFACE_GONE)
            assert_int_equal(status_of_connect(why), STATUS_NETWORK_UNREACHABLE);
        else if (status_of_reason(why) == STATUS_CONNECTION_ABORTED)
            assert_int_equal(status_of_connect(why), STATUS_CONNECTION_REFUSED);
        else
            assert_int_equal(status_of_connect(why), status_of_reason(why));
    }
    assert_int_equal(status_of_reason(FABRIC_REASON_COUNT), STATUS_INTERNAL_ERROR);
    assert_int_equal(status_of_reason(FABRIC_OK), STATUS_SUCCESS);
    assert_int_equal(status_of_reason(FABRIC_NO_ROUTE), STATUS_NETWORK_UNREACHABLE);
    assert_int_equal(status_of_reason(FABRIC_NO_HOST), STATUS_HOST_UNREACHABLE);
    assert_int_equal(status_of_reason(FABRIC_REJECTED), STATUS_CONNECTION_REFUSED);
    assert_int_equal(status_of_reason(FABRIC_ADDRESS_TAKEN), STATUS_SHARING_VIOLATION);
    assert_int_equal(status_of_reason(FABRIC_FOUR_TUPLE), STATUS_ADDRESS_ALREADY_EXISTS);
    assert_int_equal(status_of_reason(FABRIC_PORTS_EXHAUSTED), STATUS_TOO_MANY_ADDRESSES);
    assert_int_equal(status_of_reason(FABRIC_LOCAL_CLOSE), STATUS_CANCELLED);
}

static void test_completions(void **state)
{
    (void)state;
    for (int status = RDMA_STATUS_OK; status <= RDMA_STATUS_REMOTE_RANGE; status++) {
        struct rdma_completion c = { .status = status, .terminate = 0, .reason = FABRIC_LOCAL_FLUSH };
        check_named(status_of_completion(status));
        assert_int_equal(status_provider_error(&c) == 0, status == RDMA_STATUS_OK);
        assert_int_equal(NT_SUCCESS(status_of_completion(status)), status == RDMA_STATUS_OK);
    }
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(ondk_status_name(STATUS_CONNECTION_REFUSED), "STATUS_CONNECTION_REFUSED");
    assert_string_equal(ondk_status_name(NDIS_STATUS_BAD_VERSION), "NDIS_STATUS_BAD_VERSION");
    assert_string_equal(ondk_status_name((NTSTATUS)0xC0DE1234), "0xC0DE1234");
    assert_non_null(ondk_status_advice((NTSTATUS)0xC0DE1234));
}

static void test_defaults(void **state)
{
    ondk_config_t c, read;

    (void)state;
    memset(&c, 0xee, sizeof(c));
    ondk_config_init(&c);
    assert_int_equal(c.size, sizeof(c));
    assert_int_equal(c.connect_ms, 10000);
    assert_int_equal(c.request_ms, 5000);
    assert_int_equal(c.backlog, 1024);
    assert_int_equal(c.max_private, 252);
    assert_int_equal(c.mpa_revision, 2);
    assert_int_equal(c.rtr, 7);
    assert_int_equal(c.pend_creates, 0);
    assert_true(config_read(&read, &c));
}

static void test_environment(void **state)
{
    ondk_config_t c;

    (void)state;
    setenv("ONDK_CONNECT_MS", "2000", 1);
    setenv("ONDK_CRC", "0", 1);
    setenv("ONDK_MAX_PRIVATE", "509", 1);   /* beyond the range */
    setenv("ONDK_BACKLOG", "12 pieces", 1); /* not a number */
    setenv("ONDK_SHARDS", "-1", 1);
    setenv("ONDK_SPIN_US", "99999999999999999999999", 1);
    setenv("ONDK_REPLY_MS", "", 1); /* counts as not set */
    assert_int_equal(ondk_config_check_environment(), 4);
    setenv("ONDK_CONECT_MS", "5", 1); /* an unknown name */
    assert_int_equal(ondk_config_check_environment(), 5);
    ondk_config_init(&c);
    assert_int_equal(c.connect_ms, 2000);
    assert_int_equal(c.crc, 0);
    assert_int_equal(c.max_private, 252);
    assert_int_equal(c.backlog, 1024);
    assert_int_equal(c.shards, 0);
    assert_int_equal(c.spin_us, 20);
    assert_int_equal(c.reply_ms, 10000);
    unsetenv("ONDK_CONNECT_MS");
    unsetenv("ONDK_CRC");
    unsetenv("ONDK_MAX_PRIVATE");
    unsetenv("ONDK_BACKLOG");
    unsetenv("ONDK_SHARDS");
    unsetenv("ONDK_SPIN_US");
    unsetenv("ONDK_REPLY_MS");
    unsetenv("ONDK_CONECT_MS");
    assert_int_equal(ondk_config_check_environment(), 0);
}

static void test_configure(void **state)
{
    ondk_config_t c, now;

    (void)state;
    ondk_config_init(&c);
    c.connect_ms = 77;
    assert_int_equal(ondk_configure(&c), STATUS_SUCCESS);
    config_current(&now);
    assert_memory_equal(&now, &c, sizeof(c));
    c.connect_ms = 0;
    assert_int_equal(ondk_configure(&c), STATUS_INVALID_PARAMETER);
    c.connect_ms = 1;
    c.rtr = 8;
    assert_int_equal(ondk_configure(&c), STATUS_INVALID_PARAMETER);
    c.rtr = 0;
    c.max_private = 509;
    assert_int_equal(ondk_configure(&c), STATUS_INVALID_PARAMETER);
    c.max_private = 508;
    c.size--;
    assert_int_equal(ondk_configure(&c), STATUS_INVALID_PARAMETER);
    config_current(&now);
    assert_int_equal(now.connect_ms, 77);
    assert_int_equal(ondk_configure(NULL), STATUS_SUCCESS);
    config_current(&now);
    assert_int_equal(now.connect_ms, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),  cmocka_unit_test(test_completions), cmocka_unit_test(test_names),
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_environment), cmocka_unit_test(test_configure),
    };

    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
