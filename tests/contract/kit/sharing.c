/* SPDX-License-Identifier: MIT */
/* For cases about shared receive queues: see sharing.h. */
#include "contract/kit/sharing.h"

void sharing_on_low(void *context, NTSTATUS status)
{
    struct sharing *s = context;

    s->low_status = status;
    if (s->inside_low)
        s->inside_low(s);
    kit_increment(&s->low);
}

NTSTATUS sharing_srq(struct sharing *s, ULONG depth, ULONG sges, ULONG threshold, NDK_SRQ **srq)
{
    struct kit_call call = { 0 };
    NDK_PD *pd = s->passive.pd;
    NTSTATUS status;

    *srq = NULL;
    status = pd->Dispatch->NdkCreateSrq(pd, depth, sges, threshold, sharing_on_low, s, NULL, kit_create_done, &call,
                                        srq);
    if (status != STATUS_PENDING)
        return status;
    status = kit_final(&call, status);
    *srq = (NDK_SRQ *)call.object;
    return status;
}

NTSTATUS sharing_qp(struct sharing *s, NDK_PD *pd, NDK_CQ *cq, NDK_SRQ *srq, void *context, NDK_QP **qp)
{
    struct kit_call call = { 0 };
    NTSTATUS status;

    *qp = NULL;
    status = pd->Dispatch->NdkCreateQpWithSrq(pd, cq, s->passive.cq, srq, context, KIT_DEPTH, 4, 0, kit_create_done,
                                              &call, qp);
    if (status != STATUS_PENDING)
        return status;
    status = kit_final(&call, status);
    *qp = (NDK_QP *)call.object;
    return status;
}

static void sharing_open_side(struct kit_side *s)
{
    kit_side_open(s, NULL);
    CHECK_STATUS(kit_close(s->qp), STATUS_SUCCESS);
    s->qp = NULL;
}

void sharing_open(struct sharing *s, const struct sharing_config *c)
{
    memset(s, 0, sizeof *s);
    sharing_open_side(&s->passive);
    if (data_info(s->passive.adapter).MaxSrqDepth == 0)
        kit_skip("the adapter has no shared receive queues");
    sharing_open_side(&s->active);
    kit_listen(&s->listener, s->passive.adapter);
    CHECK_STATUS(sharing_srq(s, c->depth ? c->depth : KIT_DEPTH, c->sges ? c->sges : 4, c->threshold, &s->srq),
                 STATUS_SUCCESS);
}

static void sharing_connect_member(struct sharing *s, bool own_queue)
{
    struct sharing_member *m = &s->member[s->members++];

    CHECK(s->members <= SHARING_MAX_MEMBERS);
    m->cq = s->passive.cq;
    if (own_queue)
        CHECK_STATUS(data_cq(s->passive.adapter, 2 * KIT_DEPTH, kit_on_notify, &s->passive, &m->cq), STATUS_SUCCESS);
    CHECK_STATUS(sharing_qp(s, s->passive.pd, m->cq, s->srq, m, &m->qp), STATUS_SUCCESS);
    m->peer = kit_qp(&s->active, KIT_DEPTH);
    s->passive.qp = m->qp;
    s->active.qp = m->peer;
    kit_establish(&s->active, &s->passive, &s->listener);
    m->connector = s->passive.connector;
    m->peer_connector = s->active.connector;
    s->passive.qp = s->active.qp = NULL;
    s->passive.connector = s->active.connector = NULL;
}

void sharing_connect(struct sharing *s, int members, bool own_queues)
{
    for (int i = 0; i < members; i++)
        sharing_connect_member(s, own_queues);
}

void sharing_close_member(struct sharing *s, int member)
{
    struct sharing_member *m = &s->member[member];
    void *objects[] = { m->connector, m->peer_connector, m->qp, m->peer, m->cq == s->passive.cq ? NULL : m->cq };

    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++)
        if (objects[i])
            CHECK_STATUS(kit_close(objects[i]), STATUS_SUCCESS);
    memset(m, 0, sizeof *m);
}

void sharing_close(struct sharing *s)
{
    for (int i = 0; i < s->members; i++)
        sharing_close_member(s, i);
    if (s->srq)
        CHECK_STATUS(kit_close(s->srq), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(s->listener.listener), STATUS_SUCCESS);
    kit_side_close(&s->active);
    kit_side_close(&s->passive);
}

NTSTATUS sharing_modify(struct sharing *s, ULONG depth, ULONG threshold)
{
    struct kit_call call = { 0 };

    return kit_final(&call, s->srq->Dispatch->NdkModifySrq(s->srq, depth, threshold, kit_request_done, &call));
}

NTSTATUS sharing_receive(struct sharing *s, uintptr_t context, size_t offset, ULONG len)
{
    NDK_SGE sge = kit_sge(&s->passive, offset, len);

    return s->srq->Dispatch->NdkSrqReceive(s->srq, (PVOID)context, len ? &sge : NULL, len ? 1 : 0);
}

NTSTATUS sharing_send(struct sharing *s, int member, size_t offset, ULONG len)
{
    NDK_SGE sge = kit_sge(&s->active, offset, len);
    NDK_QP *qp = s->member[member].peer;

    return qp->Dispatch->NdkSend(qp, (PVOID)(uintptr_t)member, len ? &sge : NULL, len ? 1 : 0, 0);
}

NDK_RESULT_EX sharing_result(NDK_CQ *cq)
{
    NDK_RESULT_EX result;

    while (cq->Dispatch->NdkGetCqResultsEx(cq, &result, 1) == 0)
        sched_yield();
    return result;
}

NDK_RESULT_EX sharing_message(struct sharing *s, int member, size_t offset, ULONG len)
{
    NDK_RESULT_EX result;

    CHECK_STATUS(sharing_send(s, member, offset, len), STATUS_SUCCESS);
    CHECK_STATUS(sharing_result(s->active.cq).Status, STATUS_SUCCESS);
    result = sharing_result(s->member[member].cq);
    CHECK(result.QPContext == &s->member[member]);
    return result;
}

void sharing_wait_delivered(struct sharing *s, int member)
{
    s->active.qp = s->member[member].peer;
    data_wait_delivered(&s->active, &s->passive);
    s->active.qp = NULL;
}
