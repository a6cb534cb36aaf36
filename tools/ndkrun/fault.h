/* SPDX-License-Identifier: MIT */
/* Reports faults such as SIGSEGV. Windows would stop with a bug check. */
#ifndef NDKRUN_FAULT_H
#define NDKRUN_FAULT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Installs a handler for faults on all threads. The handler prints the fault, its stack and the last events to `out`,
 * and calls print_summary. Under a sanitizer only abort() is handled, because the sanitizer's own reports of faults are
 * better. The handler of abort() only calls print_summary, because the report of the bug check was already printed.
 */
void fault_install_handlers(FILE *out, void (*print_summary)(FILE *out));

/* Returns true if a sanitizer reports the faults. */
bool fault_has_sanitizer(void);

#endif
