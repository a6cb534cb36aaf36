/* SPDX-License-Identifier: MIT */
/*
 * The common part of the address queries of connector, listener and shared endpoint. The invariant: the consumer
 * receives the size of the address even if the buffer is too small.
 */
#ifndef PROVIDER_ADDRESS_H
#define PROVIDER_ADDRESS_H

#include "base/addr.h"
#include "ndk/ndkpi.h"

struct object;

/*
 * Copies `address`, with the family numbers that o's adapter uses, to the consumer's `buffer` of *length bytes. Sets
 * *length to the size of the address. Returns STATUS_BUFFER_TOO_SMALL if only the size was written. Returns
 * STATUS_INVALID_PARAMETER if `length` is NULL, or if *length is large enough but `buffer` is NULL.
 */
NTSTATUS address_answer(const struct object *o, const struct addr *address, PSOCKADDR buffer, ULONG *length);

#endif
