/* SPDX-License-Identifier: MIT */
/*
 * Abstract: two queue pairs in one process, joined by two byte pipes. A seed decides how many bytes each call moves, so
 * that FPDUs are split at every place. A test can read and replace the bytes in a pipe.
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
    void (*on_completion)(struct side *s, const struct rdma_completion *c); /* called in the upcall, or NULL */
    unsigned first_fpdus, answers, closes, ends;
    enum iw_end why;
    enum wire_error error;
};

struct pump {
    struct mem_table *memory;
    struct iw_scratch *scratch;
    struct iw_srq *srq; /* used by both sides, or NULL */
    unsigned low;       /* how often its `low` was called */
    struct side a, b;
    uint64_t seed;
    bool whole; /* no splits */
    bool shares;
    char domain; /* its address is the protection domain */
};

struct pump_config {
    struct pump *share; /* its table and domain are used, and must outlive this pump; or NULL */
    bool crc, whole, hold;
    uint64_t seed;
    size_t max_segment;          /* 0: 1448 */
    uint16_t ird, ord;           /* 0: 4 */
    uint32_t depth, inline_size; /* 0: 64, 256 */
    uint32_t shared, threshold;  /* the depth of a shared receive queue; 0: none */
};

void pump_open(struct pump *p, const struct pump_config *c);
void pump_close(struct pump *p); /* stops both sides and frees everything */

uint32_t pump_random(struct pump *p, uint32_t below);
/* Moves bytes until nothing moves any more. Fails if that does not happen. */
void pump_run(struct pump *p);
/* Moves output of a side to its peer's pipe, and bytes of a pipe to its queue pair. Returns false if nothing moved. */
bool pump_send(struct side *from);
bool pump_receive(struct side *to);
void pump_inject(struct side *to, const void *bytes, size_t len);
/* Makes an FPDU around the ULPDU at out + 2, or around header and payload. Both return its size. */
size_t pump_seal(uint8_t *out, bool crc, size_t ulpdu);
size_t pump_fpdu(uint8_t *out, bool crc, const struct ddp_header *h, const void *payload, size_t len);
/* Decodes the Terminate that a side has sent, in its peer's pipe. Returns false if it sent none. */
bool pump_terminate_sent(struct side *from, bool crc, struct terminate *t);

struct region {
    uint8_t *at;
    struct mem_region *mr;
    uint32_t stag;
    uint32_t len;
};

/*
 * Overruns at both ends are found by canaries (region_close) and, because the allocation has the exact size, by the
 * sanitizer.
 */
void region_open(struct pump *p, struct region *r, uint32_t len, unsigned access);
void region_close(struct region *r); /* invalidates the region if it is still valid */

void *tag(unsigned n); /* a request's context */
void fill(struct region *r, uint32_t seed);
/* Cuts [0, len) of a region into at most max SGEs of uneven sizes, empty ones among them. */
uint32_t split_sges(struct pump *p, const struct region *r, uint32_t len, struct rdma_sge *sges, uint32_t max);
struct rdma_sge one_sge(const struct region *r); /* the whole region as one SGE */
int post(struct side *s, enum rdma_op op, unsigned flags, unsigned context, const struct rdma_sge *sges, uint32_t count,
         const struct region *remote);
void assert_completed(const struct side *s, unsigned at, enum rdma_op op, unsigned context, enum rdma_status status);

#endif
