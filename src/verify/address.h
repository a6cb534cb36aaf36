/* SPDX-License-Identifier: MIT */
/*
 * Converts the socket addresses in calls. The consumer and the provider may use different addresses; the host supplies
 * the conversion: see host.h.
 */
#ifndef VERIFY_ADDRESS_H
#define VERIFY_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ndk/ndkpi.h>

#include "base/private_export.h"
#include "verify/host.h"

struct mapped_address {
    _Alignas(8) char bytes[VERIFY_MAX_SOCKADDR];
};

/*
 * Converts the consumer's address. If the provider uses another address, stores the provider's address in *room and
 * returns a pointer to it. Otherwise, returns `address`.
 */
static inline PSOCKADDR address_to_provider(PSOCKADDR address, ULONG length, struct mapped_address *room)
{
    if (!address || length == 0 || length > sizeof room->bytes)
        return address;
    return verify_host()->address_to_provider(address, length, room->bytes) ? (PSOCKADDR)(void *)room->bytes : address;
}

/*
 * Converts the socket address that the provider has stored in *address. Does nothing if `status`, the status of the
 * provider's call, is an error. Returns `status`.
 */
static inline NTSTATUS address_to_consumer(NTSTATUS status, PSOCKADDR address, const ULONG *length)
{
    if (NT_SUCCESS(status))
        verify_host()->address_to_consumer(address, *length);
    return status;
}

/*
 * Receives each address that the consumer passes to a call: see address_set_observer. `is_local` is true if the address
 * is one of the consumer's own. Otherwise it is the destination of a connection. If the observer returns false, the
 * connect fails with STATUS_NETWORK_UNREACHABLE.
 */
typedef bool address_observer(const char *routine, const void *address, size_t length, bool is_local);
/* Sets the observer, which stays set until the process ends. */
void address_set_observer(address_observer *observer) PRIVATE_EXPORT(address_set_observer);
/* Returns what the observer returns, or true if there is none. `address` may be NULL. */
bool address_observe(const char *routine, const void *address, size_t length, bool is_local);

/* An IPv4 or IPv6 address with its port, in a form that address_key_equal can compare. */
struct address_key {
    uint16_t family; /* 0: no address */
    uint16_t port;
    uint32_t scope;
    uint8_t host[16];
};
/*
 * Stores the address, which must be in the provider's format, in *key. Sets key->family to 0 if the address is neither
 * IPv4 nor IPv6, or if its host or port is 0.
 */
void address_key_set(struct address_key *key, const void *address, size_t length);
/* Returns true if a and b are the same address. Returns false if either family is 0. */
bool address_key_equal(const struct address_key *a, const struct address_key *b);

/*
 * Writes the address, which must be in the provider's format, to `text`, for example "10.0.0.1:4420" or "[::1]:4420".
 * If the address is neither IPv4 nor IPv6, writes an empty text.
 */
void address_print(char *text, size_t size, const void *address, size_t length);

#endif
