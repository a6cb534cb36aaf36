/* SPDX-License-Identifier: MIT */
/*
 * Rules about the state of a queue when a request is posted. A slot of a queue is free again when the consumer has the
 * result of its request, because hardware frees it no earlier; the slot of a silent request, with the next result. A
 * provider that frees slots earlier accepts more. Shared receive queues are excepted, because their notification asks for
 * more receives before the results of the used ones are polled.
 */
#ifndef VERIFY_POST_CHECK_H
#define VERIFY_POST_CHECK_H

#include "verify/queue.h"

/* Each checks a post to q's initiator queue (`use` is QUEUE_INITIATE) or receive queue. Called after posted_begin. */
void post_check_slots(const struct queue *q, int use, const struct post *post);
/* Called after posted_end. */
void post_check_cq(const struct queue *q, int use, const struct post *post);
/* Called after posted_end. `status` is what the provider returned. */
void post_check_connected(const struct queue *q, int use, const struct post *post, NTSTATUS status);

#endif
