/* SPDX-License-Identifier: MIT */
/*
 * Runs each test of a group in a process of its own, several at the same time, because they mostly wait. Each process
 * has its own network namespace, so that all can use the same ports. Without such namespaces the tests run one after
 * the other. Include <cmocka.h> first.
 */
#ifndef TESTS_FORKED_H
#define TESTS_FORKED_H

#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct forked {
    pid_t pid;
    FILE *output;
    double begin;
};

static inline double forked_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Enters a network namespace with a loopback interface. */
static inline bool forked_enter_network(void)
{
    struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    int s, up;

    if (unshare(CLONE_NEWNET))
        return false;
    s = socket(AF_INET, SOCK_DGRAM, 0);
    up = ioctl(s, SIOCSIFFLAGS, &lo);
    close(s);
    return up == 0;
}

static inline bool forked_has_networks(void)
{
    int status = 1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(!forked_enter_network());
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static inline void forked_start(struct forked *a, const struct CMUnitTest *test, bool has_networks)
{
    a->output = tmpfile();
    a->begin = forked_seconds();
    fflush(NULL);
    a->pid = fork();
    if (a->pid)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (has_networks && !forked_enter_network())
        _exit(1);
    dup2(fileno(a->output), STDOUT_FILENO);
    dup2(fileno(a->output), STDERR_FILENO);
    exit(_cmocka_run_group_tests(test->name, test, 1, NULL, NULL) ? 1 : 0);
}

static inline void forked_print_output(FILE *output)
{
    char part[4096];
    size_t n;

    rewind(output);
    while ((n = fread(part, 1, sizeof part, output)) > 0)
        fwrite(part, 1, n, stdout);
}

/* Waits for one of the processes. Prints how long it took, and its output if it has failed. Returns true if it did. */
static inline bool forked_end_one(struct forked *all, const struct CMUnitTest *tests, size_t n)
{
    int status = 1;
    pid_t pid = wait(&status);
    size_t i = 0;

    while (i < n && all[i].pid != pid)
        i++;
    if (i == n)
        return false; /* another child */
    printf("%s: %s, %.1f s\n", tests[i].name, status ? "FAILED" : "passed", forked_seconds() - all[i].begin);
    if (status)
        forked_print_output(all[i].output);
    fclose(all[i].output);
    all[i].pid = 0;
    return status != 0;
}

/* Runs the tests, up to `at_once` at the same time, in their order. Returns the number of those that have failed. */
static inline int forked_run(const struct CMUnitTest *tests, size_t count, size_t at_once)
{
    struct forked *all = calloc(count, sizeof *all);
    bool has_networks = forked_has_networks();
    size_t started = 0, running = 0;
    int failed = 0;

    while (started < count || running) {
        while (started < count && running < (has_networks ? at_once : 1)) {
            forked_start(&all[started], &tests[started], has_networks);
            started++;
            running++;
        }
        failed += forked_end_one(all, tests, started);
        running--;
    }
    free(all);
    return failed;
}

#endif
