/* SPDX-License-Identifier: MIT */
/*
 * The configuration of adapters that are opened from now on. The invariant: adapters that are open keep theirs, which
 * is a copy.
 */
#ifndef PROVIDER_CONFIG_H
#define PROVIDER_CONFIG_H

#include <stdbool.h>

#include "fabric/config.h"
#include "openndk/config.h"

/* Limits of the size of a program's ondk_config_t: with one field, and more than it will ever have. */
enum { CONFIG_MIN_SIZE = 8, CONFIG_MAX_SIZE = 4096 };

/* A size that ondk_config_init has not set is hardly ever valid. */
bool config_size_is_valid(const ondk_config_t *config);
void config_current(ondk_config_t *config);
bool config_is_valid(const ondk_config_t *config);

/* Copies the settings that the fabric reads. */
void config_for_fabric(const ondk_config_t *c, struct fabric_config *out);

#endif
