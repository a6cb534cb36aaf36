/* SPDX-License-Identifier: MIT */
/* The posts of requests: see post.h. */
#include "verify/buffer.h"
#include "verify/argument.h"
#include "verify/post.h"

void queue_begin_post(struct queue *q, int use, struct post *post)
{
    buffer_check(&q->p, post->routine, post->sgl, post->sges, "list of SGEs");
    argument_check_flags(&q->p, post->routine, post->flags);
    exclusive_begin(&q->exclusive[use], false);
    /* A list that is too long is not read; the provider refuses the request. */
    if (post->sges > q->size[use].sges && !(post->flags & NDK_OP_FLAG_INLINE))
        post->sgl = NULL;
    posted_begin(&q->posted[use], post);
}

NTSTATUS queue_end_post(struct queue *q, int use, struct post *post, NTSTATUS status)
{
    return posted_end(&q->posted[use], post, status);
}
