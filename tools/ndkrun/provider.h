/* SPDX-License-Identifier: MIT */
/* The NDK provider of --provider. */
#ifndef NDKRUN_PROVIDER_H
#define NDKRUN_PROVIDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * Loads the module, so that drivers get the adapters of its provider, and prints its name to `out`. Prints the reason to
 * standard error and returns false if the module cannot be used. Must be called before the first driver is loaded.
 */
bool provider_load(const char *module, FILE *out);

/* Adds the provider that provider_load has loaded as the member "provider". Does nothing if there is none. */
void provider_add(json_t *object);

#endif
