/* SPDX-License-Identifier: MIT */
/* Addresses in calls: the host may have the consumer use others than the provider. See host.h. */
#ifndef VERIFY_ADDRESS_H
#define VERIFY_ADDRESS_H

#include <ndk/ndkpi.h>

#include "verify/host.h"

struct mapped_address {
    _Alignas(8) char bytes[VERIFY_MAX_SOCKADDR];
};

/* Returns the provider's address for one of the consumer's: in room, or the same if there is nothing to map. */
static inline PSOCKADDR address_to_provider(PSOCKADDR address, ULONG length, struct mapped_address *room)
{
    if (!address || length == 0 || length > sizeof room->bytes)
        return address;
    return verify_host()->address_to_provider(address, length, room->bytes) ? (PSOCKADDR)(void *)room->bytes : address;
}

/* After a call with this status that wrote *length bytes to address. Returns status. */
static inline NTSTATUS address_to_consumer(NTSTATUS status, PSOCKADDR address, const ULONG *length)
{
    if (NT_SUCCESS(status))
        verify_host()->address_to_consumer(address, *length);
    return status;
}

#endif
