/* SPDX-License-Identifier: MIT */
/* QPR: the flags of requests, on requests of every kind. */
#include "contract/kit/fast.h"
#include "contract/kit/peer.h"

/* ---- QPR-06 ---- */

enum { INLINE = 200, PIECES = 20 };

/* Opens a side whose QP supports INLINE bytes of inline data, and four SGEs for requests that are not inline. */
static void with_inline(struct kit_side *s, NDK_ADAPTER *adapter)
{
    struct data_qp how = {
        .context = s, .receives = 32, .initiators = 32, .receive_sges = 4, .initiator_sges = 4, .inline_size = INLINE
    };

    kit_side_open(s, adapter);
    CHECK_STATUS(kit_close(s->qp), STATUS_SUCCESS);
    CHECK_STATUS(data_qp(s, &how, &s->qp), STATUS_SUCCESS);
}

static NTSTATUS post_inline(struct kit_side *s, bool invalidates, const NDK_SGE *sges, ULONG count, UINT32 token)
{
    return invalidates ? s->qp->Dispatch->NdkSendAndInvalidate(s->qp, (PVOID)5, sges, count, NDK_OP_FLAG_INLINE, token)
                       : s->qp->Dispatch->NdkSend(s->qp, (PVOID)5, sges, count, NDK_OP_FLAG_INLINE);
}

/* Describes `count` pieces of unregistered memory, which have `len` bytes together. */
static void scatter(NDK_SGE *sges, uint8_t *memory, ULONG count, ULONG len)
{
    ULONG each = len / count;

    memset(sges, 0, count * sizeof *sges);
    for (ULONG i = 0; i < count; i++) {
        sges[i].VirtualAddress = memory + i * each;
        sges[i].Length = i + 1 == count ? len - i * each : each;
        sges[i].MemoryRegionToken = 0xdead0000 + i;
    }
}

/* covers: QPR-06 */
CASE(qpr_06_tokens_and_number_of_pieces_do_not_count, KIT_FAMILIES)
{
    static const ULONG counts[] = { 1, 4, 5, PIECES };
    static struct kit_pair p;
    struct fast_region r;
    NDK_SGE sges[PIECES];

    with_inline(&p.active, NULL);
    kit_side_open(&p.passive, NULL);
    kit_listen(&p.listener, p.passive.adapter);
    kit_establish(&p.active, &p.passive, &p.listener);
    fast_region_open(&r, &p.passive, 1, FAST_ALL);
    for (int invalidates = 0; invalidates < 2; invalidates++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            for (ULONG len = 0; len <= INLINE; len += 40) {
                uint8_t *stack = malloc(INLINE + 1);

                CHECK(stack != NULL);
                kit_pattern(stack, len, len);
                scatter(sges, stack, counts[i], len);
                CHECK_STATUS(kit_post_receive(&p.passive, 6, 0, INLINE), STATUS_SUCCESS);
                CHECK_STATUS(post_inline(&p.active, invalidates, sges, counts[i], r.token), STATUS_SUCCESS);
                memset(stack, 0xee, INLINE); /* the memory belongs to the consumer again and is freed */
                memset(sges, 0xee, sizeof sges);
                free(stack);
                NDK_RESULT_EX got = kit_result(&p.passive);
                CHECK_STATUS(got.Status, STATUS_SUCCESS);
                CHECK_EQ(got.Type, invalidates ? NdkOperationTypeReceiveAndInvalidate : NdkOperationTypeReceive);
                CHECK_EQ(got.BytesTransferred, len);
                CHECK(kit_pattern_is(p.passive.memory, len, len));
                CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeSend), 5);
                if (invalidates) {
                    CHECK_STATUS(fast_region_post(&r, &p.passive, 7, FAST_ALL), STATUS_SUCCESS);
                    CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeFastRegister), 7);
                }
            }
    fast_region_close(&r);
    kit_pair_close(&p);
}

/* covers: QPR-06 */
CASE(qpr_06_beyond_the_inline_size, KIT_FAMILIES)
{
    static uint8_t bytes[INLINE + 1];
    static struct kit_pair p;
    NDK_SGE sges[PIECES];

    with_inline(&p.active, NULL);
    with_inline(&p.passive, NULL);
    kit_listen(&p.listener, p.passive.adapter);
    kit_establish(&p.active, &p.passive, &p.listener);
    for (int invalidates = 0; invalidates < 2; invalidates++)
        for (ULONG count = 1; count <= PIECES; count++) {
            scatter(sges, bytes, count, INLINE + 1);
            CHECK_STATUS(post_inline(&p.active, invalidates, sges, count, 0), STATUS_INVALID_PARAMETER);
            sges[0].Length = MAXULONG;
            CHECK_STATUS(post_inline(&p.active, invalidates, sges, count, 0), STATUS_INVALID_PARAMETER);
        }
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
}

/* A peer without ready-to-receive: nothing is sent before its first message, so the post must copy all inline data. */
/* covers: QPR-06 */
CASE(qpr_06_taken_before_the_call_returns, KIT_FAMILIES)
{
    static struct peer_initiator p;
    uint8_t ulpdu[512], bytes[INLINE];
    NDK_SGE sges[PIECES];

    for (int invalidates = 0; invalidates < 2; invalidates++) {
        struct raw_frame request = peer_frame(PEER_NONE);
        struct data_qp how = {
            .receives = 8, .initiators = 8, .receive_sges = 1, .initiator_sges = 1, .inline_size = INLINE
        };

        peer_initiator_open(&p, &request);
        CHECK_STATUS(kit_close(p.side.qp), STATUS_SUCCESS);
        CHECK_STATUS(data_qp(&p.side, &how, &p.side.qp), STATUS_SUCCESS);
        peer_initiator_accept(&p);
        CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
        for (int i = 0; i < 5; i++) {
            memset(bytes, 0x30 + i, sizeof bytes);
            scatter(sges, bytes, PIECES, INLINE);
            CHECK_STATUS(post_inline(&p.side, invalidates, sges, PIECES, 0x1234567), STATUS_SUCCESS);
            memset(bytes, 0xee, sizeof bytes);
            memset(sges, 0xee, sizeof sges);
        }
        raw_send_fpdu(p.s, ulpdu, raw_tagged(ulpdu, 0, 0, 0, true, NULL, 0), true);
        for (int i = 0; i < 5; i++) {
            CHECK_EQ(raw_recv_fpdu(p.s, ulpdu, sizeof ulpdu, true), 18 + INLINE);
            CHECK_EQ(ulpdu[1] & 15, invalidates ? 4 : 3);
            for (int j = 0; j < INLINE; j++)
                CHECK_EQ(ulpdu[18 + j], 0x30 + i);
            CHECK_EQ(fast_check_result(&p.side, NdkOperationTypeSend), 5);
        }
        peer_initiator_close(&p);
    }
}

/* ---- QPR-07 ---- */

/* covers: QPR-07 */
CASE(qpr_07_silent_of_every_kind, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_kinds k;

    kit_pair_open(&p);
    fast_kinds_open(&k, &p.active, &p.passive);
    for (int round = 0; round < 5; round++)
        for (enum fast_kind kind = 0; kind < FAST_KINDS; kind++) {
            fast_kinds_prepare(&k, kind);
            CHECK_STATUS(fast_post(&k, kind, 66, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
            CHECK_STATUS(kit_post_write(&p.active, 77, 0, 5, &p.passive, 0), STATUS_SUCCESS);
            CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeWrite), 77);
            data_wait_delivered(&p.active, &p.passive);
            CHECK_EQ(data_drain(&p.active), 0);
            CHECK_EQ(data_drain(&p.passive), kind <= FAST_SEND_INVALIDATE);
        }
    fast_kinds_close(&k);
    kit_pair_close(&p);
}

/* The requests wait for an unanswered read. When all are flushed, each has a completion, silent or not. */
/* covers: QPR-07, QPR-16, CQX-10 */
CASE(qpr_07_silent_of_every_kind_when_flushed, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_side far = { .adapter = NULL };
    struct fast_kinds k;

    for (int silent = 0; silent < 2; silent++) {
        ULONG flags = NDK_OP_FLAG_READ_FENCE | (silent ? NDK_OP_FLAG_SILENT_SUCCESS : 0);

        peer_acceptor_open(&p);
        peer_acceptor_connect(&p, PEER_FPDU);
        fast_kinds_open(&k, &p.side, &far);
        CHECK_STATUS(fast_post(&k, FAST_READ, 100, 0), STATUS_SUCCESS);
        for (enum fast_kind kind = 0; kind < FAST_KINDS; kind++)
            CHECK_STATUS(fast_post(&k, kind, kind, flags), STATUS_SUCCESS);
        p.side.qp->Dispatch->NdkFlush(p.side.qp);
        for (int i = -1; i < FAST_KINDS; i++) {
            NDK_RESULT_EX got = kit_result(&p.side);

            CHECK_STATUS(got.Status, STATUS_CANCELLED);
            CHECK_EQ((uintptr_t)got.RequestContext, i < 0 ? 100 : (uintptr_t)i);
            CHECK_EQ(got.Type, i < 0 ? NdkOperationTypeRead : fast_type((enum fast_kind)i));
        }
        fast_kinds_close(&k);
        peer_acceptor_close(&p);
    }
}

/* ---- QPR-08 ---- */

/* A connection on which the provider has sent a read that the peer has not answered. */
struct waiting {
    struct peer_acceptor p;
    struct kit_side far;
    struct fast_kinds k;
    uint32_t sink;
};

static void waiting_open(struct waiting *w)
{
    uint8_t ulpdu[64];

    memset(w, 0, sizeof *w);
    peer_acceptor_open(&w->p);
    peer_acceptor_connect(&w->p, PEER_FPDU);
    fast_kinds_open(&w->k, &w->p.side, &w->far);
    CHECK_STATUS(fast_post(&w->k, FAST_READ, 100, 0), STATUS_SUCCESS);
    CHECK_EQ(raw_recv_fpdu(w->p.s, ulpdu, sizeof ulpdu, true), 46);
    for (int i = 18; i < 22; i++)
        w->sink = w->sink << 8 | ulpdu[i];
}

static void answer(struct waiting *w)
{
    uint8_t ulpdu[64], data[10] = { 0 };

    raw_send_fpdu(w->p.s, ulpdu, raw_tagged(ulpdu, 2, w->sink, 0, true, data, sizeof data), true);
    CHECK_EQ(fast_check_result(&w->p.side, NdkOperationTypeRead), 100);
}

static void waiting_close(struct waiting *w)
{
    fast_kinds_close(&w->k);
    peer_acceptor_close(&w->p);
}

/* covers: QPR-08 */
CASE(qpr_08_of_every_kind, KIT_FAMILIES)
{
    static struct waiting w;

    for (enum fast_kind kind = 0; kind < FAST_KINDS; kind++) {
        waiting_open(&w);
        CHECK_STATUS(fast_post(&w.k, kind, 7, NDK_OP_FLAG_READ_FENCE), STATUS_SUCCESS);
        CHECK(raw_is_silent(w.p.s));
        CHECK_EQ(data_drain(&w.p.side), 0);
        answer(&w);
        if (kind == FAST_READ) {
            uint8_t ulpdu[64], data[10] = { 0 };

            CHECK_EQ(raw_recv_fpdu(w.p.s, ulpdu, sizeof ulpdu, true), 46);
            w.sink = (uint32_t)ulpdu[18] << 24 | (uint32_t)ulpdu[19] << 16 | (uint32_t)ulpdu[20] << 8 | ulpdu[21];
            raw_send_fpdu(w.p.s, ulpdu, raw_tagged(ulpdu, 2, w.sink, 0, true, data, sizeof data), true);
        }
        CHECK_EQ(fast_check_result(&w.p.side, fast_type(kind)), 7);
        waiting_close(&w);
    }
}

static void peer_writes(struct waiting *w, UINT32 token, const void *address)
{
    uint8_t ulpdu[64], data[5] = { 1, 2, 3, 4, 5 };

    raw_send_fpdu(w->p.s, ulpdu, raw_tagged(ulpdu, 0, token, (uintptr_t)address, true, data, sizeof data), true);
}

/* A request that waits for a read has no effect yet: the peer cannot use the registration or the window. */
/* covers: QPR-08, INV-04, INV-08 */
CASE(qpr_08_no_effect_before_the_read_is_done, KIT_FAMILIES)
{
    static struct waiting w;
    uint8_t ulpdu[256];
    int len;

    for (int window = 0; window < 2; window++)
        for (int answered = 0; answered < 2; answered++) {
            struct fast_region *r = &w.k.registered;
            UINT32 token;

            waiting_open(&w);
            if (window)
                CHECK_STATUS(fast_bind(&w.p.side, 7, r->mr, w.k.mw, r->base, 100,
                                       NDK_OP_FLAG_ALLOW_REMOTE_WRITE | NDK_OP_FLAG_READ_FENCE),
                             STATUS_SUCCESS);
            else
                CHECK_STATUS(fast_region_post(r, &w.p.side, 7, FAST_ALL | NDK_OP_FLAG_READ_FENCE), STATUS_SUCCESS);
            token = window ? fast_mw_token(w.k.mw) : r->token;
            if (answered) {
                answer(&w);
                CHECK_EQ(fast_check_result(&w.p.side, window ? NdkOperationTypeBind : NdkOperationTypeFastRegister), 7);
                CHECK_STATUS(kit_post_receive(&w.p.side, 8, 0, 100), STATUS_SUCCESS);
                peer_writes(&w, token, r->base);
                raw_send_message(w.p.s, 1, "x", 1);
                CHECK_EQ(fast_check_result(&w.p.side, NdkOperationTypeReceive), 8);
                CHECK_EQ(r->memory.memory[4], 5);
            } else {
                peer_writes(&w, token, r->base);
                CHECK_EQ(raw_recv_terminate(w.p.s, true, ulpdu, &len), 0x1100);
                data_check_ended(&w.p.side);
                CHECK_EQ(data_drain(&w.p.side), 2); /* the read, and the request that waited for it */
                CHECK(fast_memory_is_untouched(&r->memory));
            }
            waiting_close(&w);
        }
}

/* A waiting invalidation has no effect yet: the peer can still access the region. */
/* covers: QPR-08, INV-03 */
CASE(qpr_08_an_invalidation_waits, KIT_FAMILIES)
{
    static struct waiting w;
    uint8_t ulpdu[256];
    int len;

    waiting_open(&w);
    CHECK_STATUS(fast_post(&w.k, FAST_INVALIDATE, 7, NDK_OP_FLAG_READ_FENCE), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&w.p.side, 8, 0, 100), STATUS_SUCCESS);
    peer_writes(&w, w.k.invalidated.token, w.k.invalidated.base);
    raw_send_message(w.p.s, 1, "x", 1);
    CHECK_EQ(fast_check_result(&w.p.side, NdkOperationTypeReceive), 8);
    CHECK_EQ(w.k.invalidated.memory.memory[4], 5);
    answer(&w);
    CHECK_EQ(fast_check_result(&w.p.side, NdkOperationTypeInvalidate), 7);
    peer_writes(&w, w.k.invalidated.token, w.k.invalidated.base);
    CHECK_EQ(raw_recv_terminate(w.p.s, true, ulpdu, &len), 0x1100);
    waiting_close(&w);
}

/* ---- QPR-09 ---- */

/* covers: QPR-09 */
CASE(qpr_09_only_the_solicited_one_wakes, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_kinds k;
    int notified = 0;

    kit_pair_open(&p);
    fast_kinds_open(&k, &p.active, &p.passive);
    for (int round = 0; round < 2; round++) {
        enum fast_kind last = round ? FAST_SEND_INVALIDATE : FAST_SEND;

        p.passive.cq->Dispatch->NdkArmCq(p.passive.cq, NDK_CQ_NOTIFY_SOLICITED);
        for (enum fast_kind kind = 0; kind < FAST_KINDS; kind++) {
            fast_kinds_prepare(&k, kind);
            CHECK_STATUS(fast_post(&k, kind, 1, 0), STATUS_SUCCESS);
            CHECK_EQ(fast_check_result(&p.active, fast_type(kind)), 1);
            if (kind <= FAST_SEND_INVALIDATE)
                CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
        }
        data_wait_delivered(&p.active, &p.passive);
        kit_pause();
        CHECK_EQ(atomic_load(&p.passive.notified), notified);
        fast_kinds_prepare(&k, last);
        CHECK_STATUS(fast_post(&k, last, 3, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT), STATUS_SUCCESS);
        kit_wait_count(&p.passive.notified, ++notified);
        CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeSend), 3);
        CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
        kit_pause();
        CHECK_EQ(atomic_load(&p.passive.notified), notified);
    }
    fast_kinds_close(&k);
    kit_pair_close(&p);
}

/* ---- QPR-10 ---- */

/* covers: QPR-10 */
CASE(qpr_10_deferred_of_every_kind_go_with_the_next, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_kinds k;

    kit_pair_open(&p);
    fast_kinds_open(&k, &p.active, &p.passive);
    for (enum fast_kind last = 0; last < FAST_KINDS; last++) {
        for (enum fast_kind kind = 0; kind < FAST_KINDS; kind++)
            fast_kinds_prepare(&k, kind);
        for (enum fast_kind kind = 0; kind < FAST_KINDS; kind++)
            if (kind != last)
                CHECK_STATUS(fast_post(&k, kind, kind, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
        CHECK_STATUS(fast_post(&k, last, last, 0), STATUS_SUCCESS);
        for (enum fast_kind kind = 0; kind < FAST_KINDS; kind++)
            if (kind != last)
                CHECK_EQ(fast_check_result(&p.active, fast_type(kind)), kind);
        CHECK_EQ(fast_check_result(&p.active, fast_type(last)), last);
        for (int i = 0; i < 2; i++)
            CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
    }
    fast_kinds_close(&k);
    kit_pair_close(&p);
}

/* covers: QPR-10 */
CASE(qpr_10_a_failure_of_any_kind_releases_any_kind, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_kinds k;

    kit_pair_open(&p);
    fast_kinds_open(&k, &p.active, &p.passive);
    for (enum fast_kind kind = 0; kind < FAST_KINDS; kind++)
        for (enum fast_kind bad = 0; bad < FAST_KINDS; bad++) {
            fast_kinds_prepare(&k, kind);
            CHECK_STATUS(fast_post(&k, kind, 7, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
            fast_post_bad(&k, bad, bad & 1 ? NDK_OP_FLAG_DEFER : 0);
            CHECK_EQ(fast_check_result(&p.active, fast_type(kind)), 7);
            if (kind <= FAST_SEND_INVALIDATE)
                CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
        }
    fast_kinds_close(&k);
    kit_pair_close(&p);
}
