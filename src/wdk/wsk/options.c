/* SPDX-License-Identifier: MIT */
/*
 * Maps Windows' socket options to the host's by a table, and converts the few values that differ. Options that are not
 * in the table are refused.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "wdk/wsk/host.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "wdk/common/interface_map.h"

enum { WINDOWS_SOCKET = 0xffff, REUSE = 0x0004, EXCLUSIVE = ~REUSE, TYPE = 0x1008 };

enum form {
    NUMBER,     /* 32 bits; a driver may pass a boolean as one byte */
    MEMBERSHIP, /* the interface is given as an address for IPv4, as an index for IPv6 */
    FRAGMENT,   /* a boolean on Windows, an IP_PMTUDISC_ value on the host */
    INDEX,      /* an interface index */
    BUFFER      /* a buffer size, which the host doubles when it is set */
};

static const struct option {
    unsigned family; /* 0: any */
    uint32_t level, name;
    int host_level, host_name;
    enum form form;
} options[] = {
    { 0, WINDOWS_SOCKET, REUSE, SOL_SOCKET, SO_REUSEADDR, NUMBER },
    { 0, WINDOWS_SOCKET, 0x0008, SOL_SOCKET, SO_KEEPALIVE, NUMBER },
    { 0, WINDOWS_SOCKET, 0x0010, SOL_SOCKET, SO_DONTROUTE, NUMBER },
    { 0, WINDOWS_SOCKET, 0x0020, SOL_SOCKET, SO_BROADCAST, NUMBER },
    { 0, WINDOWS_SOCKET, 0x1001, SOL_SOCKET, SO_SNDBUF, BUFFER },
    { 0, WINDOWS_SOCKET, 0x1002, SOL_SOCKET, SO_RCVBUF, BUFFER },
    { 0, WINDOWS_SOCKET, TYPE, SOL_SOCKET, SO_TYPE, NUMBER },
    { 0, IPPROTO_TCP, 1, IPPROTO_TCP, TCP_NODELAY, NUMBER },
    { 0, IPPROTO_TCP, 3, IPPROTO_TCP, TCP_KEEPIDLE, NUMBER },
    { 0, IPPROTO_TCP, 16, IPPROTO_TCP, TCP_KEEPCNT, NUMBER },
    { 0, IPPROTO_TCP, 17, IPPROTO_TCP, TCP_KEEPINTVL, NUMBER },
    { WSK_INET, IPPROTO_IP, 3, IPPROTO_IP, IP_TOS, NUMBER },
    { WSK_INET, IPPROTO_IP, 4, IPPROTO_IP, IP_TTL, NUMBER },
    { WSK_INET, IPPROTO_IP, 10, IPPROTO_IP, IP_MULTICAST_TTL, NUMBER },
    { WSK_INET, IPPROTO_IP, 11, IPPROTO_IP, IP_MULTICAST_LOOP, NUMBER },
    { WSK_INET, IPPROTO_IP, 12, IPPROTO_IP, IP_ADD_MEMBERSHIP, MEMBERSHIP },
    { WSK_INET, IPPROTO_IP, 13, IPPROTO_IP, IP_DROP_MEMBERSHIP, MEMBERSHIP },
    { WSK_INET, IPPROTO_IP, 14, IPPROTO_IP, IP_MTU_DISCOVER, FRAGMENT },
    { WSK_INET6, IPPROTO_IPV6, 4, IPPROTO_IPV6, IPV6_UNICAST_HOPS, NUMBER },
    { WSK_INET6, IPPROTO_IPV6, 9, IPPROTO_IPV6, IPV6_MULTICAST_IF, INDEX },
    { WSK_INET6, IPPROTO_IPV6, 10, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, NUMBER },
    { WSK_INET6, IPPROTO_IPV6, 11, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, NUMBER },
    { WSK_INET6, IPPROTO_IPV6, 12, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, MEMBERSHIP },
    { WSK_INET6, IPPROTO_IPV6, 13, IPPROTO_IPV6, IPV6_DROP_MEMBERSHIP, MEMBERSHIP },
    { WSK_INET6, IPPROTO_IPV6, 14, IPPROTO_IPV6, IPV6_MTU_DISCOVER, FRAGMENT },
    { WSK_INET6, IPPROTO_IPV6, 27, IPPROTO_IPV6, IPV6_V6ONLY, NUMBER },
};

static const struct option *wsk_option_find(unsigned family, uint32_t level, uint32_t name)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (options[i].level == level && options[i].name == name && (!options[i].family || options[i].family == family))
            return &options[i];
    return NULL;
}

static int wsk_option_set(int fd, int level, int name, const void *value, size_t size)
{
    return setsockopt(fd, level, name, value, (socklen_t)size) ? -errno : 0;
}

static int wsk_option_set_membership(int fd, const struct option *o, const void *value, size_t size)
{
    struct ip_mreq v4;
    struct ipv6_mreq v6;

    if (size < (o->family == WSK_INET ? sizeof v4 : sizeof v6))
        return -EINVAL;
    if (o->family == WSK_INET) {
        memcpy(&v4, value, sizeof v4);
        wsk_host_map_address(&v4.imr_interface, false, true);
        return wsk_option_set(fd, o->host_level, o->host_name, &v4, sizeof v4);
    }
    memcpy(&v6, value, sizeof v6);
    v6.ipv6mr_interface = v6.ipv6mr_interface ? interface_map_host(v6.ipv6mr_interface) : 0;
    return wsk_option_set(fd, o->host_level, o->host_name, &v6, sizeof v6);
}

static int wsk_option_set_number(int fd, const struct option *o, int number)
{
    if (o->form == FRAGMENT)
        number = number ? IP_PMTUDISC_DO : IP_PMTUDISC_DONT;
    else if (o->form == INDEX)
        number = number ? (int)interface_map_host((uint32_t)number) : 0;
    return wsk_option_set(fd, o->host_level, o->host_name, &number, sizeof number);
}

int wsk_host_set_option(int fd, unsigned family, uint32_t level, uint32_t name, const void *value, size_t size)
{
    const struct option *o = wsk_option_find(family, level, name);
    int number = 0;

    /* SO_EXCLUSIVEADDRUSE is the host's default: only sockets with SO_REUSEADDR share an address. */
    if (level == WINDOWS_SOCKET && name == (uint32_t)EXCLUSIVE)
        return size ? 0 : -EINVAL;
    if (!o || (level == WINDOWS_SOCKET && name == TYPE))
        return -ENOPROTOOPT;
    if (!size)
        return -EINVAL;
    if (o->form == MEMBERSHIP)
        return wsk_option_set_membership(fd, o, value, size);
    memcpy(&number, value, size < sizeof number ? 1 : sizeof number);
    return wsk_option_set_number(fd, o, number);
}

int wsk_host_get_option(int fd, unsigned family, uint32_t level, uint32_t name, void *value, size_t *size)
{
    const struct option *o = wsk_option_find(family, level, name);
    int number = 0;
    socklen_t length = sizeof number;

    if (!o || o->form == MEMBERSHIP)
        return -ENOPROTOOPT;
    if (*size < 1)
        return -EINVAL;
    if (getsockopt(fd, o->host_level, o->host_name, &number, &length))
        return -errno;
    if (o->form == FRAGMENT)
        number = number == IP_PMTUDISC_DO;
    else if (o->form == INDEX)
        number = number ? (int)interface_map_driver((uint32_t)number) : 0;
    else if (o->form == BUFFER)
        number /= 2;
    *size = *size < sizeof number ? 1 : sizeof number;
    memcpy(value, &number, *size);
    return 0;
}
