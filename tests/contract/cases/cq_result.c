/* SPDX-License-Identifier: MIT */
/* CQX: the fields of results: the kind of the request, and the provider's reason for a failure. */
#include "contract/kit/fast.h"
#include "contract/kit/peer.h"

static NDK_RESULT_EX next(struct kit_side *s)
{
    NDK_RESULT_EX r;

    do
        memset(&r, 0xff, sizeof r); /* a value that the provider must overwrite */
    while (s->cq->Dispatch->NdkGetCqResultsEx(s->cq, &r, 1) == 0);
    return r;
}

/* covers: CQX-10 */
CASE(cqx_10_every_kind_that_succeeds, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_kinds k;

    kit_pair_open(&p);
    fast_kinds_open(&k, &p.active, &p.passive);
    for (int round = 0; round < 3; round++)
        for (enum fast_kind kind = 0; kind < FAST_KINDS; kind++) {
            NDK_RESULT_EX r;
            UINT32 token;

            fast_kinds_prepare(&k, kind);
            token = k.far_region.token;
            CHECK_STATUS(fast_post(&k, kind, 7, 0), STATUS_SUCCESS);
            r = next(&p.active);
            CHECK_STATUS(r.Status, STATUS_SUCCESS);
            CHECK_EQ(r.Type, fast_type(kind));
            CHECK_EQ(r.ProviderErrorCode, 0);
            if (kind > FAST_SEND_INVALIDATE)
                continue;
            r = next(&p.passive);
            CHECK_STATUS(r.Status, STATUS_SUCCESS);
            CHECK_EQ(r.ProviderErrorCode, 0);
            CHECK_EQ(r.Type, kind == FAST_SEND ? NdkOperationTypeReceive : NdkOperationTypeReceiveAndInvalidate);
            if (kind == FAST_SEND_INVALIDATE)
                CHECK_EQ(r.TypeSpecificCompletionOutput, token);
        }
    fast_kinds_close(&k);
    kit_pair_close(&p);
}

/* Requests of every kind are queued behind an unanswered read. All fail when the peer resets the connection. */
/* covers: CQX-10, QPR-20 */
CASE(cqx_10_every_kind_that_fails, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_side far = { .adapter = NULL };
    struct fast_kinds k;
    NDK_RESULT_EX r;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_FPDU);
    fast_kinds_open(&k, &p.side, &far);
    CHECK_STATUS(kit_post_receive(&p.side, 200, 0, 10), STATUS_SUCCESS);
    CHECK_STATUS(fast_post(&k, FAST_READ, 100, 0), STATUS_SUCCESS);
    for (enum fast_kind kind = 0; kind < FAST_KINDS; kind++)
        CHECK_STATUS(fast_post(&k, kind, kind, NDK_OP_FLAG_READ_FENCE), STATUS_SUCCESS);
    raw_close(p.s, true);
    p.s = -1;
    for (int i = -1; i <= FAST_KINDS; i++) {
        r = next(&p.side);
        CHECK(r.Status < 0);
        CHECK_EQ((uintptr_t)r.RequestContext, i < 0 ? 100 : i == FAST_KINDS ? 200 : (uintptr_t)i);
        CHECK_EQ(r.Type, i < 0             ? NdkOperationTypeRead
                         : i == FAST_KINDS ? NdkOperationTypeReceive
                                           : fast_type((enum fast_kind)i));
    }
    fast_kinds_close(&k);
    peer_acceptor_close(&p);
}

/* NDK 1.2 defines no reason for a failure, but the other fields of the result are the same. */
/* covers: CQX-10 */
CASE(cqx_10_before_reasons_were_told, KIT_FAMILIES)
{
    static struct kit_side s;
    NDK_ADAPTER *adapter = kit_open(1, 2);
    NDK_RESULT_EX r;

    kit_side_open(&s, adapter);
    CHECK_STATUS(kit_post_receive(&s, 5, 0, 10), STATUS_SUCCESS);
    s.qp->Dispatch->NdkFlush(s.qp);
    r = next(&s);
    CHECK_STATUS(r.Status, STATUS_CANCELLED);
    CHECK_EQ(r.Type, NdkOperationTypeReceive);
    kit_side_close(&s);
    kit_close_adapter(adapter);
}
