/* SPDX-License-Identifier: MIT */
/*
 * A transport address: IPv4 or IPv6 with port, kept as a sockaddr of the host. Both values of AF_INET6 (Linux' 10 and
 * Windows' 23) come in; the host's is kept.
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

/* Takes what a consumer passed: false where the family is unknown or the length too short for it. */
bool addr_from(struct addr *a, const void *sockaddr, size_t len);
/* Size of the sockaddr inside. */
socklen_t addr_len(const struct addr *a);
uint16_t addr_port(const struct addr *a);
void addr_set_port(struct addr *a, uint16_t port);
bool addr_same_host(const struct addr *a, const struct addr *b); /* family, host, scope; not the port */
bool addr_equal(const struct addr *a, const struct addr *b);     /* the port too */
bool addr_is_any(const struct addr *a);                          /* unspecified: 0.0.0.0, ::, ::ffff:0.0.0.0 */
bool addr_is_loopback(const struct addr *a);
/* "127.0.0.1:4711", "[fe80::1%2]:4711". Returns text. */
const char *addr_text(const struct addr *a, char text[ADDR_TEXT]);
/* Canonical bytes (unused members zeroed), for hashing; addr_from and the getters keep addresses canonical. */
uint64_t addr_hash(const struct addr *a);

#endif
