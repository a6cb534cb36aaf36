/* SPDX-License-Identifier: MIT */
/* The mapping of a driver's interface index to one of the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "openndk/wdk.h"
#include "wdk/common/interface_map.h"

static void test_map(void **state)
{
    (void)state;
    assert_int_equal(interface_map_host(12), 12);
    assert_true(ondk_wdk_map_interface(12, 1));
    assert_false(ondk_wdk_map_interface(0, 1));
    assert_false(ondk_wdk_map_interface(12, 0));
    assert_int_equal(interface_map_host(12), 1);
    assert_int_equal(interface_map_host(13), 13);
    assert_int_equal(interface_map_driver(1), 12);
    assert_int_equal(interface_map_driver(2), 2);
    for (uint32_t i = 1; i < 64; i++)
        assert_true(ondk_wdk_map_interface(100 + i, i + 1));
    assert_false(ondk_wdk_map_interface(500, 3));
    assert_int_equal(interface_map_host(163), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_map) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
