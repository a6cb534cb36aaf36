/* SPDX-License-Identifier: MIT */
/*
 * A run of drivers: loads them, sends the commands of the command line, waits, unloads the drivers, and reports what
 * they left and broke. main.c and the nbdkit plugin call these functions in the order of this header.
 */
#ifndef NDKRUN_RUN_H
#define NDKRUN_RUN_H

#include <stdbool.h>
#include <stdio.h>

#include "options.h"

/*
 * Applies the options: settings of the provider, output, trace, handlers of signals and faults, registry, provider
 * module. Prints a message and returns false if this fails; the program must then exit with NDKRUN_USAGE. The process
 * must have only this thread. *o must stay valid during the run.
 */
bool run_prepare(struct options *o);

/* Returns the stream of the run's output. */
FILE *run_output(void);

/* Loads the drivers in their order. Prints a message and returns false if one is not loaded. */
bool run_load(void);

/*
 * Sends the device controls and SCSI commands. Returns false if one failed or Ctrl-C was pressed. Ends the program if a
 * command hangs in a driver.
 */
bool run_send(void);

/* Waits for Ctrl-C, or for an end that the options request. */
void run_wait(void);

/*
 * Unloads the drivers, the last one first, and prints what they left and broke. If --json is given, writes the summary
 * to `json`. Returns the exit code of the run.
 */
int run_end(FILE *json);

#endif
