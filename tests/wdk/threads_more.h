/* SPDX-License-Identifier: MIT */
/* The tests of queues.c and security.c, which run in the process of threads.c. */
#ifndef TESTS_WDK_THREADS_MORE_H
#define TESTS_WDK_THREADS_MORE_H

/* Run the tests. Return the number of those that failed. */
int queues_run(void);
int security_run(void);

#endif
