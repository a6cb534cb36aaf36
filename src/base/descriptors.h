/* SPDX-License-Identifier: MIT */
/*
 * The descriptors that are the provider's alone: sockets, event sets. All are closed by exec. A child of fork keeps none
 * of the files behind them: each number refers to a dead socket there, because an inherited object that is used by
 * mistake must not reach a file that the child opened under the same number.
 *
 * Each function that opens one returns it, or -1 with errno. Any thread.
 */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include <sys/socket.h>

int descriptors_socket(int family, int type, int protocol);
/* The listener is non-blocking: nothing here may wait. */
int descriptors_accept(int listener, struct sockaddr *from, socklen_t *len, int flags);
int descriptors_epoll(void);
int descriptors_eventfd(int flags);
void descriptors_close(int fd);

#endif
