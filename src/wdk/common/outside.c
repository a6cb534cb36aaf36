/* SPDX-License-Identifier: MIT */
/* Refuses destinations outside of this machine: see outside.h. */
#include "wdk/common/outside.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "verify/report.h"

enum { MAX_MESSAGES = 16, MAX_FOUND = 8, WINDOWS_INET6 = 23 };

/* An address and a port. An IPv4 address is stored as an IPv4-mapped IPv6 address. */
struct destination {
    struct in6_addr address;
    uint16_t port; /* in network byte order */
};

static atomic_bool forbidden;

/* Guards the two arrays. No other lock is acquired while it is held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct in6_addr found[MAX_FOUND]; /* ring buffer of the last addresses that were found on this machine */
static struct in6_addr named[MAX_MESSAGES];
static unsigned found_count, named_count;

void outside_forbid(void)
{
    atomic_store(&forbidden, true);
}

bool outside_is_forbidden(void)
{
    return atomic_load_explicit(&forbidden, memory_order_relaxed);
}

/* Sets *to to the address and the port of the sockaddr. Returns false if the sockaddr has no address. */
static bool outside_read(const void *sockaddr, size_t length, struct destination *to)
{
    struct sockaddr_in v4 = { .sin_family = AF_UNSPEC };
    struct sockaddr_in6 v6 = { .sin6_family = AF_UNSPEC };

    if (sockaddr && length >= sizeof v4)
        memcpy(&v4, sockaddr, sizeof v4);
    if (sockaddr && length >= sizeof v6)
        memcpy(&v6, sockaddr, sizeof v6);
    if (v4.sin_family == AF_INET) {
        *to = (struct destination){ { { { [10] = 0xff, [11] = 0xff } } }, v4.sin_port };
        memcpy(&to->address.s6_addr[12], &v4.sin_addr, sizeof v4.sin_addr);
        return true;
    }
    *to = (struct destination){ v6.sin6_addr, v6.sin6_port };
    return v6.sin6_family == AF_INET6 || v6.sin6_family == WINDOWS_INET6;
}

/* Returns true for the loopback addresses, and for the unspecified ones, which reach this machine or nothing. */
static bool outside_is_loopback(const struct in6_addr *a)
{
    static const uint8_t none[4];

    if (IN6_IS_ADDR_V4MAPPED(a))
        return a->s6_addr[12] == 127 || !memcmp(&a->s6_addr[12], none, sizeof none);
    return IN6_IS_ADDR_LOOPBACK(a) || IN6_IS_ADDR_UNSPECIFIED(a);
}

static bool outside_interface_has(const struct in6_addr *a)
{
    struct ifaddrs *all;
    bool has = false;

    if (getifaddrs(&all))
        return false;
    for (const struct ifaddrs *i = all; i && !has; i = i->ifa_next) {
        struct destination one;

        has = i->ifa_addr && (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6) &&
              outside_read(i->ifa_addr,
                           i->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6),
                           &one) &&
              IN6_ARE_ADDR_EQUAL(&one.address, a);
    }
    freeifaddrs(all);
    return has;
}

static bool outside_contains(const struct in6_addr *all, unsigned count, const struct in6_addr *a)
{
    for (unsigned i = 0; i < count; i++)
        if (IN6_ARE_ADDR_EQUAL(&all[i], a))
            return true;
    return false;
}

/* Returns true if this machine has the address. Enumerates the interfaces only if the address was not found before. */
static bool outside_is_own(const struct in6_addr *a)
{
    bool is_own;

    pthread_mutex_lock(&lock);
    is_own = outside_contains(found, found_count < MAX_FOUND ? found_count : MAX_FOUND, a);
    pthread_mutex_unlock(&lock);
    if (is_own || !outside_interface_has(a))
        return is_own;
    pthread_mutex_lock(&lock);
    found[found_count++ % MAX_FOUND] = *a;
    pthread_mutex_unlock(&lock);
    return true;
}

/* Returns true if the address can be that of an interface: it is no group or broadcast address. */
static bool outside_is_single(const struct in6_addr *a)
{
    return IN6_IS_ADDR_V4MAPPED(a) ? a->s6_addr[12] < 224 : !IN6_IS_ADDR_MULTICAST(a);
}

static void outside_print(const char *routine, const struct destination *to)
{
    bool is_v4 = IN6_IS_ADDR_V4MAPPED(&to->address), is_new;
    char text[INET6_ADDRSTRLEN] = "";
    FILE *out = report_output();

    pthread_mutex_lock(&lock);
    is_new = named_count < MAX_MESSAGES && !outside_contains(named, named_count, &to->address);
    if (is_new)
        named[named_count++] = to->address;
    pthread_mutex_unlock(&lock);
    if (!is_new)
        return;
    (void)inet_ntop(is_v4 ? AF_INET : AF_INET6, &to->address.s6_addr[is_v4 ? 12 : 0], text, sizeof text);
    fprintf(out,
            "%s: %s%s%s:%u is outside of this machine, so it ends with STATUS_NETWORK_UNREACHABLE. Options of ndkrun: "
            "--net host permits it",
            routine, is_v4 ? "" : "[", text, is_v4 ? "" : "]", (unsigned)ntohs(to->port));
    if (outside_is_single(&to->address))
        fprintf(out, ", --net INDEX=%s/%u gives the address to an interface of a network of the run's own", text,
                is_v4 ? 24 : 64);
    fputc('\n', out);
    fflush(out);
}

bool outside_may_send(const char *routine, const void *sockaddr, size_t length)
{
    struct destination to;

    if (!outside_is_forbidden() || !outside_read(sockaddr, length, &to) || outside_is_loopback(&to.address) ||
        outside_is_own(&to.address))
        return true;
    outside_print(routine, &to);
    return false;
}
