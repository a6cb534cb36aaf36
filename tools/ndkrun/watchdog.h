/* SPDX-License-Identifier: MIT */
/* Ends a run that takes too long: the option --timeout. */
#ifndef NDKRUN_WATCHDOG_H
#define NDKRUN_WATCHDOG_H

#include <stdbool.h>

/*
 * Starts a thread that calls on_timeout after `seconds`, and then ends the program with `status`. The program also ends
 * if on_timeout has not returned after 10 seconds, because a driver may hold a lock that on_timeout needs. Returns
 * false if no thread can be created.
 */
bool watchdog_start(double seconds, void (*on_timeout)(void), int status);

/*
 * Must be called before the program ends normally. If the time has passed already, does not return: the watchdog's
 * thread ends the program.
 */
void watchdog_stop(void);

#endif
