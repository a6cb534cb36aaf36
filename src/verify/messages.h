/* SPDX-License-Identifier: MIT */
/*
 * Checks the rule receive-missing for connections whose two ends are in this process. Each message uses up one receive
 * of the peer's queue pair, so a connection must never have more sends than receives.
 *
 * The invariant: a send for which the peer has posted a receive is never reported, in any order of the two consumers'
 * calls. A receive is counted before the provider has it. A send is counted after the provider has accepted it, and
 * then the number of receives is read. When a connection ends, a consumer can legally post sends that the peer never
 * receives. So a send is not reported if its call begins after a flush, a disconnect or a close at one of the ends. A
 * send after a failed request or post is not reported either.
 */
#ifndef VERIFY_MESSAGES_H
#define VERIFY_MESSAGES_H

#include "verify/queue.h"

/*
 * The numbers of sends and receives of one queue pair. The queue pair and its peer each have a reference. The struct
 * may outlive the queue pair.
 */
struct messages {
    atomic_int refs;
    const void *qp;
    _Atomic uint64_t receives; /* number of receives posted since the queue pair was created */
    _Atomic uint64_t sends;    /* number of sends that the provider has accepted since messages_pair was called */
    atomic_bool is_over;       /* true: later sends of the queue pair and of its peer are not reported */
    atomic_bool is_reported;   /* a send of the queue pair was reported */
};

/*
 * Allocates the struct messages of the queue pair qp. Returns NULL if out of memory; the sends of qp are then not
 * checked.
 */
struct messages *messages_create(const void *qp);
/* Releases the two references of qp: to its own struct messages, and to the struct messages of its peer. */
void messages_release(struct queue *qp);
/*
 * Makes a and b each other's peer. They must be the two queue pairs of one connection, and neither may have sent
 * anything. If a queue pair has a shared receive queue, its receives are not counted and its peer's sends are not
 * reported. Requires the proxies' lock.
 */
void messages_pair(struct queue *a, struct queue *b);
/* Stops the reports about later sends of qp and of its peer. */
void messages_set_over(struct queue *qp);

/*
 * Counts a receive, or decides whether a send needs a receive of the peer. Runs before the request is posted to the
 * queue `use` of q.
 */
void messages_begin_post(struct queue *q, int use, struct post *post);
/*
 * Counts a send, and reports the send if the peer has posted no receive for it. Runs after the post, whose call has
 * returned `status`.
 */
void messages_end_post(struct queue *q, const struct post *post, NTSTATUS status);

#endif
