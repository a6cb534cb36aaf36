/* SPDX-License-Identifier: MIT */
/*
 * Opens sockets in another network namespace. An abstract socket name belongs to one network namespace. So a process in
 * another namespace, for example `ndkrun --net`, can be reached only through a socket that was opened in that
 * namespace. A child process enters the namespace, opens the sockets, and passes them to the tool, which stays in its
 * own namespace.
 */
#ifndef TOOLS_NETNS_SOCKETS_H
#define TOOLS_NETNS_SOCKETS_H

#include <stddef.h>
#include <sys/socket.h>

/* Maximum number of sockets. One message passes all descriptors, and can contain at most 253. */
enum { NETNS_MAX_SOCKETS = 64 };

struct netns_sockets {
    int error; /* used only by netns_sockets.c */
    size_t n;
    int fds[1 + NETNS_MAX_SOCKETS]; /* first a sock_diag socket, then the others */
    union {
        char bytes[CMSG_SPACE(sizeof(int[1 + NETNS_MAX_SOCKETS]))];
        struct cmsghdr align;
    } control; /* used only by netns_sockets.c */
};

/*
 * Opens a sock_diag socket and `n_sockets` non-blocking AF_UNIX stream sockets in the network namespace to which `net`
 * refers. Takes at most about five seconds. Returns 0 or an errno value. In both cases the first p->n sockets are open.
 * p->n may be less than requested if this process runs out of descriptors, even if the function returns 0.
 */
int netns_sockets_open(int net, size_t n_sockets, struct netns_sockets *p);

#endif
