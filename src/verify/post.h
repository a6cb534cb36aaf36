/* SPDX-License-Identifier: MIT */
/* The posts of requests to queue pairs and shared receive queues. */
#ifndef VERIFY_POST_H
#define VERIFY_POST_H

#include "verify/queue.h"

/*
 * Enclose the provider's function for a post to q's initiator queue (`use` is QUEUE_INITIATE) or receive queue.
 * queue_begin_post sets post->passed, the context for the provider. `status` is what the provider returned, and
 * queue_end_post returns it.
 */
void queue_begin_post(struct queue *q, int use, struct post *post);
NTSTATUS queue_end_post(struct queue *q, int use, struct post *post, NTSTATUS status);

#endif
