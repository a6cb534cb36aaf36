/* SPDX-License-Identifier: MIT */
/*
 * A service of one fabric, and peers made of plain sockets that are established with it: of MPA revision 1, without
 * CRC. The service has a private receive queue for each peer, or one shared queue.
 */
#ifndef TESTS_FABRIC_SHOP_H
#define TESTS_FABRIC_SHOP_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/world.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

enum { MS = 1000000, SLOTS = 16, RECEIVE = 65536, FPDU_MAX = 17000 };

struct shop {
    struct fabric_config config;
    struct fabric *f;
    struct ear ear;
    struct fabric_srq *srq; /* or NULL */
    struct fabric_mr *mr;   /* of the shared receives */
    uint32_t token;
    uint8_t *memory;
    atomic_bool gone;
    uint64_t sent;          /* bytes of FPDUs, by all peers */
};

struct peer {
    struct station station;
    struct link *link;
    int fd;
    uint32_t msn, mo;
};

struct fabric_counters counters(struct shop *s);
void shop_defaults(struct shop *s);
void shop_open(struct shop *s);
void shop_close(struct shop *s);
/* A shared queue of SLOTS receives, all posted; the context of each is its slot in s->memory. */
void shop_open_shared(struct shop *s);
void shop_post_shared(struct shop *s, uintptr_t slot);
void shop_close_shared(struct shop *s);

/* Connected, and established on both sides. */
void peer_open(struct peer *p, struct shop *s, int affinity);
void peer_close(struct peer *p);
bool is_up(const struct peer *p);
/* Bytes, and waits until the fabric has them. */
void peer_send(struct peer *p, struct shop *s, const void *bytes, size_t len);
/* The FPDU of a segment with this header; returns its size. */
size_t fpdu_around(uint8_t fpdu[FPDU_MAX], const struct ddp_header *h, size_t payload);
/* The next segment of the peer's message. */
size_t next_segment(struct peer *p, uint8_t fpdu[FPDU_MAX], size_t payload, bool last);
void send_segment(struct peer *p, struct shop *s, size_t payload, bool last);

#endif
