/* SPDX-License-Identifier: MIT */
/*
 * Keeps the set of the provider's own descriptors, for example sockets, epoll sets and trace files. No descriptor in
 * the set has the number of a standard stream, 0 to 2. exec closes all descriptors in the set. The invariant: in a
 * child of fork, no descriptor in the set refers to the parent's file. The fork handler replaces each descriptor by a
 * socket that is not connected. If the handler closed the descriptors instead, files that the child opens later could
 * get the same numbers. An inherited object that is used by mistake could then access such a file.
 *
 * Each function that opens a descriptor returns the descriptor, or -1 with errno set. Any thread may call the
 * functions.
 */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include <sys/socket.h>

int descriptors_open(const char *path, int flags, int mode);
int descriptors_socket(int family, int type, int protocol);
/* Accepts a connection. Requires a non-blocking listener, because fork waits until this call returns. */
int descriptors_accept(int listener, struct sockaddr *from, socklen_t *len, int flags);
int descriptors_epoll(void);
int descriptors_eventfd(int flags);
/* Creates a file in memory to which seals can be added. */
int descriptors_memfd(const char *name);
void descriptors_close(int fd);

#endif
