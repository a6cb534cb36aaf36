/* SPDX-License-Identifier: MIT */
/*
 * Rules about the state of a queue when a request is posted. A request uses a slot of the queue until the consumer has
 * polled the request's result, because hardware frees the slot no earlier. A silent request uses its slot until the
 * consumer has polled the next result. A provider that frees slots earlier accepts more requests. Shared receive queues
 * are not checked: their notification asks for more receives before the results of the used receives are polled.
 */
#ifndef VERIFY_POST_CHECK_H
#define VERIFY_POST_CHECK_H

#include "verify/queue.h"

/* These functions check a post to q's initiator queue (`use` is QUEUE_INITIATE) or receive queue. */

/* Called after posted_begin. */
void post_check_slots(const struct queue *q, int use, const struct post *post);
/* Called after posted_end. */
void post_check_cq(const struct queue *q, int use, const struct post *post);
/* Called after posted_end. `status` is what the provider returned. */
void post_check_connected(const struct queue *q, int use, const struct post *post, NTSTATUS status);

#endif
