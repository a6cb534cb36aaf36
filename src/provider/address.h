/* SPDX-License-Identifier: MIT */
/*
 * Answers the address queries of connectors, listeners and shared endpoints. The invariant: the consumer receives the
 * size of the address even if the buffer is too small.
 */
#ifndef PROVIDER_ADDRESS_H
#define PROVIDER_ADDRESS_H

#include "base/addr.h"
#include "ndk/ndkpi.h"

struct object;

/*
 * Copies `address` to the consumer's `buffer` of *length bytes. Uses the address family numbers that the adapter of `o`
 * uses. Sets *length to the size of the address. If the buffer is too small, writes only the size and returns
 * STATUS_BUFFER_TOO_SMALL. Returns STATUS_INVALID_PARAMETER if `length` is NULL, or if *length is large enough but
 * `buffer` is NULL.
 */
NTSTATUS address_answer(const struct object *o, const struct addr *address, PSOCKADDR buffer, ULONG *length);

#endif
