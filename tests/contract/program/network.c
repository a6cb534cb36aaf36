/* SPDX-License-Identifier: MIT */
/* Network namespaces and the interface of the cases: see network.h. */
#define _GNU_SOURCE
#include "contract/program/network.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "number.h"

struct network_interface network_interface;

/* ---- namespaces ---- */

static const char *network_set_loopback_up(void)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (s < 0 || ioctl(s, SIOCSIFFLAGS, &request) != 0)
        return "cannot set up lo in a network namespace";
    close(s);
    return NULL;
}

static bool network_write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) >= 0;

    if (fd >= 0)
        close(fd);
    return written;
}

static const char *network_unshare_user(void)
{
    char uid[32], gid[32];

    snprintf(uid, sizeof uid, "0 %u 1", (unsigned)geteuid());
    snprintf(gid, sizeof gid, "0 %u 1", (unsigned)getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return "no network namespace to be had";
    if (!network_write_file("/proc/self/setgroups", "deny") || !network_write_file("/proc/self/uid_map", uid) ||
        !network_write_file("/proc/self/gid_map", gid))
        return "cannot map the user of a user namespace";
    return NULL;
}

const char *network_unshare(void)
{
    const char *failed = unshare(CLONE_NEWNET) == 0 ? NULL : network_unshare_user();

    return failed ? failed : network_set_loopback_up();
}

bool network_try_unshare(void)
{
    const char *failed;

    if (unshare(CLONE_NEWNET) != 0)
        return false;
    failed = network_set_loopback_up();
    if (!failed)
        return true;
    fprintf(stderr, "ndkconform: %s: %s\n", failed, strerror(errno));
    exit(2);
}

const char *network_create(unsigned count, int *namespaces)
{
    for (unsigned i = 0; i < count; i++) {
        const char *failed = network_unshare();

        if (failed)
            return failed;
        namespaces[i] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        if (namespaces[i] < 0)
            return "cannot open a network namespace";
    }
    return NULL;
}

/* ---- the interface ---- */

static bool network_is_link_local(const struct sockaddr_storage *a)
{
    return a->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static bool network_is_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr == ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
                              &((const struct sockaddr_in6 *)b)->sin6_addr);
}

static bool network_get_address(const struct ifaddrs *entry, struct sockaddr_storage *a)
{
    int family = entry->ifa_addr ? entry->ifa_addr->sa_family : AF_UNSPEC;

    memset(a, 0, sizeof *a);
    if (family != AF_INET && family != AF_INET6)
        return false;
    memcpy(a, entry->ifa_addr, family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
    return true;
}

/* Finds the interface that owns an address. Returns its index, or 0. */
static uint32_t network_find_owner(const struct ifaddrs *list, const struct sockaddr_storage *address)
{
    struct sockaddr_storage a;

    for (; list; list = list->ifa_next)
        if (network_get_address(list, &a) && network_is_same_address(&a, address))
            return if_nametoindex(list->ifa_name);
    return 0;
}

/* Uses the first address of each family, a link-local one only if there is no other. */
static void network_add_addresses(const struct ifaddrs *list)
{
    struct network_interface *n = &network_interface;
    struct sockaddr_storage a;

    for (; list; list = list->ifa_next) {
        if (if_nametoindex(list->ifa_name) != n->index || !network_get_address(list, &a))
            continue;
        int family = a.ss_family == AF_INET6;
        if (n->has_address[family] && !(network_is_link_local(&n->addresses[family]) && !network_is_link_local(&a)))
            continue;
        n->addresses[family] = a;
        n->has_address[family] = true;
    }
}

const char *network_set_interface(const char *text)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM }, *found = NULL;
    struct network_interface *n = &network_interface;
    struct sockaddr_storage given = { 0 };
    struct ifaddrs *list = NULL;
    char name[IF_NAMESIZE];

    if (getifaddrs(&list) != 0)
        return "the system does not list its interfaces";
    n->index = if_nametoindex(text);
    if (!n->index && number_parse(text, 1, INT32_MAX, &n->index) && !if_indextoname(n->index, name))
        n->index = 0;
    if (!n->index && getaddrinfo(text, NULL, &hints, &found) == 0) {
        memcpy(&given, found->ai_addr, found->ai_addrlen);
        freeaddrinfo(found);
        n->index = network_find_owner(list, &given);
    }
    if (n->index)
        network_add_addresses(list);
    freeifaddrs(list);
    if (given.ss_family && n->index)
        n->addresses[given.ss_family == AF_INET6] = given;
    if (!n->index)
        return "the name, the index or an address of an interface of this machine is expected";
    return n->has_address[0] || n->has_address[1] ? NULL : "the interface has no address";
}
