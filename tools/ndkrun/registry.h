/* SPDX-License-Identifier: MIT */
/* Implements the options --reg and --reg-file. */
#ifndef NDKRUN_REGISTRY_H
#define NDKRUN_REGISTRY_H

#include <stdbool.h>
#include <stdio.h>

#include "options.h"

/*
 * Writes the values of the options to the registry. Must be called before the first driver is loaded. If a value is
 * wrong, prints a message and returns false.
 */
bool registry_prepare(const struct options *o, FILE *out);

#endif
