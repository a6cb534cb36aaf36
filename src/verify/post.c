/* SPDX-License-Identifier: MIT */
/* Checks and records the posts of requests: see post.h. */
#include "verify/argument.h"
#include "verify/buffer.h"
#include "verify/inline_data.h"
#include "verify/limits.h"
#include "verify/messages.h"
#include "verify/post.h"
#include "verify/post_check.h"
#include "verify/stall.h"

/*
 * Sets post->length to the number of bytes in all SGEs. If a request that is not inline has more SGEs than the queue
 * allows, the provider refuses the request without reading the SGEs. Then sets post->sgl to NULL, so that the checks do
 * not read the SGEs either.
 */
static void post_set_length(const struct queue *q, int use, struct post *post)
{
    if (post->sges > q->size[use].sges && !(post->flags & NDK_OP_FLAG_INLINE))
        post->sgl = NULL;
    post->length = 0;
    for (ULONG i = 0; post->sgl && i < post->sges; i++)
        post->length += post->sgl[i].Length;
}

void queue_begin_post(struct queue *q, int use, struct post *post)
{
    buffer_check(&q->p, post->routine, post->sgl, post->sges, "list of SGEs");
    argument_check_flags(&q->p, post->routine, post->flags);
    exclusive_begin(&q->exclusive[use], false);
    if (verify_on())
        post_set_length(q, use, post);
    limits_check_post(q, use, post);
    inline_data_check(&q->p, post);
    if (post->is_source && !(post->flags & NDK_OP_FLAG_INLINE))
        source_set(&post->source, post->sgl, post->sges);
    messages_begin_post(q, use, post);
    posted_begin(&q->posted[use], post);
    post_check_slots(q, use, post);
    if (use == QUEUE_INITIATE)
        stall_begin();
}

NTSTATUS queue_end_post(struct queue *q, int use, struct post *post, NTSTATUS status)
{
    status = posted_end(&q->posted[use], post, status);
    post_check_cq(q, use, post);
    post_check_connected(q, use, post, status);
    messages_end_post(q, post, status);
    return status;
}
