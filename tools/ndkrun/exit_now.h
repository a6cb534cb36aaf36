/* SPDX-License-Identifier: MIT */
/* Ends the program at once, without atexit functions, because a driver's threads may still run. */
#ifndef NDKRUN_EXIT_NOW_H
#define NDKRUN_EXIT_NOW_H

/* Sets a function that removes what the program must not leave behind. The function must be async-signal-safe. */
void exit_set_clean_up(void (*clean_up)(void));
/* Calls the function of exit_set_clean_up, if there is one. Async-signal-safe. */
void exit_clean_up(void);
/* Calls exit_clean_up, and ends the program. Async-signal-safe. */
__attribute__((noreturn)) void exit_now(int status);

#endif
