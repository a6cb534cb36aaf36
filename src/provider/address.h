/* SPDX-License-Identifier: MIT */
/* The address queries of connector, listener and shared endpoint are one. */
#ifndef PROVIDER_ADDRESS_H
#define PROVIDER_ADDRESS_H

#include "base/addr.h"
#include "ndk/ndkpi.h"

struct object;

/*
 * Writes address, in the family numbers that o's adapter was told to use, into the consumer's buffer of *length bytes,
 * and its size into *length. STATUS_BUFFER_TOO_SMALL: the size needed alone. STATUS_INVALID_PARAMETER: length is NULL,
 * or a buffer is missing.
 */
NTSTATUS address_answer(const struct object *o, const struct addr *address, PSOCKADDR buffer, ULONG *length);

#endif
