/* SPDX-License-Identifier: MIT */
/*
 * The transport interface: TCP as the layers above see it. It has two backends: the kernel's sockets (net_epoll.c) and
 * a simulated network with a virtual clock (tests/sim). Errors are positive errno values; 0 is success.
 *
 * The invariant: a socket belongs to one shard at a time, and only the shard's owner (token held) calls functions with
 * that socket. The backend calls the socket's ready() only in that owner's thread.
 *
 * When input arrives, the socket becomes readable. While it is readable, ready(READ) is called, usually in each turn.
 * The socket stops being readable when recv returns EAGAIN or less than was requested. So if an owner stops reading
 * early, ready(READ) is called again. If send has sent less than was requested, ready(WRITE) is called once when there
 * is room again. If connect returns before the socket is connected, ready(WRITE) is called once when connecting has
 * ended. ready() may close its socket and others.
 *
 * Each local address (host and port) of a listener, a connecting socket or a shared endpoint belongs to a reservation.
 * While an address is reserved, no OpenNDK process in the network namespace can reserve the same address again.
 */
#ifndef ENGINE_NET_H
#define ENGINE_NET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/addr.h"
#include "base/host.h"

struct shard;
struct net;
struct net_socket;
struct net_reservation;

enum net_ready {
    NET_READ = 1,  /* input, end of stream, an error, or, at a listener, a new connection */
    NET_WRITE = 2, /* room for output, or connecting has ended */
};

/* The caller owns the memory, zeroes it, and sets `ready` before it calls connect, listen or accept. */
struct net_socket {
    struct net *net;
    struct shard *shard; /* NULL while detached */
    void (*ready)(struct net_socket *socket, unsigned events);
    /* Only the backend uses the fields below. */
    struct net_reservation *reservation;
    TAILQ_ENTRY(net_socket) link; /* in its poller's ready list */
    void *backend;
    int fd;
    int error; /* the errno of the failed connect, or 0 */
    unsigned flags;
    uint32_t received_since_send; /* bytes, at most LONG_ANSWER */
    atomic_bool paused;           /* for listeners: the argument of the last listen_pause */
};

enum net_use {
    NET_USE_CONNECT, /* one outgoing connection */
    NET_USE_SHARED,  /* many outgoing connections, to different peers */
    NET_USE_LISTEN,
};

/* The time limits after which a connection ends because its peer does not answer. */
struct net_liveness {
    uint32_t idle_ms;     /* time of silence after which the peer is probed; rounded up to seconds; 0: no probes */
    uint32_t interval_ms; /* time from one probe to the next; rounded up to seconds */
    /* Maximum time without an acknowledgement; 0: TCP's own limit for data, or three probes if there is no data. */
    uint32_t unacked_ms;
};

struct net_ops {
    /* These two functions create and destroy the poller of a shard. */
    int (*poller_create)(struct net *net, struct shard *s, void **poller);
    void (*poller_destroy)(struct net *net, void *poller);
    /*
     * Calls ready() of at most `max` ready sockets, in the order in which they became ready. Requires the token. A
     * socket that is still ready afterwards goes to the end of the list. May also call ready(READ) of a few sockets
     * that are not known to be readable.
     *
     * Returns the number of sockets whose ready() was called. Those few sockets are included only if at least one of
     * them had input. Sets *more to true if further sockets are ready.
     *
     * If `leased` is true, a consumer has the polling lease, and no thread waits for the sockets. The backend may then
     * stop watching the sockets until `watch` is called.
     */
    int (*poll)(struct net *net, void *poller, unsigned max, bool leased, bool *more);
    /*
     * Starts to watch the sockets again, so that a ready socket ends the wait of the shard's thread. Requires the
     * token. Called before a consumer's polling lease ends, because during the lease only `poll` finds the ready
     * sockets.
     */
    void (*watch)(struct net *net, void *poller);
    /*
     * Waits until a socket is ready, `wake` is called, or the deadline has passed. Called by the shard's thread without
     * the token. `now` and `deadline` are times of the executor's clock.
     */
    void (*wait)(struct net *net, void *poller, uint64_t now, uint64_t deadline);
    /*
     * Ends the present wait of the shard's thread. If the thread is not waiting, its next wait ends at once. Any thread
     * may call this function.
     */
    void (*wake)(struct net *net, void *poller);

    /*
     * Reserves the local address for a use. Any thread may call this function. Port 0 selects a free port from
     * 49152-65535 and stores it in *local. The search is not slower if most ports are in use. `peer` may be NULL,
     * except for NET_USE_CONNECT. Returns 0, or EMFILE, ENFILE, ENOMEM or ENOBUFS if resources ran out, or:
     *   EACCES, EPERM  the process may not use the port
     *   EADDRINUSE     the address is in use
     *   EADDRNOTAVAIL  the address is not an address of this host; also EAFNOSUPPORT, EINVAL or ENODEV
     *   ENOSPC         the range of ports is exhausted
     *   EEXIST         `use` is NET_USE_CONNECT, and a connection between *local and *peer exists
     */
    int (*reserve)(struct net *net, struct addr *local, const struct addr *peer, enum net_use use,
                   struct net_reservation **out);
    /*
     * These two functions acquire and release a reference on a reservation. A listener and its accepted connections
     * share a reservation, and so do a shared endpoint and its connections. The last unref releases the address before
     * it returns. Any thread may call these functions.
     */
    void (*reservation_ref)(struct net_reservation *r);
    void (*reservation_unref)(struct net_reservation *r);

    /*
     * Starts to connect from a reserved address. The socket has a reference on the reservation until it is closed.
     * `first` is the first data to send.
     *
     * If the socket is connected when this function returns, *sent bytes of `first` have been sent, connect_result
     * returns 0, and ready(WRITE) is not called. Otherwise *sent is 0, and ready(WRITE) is called when connecting has
     * ended. connect_result returns the result from the moment at which connecting ends, which can be earlier than that
     * call.
     *
     * If this function fails, it returns an errno of connect(2), and the socket is closed. EADDRNOTAVAIL means that a
     * connection between these two addresses exists, for example one of the same shared endpoint.
     */
    int (*connect)(struct net *net, struct shard *s, struct net_reservation *from, const struct addr *peer,
                   const struct iovec *first, size_t *sent, struct net_socket *socket);
    int (*connect_result)(struct net_socket *socket); /* 0, EINPROGRESS, or the errno of the failure */

    int (*listen)(struct net *net, struct shard *s, struct net_reservation *at, struct net_socket *socket);
    /*
     * Pauses or resumes a listener. A paused listener refuses new peers at once, and resets the peers that are waiting.
     * The address stays reserved. Any thread may call this function while the listener is open.
     */
    int (*listen_pause)(struct net_socket *socket, bool paused);
    /*
     * Accepts the next waiting connection and attaches it to the listener's shard. Returns EAGAIN if there is none. The
     * connection has a reference on the listener's reservation.
     *
     * EMFILE or ENFILE means that a peer waits and no descriptor is free. The listener stays readable. The caller must
     * close a socket and call again, or call reset_accept_queue, or call pause_read for the listener until a descriptor
     * is free.
     *
     * After any other errno the caller may accept the next connection: one connection has failed, or the backend has
     * reset the waiting peers.
     */
    int (*accept)(struct net_socket *listener, struct net_socket *socket, struct addr *local, struct addr *peer);
    /* Resets all peers that wait to be accepted. Needs no descriptor. A paused listener stays paused. */
    void (*reset_accept_queue)(struct net_socket *listener);
    /*
     * Returns how many more sockets the process may open under its limit, at most `max`. Any thread may call this
     * function, which takes up to 1 ms.
     */
    unsigned (*count_free_sockets)(struct net *net, unsigned max);

    /*
     * These two functions send and receive bytes. They return the number of bytes, or -errno. After -EAGAIN, the caller
     * waits for ready(). recv returns 0 at the peer's end of stream.
     */
    ssize_t (*send)(struct net_socket *socket, const struct iovec *iov, int iovcnt);
    ssize_t (*recv)(struct net_socket *socket, const struct iovec *iov, int iovcnt);
    /*
     * Causes another call of ready(READ) after the other ready sockets have been served, even without new input. Needed
     * if the caller has not processed all bytes that recv has returned.
     */
    void (*set_readable)(struct net_socket *socket);
    /*
     * If `on` is true, stops reporting input, or at a listener new connections. Both then wait in the kernel. If `on`
     * is false, reports them again.
     */
    void (*pause_read)(struct net_socket *socket, bool on);
    size_t (*max_segment)(struct net_socket *socket); /* the current effective maximum segment size */
    /* Sets the limits *l of a connected socket, or of all sockets that a listener accepts from now on. */
    void (*set_liveness)(struct net_socket *socket, const struct net_liveness *l);
    size_t (*unacked_bytes)(struct net_socket *socket); /* the bytes that the peer's TCP has not acknowledged */
    /*
     * Returns the errno with which the connection was lost, or 0. Returns each error once. Also reports a reset after
     * the peer's end of stream. recv does not report such a reset: it returns 0 again.
     */
    int (*get_error)(struct net_socket *socket);
    void (*shut_write)(struct net_socket *socket); /* half-closes: the peer reads all data, then the end of stream */
    /*
     * These two functions together move a socket to another shard. The owner of the old shard calls detach, then the
     * owner of the new shard calls attach. If the socket becomes ready during the move, the new shard reports it.
     */
    void (*detach)(struct net_socket *socket);
    int (*attach)(struct net_socket *socket, struct shard *s);
    /*
     * Watches a network interface. ready(READ) reports that some interface may have been removed. interface_is_removed
     * then returns true if the watched interface was deleted or left the network namespace since the last call.
     * interface_watch returns ENODEV if the interface does not exist. The caller closes the watch like any other
     * socket. Both functions are NULL in a backend whose interfaces are never removed.
     */
    int (*interface_watch)(struct net *net, struct shard *s, uint32_t index, struct net_socket *watch);
    bool (*interface_is_removed)(struct net_socket *watch);
    /* Closes the socket and releases its reference on the reservation. If `reset` is true, the peer sees an abort. */
    void (*close)(struct net_socket *socket, bool reset);
};

struct net {
    const struct net_ops *ops;
};

/*
 * Finds the socket that uses a local address. Returns false if there is no such socket, or if the kernel does not
 * report the socket. Any thread may call this function.
 */
bool net_address_holder(const struct addr *local, struct address_holder *holder);

/* Returns the transport over the kernel's TCP. The process has one such transport, which is never destroyed. */
struct net *net_kernel(void);

#endif
