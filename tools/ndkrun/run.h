/* SPDX-License-Identifier: MIT */
/*
 * Executes a run of drivers: loads the drivers, sends the requests of the command line, waits, unloads the drivers, and
 * reports leaks and broken rules. main.c calls run_prepare and run_start_servers, then in each round run_load,
 * run_send, run_start_clients, run_wait and run_end_round, and at last run_end. The nbdkit plugin has only one round,
 * no servers and no clients.
 */
#ifndef NDKRUN_RUN_H
#define NDKRUN_RUN_H

#include <stdbool.h>
#include <stdio.h>

#include "options.h"

/*
 * Applies the options: provider settings, output, trace, handlers for signals and faults, registry, provider module. If
 * this fails, prints a message and returns false; the program must then exit with NDKRUN_USAGE. Requires that the
 * process has only the calling thread. *o and `json` must stay valid during the run. If --json was given, the summary
 * is written to `json`.
 */
bool run_prepare(struct options *o, FILE *json);

/* Returns the stream to which the run writes its output. */
FILE *run_output(void);

/*
 * Begins a round: loads the drivers in the order of the command line. If a driver is not loaded, prints a message and
 * returns false.
 */
bool run_load(void);

/* Starts the commands of --server. Returns false if the drivers must not be loaded. run_end must then be called. */
bool run_start_servers(void);
/* Starts the commands of --client. Must be called after the drivers were loaded. */
void run_start_clients(void);

/*
 * Sends the requests of --ioctl, --read and --write, then the SCSI commands. Returns false if one has failed or Ctrl-C
 * was pressed. Ends the program if a request does not end after it was cancelled.
 */
bool run_send(void);

/*
 * Waits until Ctrl-C is pressed, or until the end that the options request. If they request no end, returns when all
 * commands of --client have ended.
 */
void run_wait(void);

/*
 * Ends the round: unloads the drivers in the reverse order of loading, and ends the commands of --client. Prints the
 * leaks. Returns true if another round of --repeat must follow, which begins with run_load.
 */
bool run_end_round(void);

/*
 * Ends the round, if it has not ended, and the commands of --server. Prints the summary, and the numbers of leaks and
 * broken rules. Returns the exit code of the run.
 */
int run_end(void);

#endif
