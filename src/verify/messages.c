/* SPDX-License-Identifier: MIT */
/* Counts the sends and receives of connections within this process: see messages.h. */
#include <stdlib.h>

#include "verify/messages.h"
#include "verify/rules.h"

struct messages *messages_create(const void *qp)
{
    struct messages *m = calloc(1, sizeof *m);

    if (!m)
        return NULL;
    atomic_init(&m->refs, 1);
    m->qp = qp;
    return m;
}

static void messages_unref(struct messages *m)
{
    if (m && atomic_fetch_sub(&m->refs, 1) == 1)
        free(m);
}

void messages_release(struct queue *qp)
{
    messages_unref(qp->messages);
    messages_unref(atomic_load(&qp->peer_messages));
}

static void messages_set_peer(struct queue *qp, const struct queue *peer)
{
    if (peer->srq)
        return;
    atomic_fetch_add(&peer->messages->refs, 1);
    atomic_store(&qp->peer_messages, peer->messages);
}

void messages_pair(struct queue *a, struct queue *b)
{
    if (a == b || !a->messages || !b->messages || atomic_load(&a->peer_messages) || atomic_load(&b->peer_messages)) {
        messages_set_over(a);
        messages_set_over(b);
        return;
    }
    messages_set_peer(a, b);
    messages_set_peer(b, a);
}

void messages_set_over(struct queue *qp)
{
    if (qp->messages)
        atomic_store(&qp->messages->is_over, true);
}

void messages_begin_post(struct queue *q, int use, struct post *post)
{
    const struct messages *peer = atomic_load(&q->peer_messages);

    if (use == QUEUE_RECEIVE && q->messages)
        atomic_fetch_add(&q->messages->receives, 1);
    /*
     * needs_receive is set before the provider's function runs. The peer can receive the message and end the connection
     * before that function returns.
     */
    post->needs_receive = post->is_send && peer && !(post->flags & NDK_OP_FLAG_DEFER) &&
                          !atomic_load(&q->messages->is_over) && !atomic_load(&peer->is_over);
}

static void messages_report(const struct queue *qp, const struct messages *peer, const struct post *post,
                            uint64_t sends, uint64_t receives)
{
    proxy_set_report_object(&qp->p);
    report_add_note("the peer is NDK_QP %p in this process, which was given %llu receive(s)", peer->qp,
                    (unsigned long long)receives);
    report_breach(&verify_rules[RULE_RECEIVE_MISSING], post->routine, (uintptr_t)qp, (uintptr_t)peer->qp, sends,
                  receives, "this is message %llu, and NDK_QP %p, the peer, was given %llu receive(s)",
                  (unsigned long long)sends, peer->qp, (unsigned long long)receives);
}

/*
 * The sends of a chain with NDK_OP_FLAG_DEFER are counted when they are posted. They are compared with the receives
 * when a send without that flag ends the chain.
 */
void messages_end_post(struct queue *q, const struct post *post, NTSTATUS status)
{
    struct messages *peer = atomic_load(&q->peer_messages);
    uint64_t sends, receives;

    if (!NT_SUCCESS(status))
        messages_set_over(q);
    if (!peer || !post->is_send || !NT_SUCCESS(status))
        return;
    sends = atomic_fetch_add(&q->messages->sends, 1) + 1;
    receives = atomic_load(&peer->receives);
    if (post->needs_receive && sends > receives && verify_on() && !atomic_exchange(&q->messages->is_reported, true))
        messages_report(q, peer, post, sends, receives);
}
