/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "verify/address.h"

static _Atomic(address_observer *) address_seen_by;

void address_set_observer(address_observer *observer)
{
    atomic_store(&address_seen_by, observer);
}

bool address_observe(const char *routine, const void *address, size_t length, bool is_local)
{
    address_observer *observer = atomic_load_explicit(&address_seen_by, memory_order_relaxed);

    return !observer || !address || observer(routine, address, length, is_local);
}

void address_print(char *text, size_t size, const void *address, size_t length)
{
    char host[INET6_ADDRSTRLEN] = "";
    struct sockaddr_in v4 = { .sin_family = AF_UNSPEC };
    struct sockaddr_in6 v6 = { .sin6_family = AF_UNSPEC };

    text[0] = 0;
    if (address && length >= sizeof v4)
        memcpy(&v4, address, sizeof v4);
    if (address && length >= sizeof v6)
        memcpy(&v6, address, sizeof v6);
    if (v4.sin_family == AF_INET && inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host))
        snprintf(text, size, "%s:%u", host, (unsigned)ntohs(v4.sin_port));
    else if (v6.sin6_family == AF_INET6 && inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host))
        snprintf(text, size, "[%s]:%u", host, (unsigned)ntohs(v6.sin6_port));
}

void address_key_set(struct address_key *key, const void *address, size_t length)
{
    static const struct address_key none;
    struct sockaddr_in v4 = { .sin_family = AF_UNSPEC };
    struct sockaddr_in6 v6 = { .sin6_family = AF_UNSPEC };
    struct address_key made = none;

    *key = none;
    if (address && length >= sizeof v4)
        memcpy(&v4, address, sizeof v4);
    if (address && length >= sizeof v6)
        memcpy(&v6, address, sizeof v6);
    if (v4.sin_family == AF_INET) {
        made.port = v4.sin_port;
        memcpy(made.host, &v4.sin_addr, sizeof v4.sin_addr);
    } else if (v6.sin6_family == AF_INET6) {
        made.port = v6.sin6_port;
        made.scope = v6.sin6_scope_id;
        memcpy(made.host, &v6.sin6_addr, sizeof v6.sin6_addr);
    }
    if (made.port == 0 || memcmp(made.host, none.host, sizeof made.host) == 0)
        return;
    made.family = v4.sin_family;
    *key = made;
}

bool address_key_equal(const struct address_key *a, const struct address_key *b)
{
    return a->family != 0 && a->family == b->family && a->port == b->port && a->scope == b->scope &&
           memcmp(a->host, b->host, sizeof a->host) == 0;
}
