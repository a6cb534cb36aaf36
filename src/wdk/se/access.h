/* SPDX-License-Identifier: MIT */
/* Decides which rights a security descriptor gives to the local system, and makes descriptors of new objects. */
#ifndef ONDK_WDK_SE_ACCESS_H
#define ONDK_WDK_SE_ACCESS_H

#include <stdbool.h>

#include "ntifs.h"

#include "wdk/rtl/descriptor.h"

/*
 * Returns STATUS_SUCCESS and the granted rights if the descriptor gives the local system all desired rights. Otherwise
 * STATUS_ACCESS_DENIED, or STATUS_INVALID_SECURITY_DESCR.
 */
NTSTATUS access_check(PSECURITY_DESCRIPTOR descriptor, ACCESS_MASK desired, const GENERIC_MAPPING *mapping,
                      ACCESS_MASK *granted);

/*
 * Sets *d to the parts of a new object's descriptor. Uses the parts of `given`, which may be NULL. A missing owner or
 * group becomes the local system. A missing DACL becomes a list that allows everything to the local system and to
 * administrators. Returns an error if `given` is not valid.
 */
NTSTATUS access_parts_of_new(PSECURITY_DESCRIPTOR given, struct descriptor *d);
/* Writes descriptor_size bytes, with generic rights replaced by those for which they stand. */
void access_write(const struct descriptor *d, const GENERIC_MAPPING *mapping, PSECURITY_DESCRIPTOR memory);

#endif
