/* SPDX-License-Identifier: MIT */
/* A program opens devices that have security descriptors. */
#include "host.h"

static const uint32_t denied = 0xC0000022;

static void opens(const char *name)
{
    ondk_wdk_device_t *device;
    uint32_t status = 1;

    if (ondk_wdk_open(name, &device, &status))
        fail_msg("%s: %s", name, ondk_wdk_error());
    assert_int_equal(status, 0);
    ondk_wdk_close(device);
}

static void does_not_open(const char *name)
{
    ondk_wdk_device_t *device;
    uint32_t status = 1;

    assert_int_equal(ondk_wdk_open(name, &device, &status), -1);
    assert_int_equal(status, denied);
    assert_non_null(strstr(ondk_wdk_error(), "security descriptor"));
}

static void test_open(void **state)
{
    ondk_wdk_driver_t *driver = host_load("secured");

    (void)state;
    opens("\\Device\\All");
    does_not_open("\\Device\\KernelOnly");
    does_not_open("\\Device\\ReadOnly");
    does_not_open("\\Device\\Closed");
    does_not_open("\\Device\\Listed");
    opens("\\Device\\KernelOnly\\name");
    does_not_open("\\Device\\KernelOnlySecure");
    does_not_open("\\Device\\KernelOnlySecure\\name");
    host_unload(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_open) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
