/* SPDX-License-Identifier: MIT */
/*
 * Abstract: watches for the end of a network interface, by netlink's link group. The netlink socket belongs to the
 * network namespace that it was made in, so an interface that moves to another one is reported as deleted too.
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
    NOTICE_SIZE = 8192,
    NOTICES = 64,       /* in one call; others are reported again */
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
    socket_set_up(watch, net, fd, LISTENING); /* a socket that is no connection */
    watch->backend = (void *)(uintptr_t)index;
    err = bind(fd, (struct sockaddr *)&links, sizeof links) ? errno : socket_attach(watch, s);
    /* After the bind: from here on its end is reported. */
    if (!err && !interface_exists(fd, index))
        err = ENODEV;
    if (err)
        socket_close(watch, true);
    return err;
}

/* Of the family unspecified: a port that leaves a bridge is reported as a deleted one of the bridge's family. */
static bool notice_is_end_of(const struct nlmsghdr *h, size_t len, uint32_t index)
{
    for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
        const struct ifinfomsg *link = NLMSG_DATA(h);

        if (h->nlmsg_type == RTM_DELLINK && h->nlmsg_len >= NLMSG_LENGTH(sizeof *link) &&
            link->ifi_family == AF_UNSPEC && (uint32_t)link->ifi_index == index)
            return true;
    }
    return false;
}

/* EAGAIN: there are no more notices. */
static int read_notice(int fd, uint32_t index, bool *is_gone)
{
    _Alignas(struct nlmsghdr) char notice[NOTICE_SIZE];
    struct sockaddr_nl from;
    socklen_t from_len = sizeof from;
    ssize_t n = recvfrom(fd, notice, sizeof notice, MSG_TRUNC, (struct sockaddr *)&from, &from_len);

    if (n > NOTICE_SIZE || (n < 0 && errno == ENOBUFS)) /* notices were lost: ask */
        *is_gone = *is_gone || !interface_exists(fd, index);
    else if (n < 0)
        return errno == EINTR ? 0 : EAGAIN;
    else if (from.nl_pid == 0) /* the kernel's */
        *is_gone = *is_gone || notice_is_end_of((const struct nlmsghdr *)(const void *)notice, (size_t)n, index);
    return 0;
}

bool net_interface_is_removed(struct net_socket *watch)
{
    uint32_t index = (uint32_t)(uintptr_t)watch->backend;
    bool is_gone = false;
    int err = 0;

    for (int i = 0; i < NOTICES && !err; i++)
        err = read_notice(watch->fd, index, &is_gone);
    if (err) {
        watch->flags &= ~(unsigned)READABLE;
        socket_update_list(watch);
    }
    return is_gone;
}
