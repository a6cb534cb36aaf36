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
    static const char *const left[] = { "left: WSK registration ",
                                        "left: WSK socket ",
                                        "left: WSK provider that is captured ",
                                        "IRP",
                                        "wsk_left.so",
                                        NULL };

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

static char *driver_report(const char *name)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    (void)ondk_wdk_report_driver(name, out);
    fclose(out);
    return text;
}

static void report_each(void)
{
    char *ndk, *wsk;

    (void)host_load("ndk_left");
    (void)host_load("wsk_left");
    ndk = driver_report("ndk_left");
    wsk = driver_report("./anywhere/wsk_left.so");
    if (!strstr(ndk, "(NDK_PD)") || strstr(ndk, "(WSK_SOCKET)") || strstr(wsk, "(NDK_PD)") ||
        !strstr(wsk, "(WSK_SOCKET)") || ondk_wdk_report_driver("nobody", stderr))
        _exit(3);
}

/* The report about one of two drivers has no object of the other. */
static void test_one_driver(void **state)
{
    (void)state;
    free(host_reported(report_each));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_socket), cmocka_unit_test(test_ndk_objects),
                                        cmocka_unit_test(test_one_driver) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
