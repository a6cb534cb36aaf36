/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a posted request is transmitted at once or waits, so that one system call can transmit several
 * requests. The invariant: each waiting request is transmitted by a later poll, or when the polling lease ends. The
 * members of struct doorbell do not affect the invariant. Posting threads write these members without a lock, so their
 * values are only estimates.
 */
#ifndef FABRIC_IWARP_DOORBELL_H
#define FABRIC_IWARP_DOORBELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/rdma.h"

struct fabric_qp;

/* The part of a posted request that the rules need. The request's SGE list must not be read after the post. */
struct doorbell_post {
    enum rdma_op op;
    uint32_t bytes;
};

struct doorbell {
    /* Values at the last transmission: */
    atomic_uint posted;          /* the result of iw_qp_posted */
    _Atomic uint64_t read_bytes; /* the result of iw_qp_read_bytes */
    /*
     * The result of iwarp_cq_empty_polls for the initiator CQ, plus 1. The value is 0 if the transmission had fewer
     * than MIN_WINDOW requests.
     */
    atomic_uint window_polls;
    /* Since the last transmission: */
    atomic_uint n_waiting;          /* number of posted requests that a rule of doorbell.c lets wait */
    _Atomic uint64_t waiting_since; /* the time in nanoseconds when the first waiting request was posted */
};

/* Returns true if the request that has just been posted may wait for a poll. Any thread may call this function. */
bool doorbell_may_wait(struct fabric_qp *qp, const struct doorbell_post *post);
/*
 * Leaves transmission to the consumer's polls. If the consumer does not poll, the shard transmits. Any thread may call
 * this function.
 */
void doorbell_defer_to_poll(struct fabric_qp *qp);
/*
 * Updates the counts in struct doorbell, which the rules read. The queue pair's task `transmit` calls this just before
 * it transmits. A transmission outside this task, for example when a socket has room again, is not counted.
 */
void doorbell_note_transmission(struct fabric_qp *qp);
/* Prints the rules as a Markdown table. */
void doorbell_print_table(FILE *out);

#endif
