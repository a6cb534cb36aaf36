/* SPDX-License-Identifier: MIT */
/* A driver that is linked with libopenndk-wdk-cng: what it leaves is reported at its unload. */
#include "host.h"

static void unload_alone(void)
{
    uint32_t status;

    if (ondk_wdk_unload(host_load("cng_left"), &status))
        _exit(3);
}

static void test_left(void **state)
{
    char *text;

    (void)state;
    host_breaks(unload_alone, "unload-outstanding", "driver cng_left has left 3 things");
    text = host_reported(unload_alone);
    assert_non_null(strstr(text, "left: CNG handle 0x"));
    assert_non_null(strstr(text, "(BCRYPT_ALG_HANDLE)"));
    assert_non_null(strstr(text, "(BCRYPT_HASH_HANDLE)"));
    assert_non_null(strstr(text, "(BCRYPT_KEY_HANDLE)"));
    assert_non_null(strstr(text, "BCryptCreateHash called by"));
    assert_non_null(strstr(text, "#0 DriverEntry"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_left) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
