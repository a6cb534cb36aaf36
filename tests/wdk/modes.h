/* SPDX-License-Identifier: MIT */
/* Tests that run with checks off, with checks on, or once with each. */
#ifndef TESTS_WDK_MODES_H
#define TESTS_WDK_MODES_H

#include "openndk/wdk.h"
#include "openndk/verify.h"

static inline int checks_off(void **state)
{
    (void)state;
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    return 0;
}

static inline int checks_go_on(void **state)
{
    (void)state;
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    return 0;
}

#define CHECKED(test) cmocka_unit_test_setup(test, checks_go_on)
#define IN_BOTH(test) cmocka_unit_test_setup(test, checks_off), CHECKED(test)

#endif
