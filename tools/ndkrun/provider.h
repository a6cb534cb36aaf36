/* SPDX-License-Identifier: MIT */
/* Loads the NDK provider that --provider selects. */
#ifndef NDKRUN_PROVIDER_H
#define NDKRUN_PROVIDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * Loads a module, and prints the name of its provider to `out`. Drivers then receive the adapters of this provider. If
 * the module cannot be used, prints the reason to standard error and returns false. Must be called before the first
 * driver is loaded.
 */
bool provider_load(const char *module, FILE *out);

/* Adds the member "provider", which describes the loaded provider. Does nothing if no provider was loaded. */
void provider_add(json_t *object);

#endif
