/* SPDX-License-Identifier: MIT */
/* INV, OBJ: regions, windows and queue pairs are closed while requests that use them are queued. */
#include "contract/kit/fast.h"
#include "contract/kit/peer.h"

enum { BOTH = NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE };

static NTSTATUS close_start(void *object, struct kit_call *call)
{
    struct any {
        NDK_OBJECT_HEADER header;
        const NDK_FN_CLOSE_OBJECT *dispatch;
    } *any = object;
    NTSTATUS status = any->dispatch[0](&any->header, kit_close_done, call);

    CHECK(status == STATUS_SUCCESS || status == STATUS_PENDING);
    return status;
}

/* ---- a region that closes, and the windows that are bound to it ---- */

static UINT32 bound(struct kit_side *s, NDK_MR *mr, NDK_MW *mw, void *address)
{
    CHECK_STATUS(fast_bind(s, 2, mr, mw, address, 100, BOTH), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(s, NdkOperationTypeBind), 2);
    return fast_mw_token(mw);
}

/* The window's token is invalid as soon as the region's close has begun, although the close waits for the window. */
/* covers: INV-08 */
CASE(inv_08_a_window_of_a_region_that_closes, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    for (int fast = 0; fast < 2; fast++) {
        struct kit_call closing = { 0 };
        struct data_region normal;
        struct fast_region r;
        NDK_MW *mw = fast_mw(p.passive.pd);
        NTSTATUS status;
        UINT32 token;

        fast_region_open(&r, &p.passive, 2, FAST_ALL);
        data_region_open(&normal, p.passive.pd, 0, 2 * PAGE_SIZE, DATA_ALL);
        token = bound(&p.passive, fast ? r.mr : normal.mr, mw, fast ? r.base : normal.memory);
        status = close_start(fast ? r.mr : normal.mr, &closing);
        CHECK_STATUS(status, STATUS_PENDING);
        fast_check_dead(&p, &r.memory, token, fast ? r.base : normal.memory, 100);
        CHECK(data_is_untouched(&normal));
        CHECK_EQ(atomic_load(&closing.calls), 0);
        CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
        CHECK_STATUS(kit_final(&closing, status), STATUS_SUCCESS);
        *(fast ? &r.mr : &normal.mr) = NULL;
        fast_region_close(&r);
        data_region_close(&normal);
    }
    kit_pair_close(&p);
}

/* If the peer invalidates the window, the region's close no longer waits for the window. */
/* covers: OBJ-12 */
CASE(obj_12_a_window_the_peer_invalidated, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call closing = { 0 };
    struct fast_region r;
    NTSTATUS status;
    UINT32 token;
    NDK_MW *mw;

    kit_pair_open(&p);
    mw = fast_mw(p.passive.pd);
    for (int closing_first = 0; closing_first < 2; closing_first++) {
        fast_region_open(&r, &p.passive, 2, FAST_ALL);
        token = bound(&p.passive, r.mr, mw, r.base);
        memset(&closing, 0, sizeof closing);
        status = closing_first ? close_start(r.mr, &closing) : STATUS_SUCCESS;
        CHECK_STATUS(status, closing_first ? STATUS_PENDING : STATUS_SUCCESS);
        CHECK_STATUS(kit_post_receive(&p.passive, 5, 0, 10), STATUS_SUCCESS);
        CHECK_STATUS(fast_send_invalidate(&p.active, 6, 0, 10, 0, token), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeReceiveAndInvalidate), 5);
        CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeSend), 6);
        CHECK_STATUS(kit_final(&closing, status), STATUS_SUCCESS);
        if (closing_first)
            r.mr = NULL;
        fast_region_close(&r); /* nothing holds it */
    }
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    kit_pair_close(&p);
}

/* ---- objects are closed while requests that use them are queued ---- */

enum object { MR, MW, QP, CONNECTOR, OBJECTS };

/*
 * Posts a read that the peer does not answer. The requests that it posts behind the read have a fence: they register
 * the region, bind the window to it, send from the region, invalidate the window and the region, register the region
 * again, and bind the window again. Returns the number of requests.
 */
static int queue_all(struct peer_acceptor *p, struct fast_region *r, NDK_MW *mw, bool silent)
{
    const ULONG flags = NDK_OP_FLAG_READ_FENCE | (silent ? NDK_OP_FLAG_SILENT_SUCCESS : 0);
    struct kit_side *s = &p->side;
    uint8_t ulpdu[64];
    NDK_SGE sge = kit_sge(s, 0, 10);

    CHECK_STATUS(data_read(s, 0, &sge, 0x1000, 0x1234), STATUS_SUCCESS);
    CHECK_EQ(raw_recv_fpdu(p->s, ulpdu, sizeof ulpdu, true), 46);
    CHECK_STATUS(fast_region_post(r, s, 1, FAST_ALL | flags), STATUS_SUCCESS);
    CHECK_STATUS(fast_bind(s, 2, r->mr, mw, r->base, 100, BOTH | flags), STATUS_SUCCESS);
    sge = fast_sge(r, 0, 100);
    CHECK_STATUS(s->qp->Dispatch->NdkSend(s->qp, (PVOID)3, &sge, 1, flags), STATUS_SUCCESS);
    CHECK_STATUS(fast_invalidate(s, 4, mw, flags), STATUS_SUCCESS);
    CHECK_STATUS(fast_invalidate(s, 5, r->mr, flags), STATUS_SUCCESS);
    CHECK_STATUS(fast_region_post(r, s, 6, FAST_ALL | flags), STATUS_SUCCESS);
    CHECK_STATUS(fast_bind(s, 7, s->mr, mw, s->memory, 100, BOTH | flags), STATUS_SUCCESS);
    return 8;
}

/* Answers the read of `request`, so that the requests behind its fence can execute. */
static void answer_read(struct peer_acceptor *p, const uint8_t *request)
{
    uint8_t ulpdu[64], data[10] = { 0 };
    uint32_t sink = 0;

    for (int i = 18; i < 22; i++)
        sink = sink << 8 | request[i];
    raw_send_fpdu(p->s, ulpdu, raw_tagged(ulpdu, 2, sink, 0, true, data, sizeof data), true);
}

static void close_in_order(const enum object *order, bool silent)
{
    static struct peer_acceptor p;
    struct kit_call calls[OBJECTS] = { 0 };
    NTSTATUS statuses[OBJECTS];
    struct fast_region r;
    NDK_MW *mw;
    int posted;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_FPDU);
    fast_region_open(&r, &p.side, 2, FAST_ALL);
    mw = fast_mw(p.side.pd);
    posted = queue_all(&p, &r, mw, silent);
    void *objects[OBJECTS] = { [MR] = r.mr, [MW] = mw, [QP] = p.side.qp, [CONNECTOR] = p.side.connector };
    for (int i = 0; i < OBJECTS; i++)
        statuses[i] = close_start(objects[order[i]], &calls[i]);
    raw_close(p.s, false); /* otherwise the end would wait until the peer has read the last data */
    p.s = -1;
    for (int i = 0; i < OBJECTS; i++)
        CHECK_STATUS(kit_final(&calls[i], statuses[i]), STATUS_SUCCESS);
    for (int i = 0; i < posted; i++) {
        NDK_RESULT_EX got = kit_result(&p.side);
        CHECK_EQ((uintptr_t)got.RequestContext, i);
        CHECK(got.Status < 0);
    }
    CHECK_EQ(data_drain(&p.side), 0);
    CHECK(fast_memory_is_untouched(&r.memory));
    r.mr = NULL;
    p.side.qp = NULL;
    p.side.connector = NULL;
    fast_region_close(&r);
    peer_acceptor_close(&p);
}

/* covers: INV-03, OBJ-11, OBJ-12 */
CASE(inv_03_closing_everything_in_every_order, KIT_FAMILIES)
{
    int tried = 0;

    for (int n = 0; n < 256; n++) {
        enum object order[OBJECTS] = { n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6 & 3 };
        unsigned seen = 0;

        for (int i = 0; i < OBJECTS; i++)
            seen |= 1u << order[i];
        if (seen != (1u << OBJECTS) - 1)
            continue;
        close_in_order(order, tried & 1);
        tried++;
    }
    CHECK_EQ(tried, 24);
}

/*
 * Closes the region, the window or both while requests wait, and then lets the queue continue. A request that uses a
 * closed object fails, all others succeed.
 */
static void closed_before_their_turn(bool region, bool window)
{
    static struct peer_acceptor p;
    struct kit_call closing = { 0 };
    NTSTATUS status = STATUS_SUCCESS;
    struct fast_region r;
    uint8_t request[64];
    NDK_SGE sge;
    NDK_MW *mw;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_FPDU);
    fast_region_open(&r, &p.side, 2, FAST_ALL);
    mw = fast_mw(p.side.pd);
    sge = kit_sge(&p.side, 0, 10);
    CHECK_STATUS(data_read(&p.side, 0, &sge, 0x1000, 0x1234), STATUS_SUCCESS);
    CHECK_EQ(raw_recv_fpdu(p.s, request, sizeof request, true), 46);
    CHECK_STATUS(fast_region_post(&r, &p.side, 1, FAST_ALL | NDK_OP_FLAG_READ_FENCE), STATUS_SUCCESS);
    CHECK_STATUS(fast_bind(&p.side, 2, r.mr, mw, r.base, 100, BOTH | NDK_OP_FLAG_READ_FENCE), STATUS_SUCCESS);
    sge = fast_sge(&r, 0, 100);
    CHECK_STATUS(p.side.qp->Dispatch->NdkSend(p.side.qp, (PVOID)3, &sge, 1, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_write(&p.side, 4, 0, 10, &p.side, 0), STATUS_SUCCESS);
    if (region)
        status = close_start(r.mr, &closing);
    if (window)
        CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    answer_read(&p, request);
    CHECK_EQ(fast_check_result(&p.side, NdkOperationTypeRead), 0);
    for (uintptr_t i = 1; i <= 4; i++) {
        NDK_RESULT_EX got = kit_result(&p.side);
        bool fails = (region && i <= 3) || (window && i == 2);

        CHECK_EQ((uintptr_t)got.RequestContext, i);
        CHECK_STATUS(got.Status, fails ? STATUS_ACCESS_VIOLATION : STATUS_SUCCESS);
        CHECK_EQ(got.Type, i == 1   ? NdkOperationTypeFastRegister
                           : i == 2 ? NdkOperationTypeBind
                           : i == 3 ? NdkOperationTypeSend
                                    : NdkOperationTypeWrite);
    }
    if (!window)
        CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    if (region) {
        CHECK_STATUS(kit_final(&closing, status), STATUS_SUCCESS);
        r.mr = NULL;
    }
    fast_region_close(&r);
    peer_acceptor_close(&p);
}

/* covers: INV-03, INV-04, INV-08 */
CASE(inv_03_closed_before_their_turn, KIT_FAMILIES)
{
    closed_before_their_turn(true, false);
    closed_before_their_turn(false, true);
    closed_before_their_turn(true, true);
}

/* The requests are not delayed, so any number of them may have executed when the closes begin. */
/* covers: INV-03, OBJ-11 */
CASE(inv_03_closing_under_way, KIT_FAMILIES)
{
    static struct kit_pair p;
    uint64_t seed = 12;

    kit_pair_open(&p);
    for (int round = 0; round < 60; round++) {
        struct kit_call calls[3] = { 0 };
        struct fast_region r;
        NTSTATUS statuses[3];
        NDK_MW *mw = fast_mw(p.passive.pd);
        uintptr_t posted = 0;

        fast_region_open(&r, &p.passive, 2, FAST_ALL);
        for (unsigned n = data_random_below(&seed, 10); posted < 3 * n; posted += 3) {
            CHECK_STATUS(fast_region_post(&r, &p.passive, posted, FAST_ALL), STATUS_SUCCESS);
            CHECK_STATUS(fast_bind(&p.passive, posted + 1, r.mr, mw, r.base, r.len, BOTH), STATUS_SUCCESS);
            CHECK_STATUS(n & 1 ? fast_invalidate(&p.passive, posted + 2, mw, 0)
                               : kit_post_write(&p.passive, posted + 2, 0, 3000, &p.active, 0),
                         STATUS_SUCCESS);
        }
        void *objects[3] = { mw, r.mr, p.passive.qp };
        for (int i = 0, first = (int)data_random_below(&seed, 3); i < 3; i++)
            statuses[i] = close_start(objects[(first + i) % 3], &calls[i]);
        kit_close_connector(&p.passive);
        for (int i = 0; i < 3; i++)
            CHECK_STATUS(kit_final(&calls[i], statuses[i]), STATUS_SUCCESS);
        for (uintptr_t i = 0; i < posted; i++)
            CHECK_EQ((uintptr_t)kit_result(&p.passive).RequestContext, i);
        CHECK_EQ(data_drain(&p.passive), 0);
        r.mr = NULL;
        fast_region_close(&r);
        p.passive.qp = kit_qp(&p.passive, KIT_DEPTH);
        data_reconnect(&p);
    }
    kit_pair_close(&p);
}

/* ---- a registration or bind that was not executed ---- */

/* Connects the side again. The new peer is q->active, a consumer like this one, and not a raw socket. */
static void reconnect(struct peer_acceptor *p, struct kit_pair *q)
{
    kit_close_connector(&p->side);
    CHECK_STATUS(kit_close(p->side.qp), STATUS_SUCCESS);
    data_drain(&p->side);
    p->side.qp = kit_qp(&p->side, KIT_DEPTH);
    atomic_store(&p->side.disconnected, 0);
    kit_side_open(&q->active, p->side.adapter);
    kit_listen(&q->listener, p->side.adapter);
    q->passive = p->side;
    kit_establish(&q->active, &q->passive, &q->listener);
    kit_exchange(&q->active, &q->passive);
}

/*
 * A registration or bind is flushed, or fails, while the object has an earlier one. An invalidation then still ends the
 * access by the earlier one, and a later registration or bind does not restore that access.
 */
static void flushed(bool window, bool fails)
{
    static struct peer_acceptor p;
    static struct kit_pair q;
    struct kit_call closing = { 0 };
    struct fast_region r, doomed;
    uint8_t request[64];
    NTSTATUS status;
    UINT32 first, last;
    NDK_SGE sge;
    NDK_MW *mw;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_FPDU);
    fast_region_open(&r, &p.side, 2, FAST_ALL);
    fast_region_open(&doomed, &p.side, 2, FAST_ALL);
    mw = fast_mw(p.side.pd);
    CHECK_STATUS(fast_bind(&p.side, 1, r.mr, mw, r.base, 100, BOTH), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.side, NdkOperationTypeBind), 1);
    first = window ? fast_mw_token(mw) : r.token;
    sge = kit_sge(&p.side, 0, 10);
    CHECK_STATUS(data_read(&p.side, 2, &sge, 0x1000, 0x1234), STATUS_SUCCESS);
    CHECK_EQ(raw_recv_fpdu(p.s, request, sizeof request, true), 46);
    CHECK_STATUS(window ? fast_bind(&p.side, 3, doomed.mr, mw, doomed.base, 50, BOTH | NDK_OP_FLAG_READ_FENCE)
                        : fast_region_post(&r, &p.side, 3, FAST_ALL | NDK_OP_FLAG_READ_FENCE),
                 STATUS_SUCCESS);
    if (fails) { /* the region is closed when the bind executes */
        status = close_start(doomed.mr, &closing);
        answer_read(&p, request);
        CHECK_EQ(fast_check_result(&p.side, NdkOperationTypeRead), 2);
        CHECK_STATUS(kit_result(&p.side).Status, STATUS_ACCESS_VIOLATION);
        CHECK_STATUS(kit_final(&closing, status), STATUS_SUCCESS);
        doomed.mr = NULL;
        fast_region_close(&doomed);
    } else {
        p.side.qp->Dispatch->NdkFlush(p.side.qp);
        CHECK_STATUS(kit_result(&p.side).Status, STATUS_CANCELLED);
        CHECK_STATUS(kit_result(&p.side).Status, STATUS_CANCELLED);
        fast_region_close(&doomed);
    }
    reconnect(&p, &q);
    (void)data_outcome(&q.passive, fast_invalidate(&q.passive, 5, window ? (void *)mw : (void *)r.mr, 0));
    fast_check_dead(&q, &r.memory, first, r.base, 10);
    if (window && !fails) /* the region's own token is unchanged */
        fast_check_alive(&q, &r.memory, r.memory.memory, r.token, r.base, 10);
    if (window)
        CHECK_STATUS(fast_bind(&q.passive, 4, r.mr, mw, r.base, 10, BOTH), STATUS_SUCCESS);
    else
        CHECK_STATUS(fast_region_post(&r, &q.passive, 4, FAST_ALL), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&q.passive, window ? NdkOperationTypeBind : NdkOperationTypeFastRegister), 4);
    last = window ? fast_mw_token(mw) : r.token;
    fast_check_alive(&q, &r.memory, r.memory.memory, last, r.base, 10);
    fast_check_dead(&q, &r.memory, first, r.base, 10);
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    fast_region_close(&r);
    kit_close_connector(&q.active);
    kit_close_connector(&q.passive);
    CHECK_STATUS(kit_close(q.listener.listener), STATUS_SUCCESS);
    kit_side_close(&q.active);
    p.side = q.passive;
    peer_acceptor_close(&p);
}

/* covers: INV-09 */
CASE(inv_09_the_old_token_after_a_flush, KIT_FAMILIES)
{
    flushed(false, false);
    flushed(true, false);
}

/* covers: INV-09 */
CASE(inv_09_the_old_token_after_a_bind_that_failed, KIT_FAMILIES)
{
    flushed(true, true);
}
