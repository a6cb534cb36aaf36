/* SPDX-License-Identifier: MIT */
/* The options --reg and --reg-file. */
#ifndef NDKRUN_REGISTRY_H
#define NDKRUN_REGISTRY_H

#include <stdbool.h>
#include <stdio.h>

#include "options.h"

/*
 * Writes the options' values to the registry, before the first driver is loaded. If a value is wrong, prints a message
 * and returns false.
 */
bool registry_prepare(const struct options *o, FILE *out);

#endif
