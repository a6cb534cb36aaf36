/* SPDX-License-Identifier: MIT */
#ifndef BASE_INTERFACE_NAME_H
#define BASE_INTERFACE_NAME_H

#include <stdint.h>

#include <net/if.h>

#include "base/private_export.h"

/*
 * Writes the name of the interface with this index. Writes "" if there is no such interface or no descriptor is free.
 * The caller must not be between fork_change_begin and fork_change_end (base/fork.h).
 */
void interface_name(uint32_t if_index, char name[IF_NAMESIZE]) PRIVATE_EXPORT(interface_name);

#endif
