/* SPDX-License-Identifier: MIT */
/* Ends a run that takes too long: the option --timeout. */
#ifndef NDKRUN_WATCHDOG_H
#define NDKRUN_WATCHDOG_H

#include <stdbool.h>

/*
 * Starts a thread that calls on_timeout after `seconds`, and then ends the program with `status`. If on_timeout does
 * not return in 10 seconds, also ends the program with `status`. Returns false if no thread can be created.
 */
bool watchdog_start(double seconds, void (*on_timeout)(void), int status);

/*
 * Must be called before each step of the run. If the time has passed already, does not return. So the run cannot
 * continue, for example after Ctrl-C, while the watchdog's thread writes the report and ends the program.
 */
void watchdog_pass(void);

/*
 * Must be called once, before the summary is printed and the program ends. If the time has passed already, does not
 * return: the watchdog's thread ends the program.
 */
void watchdog_stop(void);

/*
 * Limits the time of the caller's report: if the program has not ended in 10 seconds, ends it with `status`. A driver
 * may hold a lock that the report needs.
 */
void watchdog_limit_report(int status);

#endif
