/* SPDX-License-Identifier: MIT */
/* Inside the kernel's backend: what net_epoll.c, net_connect.c, net_listen.c, reservation.c, sock_diag.c share. */
#ifndef ENGINE_NET_INTERNAL_H
#define ENGINE_NET_INTERNAL_H

#include <stdbool.h>

#include "base/addr.h"
#include "engine/net.h"

/* reservation.c: errno values as net_ops.reserve documents them. */
int reservation_create(struct net *net, struct addr *local, const struct addr *peer, enum net_use use,
                     struct net_reservation **out);
void reservation_ref(struct net_reservation *r);
void reservation_unref(struct net_reservation *r);
const struct addr *reservation_address(const struct net_reservation *r);
/* Before the first reservation: a child of fork begins without any. */
void reservation_watch_forks(void);
/* A TCP socket, non-blocking, bound to the address; the caller's to close. 0 or errno. */
int reservation_socket(struct net_reservation *r, int *fd);

/*
 * reservation_name.c: binds a name for the address in *name_fd, the caller's to close. tcp_fd is bound there; alone: while
 * the kernel knew of nothing else there. contest: if the name is taken, who has it is judged. 0; EADDRINUSE; another errno.
 */
int reservation_name_bind(const struct addr *local, int tcp_fd, bool alone, bool contest, int *name_fd);

/* sock_diag.c: what the kernel knows of the connections of all processes in the namespace. */
enum sock_diag {
    SOCK_DIAG_NOTHING,
    SOCK_DIAG_REMAINS, /* of closed connections only (or the kernel does not tell) */
    SOCK_DIAG_LIVING,
};
/* The TCP connections at this local address. */
enum sock_diag sock_diag_at(const struct addr *local);
struct inet_diag_msg;
struct nlmsghdr;
/*
 * Calls `found` with each TCP socket bound to this address or to its port on all addresses. Those that are merely bound
 * are among them since Linux 6.8. False: the kernel does not tell.
 */
bool sock_diag_sockets_at(const struct addr *local, void (*found)(void *context, const struct inet_diag_msg *m),
                          void *context);
/* Asks sock_diag; calls handle with each answer, of at least min_size bytes behind its header. 0, or why there are none. */
int sock_diag_ask(const void *question, size_t size, size_t min_size,
                  void (*handle)(void *context, const struct nlmsghdr *answer), void *context);
/* Is this four-tuple connected, or connecting? False where the kernel does not tell. */
bool sock_diag_connected(const struct addr *local, const struct addr *peer);

/* net_epoll.c: what is known of a socket, and how it is made, watched and closed. */
enum socket_flag {
    READABLE = 1 << 0,   /* input, or its end, has been seen and not been read up */
    HANGUP = 1 << 1,     /* the end has been seen: a short read is not the last one */
    BLOCKED = 1 << 2,    /* the owner waits for room, or for the end of connecting */
    WRITABLE = 1 << 3,   /* and that has come, but is not reported yet */
    CONNECTING = 1 << 4,
    LISTENING = 1 << 5,
    HELD = 1 << 6,
    LISTED = 1 << 7,
    DOUBTFUL = 1 << 8,   /* connecting may have failed */
    FOR_OUTPUT = 1 << 9, /* epoll tells of room, too */
    WATCHED = 1 << 10,   /* in its poller's epoll set */
};
void socket_set_up(struct net_socket *socket, struct net *net, int fd, unsigned flags);
void socket_set_reservation(struct net_socket *socket, struct net_reservation *r);
void socket_reset_on_close(int fd, bool reset);
int socket_attach(struct net_socket *socket, struct shard *s);
void socket_close(struct net_socket *socket, bool reset);
void socket_update_list(struct net_socket *socket); /* after its flags have changed */

/* net_connect.c, net_listen.c: as net_ops has them. */
int net_connect(struct net *net, struct shard *s, struct net_reservation *from, const struct addr *peer,
                const struct iovec *first, size_t *sent, struct net_socket *socket);
int net_connect_result(struct net_socket *socket);
int net_listen(struct net *net, struct shard *s, struct net_reservation *at, struct net_socket *socket);
int net_listen_pause(struct net_socket *socket, bool paused);
int net_accept(struct net_socket *listener, struct net_socket *socket, struct addr *local, struct addr *peer);
void net_reset_accept_queue(struct net_socket *listener);
unsigned net_count_free_sockets(struct net *net, unsigned most);

/* net_liveness.c, net_interface.c: likewise. */
void net_set_liveness(struct net_socket *socket, const struct net_liveness *l);
int net_interface_watch(struct net *net, struct shard *s, uint32_t index, struct net_socket *watch);
bool net_interface_is_removed(struct net_socket *watch);

#endif
