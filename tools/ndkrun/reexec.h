/* SPDX-License-Identifier: MIT */
/*
 * Prepares the environment that a run may need: a network namespace (--net), and AddressSanitizer's runtime, which must
 * be loaded before all other libraries. If the process lacks one of them, ndkrun executes itself again, in a new
 * namespace, or with the runtime preloaded, or both.
 */
#ifndef NDKRUN_REEXEC_H
#define NDKRUN_REEXEC_H

#include <stdbool.h>

#include "options.h"

/*
 * Returns true if the process has the network namespace and the sanitizer runtime that the options need, and false
 * after a failure. If the process lacks one of them, creates it and executes ndkrun again, and then does not return.
 */
bool reexec_prepare(struct options *o, char **argv);

/*
 * Returns options for AddressSanitizer. Its runtime calls this function, which ndkrun exports. The files of a driver
 * may define the same variable several times without a value. With the returned option, the runtime reports such
 * definitions only if their sizes differ.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

#endif
