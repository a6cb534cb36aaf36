/* SPDX-License-Identifier: MIT */
/*
 * The provider's own descriptors: sockets and event sets. exec closes them all. The invariant: in a child of fork, no
 * descriptor of the set reaches the parent's file. The child's handler makes each number refer to a dead socket. If it
 * closed the numbers, an inherited object that is used by mistake could reach a file that the child opened later.
 *
 * Each function that opens a descriptor returns it, or -1 with errno. Any thread may call them.
 */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include <sys/socket.h>

int descriptors_socket(int family, int type, int protocol);
/* The listener must be non-blocking, because a fork waits until this returns. */
int descriptors_accept(int listener, struct sockaddr *from, socklen_t *len, int flags);
int descriptors_epoll(void);
int descriptors_eventfd(int flags);
void descriptors_close(int fd);

#endif
