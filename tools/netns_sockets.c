/* SPDX-License-Identifier: MIT */
/*
 * Opens sockets in another network namespace: see netns_sockets.h. The invariant: the tool itself never changes its
 * namespaces.
 *
 * Each network namespace is owned by a user namespace. A process that is not root's must first enter this user
 * namespace, which must belong to its user. A process cannot leave a user namespace again, so a child process enters
 * the two namespaces. A socket belongs to the network namespace in which it was opened, so the tool can connect the
 * sockets that the child passes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "netns_sockets.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monotonic.h"

enum { MAX_CHILD_MS = 5000 }; /* time limit for the child that opens the sockets */

/*
 * In the child: enters the network namespace. If this is not permitted, first enters the user namespace that owns it.
 * Returns 0 or an errno.
 */
static int child_enter(int net)
{
    int user, error;

    if (setns(net, CLONE_NEWNET) == 0)
        return 0;
    error = errno;
    user = ioctl(net, NS_GET_USERNS);
    if (user < 0 || setns(user, CLONE_NEWUSER) != 0)
        return error;
    return setns(net, CLONE_NEWNET) == 0 ? 0 : errno;
}

/* Prepares the message from the child: an errno, and the descriptors if the errno is 0. */
static struct msghdr netns_sockets_message(struct netns_sockets *p, struct iovec *error)
{
    *error = (struct iovec){ &p->error, sizeof p->error };
    return (struct msghdr){
        .msg_iov = error, .msg_iovlen = 1, .msg_control = p->control.bytes, .msg_controllen = sizeof p->control.bytes
    };
}

/* Runs the child. Makes only system calls, because another thread may have held a library's lock during the fork. */
static _Noreturn void child_run(int net, int channel, size_t n_sockets)
{
    struct netns_sockets p = { .error = 0 };
    struct iovec error;
    struct msghdr message = netns_sockets_message(&p, &error);
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);

    p.error = child_enter(net);
    if (!p.error) {
        p.fds[p.n++] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        while (p.n < 1 + n_sockets)
            p.fds[p.n++] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        for (size_t i = 0; i < p.n; i++)
            if (p.fds[i] < 0)
                p.error = EMFILE;
    }
    if (p.error) {
        message.msg_control = NULL;
        message.msg_controllen = 0;
    } else {
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(p.n * sizeof(int));
        message.msg_controllen = CMSG_SPACE(p.n * sizeof(int));
        memcpy(CMSG_DATA(c), p.fds, p.n * sizeof(int));
    }
    _exit(sendmsg(channel, &message, MSG_NOSIGNAL) < 0);
}

/* Waits for the child's message, even if a signal such as SIGWINCH arrives. Returns false after the time limit. */
static bool netns_sockets_wait(int channel)
{
    int64_t deadline = monotonic_ms() + MAX_CHILD_MS, left = MAX_CHILD_MS;
    struct pollfd ready = { .fd = channel, .events = POLLIN };
    int n;

    do {
        n = poll(&ready, 1, (int)left);
        left = deadline - monotonic_ms();
    } while (n < 0 && errno == EINTR && left > 0);
    return n > 0;
}

/* Receives the descriptors. Returns 0 or an errno. */
static int netns_sockets_receive(struct netns_sockets *p, int channel)
{
    struct iovec error;
    struct msghdr message = netns_sockets_message(p, &error);
    struct cmsghdr *c;
    ssize_t n;

    if (!netns_sockets_wait(channel))
        return ETIMEDOUT;
    do
        n = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof p->error)
        return EIO;
    c = CMSG_FIRSTHDR(&message);
    if (p->error)
        return p->error;
    if (!c || c->cmsg_type != SCM_RIGHTS)
        return EMFILE; /* this process has no free descriptors for the received ones */
    p->n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(p->fds, CMSG_DATA(c), p->n * sizeof(int));
    return 0;
}

int netns_sockets_open(int net, size_t n_sockets, struct netns_sockets *p)
{
    int channel[2], error;
    pid_t child;

    *p = (struct netns_sockets){ .error = 0 };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0)
        return errno;
    child = fork();
    if (child == 0)
        child_run(net, channel[1], n_sockets);
    error = child < 0 ? errno : 0;
    close(channel[1]);
    if (!error) {
        error = netns_sockets_receive(p, channel[0]);
        kill(child, SIGKILL); /* the child has nothing more to do */
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(channel[0]);
    return error;
}
