/* SPDX-License-Identifier: MIT */
/* The program nvme-target as a child of a test, at a port of the loopback address. */
#ifndef TARGET_PROCESS_H
#define TARGET_PROCESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum { PROCESS_MAX_ARGUMENTS = 24, PROCESS_PORT = 4420 };
#define PROCESS_NQN "nqn.2026-11.org.example:test"

struct target_process {
    pid_t pid;
    FILE *out; /* its standard output */
    struct sockaddr_in address;
};

/*
 * Starts the program with --listen, --nqn and the arguments, a NULL at the end, and waits until it listens. Returns
 * false if it ends before that.
 */
bool process_start(struct target_process *process, const char *program, const char *const *arguments);
/* Waits for the end. Returns the exit status, or -1 if the process was killed. */
int process_wait(struct target_process *process);
/* Sends the signal and waits for the end. Returns as process_wait. */
int process_stop(struct target_process *process, int signal);

#endif
