/* SPDX-License-Identifier: MIT */
/*
 * Executes a run of drivers: loads the drivers, sends the commands from the command line, waits, unloads the drivers,
 * and reports leaks and broken rules. main.c and the nbdkit plugin call these functions in the order of this header.
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

/* Starts the commands of --server. Returns false if no driver must be loaded: run_end follows. */
bool run_start_servers(void);
/* Starts the commands of --client. The drivers are loaded. */
void run_start_clients(void);

/*
 * Sends the device controls and SCSI commands. Returns false if a command has failed or Ctrl-C was pressed. Ends the
 * program if a command hangs in a driver.
 */
bool run_send(void);

/* Waits for Ctrl-C, or until the end that the options request, or until all commands of --client have ended. */
void run_wait(void);

/*
 * Ends the round: unloads the drivers in the reverse order of loading. Prints the leaks. Returns true if another round
 * of --repeat must follow, which begins with run_load.
 */
bool run_end_round(void);

/*
 * Ends the round, if it has not ended. Prints the summary, and the numbers of leaks and broken rules. Returns the exit
 * code of the run.
 */
int run_end(void);

#endif
