/* SPDX-License-Identifier: MIT */
/*
 * Returns the host's network interfaces and their addresses. The invariant: every function except `owns` reads the
 * kernel's present state, because addresses are added and removed while an adapter is open. `owns` caches for one to
 * two seconds that an interface has an address, because every connect calls it. If the address is removed meanwhile,
 * bind fails.
 */
#include "engine/interfaces.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "base/descriptors.h"
#include "base/fork.h"
#include "base/spin.h"

enum { N_CACHE_ENTRIES = 64, CACHE_SECONDS = 1 };

static struct cache_entry {
    struct addr host; /* port 0 */
    uint32_t index;   /* 0: the entry is empty */
    time_t since;
} cache[N_CACHE_ENTRIES];
static struct spin cache_lock; /* guards the cache; a thread that holds it acquires no other lock */

static bool ifaddrs_is_inet(const struct ifaddrs *i)
{
    return i->ifa_addr && (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6);
}

static bool ifaddrs_get_addr(const struct ifaddrs *i, struct addr *a)
{
    return ifaddrs_is_inet(i) &&
           addr_from(a, i->ifa_addr,
                     i->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
}

static uint32_t interface_mtu(const char *name)
{
    struct ifreq r = { 0 };
    int fd = descriptors_socket(AF_INET, SOCK_DGRAM, 0);
    int rc;

    if (fd < 0)
        return 0;
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    rc = ioctl(fd, SIOCGIFMTU, &r);
    descriptors_close(fd);
    return rc == 0 ? (uint32_t)r.ifr_mtu : 0;
}

static void interface_describe(const struct ifaddrs *i, uint32_t index, struct interface_info *info)
{
    memset(info, 0, sizeof *info);
    info->index = index;
    snprintf(info->name, sizeof info->name, "%s", i->ifa_name);
    info->up = (i->ifa_flags & IFF_UP) != 0;
    info->loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
    info->mtu = interface_mtu(i->ifa_name);
}

/* Returns true if an earlier address of the list belongs to the same interface as `here`. */
static bool ifaddrs_is_repeated(const struct ifaddrs *all, const struct ifaddrs *here)
{
    for (const struct ifaddrs *i = all; i != here; i = i->ifa_next)
        if (ifaddrs_is_inet(i) && strcmp(i->ifa_name, here->ifa_name) == 0)
            return true;
    return false;
}

/*
 * Sends an ioctl request about an interface to the kernel. Returns 0 or an errno. Unlike if_nametoindex and
 * if_indextoname, does not return ENOENT if no descriptor is free.
 */
static int interface_request(unsigned long request, struct ifreq *r)
{
    int fd = descriptors_socket(AF_INET, SOCK_DGRAM, 0), err;

    if (fd < 0)
        return errno;
    err = ioctl(fd, request, r) ? errno : 0;
    descriptors_close(fd);
    return err;
}

static int interface_get_index(const char *name, uint32_t *index)
{
    struct ifreq r = { 0 };
    int err;

    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    err = interface_request(SIOCGIFINDEX, &r);
    *index = (uint32_t)r.ifr_ifindex;
    return err;
}

static int interface_get_name(uint32_t index, char name[IF_NAMESIZE])
{
    struct ifreq r = { .ifr_ifindex = (int)index };
    int err = interface_request(SIOCGIFNAME, &r);

    memcpy(name, r.ifr_name, IF_NAMESIZE);
    return err;
}

/* Returns true if the errno means that the interface does not exist. Any other errno means that resources ran out. */
static bool errno_is_no_interface(int err)
{
    return err == ENODEV || err == ENXIO;
}

static int kernel_list(struct interfaces *self, struct interface_info *info, int max)
{
    struct ifaddrs *all;
    int count = 0, err = 0;

    (void)self;
    if (getifaddrs(&all) != 0)
        return -errno;
    for (const struct ifaddrs *i = all; i && !err; i = i->ifa_next) {
        uint32_t index;

        if (!ifaddrs_is_inet(i) || ifaddrs_is_repeated(all, i))
            continue;
        err = interface_get_index(i->ifa_name, &index);
        if (err) {
            err = errno_is_no_interface(err) ? 0 : err;
            continue;
        }
        if (count < max)
            interface_describe(i, index, &info[count]);
        count++;
    }
    freeifaddrs(all);
    return err ? -err : count;
}

static int kernel_addresses(struct interfaces *self, uint32_t index, struct addr *addrs, int max)
{
    char name[IF_NAMESIZE];
    struct ifaddrs *all;
    struct addr a;
    int count = 0, err = interface_get_name(index, name);

    (void)self;
    if (err)
        return errno_is_no_interface(err) ? -ENODEV : -err;
    if (getifaddrs(&all) != 0)
        return -errno;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (strcmp(i->ifa_name, name) != 0 || !ifaddrs_get_addr(i, &a))
            continue;
        addr_set_port(&a, 0);
        if (count < max)
            addrs[count] = a;
        count++;
    }
    freeifaddrs(all);
    return count;
}

/*
 * Stores the interface's first IPv4 address in *address, and makes *one a list that contains only this address.
 * Requires the interface's name in *r. Returns false if there is no IPv4 address. Much faster than getifaddrs.
 */
static bool interface_first_address(int fd, struct ifreq *r, struct ifaddrs *one, struct sockaddr *address)
{
    if (ioctl(fd, SIOCGIFADDR, r))
        return false;
    *address = r->ifr_addr;
    if (ioctl(fd, SIOCGIFFLAGS, r))
        return false;
    *one = (struct ifaddrs){ .ifa_name = r->ifr_name, .ifa_flags = (unsigned short)r->ifr_flags, .ifa_addr = address };
    return true;
}

static bool ifaddrs_matches(const struct ifaddrs *i, const struct addr *wanted)
{
    struct addr a;

    if (!ifaddrs_get_addr(i, &a))
        return false;
    return addr_same_host(&a, wanted) || ((i->ifa_flags & IFF_LOOPBACK) && addr_is_loopback(&a) &&
                                          addr_is_loopback(wanted) && a.sa.sa_family == wanted->sa.sa_family);
}

/*
 * Returns true if `wanted` is the interface's first IPv4 address, which is the usual case. Returns false otherwise, or
 * if the first address could not be read.
 */
static bool interface_is_first_address(uint32_t index, const struct addr *wanted)
{
    struct ifreq r = { .ifr_ifindex = (int)index };
    struct sockaddr address;
    struct ifaddrs one;
    bool is_first;
    int fd;

    if (wanted->sa.sa_family != AF_INET)
        return false;
    fd = descriptors_socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0)
        return false;
    is_first = !ioctl(fd, SIOCGIFNAME, &r) && interface_first_address(fd, &r, &one, &address) &&
               ifaddrs_matches(&one, wanted);
    descriptors_close(fd);
    return is_first;
}

static int interface_is_any_address(uint32_t index, const struct addr *wanted, bool *found)
{
    char name[IF_NAMESIZE];
    struct ifaddrs *all;
    int err = interface_get_name(index, name);

    if (err)
        return errno_is_no_interface(err) ? EADDRNOTAVAIL : err;
    if (getifaddrs(&all) != 0)
        return errno;
    for (const struct ifaddrs *i = all; i && !*found; i = i->ifa_next)
        *found = strcmp(i->ifa_name, name) == 0 && ifaddrs_matches(i, wanted);
    freeifaddrs(all);
    return 0;
}

/* ---- a cache: which interface has which address, as the kernel has reported ---- */

static struct cache_entry *cache_find_place(uint32_t index, const struct addr *host)
{
    const unsigned char *bytes = (const unsigned char *)&host->sa;
    unsigned hash = index;

    for (size_t i = 0; i < addr_len(host); i++)
        hash = hash * 31 + bytes[i];
    return &cache[hash % N_CACHE_ENTRIES];
}

static time_t cache_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return t.tv_sec;
}

static bool cache_has(uint32_t index, const struct addr *host)
{
    const struct cache_entry *e = cache_find_place(index, host);
    bool has;

    spin_lock(&cache_lock);
    has = e->index == index && addr_equal(&e->host, host) && cache_seconds() - e->since <= CACHE_SECONDS;
    spin_unlock(&cache_lock);
    return has;
}

static void cache_add(uint32_t index, const struct addr *host)
{
    struct cache_entry *e = cache_find_place(index, host);

    spin_lock(&cache_lock);
    *e = (struct cache_entry){ .host = *host, .index = index, .since = cache_seconds() };
    spin_unlock(&cache_lock);
}

static int interface_find_address(uint32_t index, const struct addr *host)
{
    bool found = interface_is_first_address(index, host);
    int err = found ? 0 : interface_is_any_address(index, host, &found);

    if (!err && found)
        cache_add(index, host);
    return err ? err : found ? 0 : EADDRNOTAVAIL;
}

static int kernel_owns(struct interfaces *self, uint32_t index, const struct addr *wanted)
{
    struct addr host = *wanted;
    int err;

    (void)self;
    if (addr_is_any(wanted))
        return EADDRNOTAVAIL;
    addr_set_port(&host, 0);
    err = cache_has(index, &host) ? 0 : interface_find_address(index, &host);
    return err;
}

struct interfaces *interfaces_kernel(void)
{
    static struct interfaces kernel = {
        .list = kernel_list,
        .addresses = kernel_addresses,
        .owns = kernel_owns,
    };

    fork_guard(&cache_lock);
    return &kernel;
}
