/* SPDX-License-Identifier: MIT */
/*
 * Commits the state of sending for the bytes of a batch that have been sent: see the diagram in tx.c. The invariant:
 * after iw_qp_tx_done nothing references registered memory, because the rest of a half-sent FPDU is copied to the queue
 * pair.
 */
#include <stdlib.h>
#include <string.h>

#include "iwarp/qp_internal.h"

void tx_drop_rest(struct iw_qp *qp)
{
    free(qp->rest.buffer);
    qp->rest.buffer = NULL;
    qp->rest.sent = 0;
    qp->rest.len = 0;
}

size_t tx_batch_copy(const struct tx_batch *b, size_t begin, size_t end, uint8_t *to)
{
    size_t at = 0, copied = 0;

    for (unsigned i = 0; i < b->iov_count && at < end; i++) {
        size_t from = begin > at ? begin - at : 0, len = b->iov[i].iov_len;
        size_t until = end - at < len ? end - at : len;

        if (from < until) {
            memcpy(to + copied, (const uint8_t *)b->iov[i].iov_base + from, until - from);
            copied += until - from;
        }
        at += len;
    }
    return copied;
}

/* Copies the bytes [skip, end) of the batch to qp->rest. Cannot fail, because batch_begin has reserved a buffer. */
static void rest_store(struct iw_qp *qp, struct iw_scratch *s, size_t skip, size_t end)
{
    struct tx_rest *r = &qp->rest;

    r->sent = 0;
    r->buffer = end - skip > MAX_SMALL_REST ? scratch_alloc_buffer(s) : NULL;
    r->bytes = r->buffer ? r->buffer : r->small;
    r->len = (uint32_t)tx_batch_copy(&s->batch, skip, end, r->bytes);
}

static void batch_commit(struct iw_qp *qp, struct iw_scratch *s, size_t n)
{
    struct tx_batch *b = &s->batch;
    uint32_t next = qp->tx.next;
    unsigned begun = 0;

    for (size_t start = 0; begun < b->fpdu_count && start < n; begun++)
        start = b->fpdu[begun].end;
    if (begun == 0)
        return;
    if (b->fpdu[begun - 1].end > n)
        rest_store(qp, s, b->ahead_len + n, b->ahead_len + b->fpdu[begun - 1].end);
    for (unsigned i = 0; qp->reports_frames && i < begun; i++)
        frame_report_sent(qp, s, b->fpdu[i].begin, b->ahead_len + (i > 0 ? b->fpdu[i - 1].end : 0));
    qp->tx = b->fpdu[begun - 1].after;
    counter_add(&qp->fpdus_sent, begun);
    for (; next != qp->tx.next; next++) {
        struct entry *e = queue_at(&qp->sq, next);
        if (entry_is_local(e))
            continue;
        e->state = e->opcode == RDMA_OP_READ ? ENTRY_IN_FLIGHT : ENTRY_DONE;
        message_count(qp, (enum iw_message)e->opcode);
    }
}

/*
 * Commits the bytes that were sent ahead of the FPDUs: the rest of a half-sent FPDU, and the Terminate. `n` is the
 * number of sent bytes. Returns the number of sent bytes that belong to the FPDUs.
 */
static size_t batch_commit_ahead(struct iw_qp *qp, struct iw_scratch *s, size_t n)
{
    size_t rest = qp->rest.len - qp->rest.sent, used = n < rest ? n : rest, terminate;

    qp->rest.sent += (uint32_t)used;
    if (qp->rest.len > 0 && qp->rest.sent == qp->rest.len) {
        if (qp->rest.buffer)
            scratch_free_buffer(s, qp->rest.buffer);
        qp->rest.buffer = NULL;
        tx_drop_rest(qp);
    }
    terminate = n - used < qp->terminate_len - qp->terminate_sent ? n - used : qp->terminate_len - qp->terminate_sent;
    qp->terminate_sent += (uint32_t)terminate;
    if (terminate && qp->terminate_sent == qp->terminate_len) {
        counter_add(&qp->fpdus_sent, 1);
        if (qp->reports_frames)
            frame_report_sent(qp, s, qp->terminate, 0);
    }
    return n - used - terminate;
}

void iw_qp_tx_done(struct iw_qp *qp, struct iw_scratch *s, size_t n)
{
    counter_add(&qp->bytes_sent, n);
    batch_commit(qp, s, batch_commit_ahead(qp, s, n));
    tx_batch_release(&s->batch);
    requests_complete(qp);
}
