/* SPDX-License-Identifier: MIT */
/*
 * The transport interface: TCP as the layers above see it. Backends: net_epoll.c (the kernel's sockets) and a
 * simulated network with a virtual clock. Errors are errno values, positive, 0 is success.
 *
 * Every socket lives on one shard at a time; all calls about it are made by that shard's owner (token held), and so are
 * its ready() calls. Readiness is edge-triggered: ready(READ) comes once after input arrived; the socket counts as
 * readable, and is reported again, mostly in the next turn, until recv answers EAGAIN or less than was asked for, or
 * hold_read.
 * So an owner that stops reading early comes back by itself. ready(WRITE) comes once after send moved less than it was
 * given, and once when connecting has ended, unless that was at once. ready() may close its socket, and others.
 *
 * Local addresses: every local address (host and port) that a listener, a connecting socket or a shared endpoint uses
 * is held by a reservation, which all providers of this kind in the network namespace respect, across processes.
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

struct shard;
struct net;
struct net_socket;
struct net_reservation;

enum net_ready {
    NET_READ = 1,  /* input, end of stream, an error, or (listener) a new connection */
    NET_WRITE = 2, /* room for output, or the end of connecting */
};

/* The caller owns the memory, zeroed, with ready set before connect, listen or accept; the backend does the rest. */
struct net_socket {
    struct net *net;
    struct shard *shard; /* NULL while detached */
    void (*ready)(struct net_socket *socket, unsigned events);
    /* The backend's: */
    struct net_reservation *reservation;
    TAILQ_ENTRY(net_socket) link; /* among the ready ones of its poller */
    void *backend;
    int fd;
    int error; /* why connecting failed, once that is known */
    unsigned flags;
    uint32_t heard; /* octets since something was sent, up to LONG_ANSWER */
    atomic_bool paused; /* a listener: what it was told last */
};

enum net_use {
    NET_USE_CONNECT, /* one outgoing connection */
    NET_USE_SHARED,  /* many outgoing connections, to different peers */
    NET_USE_LISTEN,
};

/*
 * When a connection's transport gives up on a peer that does not answer. Milliseconds; 0: never, or as the system does.
 */
struct net_liveness {
    uint32_t idle_ms;     /* without a packet from the peer: it is probed; whole seconds, rounded up */
    uint32_t interval_ms; /* between probes; likewise */
    uint32_t unacked_ms;  /* data or a probe is not acknowledged. 0: the third probe decides */
};

struct net_ops {
    /* A shard's poller. */
    int (*poller_create)(struct net *net, struct shard *s, void **poller);
    void (*poller_destroy)(struct net *net, void *poller);
    /*
     * Token held. Calls ready() of at most max sockets that are ready, in the order in which they became so, and of a
     * few of which it is not known. One that is still ready after its call is behind all others. Returns
     * how many, those of the few aside that had nothing; *left: others are known to be ready.
     * leased: a consumer polls, so nobody waits until it does no more, and sockets need not be able to end a wait.
     */
    int (*poll)(struct net *net, void *poller, unsigned max, bool leased, bool *left);
    /* Token held. The lease is over without a poll: a socket that has become ready ends a wait again. */
    void (*watch)(struct net *net, void *poller);
    /* The shard's thread, token not held: until a socket becomes ready, wake, or the deadline (executor's clock). */
    void (*wait)(struct net *net, void *poller, uint64_t now, uint64_t deadline);
    /* Ends a wait, also one yet to begin, from any thread. */
    void (*wake)(struct net *net, void *poller);

    /*
     * Takes the local address for a use. Port 0: a free one from 49152-65535, at a cost that does not grow when the
     * range is nearly full. errno: EADDRINUSE taken, EADDRNOTAVAIL not an address of this host, ENOSPC range
     * exhausted, EMFILE/ENFILE/ENOMEM/ENOBUFS resources. Any thread. local gets the port.
     * NET_USE_CONNECT (peer is given; else it may be NULL) where that four-tuple is connected already: EEXIST.
     */
    int (*reserve)(struct net *net, struct addr *local, const struct addr *peer, enum net_use use,
                   struct net_reservation **out);
    /* References: shared by a listener and what it accepted, a shared endpoint and its connections. Any thread. */
    void (*reservation_ref)(struct net_reservation *r);
    void (*reservation_unref)(struct net_reservation *r); /* the last one frees the address, right then */

    /*
     * Starts connecting from a reserved address; takes a reference on the reservation for the socket's life.
     * ready(WRITE) says when it ended; then connect_result. Where it ended at once connect_result says so right away,
     * and ready(WRITE) does not come. errno as connect(2), the socket is closed then; EADDRNOTAVAIL means that
     * the four-tuple is alive: so a second connection to one peer over a shared reservation.
     * first: what will be sent first. Where connecting ended at once it has been sent, *sent octets of it, else none.
     */
    int (*connect)(struct net *net, struct shard *s, struct net_reservation *from, const struct addr *peer,
                   const struct iovec *first, size_t *sent, struct net_socket *socket);
    int (*connect_result)(struct net_socket *socket); /* 0, EINPROGRESS, or why it failed */

    int (*listen)(struct net *net, struct shard *s, struct net_reservation *at, struct net_socket *socket);
    /* Paused: new peers are refused at once, queued ones reset, the address stays. */
    int (*listen_pause)(struct net_socket *socket, bool paused); /* any thread, while the listener is open */
    /*
     * The next waiting connection, attached to the listener's shard, or EAGAIN. It takes a reference on the listener's
     * reservation.
     * EMFILE, ENFILE: a peer waits and there is no descriptor. The listener stays readable; the caller closes a socket
     * and calls again, or calls refuse_waiting, or holds the listener with hold_read until a descriptor is free.
     * Any other errno: one connection's, or the backend has refused what waited, without spinning; go on.
     */
    int (*accept)(struct net_socket *listener, struct net_socket *socket, struct addr *local, struct addr *peer);
    /* Resets all peers that wait to be accepted, without a descriptor. A paused listener stays paused. */
    void (*refuse_waiting)(struct net_socket *listener);
    /* How many sockets the process's limit lets it open now, at most `most`. Any thread; takes up to 1 ms. */
    unsigned (*free_sockets)(struct net *net, unsigned most);

    /* Bytes moved, or -errno (-EAGAIN: wait for ready). recv 0: the peer's end of stream. */
    ssize_t (*send)(struct net_socket *socket, const struct iovec *iov, int iovcnt);
    ssize_t (*recv)(struct net_socket *socket, const struct iovec *iov, int iovcnt);
    /* What recv moved is not all processed: the socket counts as readable, and is reported after those that wait. */
    void (*reread)(struct net_socket *socket);
    /* While on, input (of a listener: peers) stays where it is and is not reported; off again: reported if any. */
    void (*hold_read)(struct net_socket *socket, bool on);
    size_t (*max_segment)(struct net_socket *socket); /* the current effective maximum segment size */
    /* Of a connected socket; of a listener: those of all that it accepts from then on. */
    void (*set_liveness)(struct net_socket *socket, const struct net_liveness *l);
    size_t (*unsent)(struct net_socket *socket);      /* sent here, but not yet taken by the peer's transport */
    void (*shut_write)(struct net_socket *socket);    /* half-close: the peer reads to the end, then end of stream */
    /* Moves to another shard: detach on the old one, attach on the new one; nothing is lost in between. */
    void (*detach)(struct net_socket *socket);
    int (*attach)(struct net_socket *socket, struct shard *s);
    /*
     * Watches a network interface: ready(READ) where one may have gone, and interface_is_gone says whether it was this
     * one: whether it was deleted, or has left the network namespace, since the last call. ENODEV: there is none. The
     * socket is closed as others are. NULL: interfaces stay.
     */
    int (*interface_watch)(struct net *net, struct shard *s, uint32_t index, struct net_socket *watch);
    bool (*interface_is_gone)(struct net_socket *watch);
    /* Ends it and lets go of the reservation. reset: the peer sees an abort instead of an end of stream. */
    void (*close)(struct net_socket *socket, bool reset);
};

struct net {
    const struct net_ops *ops;
};

/* Who has a local address: the user who made the socket, if the kernel tells, and the socket's inode. */
struct net_holder {
    bool is_provider; /* a process of this kind has it */
    bool has_uid;
    uint32_t uid;
    uint32_t inode;
};
/* Any thread. False: nobody has the address, or the kernel does not tell. */
bool net_address_holder(const struct addr *local, struct net_holder *holder);

/* The kernel's TCP. One for a process; never destroyed. */
struct net *net_kernel(void);

#endif
