/* SPDX-License-Identifier: MIT */
/* The posts of requests to queue pairs and shared receive queues. */
#ifndef VERIFY_POST_H
#define VERIFY_POST_H

#include "verify/queue.h"

/*
 * queue_begin_post must be called before the provider's function for a post, and queue_end_post after that function.
 * The post is to q's initiator queue if `use` is QUEUE_INITIATE, otherwise to q's receive queue. queue_begin_post sets
 * post->passed, the context for the provider. queue_end_post returns `status`, which is what the provider returned.
 */
void queue_begin_post(struct queue *q, int use, struct post *post);
NTSTATUS queue_end_post(struct queue *q, int use, struct post *post, NTSTATUS status);

#endif
