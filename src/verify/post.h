/* SPDX-License-Identifier: MIT */
/* Checks and records the posts of requests to queue pairs and shared receive queues. */
#ifndef VERIFY_POST_H
#define VERIFY_POST_H

#include "verify/queue.h"

/*
 * queue_begin_post must run before the provider's function for a post, and queue_end_post after it. `use` is
 * QUEUE_INITIATE for a post to q's initiator queue, or QUEUE_RECEIVE for a post to q's receive queue. queue_begin_post
 * sets post->passed, the RequestContext to pass to the provider. `status` is the status that the provider has returned.
 * queue_end_post returns `status`.
 */
void queue_begin_post(struct queue *q, int use, struct post *post);
NTSTATUS queue_end_post(struct queue *q, int use, struct post *post, NTSTATUS status);

#endif
