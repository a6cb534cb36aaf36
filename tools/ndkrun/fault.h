/* SPDX-License-Identifier: MIT */
/* Reports faults such as SIGSEGV, for which Windows has a bug check. */
#ifndef NDKRUN_FAULT_H
#define NDKRUN_FAULT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Installs the handler for the faults of all threads. The handler prints the fault, its stack and the last events to
 * `out`. Under a sanitizer nothing is installed, because the sanitizer's own report is better.
 */
void fault_install_handlers(FILE *out);

/* Returns whether a sanitizer reports faults. */
bool fault_has_sanitizer(void);

#endif
