/* SPDX-License-Identifier: MIT */
/* Reports faults such as SIGSEGV. Windows would stop with a bug check. */
#ifndef NDKRUN_FAULT_H
#define NDKRUN_FAULT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Installs a handler for faults on all threads. The handler prints the fault, its stack and the last events to `out`.
 * Installs nothing under a sanitizer, because the sanitizer's own report is better.
 */
void fault_install_handlers(FILE *out);

/* Returns true if a sanitizer reports the faults. */
bool fault_has_sanitizer(void);

#endif
