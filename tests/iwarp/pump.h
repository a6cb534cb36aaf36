/* SPDX-License-Identifier: MIT */
/*
 * Abstract: two queue pairs in one process, with two byte pipes between them that take and give what a seed says, so
 * that every FPDU is split everywhere. What a pipe carries can be looked at and replaced.
 */
#ifndef TESTS_IWARP_PUMP_H
#define TESTS_IWARP_PUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iwarp/memory.h"
#include "iwarp/qp.h"
#include "wire/ddp.h"

enum { PUMP_COMPLETIONS = 256, PUMP_PIPE = 1 << 20, PUMP_SGES = 40 };

struct pipe {
    uint8_t *bytes;
    size_t from, to;
};

struct side {
    struct iw_qp *qp;
    struct side *peer;
    struct pump *pump;
    struct pipe in; /* what the peer has sent and this side has not received */
    struct rdma_completion completed[PUMP_COMPLETIONS];
    unsigned completions;
    void (*seen)(struct side *s, const struct rdma_completion *c); /* inside the upcall, or NULL */
    unsigned first_fpdus, answers, closes, ends;
    enum iw_end why;
    enum wire_error error;
};

struct pump {
    struct mem_table *memory;
    struct iw_scratch *scratch;
    struct iw_srq *srq; /* of both sides, or NULL */
    unsigned low;       /* how often it told that it was */
    struct side a, b;
    uint64_t seed;
    bool whole;        /* no splits */
    bool shares;
    char domain;       /* its address is the protection domain */
};

struct pump_config {
    struct pump *share;        /* whose table and domain are used, and outlive this pump's; or NULL */
    bool crc, whole, hold;
    uint64_t seed;
    size_t max_segment;        /* 0: 1448 */
    uint16_t ird, ord;         /* 0: 4 */
    uint32_t depth, inline_size; /* 0: 64, 256 */
    uint32_t shared, threshold;  /* the depth of a shared receive queue; 0: none */
};

void pump_open(struct pump *p, const struct pump_config *c);
void pump_close(struct pump *p); /* stops both, takes everything down */

uint32_t pump_random(struct pump *p, uint32_t below);
/* Moves bytes until nothing moves any more; asserts that this comes to an end. */
void pump_run(struct pump *p);
/* One side's output into its peer's pipe, and one pipe's content into its queue pair. False: nothing moved. */
bool pump_send(struct side *from);
bool pump_receive(struct side *to);
void pump_inject(struct side *to, const void *bytes, size_t len);
/* Puts an FPDU around the ULPDU at out + 2, or around header and payload; return its size. */
size_t pump_seal(uint8_t *out, bool crc, size_t ulpdu);
size_t pump_fpdu(uint8_t *out, bool crc, const struct ddp_header *h, const void *payload, size_t len);
/* The Terminate that a side has sent, from its peer's pipe: false where it sent none. */
bool pump_terminate_sent(struct side *from, bool crc, struct terminate *t);

struct region {
    uint8_t *at;
    struct mem_region *mr;
    uint32_t stag;
    uint32_t len;
};

/* Guarded on both sides against overruns by exactly sized allocation (the sanitizer) and canaries (region_close). */
void region_open(struct pump *p, struct region *r, uint32_t len, unsigned access);
void region_close(struct region *r); /* invalidates, where it is still valid */

void *tag(unsigned n); /* a request's context */
void fill(struct region *r, uint32_t seed);
/* Cuts [0, len) of a region into at most max SGEs of uneven sizes, empty ones among them. */
uint32_t cut(struct pump *p, const struct region *r, uint32_t len, struct rdma_sge *sges, uint32_t max);
struct rdma_sge whole(const struct region *r); /* one SGE */
int post(struct side *s, enum rdma_op op, unsigned flags, unsigned context, const struct rdma_sge *sges,
         uint32_t count, const struct region *remote);
void assert_completed(const struct side *s, unsigned at, enum rdma_op op, unsigned context, enum rdma_status status);

#endif
