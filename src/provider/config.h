/* SPDX-License-Identifier: MIT */
/* The configuration that an adapter opened now gets. */
#ifndef PROVIDER_CONFIG_H
#define PROVIDER_CONFIG_H

#include <stdbool.h>

#include "fabric/config.h"
#include "openndk/config.h"

/* Sizes of a program's ondk_config_t: the first field that can be set, and more than there will ever be. */
enum { CONFIG_MIN_SIZE = 8, CONFIG_MAX_SIZE = 4096 };

/* What ondk_config_init has not set is hardly ever valid. */
bool config_size_is_valid(const ondk_config_t *config);
void config_current(ondk_config_t *config);
bool config_is_valid(const ondk_config_t *config);

/* The settings that the fabric reads. */
void config_for_fabric(const ondk_config_t *c, struct fabric_config *out);

#endif
