/* SPDX-License-Identifier: MIT */
/*
 * Abstract: a pump whose side a has memory that requests register: its pages in reverse order, as one contiguous range.
 * Side b has an ordinary region.
 */
#ifndef TESTS_IWARP_DESK_H
#define TESTS_IWARP_DESK_H

#include <stdbool.h>
#include <stdint.h>

#include "iwarp/memory.h"
#include "iwarp/pump.h"
#include "iwarp/qp.h"

enum {
    PAGES = 10,
    LEN = PAGES * MEM_PAGE,
    REMOTE = RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_READ | RDMA_ACCESS_REMOTE_WRITE,
    SEEDS = 24,
    GROUPS = 32,
};

static const uint64_t base = 0x1234567890000u;

struct desk {
    struct pump p;
    bool crc;
    uint8_t *memory;
    struct mem_region *mapping;
    uint64_t logical[PAGES];
    struct mem_group groups[GROUPS], windows; /* each registration has a group of its own */
    unsigned made;
    struct region far;
    char other_domain;
};

void desk_open_with(struct desk *d, const struct pump_config *c);
void desk_open(struct desk *d, uint64_t seed);
void desk_close(struct desk *d); /* asserts that every protection and registration has been released */

uint8_t *byte_at(const struct desk *d, uint64_t at); /* address of byte `at` of the registered range */
uint32_t prepare(struct desk *d, unsigned access);
uint32_t prepare_in(struct desk *d, struct mem_group *g, unsigned access);
uint32_t prepare_window(struct desk *d, uint32_t of, uint64_t at, uint64_t len, unsigned access);
uint32_t make_alive(struct desk *d, unsigned access);
bool is_alive(struct desk *d, uint32_t stag, uint64_t at); /* a peer's lookup finds the STag */
bool is_known(struct desk *d, uint32_t stag);              /* a post's check finds the STag */

/* Posts a request that sends nothing. */
int post_local(struct side *s, enum rdma_op op, unsigned flags, unsigned context, uint32_t stag);
struct rdma_sge sge_at(uint32_t stag, uint64_t at, uint32_t len);

#endif
