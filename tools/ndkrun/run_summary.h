/* SPDX-License-Identifier: MIT */
/* Prints what the drivers of a run did, and what they did not release (wdk/summary/summary.h). */
#ifndef NDKRUN_RUN_SUMMARY_H
#define NDKRUN_RUN_SUMMARY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Stores the time at which the run begins. */
void run_summary_begin(void);

/*
 * Prints lines of the form "summary: SECTION [NAME] [STATUS] [KEY=NUMBER]... [TEXT]". The first line has the section
 * `run`. `rounds` is the number of rounds that have begun. `crashed` is true if the caller is a signal handler.
 */
void run_summary_print(FILE *out, uint32_t rounds, bool crashed);

/* Returns the summary as a JSON object with "seconds", "rounds" and the array "rows". */
json_t *run_summary_json(uint32_t rounds);

#endif
