/* SPDX-License-Identifier: MIT */
/* INV: invalidation by the owner: its effects and their order. */
#include "contract/kit/fast.h"

#include <sys/mman.h>

#include "contract/kit/peer.h"

enum { PAGES = 3 };

static void bind_middle(struct kit_side *s, struct fast_region *r, NDK_MW *mw)
{
    CHECK_STATUS(
        fast_bind(s, 2, r->mr, mw, r->base + 500, 6000, NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE),
        STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(s, NdkOperationTypeBind), 2);
}

static void invalidated(struct kit_side *s, void *object)
{
    CHECK_STATUS(fast_invalidate(s, 3, object, 0), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(s, NdkOperationTypeInvalidate), 3);
}

/* Checks that a second invalidation fails, in its post or its completion, and that the connection still works. */
static void check_second_fails(struct kit_pair *p, void *object)
{
    CHECK(data_outcome(&p->passive, fast_invalidate(&p->passive, 4, object, 0)) < 0);
    CHECK(data_outcome(&p->passive, fast_invalidate(&p->passive, 5, object, NDK_OP_FLAG_SILENT_SUCCESS)) < 0);
    kit_exchange(&p->active, &p->passive);
    kit_exchange(&p->passive, &p->active);
}

/* covers: INV-03 */
CASE(inv_03_a_region_is_gone_for_both_sides, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_region r;
    NDK_SGE sge;

    kit_pair_open(&p);
    fast_region_open(&r, &p.passive, PAGES, FAST_ALL);
    fast_check_alive(&p, &r.memory, r.memory.memory, r.token, r.base, r.len);
    sge = fast_sge(&r, 10, 100);
    invalidated(&p.passive, r.mr);
    fast_check_local_dead(&p.passive, sge);
    CHECK_STATUS(
        data_outcome(&p.passive, data_read(&p.passive, 1, &sge, (uintptr_t)p.active.memory, p.active.remote_token)),
        STATUS_ACCESS_VIOLATION);
    CHECK(p.passive.qp->Dispatch->NdkReceive(p.passive.qp, NULL, &sge, 1) < 0);
    check_second_fails(&p, r.mr);
    fast_check_dead(&p, &r.memory, r.token, r.base, 100);
    fast_region_close(&r);
    kit_pair_close(&p);
}

/* covers: INV-03 */
CASE(inv_03_a_window_is_gone_and_its_region_is_not, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_region r;
    NDK_MW *mw;

    kit_pair_open(&p);
    fast_region_open(&r, &p.passive, PAGES, FAST_ALL);
    mw = fast_mw(p.passive.pd);
    CHECK(data_outcome(&p.passive, fast_invalidate(&p.passive, 4, mw, 0)) < 0); /* never bound */
    bind_middle(&p.passive, &r, mw);
    fast_check_alive(&p, &r.memory, r.memory.memory + 500, fast_mw_token(mw), r.base + 500, 6000);
    invalidated(&p.passive, mw);
    check_second_fails(&p, mw);
    fast_check_dead(&p, &r.memory, fast_mw_token(mw), r.base + 500, 100);
    fast_check_alive(&p, &r.memory, r.memory.memory, r.token, r.base, r.len);
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    fast_region_close(&r);
    kit_pair_close(&p);
}

/* Objects that the consumer must not invalidate: the request is refused or fails, and nothing changes. */
/* covers: INV-03 */
CASE(inv_03_not_what_a_request_has_made, KIT_FAMILIES)
{
    static struct kit_pair p;
    NDK_MR *never;

    kit_pair_open(&p);
    CHECK(data_outcome(&p.passive, fast_invalidate(&p.passive, 4, p.passive.mr, 0)) < 0);
    never = fast_mr(p.passive.pd);
    CHECK(data_outcome(&p.passive, fast_invalidate(&p.passive, 4, never, 0)) < 0);
    CHECK_STATUS(fast_initialize(never, 4, TRUE), STATUS_SUCCESS);
    CHECK(data_outcome(&p.passive, fast_invalidate(&p.passive, 4, never, 0)) < 0);
    CHECK(data_outcome(&p.passive, fast_invalidate(&p.passive, 4, never, 1u << 30)) < 0);
    CHECK_STATUS(kit_close(never), STATUS_SUCCESS);
    kit_exchange(&p.active, &p.passive);
    kit_exchange(&p.passive, &p.active);
    kit_pair_close(&p);
}

/* ---- order ---- */

/* Requests before the invalidation use the region, those behind it fail. The connection still works. */
static void in_between(struct kit_pair *p, ULONG len, ULONG flags)
{
    struct fast_region r;
    NDK_RESULT_EX last;
    NTSTATUS behind;
    NDK_SGE sge;

    fast_region_open(&r, &p->passive, 64, FAST_ALL);
    sge = fast_sge(&r, 0, len);
    kit_pattern(r.memory.memory, len, 5);
    CHECK_STATUS(kit_post_receive(&p->active, 1, 0, len), STATUS_SUCCESS);
    CHECK_STATUS(p->passive.qp->Dispatch->NdkSend(p->passive.qp, (PVOID)2, &sge, 1, 0), STATUS_SUCCESS);
    CHECK_STATUS(fast_invalidate(&p->passive, 3, r.mr, flags), STATUS_SUCCESS);
    behind = p->passive.qp->Dispatch->NdkSend(p->passive.qp, (PVOID)4, &sge, 1, 0);
    CHECK_STATUS(kit_post_write(&p->passive, 5, 0, 10, &p->active, KIT_MEMORY - 100), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p->passive, NdkOperationTypeSend), 2);
    if (!(flags & NDK_OP_FLAG_SILENT_SUCCESS))
        CHECK_EQ(fast_check_result(&p->passive, NdkOperationTypeInvalidate), 3);
    CHECK(behind == STATUS_SUCCESS || behind == STATUS_ACCESS_VIOLATION);
    if (behind == STATUS_SUCCESS) {
        last = kit_result(&p->passive);
        CHECK_EQ((uintptr_t)last.RequestContext, 4);
        CHECK_STATUS(last.Status, STATUS_ACCESS_VIOLATION);
    }
    CHECK_EQ(fast_check_result(&p->passive, NdkOperationTypeWrite), 5);
    CHECK_EQ(fast_check_result(&p->active, NdkOperationTypeReceive), 1);
    CHECK(kit_pattern_is(p->active.memory, len, 5));
    data_wait_delivered(&p->passive, &p->active);
    CHECK_EQ(data_drain(&p->active), 0);
    fast_check_local_dead(&p->passive, sge);
    fast_region_close(&r);
}

/* covers: INV-03, QPR-07, QPR-08, QPR-10 */
CASE(inv_03_in_its_turn, KIT_FAMILIES)
{
    static const ULONG flags[] = { 0, NDK_OP_FLAG_SILENT_SUCCESS, NDK_OP_FLAG_READ_FENCE, NDK_OP_FLAG_DEFER,
                                   NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_READ_FENCE | NDK_OP_FLAG_DEFER };
    static const ULONG lengths[] = { 10, 5000, 64 * PAGE_SIZE };
    static struct kit_pair p;

    kit_pair_open(&p);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        for (size_t j = 0; j < sizeof lengths / sizeof lengths[0]; j++)
            in_between(&p, lengths[j], flags[i]);
    kit_pair_close(&p);
}

/* Connects to a raw peer, registers a region, and posts a read of 100 bytes into it. */
static NDK_SGE read_into(struct peer_acceptor *p, struct fast_region *r)
{
    NDK_SGE sge;

    peer_acceptor_open(p);
    peer_acceptor_connect(p, PEER_FPDU);
    fast_region_open(r, &p->side, PAGES, FAST_ALL);
    sge = fast_sge(r, 50, 100);
    CHECK_STATUS(data_read(&p->side, 1, &sge, 0, 0x1234), STATUS_SUCCESS);
    return sge;
}

/* Receives a Read Request and returns its sink's STag. */
static uint32_t receive_sink(struct peer_acceptor *p)
{
    uint8_t ulpdu[64];
    uint32_t sink = 0;

    CHECK_EQ(raw_recv_fpdu(p->s, ulpdu, sizeof ulpdu, true), 46);
    for (int i = 18; i < 22; i++)
        sink = sink << 8 | ulpdu[i];
    return sink;
}

/* With a read into the region in flight, a fenced invalidation waits for the answer. */
/* covers: INV-03, QPR-08 */
CASE(inv_03_a_fence_waits_for_the_read_into_it, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    uint8_t ulpdu[14 + 100], data[100];
    struct fast_region r;
    uint32_t sink;
    NDK_SGE sge;

    sge = read_into(&p, &r);
    CHECK_STATUS(fast_invalidate(&p.side, 2, r.mr, NDK_OP_FLAG_READ_FENCE), STATUS_SUCCESS);
    sink = receive_sink(&p);
    kit_pause();
    CHECK_EQ(data_drain(&p.side), 0);
    memset(data, 0x77, sizeof data);
    raw_send_fpdu(p.s, ulpdu, raw_tagged(ulpdu, 2, sink, 0, true, data, sizeof data), true);
    CHECK_EQ(fast_check_result(&p.side, NdkOperationTypeRead), 1);
    CHECK_EQ(fast_check_result(&p.side, NdkOperationTypeInvalidate), 2);
    CHECK(memcmp(r.memory.memory + 50, data, sizeof data) == 0);
    fast_check_local_dead(&p.side, sge);
    fast_region_close(&r);
    peer_acceptor_close(&p);
}

/* Without the fence the answer has no sink: the connection ends, and the memory does not change. */
/* covers: INV-03 */
CASE(inv_03_without_a_fence_the_answer_finds_nothing, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    uint8_t ulpdu[14 + 100], data[100];
    struct fast_region r;
    uint32_t sink;
    NDK_SGE sge;

    sge = read_into(&p, &r);
    sink = receive_sink(&p);
    CHECK_STATUS(fast_invalidate(&p.side, 2, r.mr, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p.side, 3, 0, 10), STATUS_SUCCESS);
    CHECK_EQ(raw_recv_fpdu(p.s, ulpdu, sizeof ulpdu, true), 18 + 10); /* so it was executed */
    fast_check_refused(&p.side, sge);
    memset(data, 0x77, sizeof data);
    raw_send_fpdu(p.s, ulpdu, raw_tagged(ulpdu, 2, sink, 0, true, data, sizeof data), true);
    CHECK(kit_result(&p.side).Status < 0);
    data_check_ended(&p.side);
    CHECK(fast_memory_is_untouched(&r.memory));
    fast_region_close(&r);
    peer_acceptor_close(&p);
}

/* ---- while the peer writes ---- */

/* The peer accesses the region, directly or through the window. The invalidation of the region or window ends that. */
static void end_under_access(bool reads, bool window)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    for (unsigned round = 0; round < 8; round++) {
        NDK_MW *mw = NULL;
        struct fast_region r;
        struct data_accesses a = { .pair = &p, .reads = reads };
        pthread_t thread;

        fast_region_open(&r, &p.passive, 1 + round * 5, FAST_ALL);
        a.at = (uintptr_t)r.base;
        a.len = r.len;
        a.token = r.token;
        if (window) {
            mw = fast_mw(p.passive.pd);
            CHECK_STATUS(fast_bind(&p.passive, 2, r.mr, mw, r.base, r.len, FAST_ALL), STATUS_SUCCESS);
            CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeBind), 2);
            a.token = fast_mw_token(mw);
        }
        CHECK(pthread_create(&thread, NULL, data_keep_accessing, &a) == 0);
        kit_wait_count(&a.done, (int)round % 5);
        invalidated(&p.passive, mw && round & 1 ? (void *)mw : (void *)r.mr);
        CHECK(mprotect(r.memory.map, r.memory.map_len, PROT_NONE) == 0); /* an access crashes now */
        pthread_join(thread, NULL);
        data_check_ended(&p.active);
        data_check_ended(&p.passive);
        if (mw)
            CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
        fast_region_close(&r);
        data_reconnect(&p);
    }
    kit_pair_close(&p);
}

/* covers: INV-03 */
CASE(inv_03_while_the_peer_writes, KIT_FAMILIES)
{
    end_under_access(false, false);
}

/* covers: INV-03 */
CASE(inv_03_while_the_peer_reads, KIT_FAMILIES)
{
    end_under_access(true, false);
}

/* covers: INV-03, INV-08 */
CASE(inv_03_while_the_peer_writes_through_a_window, KIT_FAMILIES)
{
    end_under_access(false, true);
}

/* ---- regions and windows are registered and bound again after an invalidation ---- */

/* covers: INV-03, INV-09 */
CASE(inv_03_ended_by_each_and_registered_again, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_region r;

    kit_pair_open(&p);
    fast_region_open(&r, &p.passive, PAGES, FAST_ALL);
    for (int round = 0; round < 20; round++) {
        UINT32 old = r.token;

        if (round & 1) {
            invalidated(&p.passive, r.mr);
        } else {
            CHECK_STATUS(kit_post_receive(&p.passive, 7, KIT_MEMORY - 100, 100), STATUS_SUCCESS);
            CHECK_STATUS(fast_send_invalidate(&p.active, 8, 0, 100, 0, r.token), STATUS_SUCCESS);
            CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeReceiveAndInvalidate), 7);
            CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeSend), 8);
            CHECK(data_outcome(&p.passive, fast_invalidate(&p.passive, 3, r.mr, 0)) < 0); /* invalidated by the peer */
        }
        CHECK_STATUS(fast_region_post(&r, &p.passive, 9, FAST_ALL), STATUS_SUCCESS);
        CHECK(r.token != old);
        CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeFastRegister), 9);
        fast_check_alive(&p, &r.memory, r.memory.memory, r.token, r.base, r.len);
    }
    fast_region_close(&r);
    kit_pair_close(&p);
}
