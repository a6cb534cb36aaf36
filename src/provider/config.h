/* SPDX-License-Identifier: MIT */
/*
 * Reads and stores the configuration of the process. An adapter that is opened without options gets a copy of this
 * configuration. The invariant: a later change of the configuration does not affect adapters that are already open.
 */
#ifndef PROVIDER_CONFIG_H
#define PROVIDER_CONFIG_H

#include <stdbool.h>

#include "fabric/config.h"
#include "openndk/config.h"

/*
 * The limits of ondk_config_t.size. A struct of CONFIG_MIN_SIZE bytes has `size` and one more field. No version of the
 * struct will have CONFIG_MAX_SIZE bytes.
 */
enum { CONFIG_MIN_SIZE = 8, CONFIG_MAX_SIZE = 4096 };

/*
 * Returns true if config->size is a multiple of four within the limits. A struct that ondk_config_init has not
 * initialized almost never passes this check.
 */
bool config_size_is_valid(const ondk_config_t *config);
/*
 * Copies a program's struct, which may have fewer or more fields than *ours. Missing fields get the values that
 * ondk_config_init sets. Returns false if the struct is invalid.
 */
bool config_read(ondk_config_t *ours, const ondk_config_t *theirs);
/*
 * Sets *config to the values that ondk_configure has set. If ondk_configure was not called, uses the defaults and the
 * environment.
 */
void config_current(ondk_config_t *config);

/* Sets *out to the settings of *c that the fabric reads. */
void config_for_fabric(const ondk_config_t *c, struct fabric_config *out);

#endif
