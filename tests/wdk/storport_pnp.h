/* SPDX-License-Identifier: MIT */
/* The tests of storport_pnp.c, which run in the process of storport.c. */
#ifndef TESTS_WDK_STORPORT_PNP_H
#define TESTS_WDK_STORPORT_PNP_H

/* Runs the tests. Returns the number of those that failed. */
int storport_pnp_run(void);
/* Fork, so they must run before the process has a second thread. storport_pnp_run leaves them out. */
void test_removal_refused(void **state);
void test_removal_after_failed_start(void **state);

#endif
