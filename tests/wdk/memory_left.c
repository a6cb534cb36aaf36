/* SPDX-License-Identifier: MIT */
/* The unload of a driver reports memory that it has not freed: the bytes by tag, and the allocating stacks. */
#include "host.h"
#include "openndk/verify.h"

static void unload_alone(void)
{
    uint32_t status;

    if (ondk_wdk_unload(host_load("hoarding"), &status))
        _exit(3);
}

/* With another driver loaded, the stacks identify the owner. */
static void unload_beside_another(void)
{
    ondk_wdk_driver_t *other = host_load("plain"), *d = host_load("hoarding");
    uint32_t status;

    if (ondk_wdk_unload(d, &status))
        _exit(3);
    host_unload(other);
}

/* Without checks the numbers by tag are still available. */
static void report_unchecked(void)
{
    ondk_wdk_driver_t *d;
    uint32_t status;

    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    d = host_load("hoarding");
    if (ondk_wdk_unload(d, &status))
        _exit(3);
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    if (ondk_wdk_report(stdout) != 4)
        _exit(4);
}

static void test_left(void **state)
{
    char *text;

    (void)state;
    host_breaks(unload_alone, "unload-outstanding", "driver hoarding has left 4 things");
    text = host_reported(unload_alone);
    assert_non_null(strstr(text, "left: pool, tag Hard: 2 blocks, 5100 bytes"));
    assert_non_null(strstr(text, "of 5000 bytes, tag Hard"));
    assert_non_null(strstr(text, "left: MDL 0x"));
    assert_non_null(strstr(text, "left: lookaside list 0x"));
    assert_non_null(strstr(text, "hoarding.so+0x"));
    free(text);
}

static void test_left_beside_another(void **state)
{
    char *text;

    (void)state;
    text = host_reported(unload_beside_another);
    assert_non_null(strstr(text, "driver hoarding has left 4 things"));
    assert_non_null(strstr(text, "of 5000 bytes, tag Hard"));
    free(text);
}

static void test_left_unchecked(void **state)
{
    (void)state;
    free(host_reported(report_unchecked));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_left_beside_another),
        cmocka_unit_test(test_left_unchecked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
