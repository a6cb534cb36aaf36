/* SPDX-License-Identifier: MIT */
/*
 * Receives netlink's messages about links, and reports that a network interface was removed. The netlink socket belongs
 * to the network namespace in which it was opened. So if an interface moves to another namespace, netlink reports the
 * interface as deleted. The invariant: after netlink messages were lost, the interface's index is looked up. So a
 * removal stays undetected only if another interface has the same index at that time.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/descriptors.h"
#include "engine/net.h"
#include "engine/net_internal.h"

enum {
    MAX_NOTICE_SIZE = 8192,
    MAX_NOTICES = 64, /* netlink messages that one call reads; the socket stays readable if more are waiting */
};

static bool interface_exists(int fd, uint32_t index)
{
    struct ifreq r = { .ifr_ifindex = (int)index };

    return ioctl(fd, SIOCGIFNAME, &r) == 0;
}

int net_interface_watch(struct net *net, struct shard *s, uint32_t index, struct net_socket *watch)
{
    struct sockaddr_nl links = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
    int fd = descriptors_socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE), err;

    if (fd < 0)
        return errno;
    socket_set_up(watch, net, fd, SOCKET_LISTENING);
    watch->backend = (void *)(uintptr_t)index;
    err = bind(fd, (struct sockaddr *)&links, sizeof links) ? errno : socket_attach(watch, s);
    /* The interface is looked up after the bind, because from then on removals are reported. */
    if (!err && !interface_exists(fd, index))
        err = ENODEV;
    if (err)
        socket_close(watch, true);
    return err;
}

/*
 * Returns true if the messages report the removal of the interface. A real removal is reported with AF_UNSPEC. Messages
 * with AF_BRIDGE are ignored, because they report only that the interface has left a bridge.
 */
static bool interface_is_removed_by(const struct nlmsghdr *h, size_t len, uint32_t index)
{
    for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
        const struct ifinfomsg *link = NLMSG_DATA(h);

        if (h->nlmsg_type == RTM_DELLINK && h->nlmsg_len >= NLMSG_LENGTH(sizeof *link) &&
            link->ifi_family == AF_UNSPEC && (uint32_t)link->ifi_index == index)
            return true;
    }
    return false;
}

/*
 * Reads one netlink message. Sets *is_removed if the interface was removed. Returns EAGAIN if no message waits,
 * otherwise 0.
 */
static int interface_read_notice(int fd, uint32_t index, bool *is_removed)
{
    _Alignas(struct nlmsghdr) char notice[MAX_NOTICE_SIZE];
    struct sockaddr_nl from;
    socklen_t from_len = sizeof from;
    ssize_t n = recvfrom(fd, notice, sizeof notice, MSG_TRUNC, (struct sockaddr *)&from, &from_len);

    if (n > MAX_NOTICE_SIZE || (n < 0 && errno == ENOBUFS)) /* messages were lost */
        *is_removed = *is_removed || !interface_exists(fd, index);
    else if (n < 0)
        return errno == EINTR ? 0 : EAGAIN;
    else if (from.nl_pid == 0) /* from the kernel */
        *is_removed = *is_removed ||
                      interface_is_removed_by((const struct nlmsghdr *)(const void *)notice, (size_t)n, index);
    return 0;
}

bool net_interface_is_removed(struct net_socket *watch)
{
    uint32_t index = (uint32_t)(uintptr_t)watch->backend;
    bool is_removed = false;
    int err = 0;

    for (int i = 0; i < MAX_NOTICES && !err; i++)
        err = interface_read_notice(watch->fd, index, &is_removed);
    if (err) {
        watch->flags &= ~(unsigned)SOCKET_READABLE;
        socket_update_list(watch);
    }
    return is_removed;
}
