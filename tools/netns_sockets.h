/* SPDX-License-Identifier: MIT */
/*
 * Sockets in another network namespace. Abstract socket names belong to a network namespace, so a process in another
 * one, for example `ndkrun --net`, can be reached only through a socket that was opened there. A child process enters
 * the namespace, opens the sockets, and passes them to the tool, which stays in its own namespace.
 */
#ifndef TOOLS_NETNS_SOCKETS_H
#define TOOLS_NETNS_SOCKETS_H

#include <stddef.h>
#include <sys/socket.h>

/* A message passes a descriptor for each socket, and can hold 253. */
enum { NETNS_MAX_SOCKETS = 64 };

struct netns_sockets {
    int error; /* internal */
    size_t n;
    int fds[1 + NETNS_MAX_SOCKETS]; /* a socket of sock_diag, then the others */
    union {
        char bytes[CMSG_SPACE(sizeof(int[1 + NETNS_MAX_SOCKETS]))];
        struct cmsghdr align;
    } control; /* internal */
};

/*
 * Opens a socket of sock_diag and n_sockets non-blocking stream sockets of AF_UNIX in the network namespace that `net`
 * refers to. Takes at most a second. Returns 0, or an errno value; then p->n of the sockets are open nevertheless.
 */
int netns_sockets_open(int net, size_t n_sockets, struct netns_sockets *p);

#endif
