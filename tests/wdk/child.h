/* SPDX-License-Identifier: MIT */
/* Runs functions that end the program in a child process without output. */
#ifndef TESTS_WDK_CHILD_H
#define TESTS_WDK_CHILD_H

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns the status of waitpid; 0 if the routine has returned. */
static inline int child_status(void (*routine)(void))
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(0);
        routine();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static inline void child_aborts(void (*routine)(void))
{
    int status = child_status(routine);

    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

#endif
