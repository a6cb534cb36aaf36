/* SPDX-License-Identifier: MIT */
/*
 * Declares functions that the files of the backend for the kernel's sockets share. The invariant: a function that
 * implements a member of net_ops follows the rules that net.h states for that member.
 */
#ifndef ENGINE_NET_INTERNAL_H
#define ENGINE_NET_INTERNAL_H

#include <stdbool.h>

#include "base/addr.h"
#include "engine/net.h"

/* In reservation.c. reservation_create returns errno values as net_ops.reserve documents them. */
int reservation_create(struct net *net, struct addr *local, const struct addr *peer, enum net_use use,
                       struct net_reservation **out);
void reservation_ref(struct net_reservation *r);
void reservation_unref(struct net_reservation *r);
const struct addr *reservation_address(const struct net_reservation *r);
/*
 * Installs fork handlers, so that a child of fork begins without reservations. Must be called before the first
 * reservation.
 */
void reservation_install_fork_handlers(void);
/* Stores in *fd a non-blocking TCP socket that is bound to the address. The caller closes *fd. Returns 0 or errno. */
int reservation_socket(struct net_reservation *r, int *fd);

/*
 * In reservation_name.c. Reserves the address by binding an abstract AF_UNIX name. *name_fd receives the socket of that
 * name, which the caller closes. tcp_fd is a TCP socket that is bound to the address. `exclusive` means that the kernel
 * had no other socket at the address when tcp_fd was bound. Returns 0, EADDRINUSE if the name is already bound, or
 * another errno.
 *
 * If `contest` is true and no bound name counts as a reservation, binds a further name. In this case does not return
 * EADDRINUSE. reservation_name.c has the rules.
 */
int reservation_name_bind(const struct addr *local, int tcp_fd, bool exclusive, bool contest, int *name_fd);

/* The result of sock_diag_at, which covers the TCP connections of all processes in the network namespace. */
enum sock_diag {
    SOCK_DIAG_NOTHING,
    SOCK_DIAG_REMAINS, /* only remains of closed connections, or the kernel does not report connections */
    SOCK_DIAG_LIVING,
};
struct inet_diag_msg;
struct nlmsghdr;
/*
 * Sends a request, and calls on_answer with each answer. An answer whose payload is shorter than min_size is an error.
 * Returns 0 or errno.
 */
int sock_diag_request(const void *request, size_t size, size_t min_size,
                      void (*on_answer)(void *context, const struct nlmsghdr *answer), void *context);
/*
 * Returns true if a connection with this four-tuple is connected or connecting. Returns false if there is no such
 * connection, or if the kernel does not report connections.
 */
bool sock_diag_connected(const struct addr *local, const struct addr *peer);
/* Finds out if this local address has living TCP connections, only remains of closed connections, or neither. */
enum sock_diag sock_diag_at(const struct addr *local);
/*
 * Calls on_socket with each TCP socket that is bound to this address, or to its port on all addresses. Before Linux
 * 6.8, omits sockets that are neither listening nor connected. Returns false if the kernel does not report sockets.
 */
bool sock_diag_sockets_at(const struct addr *local, void (*on_socket)(void *context, const struct inet_diag_msg *m),
                          void *context);

/* The state of a socket. */
enum socket_flag {
    SOCKET_READABLE = 1 << 0,   /* input or the end of the stream was reported and is not completely read */
    SOCKET_ENDED = 1 << 1,      /* the end of the stream or an error was reported */
    SOCKET_BLOCKED = 1 << 2,    /* the owner waits for room to send, or for the end of connecting */
    SOCKET_WRITABLE = 1 << 3,   /* there is room, or connecting has ended, and ready(WRITE) was not called yet */
    SOCKET_CONNECTING = 1 << 4, /* epoll has not reported yet that connecting has ended */
    SOCKET_LISTENING = 1 << 5,  /* the socket is a listener, or another socket that is not a connection */
    SOCKET_READ_PAUSED = 1 << 6,
    SOCKET_LISTED = 1 << 7,            /* in its poller's ready list */
    SOCKET_CONNECT_UNCERTAIN = 1 << 8, /* an error or hang-up was reported while connecting */
    SOCKET_OUTPUT_WATCHED = 1 << 9,    /* the socket's registration in the epoll set includes output */
    SOCKET_WATCHED = 1 << 10,          /* in its poller's epoll set */
};

/* Functions of net_epoll.c, for the poller and its sockets. */
int net_poller_create(struct net *net, struct shard *s, void **out);
void net_poller_destroy(struct net *net, void *poller);
int net_poll(struct net *net, void *poller, unsigned max, bool leased, bool *more);
void net_watch(struct net *net, void *poller);
void net_wait(struct net *net, void *poller, uint64_t now, uint64_t deadline);
void net_wake(struct net *net, void *poller);
int socket_attach(struct net_socket *socket, struct shard *s);
void socket_detach(struct net_socket *socket);
void socket_update_list(struct net_socket *socket); /* must be called after the socket's flags have changed */
/* Makes the backend call ready(WRITE) when there is room for output, or when connecting has ended. */
void socket_wait_for_room(struct net_socket *socket);
/* Counts a read that returned data or the end of the stream. */
void socket_count_read(struct net_socket *socket);

/* net_socket.c */
void socket_set_up(struct net_socket *socket, struct net *net, int fd, unsigned flags);
/* Stores the reservation and acquires a reference on it. socket_close releases that reference. */
void socket_set_reservation(struct net_socket *socket, struct net_reservation *r);
/*
 * Selects what the kernel sends when fd is closed: a reset if `reset` is true, otherwise an end of stream. Every socket
 * starts with `reset`, and only socket_close changes this. So if a process dies, its peers see an abort, not a
 * disconnect.
 */
void socket_reset_on_close(int fd, bool reset);
void socket_close(struct net_socket *socket, bool reset);

/* net_connect.c */
int net_connect(struct net *net, struct shard *s, struct net_reservation *from, const struct addr *peer,
                const struct iovec *first, size_t *sent, struct net_socket *socket);
int net_connect_result(struct net_socket *socket);

/* net_listen.c */
int net_listen(struct net *net, struct shard *s, struct net_reservation *at, struct net_socket *socket);
int net_listen_pause(struct net_socket *socket, bool paused);
int net_accept(struct net_socket *listener, struct net_socket *socket, struct addr *local, struct addr *peer);
void net_reset_accept_queue(struct net_socket *listener);
unsigned net_count_free_sockets(struct net *net, unsigned max);

/* net_liveness.c */
void net_set_liveness(struct net_socket *socket, const struct net_liveness *l);

/* net_interface.c */
int net_interface_watch(struct net *net, struct shard *s, uint32_t index, struct net_socket *watch);
bool net_interface_is_removed(struct net_socket *watch);

#endif
