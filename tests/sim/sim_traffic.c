/* SPDX-License-Identifier: MIT */
/* Queue pairs, posts and completions: see sim_traffic.h. */
#include "sim/sim_traffic.h"

#include <stdlib.h>
#include <string.h>

#include "openndk/adapter.h"
#include "sim/sim.h"
#include "sim/sim_consumer.h"
#include "sim/sim_executor.h"

enum { CQ_DEPTH = 200, SMALL = 64, LARGE = 6000, MOST_RESULTS = 8, LAST_TURNS = 200 };

bool traffic_bad;

/* ---- memory of requests ---- */

static bool is_usable(const struct region *r, const struct qp *qp, enum use use)
{
    return r->o.kind == MR && r->o.life == OPEN && r->registered && r->token != UINT32_MAX && r->pd == qp->pd &&
           r->use == use;
}

static struct region *pick_region(const struct qp *qp, enum use use)
{
    struct region *found[OBJECTS];
    unsigned count = 0;

    for (unsigned i = 0; i < object_count; i++) {
        struct region *r = (struct region *)objects[i];

        if (is_usable(r, qp, use))
            found[count++] = r;
    }
    return count ? found[sim_below(count)] : NULL;
}

static bool take_piece(struct region *r, uint32_t len, struct piece *out)
{
    for (int tries = 0; r && tries < 4; tries++) {
        uint32_t at = (uint32_t)sim_below(r->len - len + 1);

        if (memchr(r->busy + at, 1, len))
            continue;
        memset(r->busy + at, 1, len);
        *out = (struct piece){r, at, len};
        return true;
    }
    return false;
}

static uint8_t *at(const struct piece *p)
{
    return p->region->memory + GUARD + p->offset;
}

static void give_piece(const struct piece *p)
{
    if (!p->region->taken_back)
        memset(at(p), FILL, p->len);
    memset(p->region->busy + p->offset, 0, p->len);
}

static void give_back(struct wr *w)
{
    for (unsigned i = 0; i < w->piece_count && !w->taken; i++)
        give_piece(&w->pieces[i]);
    w->taken = true;
}

/* Splits len over some pieces of memory, some of them empty. */
static bool take_memory(struct wr *w, uint32_t len, enum use use)
{
    unsigned count = len ? 1 + (unsigned)sim_below(w->qp->sges) : (unsigned)sim_below(2);
    uint32_t left = len;

    w->len = len;
    for (unsigned i = 0; i < count; i++) {
        uint32_t n = i + 1 == count ? left : (uint32_t)sim_below(left + 1);

        if (!take_piece(pick_region(w->qp, use), n, &w->pieces[i])) {
            give_back(w);
            return false;
        }
        w->piece_count++;
        left -= n;
    }
    return true;
}

static void write_pattern(struct wr *w, unsigned who, unsigned message)
{
    size_t n = 0;

    for (unsigned p = 0; p < w->piece_count; p++)
        for (uint32_t i = 0; i < w->pieces[p].len; i++)
            at(&w->pieces[p])[i] = traffic_byte(who, message, n++);
}

static bool has_pattern(const struct wr *w, unsigned who, unsigned message, size_t len)
{
    size_t n = 0;

    for (unsigned p = 0; p < w->piece_count; p++)
        for (uint32_t i = 0; i < w->pieces[p].len && n < len; i++, n++)
            if (at(&w->pieces[p])[i] != traffic_byte(who, message, n))
                return false;
    return true;
}

static bool memory_is_there(const struct wr *w)
{
    for (unsigned p = 0; p < w->piece_count; p++)
        if (w->pieces[p].region->taken_back)
            return false;
    return true;
}

/* Behind the message the receive's memory is as it was. */
static void check_rest(const struct wr *w, size_t len)
{
    size_t n = 0;

    for (unsigned p = 0; p < w->piece_count; p++)
        for (uint32_t i = 0; i < w->pieces[p].len; i++)
            sim_check(n++ < len || at(&w->pieces[p])[i] == FILL, "%s: written behind a message", obj_name(&w->qp->o));
}

/* ---- queue pairs ---- */

static void discard(struct wr_list *list)
{
    struct wr *w;

    while ((w = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, w, link);
        give_back(w);
        free(w);
    }
}

static void qp_gone(struct obj *o)
{
    struct qp *qp = (struct qp *)o;

    qp->disturbed = true;
    qp_check_completed(qp, qp->posted, "closed");
}

static struct cq *any_cq(unsigned host, unsigned needed)
{
    struct cq *cq = obj_pick(CQ, host, NULL);

    return cq && cq->depth >= needed ? cq : NULL;
}

struct qp *qp_new(unsigned host)
{
    struct obj *pd = obj_pick(PD, host, NULL);
    struct cq *rcq = any_cq(host, 64), *icq = any_cq(host, 64);
    NDK_QP *out = (NDK_QP *)&obj_unwritten;
    struct qp *qp;

    if (!pd || !rcq || !icq || !(qp = obj_new(QP, host, sizeof *qp)))
        return NULL;
    qp->pd = pd;
    qp->receive_cq = rcq;
    qp->initiator_cq = icq;
    qp->receive_depth = 4 + (unsigned)sim_below(12);
    qp->initiator_depth = 2 + (unsigned)sim_below(14);
    qp->sges = 1 + (unsigned)sim_below(PIECES);
    qp->inline_size = (unsigned)sim_below(SMALL + 1);
    TAILQ_INIT(&qp->receives);
    TAILQ_INIT(&qp->initiated);
    TAILQ_INIT(&qp->writes);
    qp->o.gone = qp_gone;
    obj_parent(&qp->o, pd);
    obj_parent(&qp->o, &rcq->o);
    obj_parent(&qp->o, &icq->o);
    obj_created(&qp->o,
                pd->ndk.pd->Dispatch->NdkCreateQp(pd->ndk.pd, rcq->o.ndk.cq, icq->o.ndk.cq, qp, qp->receive_depth,
                                                  qp->initiator_depth, qp->sges, qp->sges, qp->inline_size,
                                                  obj_create_done, qp, &out),
                &out);
    return qp;
}

bool qp_is_free(struct obj *o)
{
    return !((struct qp *)o)->in_use;
}

/* ---- posting ---- */

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
    give_back(w);
    free(w);
    return false;
}

static unsigned fill_sges(const struct wr *w, NDK_SGE *sges)
{
    for (unsigned i = 0; i < w->piece_count; i++)
        sges[i] = (NDK_SGE){.VirtualAddress = at(&w->pieces[i]),
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
    UINT64 address = w->remote.region ? (UINT64)(uintptr_t)at(&w->remote) : 0;
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
    if (!take_memory(w, any_length(LARGE), LOCAL))
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
    if (!take_memory(w, len, any_source()))
        return wr_drop(w);
    write_pattern(w, qp->o.id, n);
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
    w->remote.region = pick_region(qp->peer, READABLE_REGION);
    if (!w->remote.region || !take_memory(w, any_length(LARGE), LOCAL))
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
    if (!take_memory(w, len, any_source()))
        return wr_drop(w);
    if (!take_piece(pick_region(qp->peer, WRITABLE_REGION), w->len, &remote))
        return wr_drop(w);
    w->remote = remote;
    w->message = MESSAGES + w->number;
    write_pattern(w, qp->o.id, w->message);
    if (post(w, any_flags(w)))
        return true;
    give_piece(&remote);
    return false;
}

void post_bad(struct qp *qp)
{
    struct wr *w;
    enum op op = sim_chance(500) ? READ : WRITE;

    if (!has_room(qp, op) || !qp->peer || !qp->connected)
        return;
    w = wr_new(qp, op);
    w->remote.region = pick_region(qp->peer, sim_chance(500) ? (op == READ ? WRITABLE_REGION : READABLE_REGION) : SOURCE);
    if (!w->remote.region || !take_memory(w, 1 + any_length(SMALL), LOCAL)) {
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

/* ---- completions ---- */

static void check_write(const struct wr *w)
{
    const struct qp *from = w->qp;

    for (uint32_t i = 0; i < w->len && !w->remote.region->taken_back; i++)
        sim_check(at(&w->remote)[i] == traffic_byte(from->o.id, w->message, i),
                  "%s: write %u is not there, but a later send is: %s, from %u on, at %u: 0x%02x", obj_name(&from->o),
                  w->number, obj_name(&w->remote.region->o), w->remote.offset, i, at(&w->remote)[i]);
}

/* A request whose memory was taken back fails alone, if nothing of it has been sent. */
static bool source_is_there(const struct wr *w)
{
    for (unsigned p = 0; p < w->piece_count; p++)
        if (w->pieces[p].region->token == UINT32_MAX || w->pieces[p].region->o.life != OPEN)
            return false;
    return true;
}

/* A send was seen: what its sender wrote before it is there. */
static void check_writes(struct qp *from, unsigned before)
{
    struct wr *w, *next;

    TAILQ_FOREACH(w, &from->initiated, link)
        if (w->op == WRITE && !w->bad && w->number < before && w->number >= from->flushed && source_is_there(w))
            check_write(w);
    for (w = TAILQ_FIRST(&from->writes); w; w = next) {
        next = TAILQ_NEXT(w, link);
        if (w->number >= before)
            continue;
        check_write(w);
        TAILQ_REMOVE(&from->writes, w, link);
        give_piece(&w->remote);
        free(w);
    }
}

static void received(struct wr *w, uint32_t len)
{
    struct qp *qp = w->qp, *from = qp->peer;
    unsigned first = qp->delivered, m = first;

    sim_check(from, "%s: a message from nobody", obj_name(&qp->o));
    sim_check(len <= w->len, "%s: %u bytes in a receive of %u", obj_name(&qp->o), len, w->len);
    if (!memory_is_there(w))
        return;
    while (m < from->sent && (from->message_len[m] != len || !has_pattern(w, from->o.id, m, len)))
        m++;
    sim_check(m < from->sent, "%s: message %u arrived otherwise than it was sent", obj_name(&qp->o), first);
    sim_check(m == first || from->disturbed || traffic_taken_back, "%s: message %u is missing", obj_name(&qp->o), first);
    check_rest(w, len);
    qp->delivered = m + 1;
    check_writes(from, from->message_number[m]);
}

static void initiated(struct wr *w)
{
    struct region *r = w->remote.region;

    size_t n = 0;

    sim_check(w->op != READ || !w->bad, "%s: a read that was not allowed succeeds", obj_name(&w->qp->o));
    if (w->op != READ || !memory_is_there(w) || r->taken_back)
        return;
    for (unsigned p = 0; p < w->piece_count; p++)
        for (uint32_t i = 0; i < w->pieces[p].len; i++, n++)
            sim_check(at(&w->pieces[p])[i] == traffic_byte(r->o.id, 0, w->remote.offset + n),
                      "%s: read %u got other bytes than are there", obj_name(&w->qp->o), w->number);
}

/* It is over: its own memory is free again, the remote one where it is known what is in there. */
static void retire(struct wr *w, bool succeeded)
{
    struct qp *qp = w->qp;
    struct cq *cq = w->op == RECEIVE ? qp->receive_cq : qp->initiator_cq;

    TAILQ_REMOVE(w->op == RECEIVE ? &qp->receives : &qp->initiated, w, link);
    cq->expected--;
    w->done = true;
    give_back(w);
    if (w->op == WRITE && succeeded && !w->bad)
        TAILQ_INSERT_TAIL(&qp->writes, w, link);
    else
        free(w); /* after a failure the remote piece stays taken: part of the data may be there */
}

/* What is before it in its queue has completed: only the silent ones may have done so without a word. */
static void check_order(struct wr *w, bool succeeded)
{
    struct wr_list *list = w->op == RECEIVE ? &w->qp->receives : &w->qp->initiated;
    struct wr *first;

    while ((first = TAILQ_FIRST(list)) != w) {
        sim_check(first && first->silent, "%s: request %u completes before %u", obj_name(&w->qp->o), w->number,
                  first ? first->number : 0);
        retire(first, true);
    }
    sim_check(!w->silent || !succeeded, "%s: silent request %u completes with success", obj_name(&w->qp->o), w->number);
}

static void check_status(const struct wr *w, NTSTATUS status)
{
    bool good = status == STATUS_SUCCESS;

    if (status == STATUS_CANCELLED || status == STATUS_CONNECTION_ABORTED)
        good = !sim_scenario.orderly || w->qp->disturbed || (w->qp->peer && w->qp->peer->disturbed);
    if (status == STATUS_ACCESS_VIOLATION)
        good = traffic_bad || traffic_taken_back;
    if (status == STATUS_REMOTE_RESOURCES)
        good = traffic_bad && w->op != RECEIVE;
    if (status == STATUS_DATA_OVERRUN)
        good = !sim_scenario.orderly && w->op == RECEIVE;
    sim_check(good, "%s: request %u ends with %s", obj_name(&w->qp->o), w->number, ondk_status_name(status));
}

static void complete(struct cq *cq, const NDK_RESULT_EX *r, bool ex)
{
    static const NDK_OPERATION_TYPE types[] = {NdkOperationTypeSend, NdkOperationTypeReceive, NdkOperationTypeRead,
                                               NdkOperationTypeWrite};
    struct qp *qp = r->QPContext;
    struct wr *w, *found = NULL;
    bool good = r->Status == STATUS_SUCCESS;

    sim_check(qp && qp->o.kind == QP, "%s: a result with a context of nobody's", obj_name(&cq->o));
    TAILQ_FOREACH(w, &qp->receives, link)
        if (w == r->RequestContext && qp->receive_cq == cq)
            found = w;
    TAILQ_FOREACH(w, &qp->initiated, link)
        if (w == r->RequestContext && qp->initiator_cq == cq)
            found = w;
    sim_check(found, "%s: a completion for a request that is not pending", obj_name(&qp->o));
    sim_trace("%s: %u: %s, %u", obj_name(&qp->o), found->number, ondk_status_name(r->Status),
              found->op == RECEIVE && good ? r->BytesTransferred : 0);
    check_status(found, r->Status);
    sim_check(!ex || (r->Type == types[found->op] && (!good || r->ProviderErrorCode == 0)), "%s: wrong type or code",
              obj_name(&qp->o));
    check_order(found, good);
    if (good && found->op == RECEIVE)
        received(found, r->BytesTransferred);
    else if (good)
        initiated(found);
    if (!good)
        qp->disturbed = true;
    retire(found, good);
}

static unsigned results(struct cq *cq, unsigned most)
{
    NDK_RESULT_EX ex[MOST_RESULTS];
    NDK_RESULT plain[MOST_RESULTS];
    NDK_CQ *n = cq->o.ndk.cq;
    bool use_ex = sim_chance(500);
    ULONG got;

    cq->polling = true;
    cq->o.calls++;
    got = use_ex ? n->Dispatch->NdkGetCqResultsEx(n, ex, most) : n->Dispatch->NdkGetCqResults(n, plain, most);
    cq->o.calls--;
    cq->polling = false;
    sim_check(got <= most, "%s: %u results, room for %u", obj_name(&cq->o), got, most);
    for (ULONG i = 0; i < got; i++) {
        if (!use_ex)
            ex[i] = (NDK_RESULT_EX){.Status = plain[i].Status,
                                    .BytesTransferred = plain[i].BytesTransferred,
                                    .QPContext = plain[i].QPContext,
                                    .RequestContext = plain[i].RequestContext};
        complete(cq, &ex[i], use_ex);
    }
    return got;
}

void cq_poll(struct cq *cq)
{
    if (obj_is_open(&cq->o) && !cq->polling)
        (void)results(cq, 1 + (unsigned)sim_below(MOST_RESULTS));
}

void cq_drain(struct cq *cq)
{
    while (obj_is_open(&cq->o) && !cq->polling && results(cq, MOST_RESULTS) > 0)
        ;
}

static VOID notified(PVOID context, NTSTATUS status)
{
    struct cq *cq = context;

    obj_enter(&cq->o, "notified");
    sim_check(status == STATUS_SUCCESS, "%s: notified of %s", obj_name(&cq->o), ondk_status_name(status));
    sim_check(cq->armed, "%s: notified, but not armed", obj_name(&cq->o));
    sim_check(!cq->notifying, "%s: notified while it is being notified", obj_name(&cq->o));
    cq->armed--;
    cq->told++;
    cq->drained = false;
    cq->notifying = true;
    if (cq->o.life == OPEN && sim_chance(700))
        cq_drain(cq);
    if (cq->o.life == OPEN && sim_chance(700))
        cq_arm(cq);
    obj_leave(&cq->o);
    cq->notifying = false;
}

struct cq *cq_new(unsigned host)
{
    struct cq *cq = obj_new(CQ, host, sizeof *cq);
    NDK_CQ *out = (NDK_CQ *)&obj_unwritten;
    struct obj *adapter = consumer_adapter(host);
    GROUP_AFFINITY affinity = {.Mask = (KAFFINITY)1 << sim_below(4)};

    if (!cq)
        return NULL;
    cq->depth = CQ_DEPTH;
    obj_parent(&cq->o, adapter);
    obj_created(&cq->o,
                adapter->ndk.adapter->Dispatch->NdkCreateCq(adapter->ndk.adapter, cq->depth, notified, cq,
                                                            sim_chance(300) ? &affinity : NULL, obj_create_done, cq,
                                                            &out),
                &out);
    return cq;
}

void cq_arm(struct cq *cq)
{
    ULONG type = sim_chance(700) ? NDK_CQ_NOTIFY_ANY : (ULONG)sim_below(3);
    bool pending = cq->armed > 0;

    if (!obj_is_open(&cq->o) || cq->polling)
        return;
    sim_trace("%s: arm %u", obj_name(&cq->o), type);
    cq->arm = pending && cq->arm == NDK_CQ_NOTIFY_ANY ? NDK_CQ_NOTIFY_ANY : type;
    if (cq->armed < 2)
        cq->armed++;
    cq->drained = pending && cq->drained;
    cq->o.calls++;
    cq->polling = true;
    cq->o.ndk.cq->Dispatch->NdkArmCq(cq->o.ndk.cq, type);
    cq->polling = false;
    cq->o.calls--;
    /* Empty once armed: from here on whatever comes must be told. */
    if (!pending && !cq->notifying && results(cq, 1) == 0)
        cq->drained = cq->armed == 1 && cq->o.life == OPEN;
}

void cq_resize(struct cq *cq)
{
    static const NTSTATUS allowed[] = {STATUS_SUCCESS, STATUS_INVALID_PARAMETER, STATUS_INSUFFICIENT_RESOURCES,
                                       STATUS_PENDING};
    ULONG depth = CQ_DEPTH / 2 + (ULONG)sim_below(CQ_DEPTH);
    struct req *q;
    NTSTATUS status;

    if (!obj_is_open(&cq->o) || cq->polling || depth < cq->expected)
        return;
    q = req_new(&cq->o, "resize", allowed, SIM_SECOND, NULL);
    cq->polling = true;
    status = cq->o.ndk.cq->Dispatch->NdkResizeCq(cq->o.ndk.cq, depth, req_done, q);
    cq->polling = false;
    if (status == STATUS_SUCCESS)
        cq->depth = depth;
    req_returned(q, status);
}

/* To look drives the shard, so something may come just then: it is told once the shards have gone on. */
static void check_told(struct cq *cq)
{
    unsigned told = cq->told;

    if (results(cq, MOST_RESULTS) == 0)
        return;
    for (int n = 0; n < LAST_TURNS && cq->told == told; n++)
        sim_overlap();
    sim_check(cq->told != told || cq->o.life != OPEN, "%s: armed for completions, which came, and nobody was told",
              obj_name(&cq->o));
}

void cq_check_quiet(void)
{
    for (unsigned i = 0; i < object_count; i++) {
        struct cq *cq = (struct cq *)objects[i];

        if (cq->o.kind == CQ && cq->o.life == OPEN && !cq->polling && cq->armed && cq->drained &&
            cq->arm == NDK_CQ_NOTIFY_ANY)
            check_told(cq);
    }
}

/* ---- the end ---- */

static void check_list(struct qp *qp, struct wr_list *list, unsigned number, const char *after)
{
    struct wr *w, *next;

    for (w = TAILQ_FIRST(list); w; w = next) {
        next = TAILQ_NEXT(w, link);
        if (w->number >= number)
            continue;
        sim_check(w->silent, "%s: %s, but request %u never completed", obj_name(&qp->o), after, w->number);
        retire(w, true);
    }
}

/* Somebody who polls just now has not handled what he got; a queue that is closed has told nobody. */
static void check_queue(struct qp *qp, struct cq *cq, struct wr_list *list, unsigned number, const char *after)
{
    if (cq->polling)
        return;
    cq_drain(cq);
    if (obj_is_open(&cq->o))
        check_list(qp, list, number, after);
}

void qp_check_completed(struct qp *qp, unsigned number, const char *after)
{
    check_queue(qp, qp->receive_cq, &qp->receives, number, after);
    check_queue(qp, qp->initiator_cq, &qp->initiated, number, after);
}

void qp_check_flushed(void)
{
    for (unsigned i = 0; i < object_count; i++) {
        struct qp *qp = (struct qp *)objects[i];

        if (qp->o.kind == QP && qp->o.life == OPEN && qp->flushed)
            qp_check_completed(qp, qp->flushed, "flushed");
    }
}

void qp_end(struct qp *qp)
{
    discard(&qp->receives);
    discard(&qp->initiated);
    discard(&qp->writes);
}

bool qp_is_drained(const struct qp *qp)
{
    const struct wr *w;

    TAILQ_FOREACH(w, &qp->initiated, link)
        if (!w->silent)
            return false;
    return qp->peer && qp->peer->delivered == qp->sent;
}
