/* SPDX-License-Identifier: MIT */
/*
 * Checks the state of a queue when a request is posted. A request uses a slot of the queue until the consumer has
 * polled the request's result. A silent request uses its slot until the consumer has polled the next result. Hardware
 * frees a slot no earlier. A provider in software may free a slot earlier, and then accepts more requests. Shared
 * receive queues are not checked. Their notification asks the consumer for more receives, even if the results of
 * completed receives were not polled.
 */
#ifndef VERIFY_POST_CHECK_H
#define VERIFY_POST_CHECK_H

#include "verify/queue.h"

/*
 * In the functions below, `use` is QUEUE_INITIATE for a post to q's initiator queue, or QUEUE_RECEIVE for a post to q's
 * receive queue.
 */

/*
 * Reports a post if the queue has no free slot, or if it is a receive and the queue pair has a shared receive queue.
 * Must run after posted_begin.
 */
void post_check_slots(const struct queue *q, int use, const struct post *post);
/*
 * Reports a post if more requests are outstanding on its completion queue than the depth of that queue. Must run after
 * posted_end.
 */
void post_check_cq(const struct queue *q, int use, const struct post *post);
/*
 * Reports a post that the provider has refused because the queue pair was never connected. `status` is the status that
 * the provider has returned. Must run after posted_end.
 */
void post_check_connected(const struct queue *q, int use, const struct post *post, NTSTATUS status);

#endif
