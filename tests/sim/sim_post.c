/* SPDX-License-Identifier: MIT */
/* Posts: see sim_traffic.h. */
#include <stdlib.h>

#include "openndk/adapter.h"
#include "sim/sim.h"
#include "sim/sim_traffic_internal.h"

enum { LARGE = 6000 };

bool traffic_bad;

static struct wr *wr_new(struct qp *qp, enum op op)
{
    struct wr *w = calloc(1, sizeof *w);

    sim_check(w, "no memory");
    w->qp = qp;
    w->op = op;
    w->number = qp->posted;
    return w;
}

static bool wr_drop(struct wr *w)
{
    wr_give_back(w);
    free(w);
    return false;
}

static unsigned fill_sges(const struct wr *w, NDK_SGE *sges)
{
    for (unsigned i = 0; i < w->piece_count; i++)
        sges[i] = (NDK_SGE){.VirtualAddress = piece_at(&w->pieces[i]),
                            .Length = w->pieces[i].len,
                            .MemoryRegionToken = w->pieces[i].region->token};
    return w->piece_count;
}

static ULONG any_flags(struct wr *w)
{
    ULONG flags = 0;

    w->silent = sim_chance(150);
    if (w->silent)
        flags |= NDK_OP_FLAG_SILENT_SUCCESS;
    if (sim_chance(100))
        flags |= NDK_OP_FLAG_READ_FENCE;
    if (w->op == SEND && sim_chance(200))
        flags |= NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT;
    if ((w->op == SEND || w->op == WRITE) && w->len <= w->qp->inline_size && sim_chance(300))
        flags |= NDK_OP_FLAG_INLINE;
    return flags;
}

static NTSTATUS call(struct wr *w, ULONG flags)
{
    NDK_QP *qp = w->qp->o.ndk.qp;
    NDK_SGE sges[PIECES];
    unsigned count = fill_sges(w, sges);
    UINT64 address = w->remote.region ? (UINT64)(uintptr_t)piece_at(&w->remote) : 0;
    UINT32 token = w->remote.region ? w->remote.region->token : 0;

    switch (w->op) {
    case SEND:
        return qp->Dispatch->NdkSend(qp, w, sges, count, flags);
    case RECEIVE:
        return qp->Dispatch->NdkReceive(qp, w, sges, count);
    case READ:
        return qp->Dispatch->NdkRead(qp, w, sges, count, address, token, flags);
    case WRITE:
        break;
    }
    return qp->Dispatch->NdkWrite(qp, w, sges, count, address, token, flags);
}

/*
 * In the list before the call: its completion can be seen, by who acts in the middle of it, before it returns. A post
 * that is answered by an error is taken out again.
 */
static bool post(struct wr *w, ULONG flags)
{
    static const char *const names[] = {"send", "receive", "read", "write"};
    struct qp *qp = w->qp;
    struct wr_list *list = w->op == RECEIVE ? &qp->receives : &qp->initiated;
    struct cq *cq = w->op == RECEIVE ? qp->receive_cq : qp->initiator_cq;
    unsigned len = w->len, number = qp->posted++;
    bool connected = qp->connected && !qp->disturbed;
    NTSTATUS status;

    TAILQ_INSERT_TAIL(list, w, link);
    cq->expected++;
    qp->o.calls++;
    status = call(w, flags);
    qp->o.calls--;
    sim_trace("%s: %s %u, %u bytes, flags %x: %s", obj_name(&qp->o), names[w->op], number, len, flags,
              ondk_status_name(status));
    if (status == STATUS_SUCCESS)
        return true;
    sim_check(status == STATUS_INSUFFICIENT_RESOURCES || status == STATUS_CONNECTION_INVALID ||
                  (status == STATUS_ACCESS_VIOLATION && traffic_taken_back),
              "%s: post answers %s", obj_name(&qp->o), ondk_status_name(status));
    sim_check(!(status == STATUS_CONNECTION_INVALID && connected && sim_scenario.orderly && !qp->disturbed),
              "%s: not connected", obj_name(&qp->o));
    sim_check(!w->done, "%s: a failed post completes", obj_name(&qp->o));
    TAILQ_REMOVE(list, w, link);
    cq->expected--;
    return wr_drop(w);
}

/* As many completions as the queues can hold may be waiting: no more. */
static bool has_room(const struct qp *qp, enum op op)
{
    const struct cq *cq = op == RECEIVE ? qp->receive_cq : qp->initiator_cq;

    return obj_is_open(&qp->o) && obj_is_open(&cq->o) && cq->expected < cq->depth && qp->posted < MESSAGES;
}

static uint32_t any_length(uint32_t most)
{
    uint32_t n = sim_chance(750) ? SMALL : LARGE;

    if (n > most)
        n = most;
    return (uint32_t)sim_below(n + 1);
}

static enum use any_source(void)
{
    return sim_chance(500) ? SOURCE : LOCAL;
}

bool post_receive(struct qp *qp)
{
    struct wr *w;
    unsigned n = qp->received;

    if (!has_room(qp, RECEIVE))
        return false;
    w = wr_new(qp, RECEIVE);
    if (!wr_take_memory(w, any_length(LARGE), LOCAL))
        return wr_drop(w);
    qp->receive_len[n] = w->len;
    qp->received++;
    if (post(w, 0))
        return true;
    if (qp->received == n + 1)
        qp->received = n;
    else
        qp->receive_len[n] = 0, qp->disturbed = true;
    return false;
}

/* The next message has a receive that is long enough, if nobody has disturbed the order. */
bool post_send(struct qp *qp, uint32_t most)
{
    struct wr *w;
    unsigned n = qp->sent;
    uint32_t len;

    if (!has_room(qp, SEND) || !qp->peer || qp->peer->received <= n)
        return false;
    if (most > qp->peer->receive_len[n])
        most = qp->peer->receive_len[n];
    w = wr_new(qp, SEND);
    len = any_length(most);
    if (!wr_take_memory(w, len, any_source()))
        return wr_drop(w);
    wr_write_pattern(w, qp->o.id, n);
    w->message = n;
    qp->message_len[n] = w->len;
    qp->message_number[n] = w->number;
    qp->sent++;
    if (post(w, any_flags(w)))
        return true;
    if (qp->sent == n + 1)
        qp->sent = n;
    else
        qp->disturbed = true;
    return false;
}

bool post_read(struct qp *qp)
{
    struct wr *w;

    if (!has_room(qp, READ) || !qp->peer || (!qp->reads && sim_scenario.orderly))
        return false;
    w = wr_new(qp, READ);
    w->remote.region = region_pick(qp->peer, READABLE_REGION);
    if (!w->remote.region || !wr_take_memory(w, any_length(LARGE), LOCAL))
        return wr_drop(w);
    w->remote.offset = (uint32_t)sim_below(w->remote.region->len - w->len + 1);
    return post(w, any_flags(w));
}

bool post_write(struct qp *qp)
{
    struct piece remote;
    struct wr *w;
    uint32_t len;

    if (!has_room(qp, WRITE) || !qp->peer)
        return false;
    w = wr_new(qp, WRITE);
    len = any_length(LARGE);
    if (!wr_take_memory(w, len, any_source()))
        return wr_drop(w);
    if (!piece_take(region_pick(qp->peer, WRITABLE_REGION), w->len, &remote))
        return wr_drop(w);
    w->remote = remote;
    w->message = MESSAGES + w->number;
    wr_write_pattern(w, qp->o.id, w->message);
    if (post(w, any_flags(w)))
        return true;
    piece_give(&remote);
    return false;
}

void post_bad(struct qp *qp)
{
    struct wr *w;
    enum op op = sim_chance(500) ? READ : WRITE;

    if (!has_room(qp, op) || !qp->peer || !qp->connected)
        return;
    w = wr_new(qp, op);
    w->remote.region = region_pick(qp->peer, sim_chance(500) ? (op == READ ? WRITABLE_REGION : READABLE_REGION) : SOURCE);
    if (!w->remote.region || !wr_take_memory(w, 1 + any_length(SMALL), LOCAL)) {
        (void)wr_drop(w);
        return;
    }
    w->remote.offset = sim_chance(500) ? w->remote.region->len - w->len / 2 : 0;
    w->bad = true;
    traffic_bad = true;
    (void)post(w, 0);
}

void post_early(struct qp *qp)
{
    NTSTATUS status;

    if (!obj_is_open(&qp->o) || qp->in_use || qp->o.calls)
        return;
    status = qp->o.ndk.qp->Dispatch->NdkSend(qp->o.ndk.qp, NULL, NULL, 0, 0);
    sim_check(status == STATUS_CONNECTION_INVALID, "%s: a send without a connection answers %s", obj_name(&qp->o),
              ondk_status_name(status));
}

void qp_flush(struct qp *qp)
{
    if (!obj_is_open(&qp->o))
        return;
    sim_trace("%s: flush", obj_name(&qp->o));
    qp->disturbed = true;
    qp->flushed = qp->posted;
    qp->o.calls++;
    qp->o.ndk.qp->Dispatch->NdkFlush(qp->o.ndk.qp);
    qp->o.calls--;
}
