/* SPDX-License-Identifier: MIT */
/*
 * A service: one fabric with an acceptor, and its peers, which are plain sockets that use MPA revision 1 without CRC.
 * The service has a receive queue for each peer, or one shared queue.
 */
#ifndef TESTS_FABRIC_SERVICE_H
#define TESTS_FABRIC_SERVICE_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/world.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

enum { MS = 1000000, SLOTS = 16, RECEIVE = 65536, MAX_FPDU = 17000 };

struct service {
    struct fabric_config config;
    struct fabric *f;
    struct acceptor acceptor;
    struct fabric_srq *srq; /* or NULL */
    struct fabric_mr *mr;   /* the region of the shared receives */
    uint32_t token;
    uint8_t *memory;
    atomic_bool closed;
    uint64_t sent; /* bytes of FPDUs from all peers */
};

struct peer {
    struct side side;
    struct link *link;
    int fd;
    uint32_t msn, mo;
};

struct fabric_counters counters(struct service *s);
void service_defaults(struct service *s);
void service_open(struct service *s);
void service_close(struct service *s);
/* Opens a service with a shared queue of SLOTS receives, all posted. A receive's context is its slot in s->memory. */
void service_open_shared(struct service *s);
void service_post_shared(struct service *s, uintptr_t slot);
void service_close_shared(struct service *s);

/* Connects, and waits until the connection is established on both sides. */
void peer_open(struct peer *p, struct service *s, int affinity);
void peer_close(struct peer *p);
bool peer_is_up(const struct peer *p);
/* Sends bytes, and waits until the fabric has received them. */
void peer_send(struct peer *p, struct service *s, const void *bytes, size_t len);
/* Makes an FPDU with this header; returns its size. */
size_t peer_encode_fpdu(uint8_t fpdu[MAX_FPDU], const struct ddp_header *h, size_t payload);
/* Makes the next segment of the peer's message. */
size_t peer_encode_segment(struct peer *p, uint8_t fpdu[MAX_FPDU], size_t payload, bool last);
void peer_send_segment(struct peer *p, struct service *s, size_t payload, bool last);

#endif
