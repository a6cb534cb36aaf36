/* SPDX-License-Identifier: MIT */
/*
 * Prepares the environment of the run: a network namespace, and a sanitizer's runtime that must be loaded first. If one
 * is missing, ndkrun executes itself again in it.
 */
#ifndef NDKRUN_REEXEC_H
#define NDKRUN_REEXEC_H

#include <stdbool.h>

#include "options.h"

/* Returns true when the environment is complete; false, after a message, if it cannot be provided. */
bool reexec_prepare(const struct options *o, char **argv);

/*
 * AddressSanitizer's runtime calls this function, which ndkrun exports. The option permits several definitions of one
 * variable without a value in a driver's files; the runtime then reports only definitions of different sizes.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

#endif
