/* SPDX-License-Identifier: MIT */
/* The configuration that an adapter opened now gets. */
#ifndef PROVIDER_CONFIG_H
#define PROVIDER_CONFIG_H

#include <stdbool.h>

#include "openndk/config.h"

void config_current(ondk_config_t *config);
bool config_is_valid(const ondk_config_t *config);

#endif
