/* SPDX-License-Identifier: MIT */
/* Declarations that sim_net.c (sockets) and sim_wire.c (segments between them) share. */
#ifndef SIM_SIM_NET_INTERNAL_H
#define SIM_SIM_NET_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/addr.h"
#include "engine/net.h"

/* In net_socket.flags. */
enum flag {
    READABLE = 1 << 0,
    BLOCKED = 1 << 1, /* the owner waits for room, or for the result of connecting */
    WRITABLE = 1 << 2,
    CONNECTING = 1 << 3,
    LISTENING = 1 << 4,
    PAUSED = 1 << 5,
    HELD = 1 << 6,
};

struct net_reservation {
    LIST_ENTRY(net_reservation) link;
    struct addr local;
    enum net_use use;
    unsigned refs;
};

TAILQ_HEAD(endpoint_list, endpoint);

/* One end of a connection, or a listener. Freed only with the network, because packets in flight refer to it. */
struct endpoint {
    TAILQ_ENTRY(endpoint) link; /* in the list of all */
    TAILQ_ENTRY(endpoint) queue_link;
    struct endpoint_list queue; /* of a listener: waiting to be accepted */
    unsigned id, round;
    unsigned turn;             /* its position among the ready ones; 0: not ready */
    struct net_socket *socket; /* until the provider closes it */
    bool queued;               /* in its listener's queue */
    struct endpoint *peer;
    struct addr local, remote;
    int error; /* reported once, before the end of the stream */
    bool connected, closed, fin_sent, fin_here, dead;
    bool cut;    /* sent data vanishes */
    bool dying;  /* cut off: fails after some time */
    uint8_t *in; /* arrived, not read yet */
    size_t in_len, in_room, under_way, window, mss;
    uint64_t last_arrival;
    uint64_t sent, protected_from; /* bytes sent, and the offset from which CRCs cover them */
    uint8_t first[20];             /* the first bytes sent: the MPA frame's header */
};

/* sim_wire.c */
struct endpoint *wire_endpoint(const struct addr *local, const struct addr *remote);
void wire_connect(struct endpoint *e); /* sends the first packet */
void wire_connect_fails(struct endpoint *e, int error, uint64_t after);
void wire_data(struct endpoint *from, const uint8_t *data, size_t len);
void wire_fin(struct endpoint *from);
void wire_reset(struct endpoint *from);
void wire_room(struct endpoint *to, uint64_t after); /* its owner may send again */
size_t wire_window(const struct endpoint *from);     /* what may be sent now */
void wire_faults(struct endpoint *from);             /* random faults of the network, at a send */
void wire_kill(struct endpoint *e, int error);       /* both directions are over here */
void wire_end(void);
struct endpoint_list *wire_all(void);
void wire_update(struct endpoint *e); /* readiness, after something arrived */

/* sim_host.c */
bool net_is_host(const struct addr *a); /* one of the hosts */
int net_shortage(void);                 /* an errno, or 0 */

/* sim_net.c */
struct endpoint *net_listener_at(const struct addr *a);

#endif
