/* SPDX-License-Identifier: MIT */
/* Sense data of both formats, and of none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* must follow the headers above */
#include <cmocka.h>

#include "sense.h"

static void expect(const ondk_wdk_scsi_command_t *c, uint8_t key, uint8_t code, uint8_t qualifier)
{
    struct sense s = { 0xff, 0xff, 0xff };

    assert_true(sense_get(c, &s));
    assert_int_equal(s.key, key);
    assert_int_equal(s.code, code);
    assert_int_equal(s.qualifier, qualifier);
}

static void test_formats(void **state)
{
    ondk_wdk_scsi_command_t c = { .sense_length = 18, .sense = { 0x70, 1, 0xf3, [12] = 0x11, [13] = 0x0b } };

    (void)state;
    expect(&c, 3, 0x11, 0x0b);
    c.sense[0] = 0xf1; /* valid information, a deferred error */
    expect(&c, 3, 0x11, 0x0b);
    c = (ondk_wdk_scsi_command_t){ .sense_length = 8, .sense = { 0x72, 0xf5, 0x21, 0x04 } };
    expect(&c, 5, 0x21, 0x04);
    c.sense[0] = 0x73;
    expect(&c, 5, 0x21, 0x04);
}

static void test_no_sense(void **state)
{
    ondk_wdk_scsi_command_t c = { .sense_length = 13, .sense = { 0x70, 0, 3 } };
    struct sense s;

    (void)state;
    assert_false(sense_get(&c, &s));
    c = (ondk_wdk_scsi_command_t){ .sense_length = 3, .sense = { 0x72, 5, 0x21 } };
    assert_false(sense_get(&c, &s));
    c = (ondk_wdk_scsi_command_t){ .sense_length = 18, .sense = { 0x7f, 5, 5 } };
    assert_false(sense_get(&c, &s));
    c.sense_length = 0;
    assert_false(sense_get(&c, &s));
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(sense_status_name(0x02), "CHECK CONDITION");
    assert_string_equal(sense_status_name(0x28), "TASK SET FULL");
    assert_string_equal(sense_status_name(0x77), "unknown");
    assert_string_equal(sense_key_name(0x3), "MEDIUM ERROR");
    assert_string_equal(sense_key_name(0xf), "COMPLETED");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_formats), cmocka_unit_test(test_no_sense),
                                        cmocka_unit_test(test_names) };

    return cmocka_run_group_tests_name("sense", tests, NULL, NULL);
}
