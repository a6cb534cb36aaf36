/* SPDX-License-Identifier: MIT */
/* The posts of requests: see post.h. */
#include "verify/post.h"

void queue_begin_post(struct queue *q, int use, struct post *post)
{
    exclusive_enter(&q->exclusive[use], false);
    /* A list that is too long is not read; the provider refuses the request. */
    if (post->sges > q->size[use].sges && !(post->flags & NDK_OP_FLAG_INLINE))
        post->sgl = NULL;
    posted_begin(&q->posted[use], post);
}

NTSTATUS queue_end_post(struct queue *q, int use, struct post *post, NTSTATUS status)
{
    return posted_end(&q->posted[use], post, status);
}
