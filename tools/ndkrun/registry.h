/* SPDX-License-Identifier: MIT */
/* The options --reg and --reg-file. */
#ifndef NDKRUN_REGISTRY_H
#define NDKRUN_REGISTRY_H

#include <stdbool.h>
#include <stdio.h>

#include "options.h"

/*
 * Writes the options' values to the registry, before the first driver is loaded. Returns false, after a message, if a
 * value is wrong.
 */
bool registry_prepare(const struct options *o, FILE *out);

#endif
