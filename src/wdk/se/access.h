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
 * Finds the parts of a new object's descriptor: those of `given`, which may be NULL, and where it has none, owner and
 * group of the local system and a list that allows all to the system and the administrators. Returns the reason if
 * `given` is not valid.
 */
NTSTATUS access_parts_of_new(PSECURITY_DESCRIPTOR given, struct descriptor *d);
/* Writes descriptor_size bytes, with generic rights replaced by those for which they stand. */
void access_write(const struct descriptor *d, const GENERIC_MAPPING *mapping, PSECURITY_DESCRIPTOR memory);

#endif
