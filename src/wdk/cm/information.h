/* SPDX-License-Identifier: MIT */
/*
 * The information structures about keys and values that drivers query. The functions return STATUS_BUFFER_TOO_SMALL if
 * the structure's fixed part does not fit, STATUS_BUFFER_OVERFLOW if the result was truncated, STATUS_INVALID_PARAMETER
 * for an unknown class, and STATUS_INSUFFICIENT_RESOURCES if out of memory. Unless one of the last two is returned,
 * *result_length receives the full size. All these functions require the registry's lock.
 */
#ifndef ONDK_WDK_REGISTRY_INFORMATION_H
#define ONDK_WDK_REGISTRY_INFORMATION_H

#include "wdk/cm/registry.h"

NTSTATUS registry_info_key(const struct registry_key *key, KEY_INFORMATION_CLASS class, PVOID out, ULONG length,
                           PULONG result_length);
NTSTATUS registry_info_value(const struct registry_value *v, KEY_VALUE_INFORMATION_CLASS class, PVOID out, ULONG length,
                             PULONG result_length);

#endif
