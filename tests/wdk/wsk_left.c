/* SPDX-License-Identifier: MIT */
/* Drivers that leak sockets with requests, NDK objects, or the client: their unload reports each. */
#include "host.h"

static const char *driver;

static void load_and_unload(void)
{
    host_unload(host_load(driver));
}

/* NULL ends the list of leaked objects. */
static void leaves(const char *name, const char *const *left)
{
    char *text;

    driver = name;
    text = host_reported(load_and_unload);
    assert_int_equal(host_count(text), 1);
    assert_non_null(strstr(text, "driver rule broken: unload-outstanding in "));
    for (; *left; left++)
        if (!strstr(text, *left))
            fail_msg("nothing about %s:\n%s", *left, text);
    free(text);
}

static void test_socket(void **state)
{
    static const char *const left[] = { "(WSK_SOCKET)", "(WSK_REGISTRATION)", "WSK_PROVIDER_NPI",
                                        "IRP",          "wsk_left.so",        NULL };

    (void)state;
    leaves("wsk_left", left);
}

static void test_ndk_objects(void **state)
{
    static const char *const left[] = { "(NDK_PD)\n    NdkCreatePd called by\n    #0 DriverEntry",
                                        "(NDK_ADAPTER)\n    WskOpenNdkAdapter called by\n    #0 DriverEntry",
                                        "(WSK_REGISTRATION)\n    WskRegister called by\n    #0 DriverEntry",
                                        "WSK_PROVIDER_NPI",
                                        "ndk_left.so",
                                        NULL };

    (void)state;
    leaves("ndk_left", left);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_socket), cmocka_unit_test(test_ndk_objects) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
