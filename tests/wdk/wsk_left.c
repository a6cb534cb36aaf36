/* SPDX-License-Identifier: MIT */
/* A driver that leaves a socket behind with a request on it: unloading it tells of each. */
#include "host.h"

static void load_and_unload(void)
{
    host_unload(host_load("wsk_left"));
}

static void test_left(void **state)
{
    static const char *const left[] = { "(WSK_SOCKET)", "(WSK_REGISTRATION)", "WSK_PROVIDER_NPI", "IRP",
                                        "wsk_left.so" };
    char *text = host_reported(load_and_unload);

    (void)state;
    assert_int_equal(host_count(text), 1);
    assert_non_null(strstr(text, "driver rule broken: unload-outstanding in "));
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        if (!strstr(text, left[i]))
            fail_msg("nothing about %s:\n%s", left[i], text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_left) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
