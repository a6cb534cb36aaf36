/* SPDX-License-Identifier: MIT */
/*
 * Abstract: the host's network interfaces, asked for anew each time: addresses come and go while an adapter is open.
 * Only that an address is an interface's is believed for a second, as every connect asks: bind notices when it has
 * gone from the host meanwhile.
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
#include "base/mutant.h"
#include "base/spin.h"

enum { KNOWN = 64, BELIEVED_SECONDS = 1 };

static bool is_inet(const struct ifaddrs *i)
{
    return i->ifa_addr && (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6);
}

static bool address_of(const struct ifaddrs *i, struct addr *a)
{
    return is_inet(i) && addr_from(a, i->ifa_addr,
                                   i->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                                     : sizeof(struct sockaddr_in6));
}

static uint32_t mtu_of(const char *name)
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

static void describe(const struct ifaddrs *i, uint32_t index, struct interface_info *info)
{
    memset(info, 0, sizeof *info);
    info->index = index;
    snprintf(info->name, sizeof info->name, "%s", i->ifa_name);
    info->up = (i->ifa_flags & IFF_UP) != 0;
    info->loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
    info->mtu = mtu_of(i->ifa_name);
}

/* Is there an address of the same interface earlier in the list? */
static bool seen_before(const struct ifaddrs *all, const struct ifaddrs *here)
{
    for (const struct ifaddrs *i = all; i != here; i = i->ifa_next)
        if (is_inet(i) && strcmp(i->ifa_name, here->ifa_name) == 0)
            return true;
    return false;
}

/* if_nametoindex and if_indextoname make a socket: without a descriptor they fail as for an interface that is gone. */
static bool is_gone(int err)
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

        if (!is_inet(i) || seen_before(all, i))
            continue;
        index = if_nametoindex(i->ifa_name);
        if (index == 0) {
            err = is_gone(errno) ? 0 : errno;
            continue;
        }
        if (count < max)
            describe(i, index, &info[count]);
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
    int count = 0;

    (void)self;
    if (!if_indextoname(index, name))
        return is_gone(errno) ? -ENODEV : -errno;
    if (getifaddrs(&all) != 0)
        return -errno;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (strcmp(i->ifa_name, name) != 0 || !address_of(i, &a))
            continue;
        addr_set_port(&a, 0);
        if (count < max)
            addrs[count] = a;
        count++;
    }
    freeifaddrs(all);
    return count;
}

/* The first IPv4 address of an interface, as a list of one: asking for it is a fraction of asking for all. */
static bool first_address(int fd, struct ifreq *r, struct ifaddrs *one, struct sockaddr *address)
{
    if (ioctl(fd, SIOCGIFADDR, r))
        return false;
    *address = r->ifr_addr;
    if (ioctl(fd, SIOCGIFFLAGS, r))
        return false;
    *one = (struct ifaddrs){ .ifa_name = r->ifr_name, .ifa_flags = (unsigned short)r->ifr_flags, .ifa_addr = address };
    return true;
}

static bool is_address_of(const struct ifaddrs *i, const struct addr *wanted)
{
    struct addr a;

    if (!address_of(i, &a))
        return false;
    return addr_same_host(&a, wanted) ||
           ((i->ifa_flags & IFF_LOOPBACK) && addr_is_loopback(&a) && addr_is_loopback(wanted) &&
            a.sa.sa_family == wanted->sa.sa_family);
}

/* Mostly the address wanted is the first one. False: it is not, or that could not be found out. */
static bool is_first_address(uint32_t index, const struct addr *wanted)
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
    is_first = !ioctl(fd, SIOCGIFNAME, &r) && first_address(fd, &r, &one, &address) && is_address_of(&one, wanted);
    descriptors_close(fd);
    return is_first;
}

static int is_any_address(uint32_t index, const struct addr *wanted, bool *found)
{
    char name[IF_NAMESIZE];
    struct ifaddrs *all;

    if (!if_indextoname(index, name))
        return is_gone(errno) ? EADDRNOTAVAIL : errno;
    if (getifaddrs(&all) != 0)
        return errno;
    for (const struct ifaddrs *i = all; i && !*found; i = i->ifa_next)
        *found = strcmp(i->ifa_name, name) == 0 && is_address_of(i, wanted);
    freeifaddrs(all);
    return 0;
}

/* ---- what was found a moment ago ---- */

static struct known {
    struct addr host; /* port 0 */
    uint32_t index;   /* 0: nothing */
    time_t since;
} known[KNOWN];
static struct spin known_lock; /* guards known; a leaf */

static struct known *known_place(uint32_t index, const struct addr *host)
{
    const unsigned char *bytes = (const unsigned char *)&host->sa;
    unsigned hash = index;

    for (size_t i = 0; i < addr_len(host); i++)
        hash = hash * 31 + bytes[i];
    return &known[hash % KNOWN];
}

static time_t seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return t.tv_sec;
}

static bool is_known(uint32_t index, const struct addr *host)
{
    const struct known *k = known_place(index, host);
    bool is;

    spin_lock(&known_lock);
    is = k->index == index && addr_equal(&k->host, host) && seconds() - k->since <= BELIEVED_SECONDS;
    spin_unlock(&known_lock);
    return is;
}

static void keep(uint32_t index, const struct addr *host)
{
    struct known *k = known_place(index, host);

    spin_lock(&known_lock);
    *k = (struct known){ .host = *host, .index = index, .since = seconds() };
    spin_unlock(&known_lock);
}

static int look(uint32_t index, const struct addr *host)
{
    bool found = is_first_address(index, host);
    int err = found ? 0 : is_any_address(index, host, &found);

    if (!err && found)
        keep(index, host);
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
    err = is_known(index, &host) ? 0 : look(index, &host);
    if (err)
        return err;
    return MUTANT(adp_03_loopback_alone) && !addr_is_loopback(wanted) ? EADDRNOTAVAIL : 0;
}

struct interfaces *interfaces_kernel(void)
{
    static struct interfaces kernel = {
        .list = kernel_list,
        .addresses = kernel_addresses,
        .owns = kernel_owns,
    };

    fork_guard(&known_lock);
    return &kernel;
}
