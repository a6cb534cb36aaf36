/* SPDX-License-Identifier: MIT */
/*
 * What has to be so before the program starts: a network of its own, a sanitizer's runtime in the first place. Where
 * it is not, ndkrun runs itself again.
 */
#ifndef NDKRUN_AGAIN_H
#define NDKRUN_AGAIN_H

#include <stdbool.h>

#include "options.h"

/* Comes back when all is so; false: it cannot be had, and why has been said. */
bool again_prepare(const struct options *o, char **argv);

/*
 * Called by AddressSanitizer's runtime, which finds it because ndkrun exports its symbols. Several files of a driver may
 * define one variable without a value, which is an error to the runtime only if their sizes differ.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

#endif
