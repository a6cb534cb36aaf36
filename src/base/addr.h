/* SPDX-License-Identifier: MIT */
/*
 * A transport address: IPv4 or IPv6 with a port, stored as the host's sockaddr. The invariant: unused members are zero,
 * and the family has the host's value. So equal addresses have equal bytes, which addr_hash requires.
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
int addr_compare(const struct addr *a, const struct addr *b);    /* returns < 0, 0 (equal) or > 0; a total order */
/*
 * Returns the part of a peer's address that normally identifies one host: the IPv4 address, also if the address is
 * IPv4-mapped. For any other IPv6 address, returns the /64 prefix and the scope. All other members of the result,
 * including the port, are zero.
 */
struct addr addr_source(const struct addr *a);
bool addr_is_any(const struct addr *a); /* returns true for 0.0.0.0, :: and ::ffff:0.0.0.0 */
bool addr_is_loopback(const struct addr *a);
/*
 * Writes the address to `text`, for example "127.0.0.1:4711" or "[fe80::1%2]:4711", or "(none)" if its family is
 * neither IPv4 nor IPv6. Returns `text`.
 */
const char *addr_text(const struct addr *a, char text[ADDR_TEXT]);

uint64_t addr_hash(const struct addr *a);

#endif
