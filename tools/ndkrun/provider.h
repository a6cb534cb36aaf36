/* SPDX-License-Identifier: MIT */
/* The NDK provider of --provider. */
#ifndef NDKRUN_PROVIDER_H
#define NDKRUN_PROVIDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * Loads a module, and prints its provider's name to `out`. Drivers then get the adapters of this provider. If the
 * module cannot be used, prints the reason to standard error and returns false. Must be called before the first driver
 * is loaded.
 */
bool provider_load(const char *module, FILE *out);

/* Adds the member "provider", which describes the loaded provider. Does nothing if provider_load has loaded none. */
void provider_add(json_t *object);

#endif
