/* SPDX-License-Identifier: MIT */
/*
 * The configuration of adapters that are opened from now on without options of their own. The invariant: an adapter has
 * a copy, so a later change does not affect adapters that are open.
 */
#ifndef PROVIDER_CONFIG_H
#define PROVIDER_CONFIG_H

#include <stdbool.h>

#include "fabric/config.h"
#include "openndk/config.h"

/*
 * Limits of ondk_config_t.size: the size of a struct with `size` and one more field, and a size that the struct will
 * never reach.
 */
enum { CONFIG_MIN_SIZE = 8, CONFIG_MAX_SIZE = 4096 };

/* Checks config->size. Returns false for nearly every struct that ondk_config_init has not initialized. */
bool config_size_is_valid(const ondk_config_t *config);
/*
 * Copies a program's struct, which may have fewer or more fields than *ours. Missing fields get the values that
 * ondk_config_init sets. Returns false if the struct is invalid.
 */
bool config_read(ondk_config_t *ours, const ondk_config_t *theirs);
/* Sets *config to what ondk_configure has set, or else to the defaults and the environment. */
void config_current(ondk_config_t *config);

/* Copies the settings that the fabric reads. */
void config_for_fabric(const ondk_config_t *c, struct fabric_config *out);

#endif
