/* SPDX-License-Identifier: MIT */
/*
 * Converts addresses in calls, if the consumer and the provider use different addresses. The host maps them (host.h).
 */
#ifndef VERIFY_ADDRESS_H
#define VERIFY_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include <ndk/ndkpi.h>

#include "verify/host.h"

struct mapped_address {
    _Alignas(8) char bytes[VERIFY_MAX_SOCKADDR];
};

/*
 * Converts a consumer's address. Stores the provider's address in *room and returns it, or returns `address` if both
 * use the same address.
 */
static inline PSOCKADDR address_to_provider(PSOCKADDR address, ULONG length, struct mapped_address *room)
{
    if (!address || length == 0 || length > sizeof room->bytes)
        return address;
    return verify_host()->address_to_provider(address, length, room->bytes) ? (PSOCKADDR)(void *)room->bytes : address;
}

/*
 * Called with the status of a provider's call. If the call succeeded, converts the socket address that the provider
 * has stored. Returns `status`.
 */
static inline NTSTATUS address_to_consumer(NTSTATUS status, PSOCKADDR address, const ULONG *length)
{
    if (NT_SUCCESS(status))
        verify_host()->address_to_consumer(address, *length);
    return status;
}

/* An address that can be compared. */
struct address_key {
    uint16_t family; /* 0: no address */
    uint16_t port;
    uint32_t scope;
    uint8_t host[16];
};
/*
 * Sets *key to the provider's address. Sets key->family to 0 if that address is neither IPv4 nor IPv6, or if its host
 * or its port is 0.
 */
void address_key_set(struct address_key *key, const void *address, size_t length);
/* Returns true if a and b are the same address. Returns false if both are no address. */
bool address_key_equal(const struct address_key *a, const struct address_key *b);

/*
 * Writes the provider's address as text, for example "10.0.0.1:4420" or "[::1]:4420". If the address is neither IPv4
 * nor IPv6, writes an empty text.
 */
void address_print(char *text, size_t size, const void *address, size_t length);

#endif
