/* SPDX-License-Identifier: MIT */
/* All opens of an interface share one adapter of the provider. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netioapi.h"
#include "ndkpi.h"

#include "wdk/ndk/adapters.h"

static uint32_t loopback(void)
{
    NET_LUID luid;
    NET_IFINDEX index;

    assert_int_equal(ConvertInterfaceNameToLuidA("lo", &luid), STATUS_SUCCESS);
    assert_int_equal(ConvertInterfaceLuidToIndex(&luid, &index), STATUS_SUCCESS);
    return index;
}

static void test_shared(void **state)
{
    const NDK_VERSION v1 = { 1, 0 }, v2 = { 2, 0 };
    NDK_ADAPTER *first, *second, *other;

    (void)state;
    assert_int_equal(adapters_open(v1, loopback(), &first), STATUS_SUCCESS);
    assert_int_equal(adapters_open(v1, loopback(), &second), STATUS_SUCCESS);
    assert_int_equal(adapters_open(v2, loopback(), &other), STATUS_SUCCESS);
    assert_ptr_equal(first, second);
    assert_ptr_not_equal(first, other);
    assert_int_equal(adapters_close(first), ADAPTERS_STILL_OPEN);
    assert_int_equal(adapters_close(other), ADAPTERS_CLOSED);
    assert_int_equal(adapters_close(second), ADAPTERS_CLOSED);
    assert_int_equal(adapters_close(second), ADAPTERS_UNKNOWN);
}

static void test_refused(void **state)
{
    const NDK_VERSION v1 = { 1, 0 };
    NDK_ADAPTER *none = NULL;

    (void)state;
    assert_false(NT_SUCCESS(adapters_open(v1, 4711, &none)));
    assert_null(none);
    assert_int_equal(adapters_open(v1, loopback(), NULL), STATUS_INVALID_PARAMETER);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_shared), cmocka_unit_test(test_refused) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
