/* SPDX-License-Identifier: MIT */
/*
 * A transport address: IPv4 or IPv6 with a port, stored as the host's sockaddr. The invariant: unused members are zero,
 * and the family has the host's value, so that equal addresses have equal bytes. addr_hash relies on this.
 */
#ifndef BASE_ADDR_H
#define BASE_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct addr {
    union {
        struct sockaddr sa;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
};

enum { ADDR_TEXT = 80, ADDR_WINDOWS_INET6 = 23 };

/*
 * Converts the consumer's sockaddr of `len` bytes to *a. An IPv6 address may have the AF_INET6 of Linux (10) or of
 * Windows (23). Returns false if the family is not known, or if `len` is too short for the family.
 */
bool addr_from(struct addr *a, const void *sockaddr, size_t len);
/* Returns the size of the sockaddr in bytes, which depends on the family. */
socklen_t addr_len(const struct addr *a);
uint16_t addr_port(const struct addr *a);
void addr_set_port(struct addr *a, uint16_t port);
bool addr_same_host(const struct addr *a, const struct addr *b); /* compares family, host and scope, but not the port */
bool addr_equal(const struct addr *a, const struct addr *b);     /* compares family, host, scope and port */
int addr_compare(const struct addr *a, const struct addr *b);    /* total order: < 0, 0 (equal) or > 0 */
/*
 * Returns the part of a peer's address that normally identifies one host. For an IPv4 address, and for an IPv4-mapped
 * one, this is the IPv4 address. For any other IPv6 address, it is the /64 prefix and the scope. All other members of
 * the result, including the port, are zero.
 */
struct addr addr_source(const struct addr *a);
bool addr_is_any(const struct addr *a); /* the unspecified address: 0.0.0.0, :: or ::ffff:0.0.0.0 */
bool addr_is_loopback(const struct addr *a);
/* Writes the address to `text`, for example "127.0.0.1:4711" or "[fe80::1%2]:4711". Returns `text`. */
const char *addr_text(const struct addr *a, char text[ADDR_TEXT]);

uint64_t addr_hash(const struct addr *a);

#endif
