/* SPDX-License-Identifier: MIT */
/* The tests of queues.c, which run in the process of threads.c. */
#ifndef TESTS_WDK_THREADS_MORE_H
#define TESTS_WDK_THREADS_MORE_H

/* Runs the tests. Returns the number of those that failed. */
int queues_run(void);

#endif
