/* SPDX-License-Identifier: MIT */
/*
 * Decides which posts transmit at once and which wait, so that several requests leave in one system call. The
 * invariant: a request waits only if a later poll of the consumer will transmit it. So the members of struct doorbell
 * are only hints: every posting thread writes them without a lock, and they may be a moment old.
 */
#ifndef FABRIC_IWARP_DOORBELL_H
#define FABRIC_IWARP_DOORBELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/rdma.h"

struct fabric_qp;

/* What the rules need of a posted request, whose SGE list may be gone. */
struct doorbell_post {
    enum rdma_op op;
    uint32_t bytes;
};

struct doorbell {
    /* At the last transmission: */
    atomic_uint posted;          /* iw_qp_posted */
    _Atomic uint64_t read_bytes; /* iw_qp_read_bytes */
    atomic_uint window_polls;    /* 0 if it had under MIN_WINDOW requests, else 1 + the initiator CQ's empty polls */
    /* Since then: */
    atomic_uint n_waiting;          /* posts that a rule has let wait */
    _Atomic uint64_t waiting_since; /* when the first of them was posted, in nanoseconds */
};

/* May the request, which has just been posted, wait for a poll? Any thread. */
bool doorbell_may_wait(struct fabric_qp *qp, const struct doorbell_post *post);
/* Leaves the transmission to the consumer's polls. If the consumer does not poll, the shard transmits. Any thread. */
void doorbell_defer_to_poll(struct fabric_qp *qp);
/* Records, for the rules, what has been posted. Called just before the posted requests are transmitted. Owner. */
void doorbell_note_transmission(struct fabric_qp *qp);
/* Prints the rules as a Markdown table. */
void doorbell_print_table(FILE *out);

#endif
