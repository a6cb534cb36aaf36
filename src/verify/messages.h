/* SPDX-License-Identifier: MIT */
/*
 * The messages of connections whose ends are both in this process: the rule receive-missing. Each message uses up one
 * receive of the peer's queue pair, so a connection never has more sends than receives.
 *
 * The invariant: a send for which the peer has posted a receive is never reported, in whatever order the two consumers
 * call. A receive is counted before the provider has it. A send is counted after the provider has accepted it, and then
 * the receives are read. When a connection ends, a consumer can legally post sends that the peer never receives. So
 * nothing is reported if the call begins after a flush, a disconnect or a close at one of the ends, or after a request
 * or post has failed.
 */
#ifndef VERIFY_MESSAGES_H
#define VERIFY_MESSAGES_H

#include "verify/queue.h"

/* The counts of a queue pair. The queue pair and its peer have a reference each. Both may be closed. */
struct messages {
    atomic_int refs;
    const void *qp;
    _Atomic uint64_t receives; /* since the queue pair was created */
    _Atomic uint64_t sends;    /* accepted by the provider since messages_pair was called */
    atomic_bool is_over;       /* nothing is reported about later sends of the queue pair and of its peer */
    atomic_bool is_reported;   /* a send of the queue pair was reported */
};

/* Returns NULL if out of memory. Nothing is reported then. */
struct messages *messages_create(const void *qp);
/* Releases the counts of the queue pair and of its peer. */
void messages_release(struct queue *qp);
/*
 * Called when a and b are the two ends of a connection and neither has sent anything. The receives of a queue pair with
 * a shared receive queue are not counted, so nothing is reported about its peer's sends. Requires the proxies' lock.
 */
void messages_pair(struct queue *a, struct queue *b);
/* From now on, nothing is reported about new sends of the queue pair and of its peer. */
void messages_set_over(struct queue *qp);

/* Called before a request is posted to the queue `use` of q. */
void messages_begin_post(struct queue *q, int use, struct post *post);
/* Called after the post, whose call has returned `status`. Reports a send without a receive. */
void messages_end_post(struct queue *q, const struct post *post, NTSTATUS status);

#endif
