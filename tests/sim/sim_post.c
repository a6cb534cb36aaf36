/* SPDX-License-Identifier: MIT */
/* Posts: see sim_traffic.h. */
#include <stdlib.h>

#include "openndk/adapter.h"
#include "sim/sim.h"
#include "sim/sim_traffic_internal.h"

enum { LARGE = 6000 };

bool traffic_bad;

struct wr *wr_new(struct qp *qp, enum op op)
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
    wr_release(w);
    wr_free(w);
    return false;
}

unsigned post_sges(const struct wr *w, NDK_SGE *sges)
{
    for (unsigned i = 0; i < w->piece_count; i++) {
        sges[i] = (NDK_SGE){ .Length = w->pieces[i].len, .MemoryRegionToken = w->pieces[i].grant->local };
        if (w->pieces[i].region->o.kind == LAM)
            sges[i].LogicalAddress.QuadPart = (LONGLONG)piece_address(&w->pieces[i]);
        else
            sges[i].VirtualAddress = (void *)(uintptr_t)piece_address(&w->pieces[i]);
    }
    return w->piece_count;
}

/* Inline data is read by its address, so each piece must have an address. */
static bool can_be_inline(const struct wr *w)
{
    for (unsigned i = 0; i < w->piece_count; i++)
        if (w->pieces[i].region->fast || w->pieces[i].region->o.kind == LAM)
            return false;
    return (w->op == SEND || w->op == WRITE) && w->len <= w->qp->inline_size;
}

ULONG post_any_flags(struct wr *w)
{
    ULONG flags = 0;

    w->silent = sim_chance(150);
    if (w->silent)
        flags |= NDK_OP_FLAG_SILENT_SUCCESS;
    if (sim_chance(100))
        flags |= NDK_OP_FLAG_READ_FENCE;
    if (sim_chance(80))
        flags |= NDK_OP_FLAG_DEFER;
    if (w->op == SEND && sim_chance(200))
        flags |= NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT;
    if (can_be_inline(w) && sim_chance(300))
        flags |= NDK_OP_FLAG_INLINE;
    return flags;
}

static NTSTATUS call_send(const struct wr *w, NDK_SGE *sges, unsigned count, ULONG flags)
{
    NDK_QP *qp = w->qp->o.ndk.qp;

    if (w->ends || w->bad)
        return qp->Dispatch->NdkSendAndInvalidate(qp, (void *)(uintptr_t)w, sges, count, flags,
                                                  w->ends ? w->ends->remote : w->wrong_token);
    return qp->Dispatch->NdkSend(qp, (void *)(uintptr_t)w, sges, count, flags);
}

static NTSTATUS call(struct wr *w, ULONG flags)
{
    NDK_QP *qp = w->qp->o.ndk.qp;
    NDK_SGE sges[PIECES];
    unsigned count = post_sges(w, sges);
    UINT64 address = w->remote.grant ? piece_address(&w->remote) : 0;
    UINT32 token = w->remote.grant ? w->remote.grant->remote : 0;

    switch (w->op) {
    case SEND:
        return call_send(w, sges, count, flags);
    case RECEIVE:
        return qp->Dispatch->NdkReceive(qp, w, sges, count);
    case READ:
        return qp->Dispatch->NdkRead(qp, w, sges, count, address, token, flags);
    case WRITE:
        return qp->Dispatch->NdkWrite(qp, w, sges, count, address, token, flags);
    default:
        return regions_call(w, flags);
    }
}

/*
 * Returns whether the request's memory may be invalid: by a bad action, or because the request that creates its token
 * was flushed or lost.
 */
bool wr_may_lack_memory(const struct wr *w)
{
    bool asked = w->ends || (w->makes && w->makes->under);

    for (unsigned i = 0; i < w->piece_count; i++)
        asked = asked || w->pieces[i].grant->qp;
    return traffic_bad || traffic_reclaimed || (asked && !sim_scenario.orderly);
}

/*
 * Inserts the request before the call, because actions inside the call can poll its completion. Removes it if the post
 * fails.
 */
bool post_it(struct wr *w, ULONG flags)
{
    static const char *const names[] = { "send", "receive", "read", "write", "fast register", "bind", "invalidate" };
    struct qp *qp = w->qp;
    struct wr_list *list = w->op == RECEIVE ? &qp->receives : &qp->initiated;
    struct cq *cq = w->op == RECEIVE ? qp->receive_cq : qp->initiator_cq;
    unsigned len = w->len, number = qp->posted++;
    bool connected = qp->connected && !qp->disturbed, refusable = wr_may_lack_memory(w);
    const char *name = names[w->op];
    NTSTATUS status;

    if (w->op != RECEIVE)
        qp->deferred = flags & NDK_OP_FLAG_DEFER;
    TAILQ_INSERT_TAIL(list, w, link);
    cq->expected++;
    qp->o.calls++;
    status = call(w, flags);
    qp->o.calls--;
    sim_trace("%s: %s %u, %u bytes, flags %x: %s", obj_name(&qp->o), name, number, len, flags,
              ondk_status_name(status));
    if (status == STATUS_SUCCESS)
        return true;
    sim_check(status == STATUS_INSUFFICIENT_RESOURCES || status == STATUS_CONNECTION_INVALID ||
                  (status == STATUS_NOT_SUPPORTED && w->op == READ && !sim_scenario.orderly) ||
                  ((status == STATUS_ACCESS_VIOLATION || status == STATUS_INVALID_DEVICE_STATE) &&
                   (refusable || traffic_reclaimed)),
              "%s: %s answers %s", obj_name(&qp->o), name, ondk_status_name(status));
    sim_check(!(status == STATUS_CONNECTION_INVALID && connected && sim_scenario.orderly && !qp->disturbed),
              "%s: not connected", obj_name(&qp->o));
    sim_check(!w->done, "%s: a failed post completes", obj_name(&qp->o));
    if (w->op != RECEIVE)
        qp->deferred = false;
    TAILQ_REMOVE(list, w, link);
    cq->expected--;
    regions_refused(w);
    return wr_drop(w);
}

/* Returns whether the completion queues have room for another completion. */
bool post_has_room(const struct qp *qp, enum op op)
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

    if (qp->srq)
        return srq_post(qp->srq);
    if (!post_has_room(qp, RECEIVE))
        return false;
    w = wr_new(qp, RECEIVE);
    if (!wr_acquire_memory(w, w->qp->sges, any_length(LARGE), LOCAL))
        return wr_drop(w);
    qp->receive_len[n] = w->len;
    qp->received++;
    if (post_it(w, 0))
        return true;
    if (qp->received == n + 1)
        qp->received = n;
    else
        qp->receive_len[n] = 0, qp->disturbed = true;
    return false;
}

/* Stores the maximum length of a message for which the peer has a receive. Returns false if it may have none. */
static bool next_message(const struct qp *qp, uint32_t *most)
{
    const struct qp *peer = qp->peer;
    uint32_t room;

    if (!peer || (peer->srq ? !srq_has_credit(peer->srq) : peer->received <= qp->sent))
        return false;
    room = peer->srq ? SHARED_LENGTH : peer->receive_len[qp->sent];
    if (*most > room)
        *most = room;
    return true;
}

/* Returns whether a read of this queue pair may still access the token's memory. */
static bool is_being_read(const struct qp *qp, const struct grant *g)
{
    const struct wr *w;

    TAILQ_FOREACH (w, &qp->initiated, link)
        if (w->op == READ && w->remote.grant == g)
            return true;
    return false;
}

/* Chooses the peer's token that the message invalidates. All reads by that token must have completed. */
static ULONG choose_end(struct wr *w)
{
    struct grant *g = sim_chance(200) ? regions_for_peer_to_end(w->qp->peer) : NULL;

    if (!g)
        return 0;
    w->ends = g;
    w->was = g->state;
    g->state = GRANT_ENDING;
    regions_unbind(g);
    return is_being_read(w->qp, g) ? NDK_OP_FLAG_READ_FENCE : 0;
}

/* Numbers the message before the post, and removes the number if the post fails. */
static bool post_message(struct wr *w, ULONG flags)
{
    struct qp *qp = w->qp;
    unsigned n = qp->sent;

    wr_write_pattern(w, qp->o.id, n);
    w->message = n;
    qp->message_len[n] = w->len;
    qp->message_number[n] = w->number;
    qp->message_bad[n] = w->bad;
    qp->message_ends[n] = w->ends;
    qp->sent++;
    if (qp->peer->srq)
        srq_sending(qp->peer->srq);
    if (post_it(w, flags))
        return true;
    if (qp->sent == n + 1)
        qp->sent = n;
    else
        qp->disturbed = true;
    return false;
}

bool post_send(struct qp *qp, uint32_t most)
{
    struct wr *w;
    ULONG flags;

    if (!post_has_room(qp, SEND) || !next_message(qp, &most))
        return false;
    w = wr_new(qp, SEND);
    if (!wr_acquire_memory(w, qp->sges, any_length(most), any_source()))
        return wr_drop(w);
    flags = choose_end(w);
    return post_message(w, flags | post_any_flags(w));
}

/* Chooses whether the read invalidates the first piece's token, which no other request may use then. */
static ULONG choose_local_end(struct wr *w)
{
    struct grant *g = w->piece_count ? w->pieces[0].grant : NULL;

    if (!g || !g->region->fast || g->state != GRANT_ALIVE || g->users[BY_RECEIVES] || sim_chance(500))
        return 0;
    w->ends = g;
    w->was = g->state;
    g->state = GRANT_ENDING;
    return NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE;
}

bool post_read(struct qp *qp)
{
    struct grant *from;
    struct wr *w;
    ULONG flags;

    if (!post_has_room(qp, READ) || !qp->peer || (!qp->reads && sim_scenario.orderly))
        return false;
    w = wr_new(qp, READ);
    from = grant_pick_for(qp->peer, READABLE_REGION, false);
    if (!from || !wr_acquire_memory(w, qp->sges, any_length(from->len < LARGE ? from->len : LARGE), LOCAL))
        return wr_drop(w);
    w->remote = (struct piece){ from, from->region, BY_PEER, 0, w->len };
    w->remote.offset = from->offset + (uint32_t)sim_below(from->len - w->len + 1);
    from->users[BY_PEER]++;
    flags = choose_local_end(w);
    return post_it(w, flags | post_any_flags(w));
}

bool post_write(struct qp *qp)
{
    struct piece remote;
    struct wr *w;
    uint32_t len;

    if (!post_has_room(qp, WRITE) || !qp->peer)
        return false;
    w = wr_new(qp, WRITE);
    len = any_length(LARGE);
    if (!wr_acquire_memory(w, qp->sges, len, any_source()))
        return wr_drop(w);
    if (!piece_acquire(grant_pick_for(qp->peer, WRITABLE_REGION, false), w->len, BY_PEER, &remote))
        return wr_drop(w);
    w->remote = remote;
    w->message = MESSAGES + w->number;
    wr_write_pattern(w, qp->o.id, w->message);
    if (post_it(w, post_any_flags(w)))
        return true;
    piece_release(&remote);
    return false;
}

/* Posts an empty write, which needs no memory. */
void post_undeferred(struct qp *qp)
{
    struct wr *w;

    if (!qp->deferred || !post_has_room(qp, WRITE))
        return;
    w = wr_new(qp, WRITE);
    w->bad = true; /* nothing will be checked */
    (void)post_it(w, 0);
}

static bool is_dead_of(const struct grant *g, const void *peer)
{
    return g->qp == peer && g->state == GRANT_DEAD && g->remote;
}

/* Returns whether a token of the peer's host must not be invalidated by that queue pair. */
static bool is_not_to_be_ended(const struct grant *g, const void *context)
{
    const struct qp *peer = context;

    if (g->maker->host != peer->o.host || !g->remote || g->region->o.kind == LAM)
        return false;
    return is_dead_of(g, peer) || g->region->pd != peer->pd || (!g->qp && g->state == GRANT_ALIVE) ||
           (g->qp == peer && g->use == LOCAL && g->state == GRANT_ALIVE);
}

static void post_bad_end(struct qp *qp)
{
    struct grant *g = grant_pick(is_not_to_be_ended, qp->peer);
    uint32_t most = SMALL;
    struct wr *w;

    if (!g || !next_message(qp, &most))
        return;
    w = wr_new(qp, SEND);
    if (!most || !wr_acquire_memory(w, qp->sges, 1 + (uint32_t)sim_below(most), LOCAL)) {
        (void)wr_drop(w);
        return;
    }
    w->bad = true;
    w->wrong_token = g->remote;
    traffic_bad = true;
    (void)post_message(w, 0);
}

static struct grant *any_wrong_one(const struct qp *peer, enum op op)
{
    struct grant *dead = sim_chance(400) ? grant_pick(is_dead_of, peer) : NULL;
    enum use use = op == READ ? WRITABLE_REGION : READABLE_REGION;

    return dead ? dead : grant_pick_for(peer, sim_chance(500) ? use : sim_chance(500) ? SOURCE : BEHIND, false);
}

void post_bad(struct qp *qp)
{
    enum op op = sim_chance(500) ? READ : WRITE;
    struct grant *g;
    struct wr *w;

    if (!post_has_room(qp, op) || !qp->peer || !qp->connected)
        return;
    if (sim_chance(300)) {
        post_bad_end(qp);
        return;
    }
    w = wr_new(qp, op);
    w->bad = true;
    g = any_wrong_one(qp->peer, op);
    if (!g || !wr_acquire_memory(w, qp->sges, 1 + any_length(SMALL), LOCAL)) {
        (void)wr_drop(w);
        return;
    }
    w->remote = (struct piece){ g, g->region, BY_PEER, g->offset, w->len };
    if (sim_chance(500))
        w->remote.offset += g->len - w->len / 2;
    traffic_bad = true;
    (void)post_it(w, 0);
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
