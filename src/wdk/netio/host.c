/* SPDX-License-Identifier: MIT */
/* Reads the host's interfaces, addresses and routes from getifaddrs and rtnetlink: see host.h. */
#include "wdk/netio/host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WATCH_BUFFER_SIZE = 16384, ROUTE_BUFFER_SIZE = 4096 };

/* ---- Interfaces and addresses ------------------------------------------------------------------------------------ */

static bool netio_host_is_interface(const struct ifaddrs *entry)
{
    return entry->ifa_addr && entry->ifa_addr->sa_family == AF_PACKET;
}

static bool netio_host_is_address(const struct ifaddrs *entry)
{
    return entry->ifa_addr && (entry->ifa_addr->sa_family == AF_INET || entry->ifa_addr->sa_family == AF_INET6);
}

static uint32_t netio_host_read_mtu(const char *name)
{
    struct ifreq request = { .ifr_mtu = 0 };
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (s < 0)
        return 0;
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    if (ioctl(s, SIOCGIFMTU, &request) < 0)
        request.ifr_mtu = 0;
    close(s);
    return (uint32_t)request.ifr_mtu;
}

/*
 * Reads the speed, which sysfs has in megabits per second. Returns 0 if it is not known: the file of a loopback
 * interface cannot be read, and a network driver without a speed reports -1.
 */
static uint64_t netio_host_read_speed(const char *name)
{
    char path[64];
    long megabits = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/sys/class/net/%s/speed", name);
    file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%ld", &megabits) != 1 || megabits < 0)
        megabits = 0;
    fclose(file);
    return (uint64_t)megabits * 1000000;
}

static void netio_host_init_interface(struct netio_interface *to, const struct ifaddrs *entry)
{
    const struct sockaddr_ll *link = (const struct sockaddr_ll *)(const void *)entry->ifa_addr;
    const struct rtnl_link_stats *stats = entry->ifa_data;

    to->index = (uint32_t)link->sll_ifindex;
    snprintf(to->name, sizeof(to->name), "%s", entry->ifa_name);
    to->hardware_length = link->sll_halen < sizeof(link->sll_addr) ? link->sll_halen : sizeof(link->sll_addr);
    memcpy(to->hardware, link->sll_addr, to->hardware_length);
    to->up = entry->ifa_flags & IFF_UP;
    to->running = entry->ifa_flags & IFF_RUNNING;
    to->loopback = entry->ifa_flags & IFF_LOOPBACK;
    to->point_to_point = entry->ifa_flags & IFF_POINTOPOINT;
    to->mtu = netio_host_read_mtu(to->name);
    to->bits_per_second = netio_host_read_speed(to->name);
    if (stats) {
        to->in_bytes = stats->rx_bytes;
        to->in_packets = stats->rx_packets;
        to->in_errors = stats->rx_errors;
        to->in_dropped = stats->rx_dropped;
        to->out_bytes = stats->tx_bytes;
        to->out_packets = stats->tx_packets;
        to->out_errors = stats->tx_errors;
        to->out_dropped = stats->tx_dropped;
    }
}

static uint8_t netio_host_prefix_length(const uint8_t *mask, size_t size)
{
    uint8_t count = 0;

    for (size_t i = 0; i < size; i++)
        count = (uint8_t)(count + __builtin_popcount(mask[i]));
    return count;
}

static void netio_host_init_address(struct netio_address *to, const struct ifaddrs *entry)
{
    to->index = if_nametoindex(entry->ifa_name);
    to->v6 = entry->ifa_addr->sa_family == AF_INET6;
    if (to->v6) {
        const struct sockaddr_in6 *address = (const struct sockaddr_in6 *)(const void *)entry->ifa_addr;
        const struct sockaddr_in6 *mask = (const struct sockaddr_in6 *)(const void *)entry->ifa_netmask;

        memcpy(to->bytes, &address->sin6_addr, 16);
        to->scope = address->sin6_scope_id;
        to->prefix = mask ? netio_host_prefix_length(mask->sin6_addr.s6_addr, 16) : 128;
    } else {
        const struct sockaddr_in *address = (const struct sockaddr_in *)(const void *)entry->ifa_addr;
        const struct sockaddr_in *mask = (const struct sockaddr_in *)(const void *)entry->ifa_netmask;

        memcpy(to->bytes, &address->sin_addr, 4);
        to->prefix = mask ? netio_host_prefix_length((const uint8_t *)&mask->sin_addr, 4) : 32;
    }
}

/*
 * Sets *all to an array of the entries for which wanted() returns true. fill() writes an entry to an element of `size`
 * bytes.
 */
static bool netio_host_collect(void **all, size_t *count, size_t size, bool (*wanted)(const struct ifaddrs *),
                               void (*fill)(void *, const struct ifaddrs *))
{
    struct ifaddrs *list;
    size_t n = 0;
    char *to;

    *all = NULL;
    *count = 0;
    if (getifaddrs(&list) != 0)
        return false;
    for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next)
        n += wanted(entry);
    to = n ? calloc(n, size) : NULL;
    if (to) {
        *all = to;
        *count = n;
        for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next) {
            if (wanted(entry)) {
                fill(to, entry);
                to += size;
            }
        }
    }
    freeifaddrs(list);
    return n == 0 || *all;
}

static void netio_host_init_interface_at(void *to, const struct ifaddrs *entry)
{
    netio_host_init_interface(to, entry);
}

static void netio_host_init_address_at(void *to, const struct ifaddrs *entry)
{
    netio_host_init_address(to, entry);
}

bool netio_host_interfaces(struct netio_interface **all, size_t *count)
{
    void *array;
    bool done = netio_host_collect(&array, count, sizeof(**all), netio_host_is_interface, netio_host_init_interface_at);

    *all = array;
    return done;
}

bool netio_host_addresses(struct netio_address **all, size_t *count)
{
    void *array;
    bool done = netio_host_collect(&array, count, sizeof(**all), netio_host_is_address, netio_host_init_address_at);

    *all = array;
    return done;
}

/* ---- Routes ------------------------------------------------------------------------------------------------------ */

struct route_request {
    struct nlmsghdr header;
    struct rtmsg route;
    uint8_t attributes[128];
};

static void netio_host_put_attribute(struct route_request *request, unsigned short type, const void *data,
                                     unsigned short size)
{
    struct rtattr *attribute = (struct rtattr *)(void *)((uint8_t *)request + NLMSG_ALIGN(request->header.nlmsg_len));

    attribute->rta_type = type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(size);
    memcpy(RTA_DATA(attribute), data, size);
    request->header.nlmsg_len = NLMSG_ALIGN(request->header.nlmsg_len) + RTA_SPACE(size);
}

static void netio_host_init_route_request(struct route_request *request, const struct netio_route *route)
{
    static const uint8_t any[16];
    unsigned short size = route->to.v6 ? 16 : 4;

    memset(request, 0, sizeof(*request));
    request->header.nlmsg_len = NLMSG_LENGTH(sizeof(request->route));
    request->header.nlmsg_type = RTM_GETROUTE;
    request->header.nlmsg_flags = NLM_F_REQUEST;
    request->route.rtm_family = route->to.v6 ? AF_INET6 : AF_INET;
    request->route.rtm_dst_len = (unsigned char)(size * 8);
    netio_host_put_attribute(request, RTA_DST, route->to.bytes, size);
    if (memcmp(route->source.bytes, any, size) != 0)
        netio_host_put_attribute(request, RTA_SRC, route->source.bytes, size);
    if (route->index)
        netio_host_put_attribute(request, RTA_OIF, &route->index, sizeof(route->index));
}

static int netio_host_parse_route(struct nlmsghdr *answer, struct netio_route *route)
{
    struct rtmsg *message = NLMSG_DATA(answer);
    int bytes_left = (int)RTM_PAYLOAD(answer);
    size_t size = route->to.v6 ? 16 : 4;

    if (answer->nlmsg_type == NLMSG_ERROR)
        return -((struct nlmsgerr *)NLMSG_DATA(answer))->error;
    if (answer->nlmsg_type != RTM_NEWROUTE)
        return EPROTO;
    memset(route->via, 0, sizeof(route->via));
    for (struct rtattr *a = RTM_RTA(message); RTA_OK(a, bytes_left); a = RTA_NEXT(a, bytes_left)) {
        if (a->rta_type == RTA_OIF && RTA_PAYLOAD(a) == 4)
            memcpy(&route->index, RTA_DATA(a), 4);
        else if (a->rta_type == RTA_PRIORITY && RTA_PAYLOAD(a) == 4)
            memcpy(&route->metric, RTA_DATA(a), 4);
        else if (a->rta_type == RTA_GATEWAY && RTA_PAYLOAD(a) == size)
            memcpy(route->via, RTA_DATA(a), size);
        else if (a->rta_type == RTA_PREFSRC && RTA_PAYLOAD(a) == size)
            memcpy(route->source.bytes, RTA_DATA(a), size);
    }
    return 0;
}

int netio_host_route(struct netio_route *route)
{
    _Alignas(struct nlmsghdr) uint8_t buffer[ROUTE_BUFFER_SIZE];
    struct route_request request;
    int error = 0, s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    ssize_t got = 0;

    if (s < 0)
        return errno;
    netio_host_init_route_request(&request, route);
    if (send(s, &request, request.header.nlmsg_len, 0) < 0 || (got = recv(s, buffer, sizeof(buffer), 0)) < 0)
        error = errno;
    else if (!NLMSG_OK((struct nlmsghdr *)(void *)buffer, (size_t)got))
        error = EPROTO;
    else
        error = netio_host_parse_route((struct nlmsghdr *)(void *)buffer, route);
    close(s);
    return error;
}

/* ---- Changes ----------------------------------------------------------------------------------------------------- */

struct netio_watch {
    int socket, stop;
    struct nlmsghdr *next; /* the next message in the buffer */
    unsigned bytes_left;   /* number of bytes from `next` to the end of the messages */
    _Alignas(struct nlmsghdr) uint8_t buffer[WATCH_BUFFER_SIZE];
};

struct netio_watch *netio_host_watch(void)
{
    struct sockaddr_nl groups = { .nl_family = AF_NETLINK,
                                  .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR };
    struct netio_watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        return NULL;
    watch->socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    watch->stop = eventfd(0, EFD_CLOEXEC);
    if (watch->socket < 0 || watch->stop < 0 || bind(watch->socket, (struct sockaddr *)&groups, sizeof(groups)) < 0) {
        netio_host_watch_free(watch);
        return NULL;
    }
    return watch;
}

void netio_host_watch_free(struct netio_watch *watch)
{
    if (watch->socket >= 0)
        close(watch->socket);
    if (watch->stop >= 0)
        close(watch->stop);
    free(watch);
}

void netio_host_watch_stop(struct netio_watch *watch)
{
    uint64_t one = 1;

    if (write(watch->stop, &one, sizeof(one)) < 0)
        abort();
}

static bool netio_host_parse_address(struct nlmsghdr *message, struct netio_event *event)
{
    struct ifaddrmsg *body = NLMSG_DATA(message);
    int bytes_left = (int)IFA_PAYLOAD(message);
    size_t size = body->ifa_family == AF_INET6 ? 16 : 4;
    bool local = false;

    if (body->ifa_family != AF_INET && body->ifa_family != AF_INET6)
        return false;
    event->of_address = true;
    event->change = message->nlmsg_type == RTM_NEWADDR ? NETIO_ADDED : NETIO_REMOVED;
    event->address.index = body->ifa_index;
    event->address.v6 = size == 16;
    event->address.prefix = body->ifa_prefixlen;
    for (struct rtattr *a = IFA_RTA(body); RTA_OK(a, bytes_left); a = RTA_NEXT(a, bytes_left)) {
        if ((a->rta_type == IFA_LOCAL || (a->rta_type == IFA_ADDRESS && !local)) && RTA_PAYLOAD(a) == size) {
            memcpy(event->address.bytes, RTA_DATA(a), size);
            local = local || a->rta_type == IFA_LOCAL;
        }
    }
    return true;
}

static bool netio_host_parse_change(struct nlmsghdr *message, struct netio_event *event)
{
    struct ifinfomsg *link = NLMSG_DATA(message);

    memset(event, 0, sizeof(*event));
    if (message->nlmsg_type == RTM_NEWADDR || message->nlmsg_type == RTM_DELADDR)
        return netio_host_parse_address(message, event);
    if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK)
        return false;
    event->change = message->nlmsg_type == RTM_DELLINK     ? NETIO_REMOVED
                    : link->ifi_change == (unsigned int)-1 ? NETIO_ADDED
                                                           : NETIO_CHANGED;
    event->address.index = (uint32_t)link->ifi_index;
    return true;
}

bool netio_host_watch_next(struct netio_watch *watch, struct netio_event *event)
{
    struct pollfd fds[] = { { .fd = watch->socket, .events = POLLIN }, { .fd = watch->stop, .events = POLLIN } };

    for (;;) {
        while (watch->bytes_left && NLMSG_OK(watch->next, watch->bytes_left)) {
            struct nlmsghdr *message = watch->next;

            watch->next = NLMSG_NEXT(watch->next, watch->bytes_left);
            if (netio_host_parse_change(message, event))
                return true;
        }
        watch->bytes_left = 0;
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return false;
        if (fds[1].revents & POLLIN)
            return false;
        if (fds[0].revents & POLLIN) {
            ssize_t got = recv(watch->socket, watch->buffer, sizeof(watch->buffer), 0);

            watch->next = (struct nlmsghdr *)(void *)watch->buffer;
            watch->bytes_left = got > 0 ? (unsigned)got : 0;
        }
    }
}
