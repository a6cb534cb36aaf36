/* SPDX-License-Identifier: MIT */
/*
 * The set of the provider's own descriptors: sockets, event sets and trace files. No descriptor of the set has the
 * number of a standard stream, 0 to 2. exec closes all descriptors of the set. The invariant: in a child of fork, no
 * descriptor of the set refers to the parent's file. The fork handler replaces each descriptor by a socket that is not
 * connected. If the handler closed the descriptors, an inherited object that is used by mistake could access a file
 * that the child opened later.
 *
 * Each function that opens a descriptor returns the descriptor, or -1 with errno. Any thread may call the functions.
 */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include <sys/socket.h>

int descriptors_open(const char *path, int flags, int mode);
int descriptors_socket(int family, int type, int protocol);
/* The listener must be non-blocking, because fork waits until this call returns. */
int descriptors_accept(int listener, struct sockaddr *from, socklen_t *len, int flags);
int descriptors_epoll(void);
int descriptors_eventfd(int flags);
/* Returns a file in memory that accepts seals. */
int descriptors_memfd(const char *name);
void descriptors_close(int fd);

#endif
