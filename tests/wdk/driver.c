/* SPDX-License-Identifier: MIT */
/* Loading and unloading drivers. */
#include "host.h"
#include "openndk/verify.h"

static void test_load(void **state)
{
    ondk_wdk_driver_t *d = host_load("plain");

    (void)state;
    host_unload(d);
    host_unload(host_load("plain"));
    assert_int_equal(ondk_verify_breaches(), 0);
}

static void refuses(const char *path, uint32_t expected, const char *words)
{
    ondk_wdk_driver_t *d;
    uint32_t status = 0;

    assert_int_equal(ondk_wdk_load(path, NULL, &d, &status), -1);
    assert_int_equal(status, expected);
    if (!strstr(ondk_wdk_error(), words))
        fail_msg("\"%s\" lacks \"%s\"", ondk_wdk_error(), words);
}

static void test_cannot_load(void **state)
{
    ondk_wdk_driver_t *d;

    (void)state;
    refuses("/nowhere/driver.so", 0xC0000034, "/nowhere/driver.so: no such file");
    refuses(host_path("unfinished"), 0xC000026C, "routine_of_nobody");
    refuses(host_path("nameless"), 0xC0000263, "no DriverEntry");
    refuses(DRIVERS, 0xC000026C, DRIVERS);
    d = host_load("plain");
    refuses(host_path("plain"), 0xC000010E, "loaded already");
    host_unload(d);
}

static void test_stays(void **state)
{
    ondk_wdk_driver_t *d = host_load("staying");
    uint32_t status = 0;

    (void)state;
    assert_int_equal(ondk_wdk_unload(d, &status), -1);
    assert_int_equal(status, 0xC0000010);
    assert_non_null(strstr(ondk_wdk_error(), "staying has set no DriverUnload"));
}

static void load_refusing(void)
{
    ondk_wdk_driver_t *d;
    uint32_t status;

    if (!ondk_wdk_load(host_path("refusing"), NULL, &d, &status) || status != 0xC00000A3)
        _exit(3);
    if (!strstr(ondk_wdk_error(), "DriverEntry of refusing returned 0xC00000A3"))
        _exit(4);
}

static void unload_leaving(void)
{
    ondk_wdk_driver_t *other = host_load("plain"), *d = host_load("leaving");
    uint32_t status;

    if (ondk_wdk_unload(d, &status) || ondk_wdk_report(tmpfile()) != 8)
        _exit(3);
    host_unload(other);
}

static void unload_leaving_alone(void)
{
    uint32_t status;

    if (ondk_wdk_unload(host_load("leaving"), &status))
        _exit(3);
}

/* Also while another driver is loaded: the creator's stack identifies the owner. */
static void test_leaves(void **state)
{
    static const char *kinds[] = { "left: IRP 0x",
                                   "Left",
                                   "left: device object 0x",
                                   "left: symbolic link 0x",
                                   "left: handle 0x",
                                   "left: object reference 0x",
                                   "left: view of a section 0x",
                                   "left: registered callback 0x" };
    char *text;

    (void)state;
    host_breaks(load_refusing, "unload-outstanding", "in DriverEntry: driver refusing has left 1 ");
    host_breaks(unload_leaving_alone, "unload-outstanding", "in DriverUnload: driver leaving has left 8 ");
    text = host_reported(unload_leaving);
    assert_non_null(strstr(text, "driver leaving has left 8 "));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strstr(text, kinds[i]))
            fail_msg("%s is missing in:\n%s", kinds[i], text);
    assert_non_null(strstr(text, "leaving.so+0x"));
    free(text);
}

/* A work item of the Io kind keeps its driver loaded until its routine has returned. */
static void test_work_item_returns(void **state)
{
    (void)state;
    host_unload(host_load("returning"));
    assert_int_equal(ondk_verify_breaches(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_load), cmocka_unit_test(test_cannot_load),
                                        cmocka_unit_test(test_leaves), cmocka_unit_test(test_stays),
                                        cmocka_unit_test(test_work_item_returns) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
