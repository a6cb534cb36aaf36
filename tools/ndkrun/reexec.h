/* SPDX-License-Identifier: MIT */
/*
 * Prepares what a run may need: a network namespace (--net), and a sanitizer's runtime that must be loaded first. If
 * something is missing, ndkrun provides it and executes itself again.
 */
#ifndef NDKRUN_REEXEC_H
#define NDKRUN_REEXEC_H

#include <stdbool.h>

#include "options.h"

/*
 * Returns true if ndkrun has what the options need (network namespace, sanitizer runtime), and false after a failure.
 * If something is missing, executes ndkrun again with it, and does not return.
 */
bool reexec_prepare(const struct options *o, char **argv);

/*
 * AddressSanitizer's runtime calls this function, which ndkrun exports. A driver's files may define one variable
 * several times without a value. With the returned option, the runtime reports such definitions only if their sizes
 * differ.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

#endif
