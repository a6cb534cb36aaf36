/* SPDX-License-Identifier: MIT */
/* Implements transport addresses: see addr.h. Every function leaves the unused members of an address zero. */
#include "base/addr.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

bool addr_from(struct addr *a, const void *sockaddr, size_t len)
{
    sa_family_t family;

    memset(a, 0, sizeof *a);
    if (!sockaddr || len < sizeof family)
        return false;
    memcpy(&family, sockaddr, sizeof family);
    if (family == AF_INET && len >= sizeof a->v4) {
        struct sockaddr_in in;
        memcpy(&in, sockaddr, sizeof in);
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = in.sin_port;
        a->v4.sin_addr = in.sin_addr;
        return true;
    }
    if ((family == AF_INET6 || family == ADDR_WINDOWS_INET6) && len >= sizeof a->v6) {
        struct sockaddr_in6 in;
        memcpy(&in, sockaddr, sizeof in);
        a->v6.sin6_family = AF_INET6;
        a->v6.sin6_port = in.sin6_port;
        a->v6.sin6_addr = in.sin6_addr;
        /* Only a link-local address needs a scope. In other addresses a scope would make equal addresses differ. */
        a->v6.sin6_scope_id = IN6_IS_ADDR_LINKLOCAL(&in.sin6_addr) ? in.sin6_scope_id : 0;
        return true;
    }
    return false;
}

socklen_t addr_len(const struct addr *a)
{
    return a->sa.sa_family == AF_INET ? sizeof a->v4 : sizeof a->v6;
}

uint16_t addr_port(const struct addr *a)
{
    return ntohs(a->sa.sa_family == AF_INET ? a->v4.sin_port : a->v6.sin6_port);
}

void addr_set_port(struct addr *a, uint16_t port)
{
    if (a->sa.sa_family == AF_INET)
        a->v4.sin_port = htons(port);
    else
        a->v6.sin6_port = htons(port);
}

bool addr_same_host(const struct addr *a, const struct addr *b)
{
    if (a->sa.sa_family != b->sa.sa_family)
        return false;
    if (a->sa.sa_family == AF_INET)
        return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
    return memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof a->v6.sin6_addr) == 0 &&
           a->v6.sin6_scope_id == b->v6.sin6_scope_id;
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
    return addr_same_host(a, b) && addr_port(a) == addr_port(b);
}

int addr_compare(const struct addr *a, const struct addr *b)
{
    return memcmp(a, b, sizeof *a);
}

struct addr addr_source(const struct addr *a)
{
    struct addr source;

    memset(&source, 0, sizeof source); /* an initializer may leave bytes of the union undefined */
    source.sa.sa_family = a->sa.sa_family;
    if (a->sa.sa_family == AF_INET) {
        source.v4.sin_addr = a->v4.sin_addr;
    } else if (a->sa.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr)) {
        source.sa.sa_family = AF_INET;
        memcpy(&source.v4.sin_addr, a->v6.sin6_addr.s6_addr + 12, sizeof source.v4.sin_addr);
    } else if (a->sa.sa_family == AF_INET6) {
        memcpy(source.v6.sin6_addr.s6_addr, a->v6.sin6_addr.s6_addr, 8);
        source.v6.sin6_scope_id = a->v6.sin6_scope_id;
    }
    return source;
}

bool addr_is_any(const struct addr *a)
{
    static const struct in6_addr mapped_any = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

    if (a->sa.sa_family == AF_INET)
        return a->v4.sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr) || IN6_ARE_ADDR_EQUAL(&a->v6.sin6_addr, &mapped_any);
}

bool addr_is_loopback(const struct addr *a)
{
    return a->sa.sa_family == AF_INET ? ntohl(a->v4.sin_addr.s_addr) >> 24 == 127
                                      : IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

const char *addr_text(const struct addr *a, char text[ADDR_TEXT])
{
    char host[INET6_ADDRSTRLEN];

    if (a->sa.sa_family == AF_INET) {
        inet_ntop(AF_INET, &a->v4.sin_addr, host, sizeof host);
        snprintf(text, ADDR_TEXT, "%s:%u", host, addr_port(a));
    } else if (a->sa.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a->v6.sin6_addr, host, sizeof host);
        if (a->v6.sin6_scope_id)
            snprintf(text, ADDR_TEXT, "[%s%%%u]:%u", host, a->v6.sin6_scope_id, addr_port(a));
        else
            snprintf(text, ADDR_TEXT, "[%s]:%u", host, addr_port(a));
    } else {
        snprintf(text, ADDR_TEXT, "(none)");
    }
    return text;
}

uint64_t addr_hash(const struct addr *a)
{
    const uint8_t *p = (const uint8_t *)a;
    uint64_t h = 14695981039346656037u; /* the FNV-1a hash */

    for (size_t i = 0; i < sizeof *a; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}
