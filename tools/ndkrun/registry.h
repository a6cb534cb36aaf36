/* SPDX-License-Identifier: MIT */
/* --reg and --reg-file. */
#ifndef NDKRUN_REGISTRY_H
#define NDKRUN_REGISTRY_H

#include <stdbool.h>
#include <stdio.h>

#include "options.h"

/* Puts the values into the registry before the first driver is loaded. False: one is wrong, as has been said. */
bool registry_prepare(const struct options *o, FILE *out);

#endif
