/* SPDX-License-Identifier: MIT */
/* Rules about limits: each case exceeds the limits by one, and stays within them before or afterwards. */
#include "contract/kit/kit.h"
#include "openndk/config.h"
#include "verify/breaches.h"

enum { SGES = 3, INLINE = 128, MAX_TRANSFER = 65536 };

static NDK_ADAPTER_INFO info;

static void side_open(struct kit_side *s)
{
    ULONG size = sizeof info;

    breaches_begin();
    kit_side_open(s, NULL);
    CHECK_STATUS(s->adapter->Dispatch->NdkQueryAdapterInfo(s->adapter, &info, &size), STATUS_SUCCESS);
}

/* ---- creation: the provider refuses what exceeds a limit ---- */

static void create_cq(struct kit_side *s, ULONG depth)
{
    struct kit_call call = { 0 };
    NDK_CQ *cq = NULL;
    NTSTATUS status = s->adapter->Dispatch->NdkCreateCq(s->adapter, depth, kit_on_notify, s, NULL, kit_create_done,
                                                        &call, &cq);

    if (kit_final(&call, status) == STATUS_SUCCESS)
        kit_close(cq ? cq : (NDK_CQ *)call.object);
}

static void resize_cq(struct kit_side *s, ULONG depth)
{
    struct kit_call call = { 0 };

    (void)kit_final(&call, s->cq->Dispatch->NdkResizeCq(s->cq, depth, kit_request_done, &call));
}

static NDK_QP *create_qp(struct kit_side *s, ULONG receives, ULONG requests, ULONG receive_sges, ULONG sges,
                         ULONG inline_size)
{
    struct kit_call call = { 0 };
    NDK_QP *qp = NULL;
    NTSTATUS status = s->pd->Dispatch->NdkCreateQp(s->pd, s->cq, s->cq, s, receives, requests, receive_sges, sges,
                                                   inline_size, kit_create_done, &call, &qp);

    if (kit_final(&call, status) != STATUS_SUCCESS)
        return NULL;
    return qp ? qp : (NDK_QP *)call.object;
}

static void try_qp(struct kit_side *s, ULONG receives, ULONG requests, ULONG receive_sges, ULONG sges,
                   ULONG inline_size)
{
    NDK_QP *qp = create_qp(s, receives, requests, receive_sges, sges, inline_size);

    if (qp)
        kit_close(qp);
}

static NDK_SRQ *create_srq(struct kit_side *s, ULONG depth, ULONG sges)
{
    struct kit_call call = { 0 };
    NDK_SRQ *srq = NULL;
    NTSTATUS status = s->pd->Dispatch->NdkCreateSrq(s->pd, depth, sges, 0, NULL, NULL, NULL, kit_create_done, &call,
                                                    &srq);

    if (kit_final(&call, status) != STATUS_SUCCESS)
        return NULL;
    return srq ? srq : (NDK_SRQ *)call.object;
}

static void modify_srq(NDK_SRQ *srq, ULONG depth)
{
    struct kit_call call = { 0 };

    (void)kit_final(&call, srq->Dispatch->NdkModifySrq(srq, depth, 0, kit_request_done, &call));
}

CASE(depth_of_completion_queues, 0)
{
    static struct kit_side s;

    side_open(&s);
    create_cq(&s, info.MaxCqDepth);
    CHECK_BREACHES("");
    create_cq(&s, info.MaxCqDepth + 1);
    CHECK_BREACHES("queue-depth in NdkCreateCq");
    resize_cq(&s, info.MaxCqDepth + 1);
    CHECK_BREACHES("queue-depth in NdkResizeCq");
    kit_side_close(&s);
}

CASE(limits_of_queue_pairs, 0)
{
    static struct kit_side s;

    side_open(&s);
    try_qp(&s, info.MaxReceiveQueueDepth, info.MaxInitiatorQueueDepth, info.MaxReceiveRequestSge,
           info.MaxInitiatorRequestSge, info.MaxInlineDataSize);
    CHECK_BREACHES("");
    try_qp(&s, info.MaxReceiveQueueDepth + 1, 1, 1, 1, 0);
    CHECK_BREACHES("queue-depth in NdkCreateQp");
    try_qp(&s, 1, info.MaxInitiatorQueueDepth + 1, 1, 1, 0);
    CHECK_BREACHES("queue-depth in NdkCreateQp");
    try_qp(&s, 1, 1, info.MaxReceiveRequestSge + 1, 1, 0);
    CHECK_BREACHES("sge-limit in NdkCreateQp");
    try_qp(&s, 1, 1, 1, info.MaxInitiatorRequestSge + 1, 0);
    CHECK_BREACHES("sge-limit in NdkCreateQp");
    try_qp(&s, 1, 1, 1, 1, info.MaxInlineDataSize + 1);
    CHECK_BREACHES("inline-limit in NdkCreateQp");
    kit_side_close(&s);
}

CASE(limits_of_shared_receive_queues, 0)
{
    static struct kit_side s;
    NDK_SRQ *srq;

    side_open(&s);
    srq = create_srq(&s, info.MaxSrqDepth, info.MaxReceiveRequestSge);
    CHECK(srq != NULL);
    modify_srq(srq, info.MaxSrqDepth);
    CHECK_BREACHES("");
    modify_srq(srq, info.MaxSrqDepth + 1);
    CHECK_BREACHES("queue-depth in NdkModifySrq");
    CHECK(!create_srq(&s, info.MaxSrqDepth + 1, 1));
    CHECK_BREACHES("queue-depth in NdkCreateSrq");
    CHECK(!create_srq(&s, 1, info.MaxReceiveRequestSge + 1));
    CHECK_BREACHES("sge-limit in NdkCreateSrq");
    CHECK_STATUS(srq->Dispatch->NdkSrqReceive(srq, NULL, NULL, 0), STATUS_SUCCESS);
    CHECK_BREACHES("");
    kit_close(srq);
    kit_side_close(&s);
}

/* ---- posts ---- */

static struct kit_pair p;

/* Connects two sides whose queue pairs have the limits SGES and INLINE. */
static void pair_open(void)
{
    side_open(&p.active);
    kit_side_open(&p.passive, NULL);
    kit_close(p.active.qp);
    p.active.qp = create_qp(&p.active, 16, 16, SGES, SGES, INLINE);
    CHECK(p.active.qp != NULL);
    kit_listen(&p.listener, p.passive.adapter);
    kit_establish(&p.active, &p.passive, &p.listener);
    for (int i = 0; i < 8; i++)
        CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, MAX_TRANSFER), STATUS_SUCCESS);
}

static NTSTATUS post_send(const NDK_SGE *sgl, ULONG sges, ULONG flags)
{
    return p.active.qp->Dispatch->NdkSend(p.active.qp, NULL, sgl, sges, flags);
}

static void sges_of(NDK_SGE *sgl, ULONG count, ULONG length)
{
    for (ULONG i = 0; i < count; i++)
        sgl[i] = kit_sge(&p.active, 0, length);
}

CASE(sges_of_a_request, 0)
{
    NDK_SGE sgl[SGES + 1];

    pair_open();
    sges_of(sgl, SGES + 1, 8);
    CHECK_STATUS(post_send(sgl, SGES, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_STATUS(post_send(sgl, SGES + 1, NDK_OP_FLAG_INLINE), STATUS_SUCCESS); /* inline data has no such limit */
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(post_send(sgl, SGES + 1, 0), STATUS_INVALID_PARAMETER);
    CHECK_BREACHES("sge-limit in NdkSend");
    CHECK_STATUS(p.active.qp->Dispatch->NdkReceive(p.active.qp, NULL, sgl, SGES + 1), STATUS_INVALID_PARAMETER);
    CHECK_BREACHES("sge-limit in NdkReceive");
    kit_pair_close(&p);
}

CASE(sges_of_a_read, 0)
{
    NDK_SGE sgl[SGES + 1];

    pair_open();
    sges_of(sgl, SGES + 1, 8);
    CHECK(p.active.qp->Dispatch->NdkRead(p.active.qp, NULL, sgl, SGES + 1, (uintptr_t)p.passive.memory,
                                         p.passive.remote_token, 0) != STATUS_SUCCESS);
    CHECK_BREACHES("sge-limit in NdkRead");
    kit_pair_close(&p);
}

CASE(bytes_of_a_request, 0)
{
    ondk_config_t config;
    NDK_SGE sgl[2];

    ondk_config_init(&config);
    config.max_transfer = MAX_TRANSFER;
    CHECK_STATUS(ondk_configure(&config), STATUS_SUCCESS);
    pair_open();
    sges_of(sgl, 1, INLINE + 1);
    CHECK_STATUS(post_send(sgl, 1, NDK_OP_FLAG_INLINE), STATUS_INVALID_PARAMETER);
    CHECK_BREACHES("inline-limit in NdkSend");
    sgl[0].Length = INLINE;
    CHECK_STATUS(post_send(sgl, 1, NDK_OP_FLAG_INLINE), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_BREACHES("");
    sges_of(sgl, 2, MAX_TRANSFER / 2);
    CHECK_STATUS(post_send(sgl, 2, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
    CHECK_BREACHES("");
    sgl[1].Length++;
    CHECK(post_send(sgl, 2, 0) != STATUS_SUCCESS);
    CHECK_BREACHES("transfer-length in NdkSend");
    CHECK(p.active.qp->Dispatch->NdkReceive(p.active.qp, NULL, sgl, 2) != STATUS_SUCCESS);
    CHECK_BREACHES("transfer-length in NdkReceive");
    kit_pair_close(&p);
}

/* ---- flags ---- */

static void check_flags(NTSTATUS status, const char *report)
{
    CHECK(status < 0);
    CHECK_BREACHES(report);
}

CASE(flags_of_requests, 0)
{
    NDK_SGE sge;
    NDK_QP *qp;

    pair_open();
    sge = kit_sge(&p.active, 0, 8);
    qp = p.active.qp;
    CHECK_STATUS(post_send(&sge, 1, NDK_OP_FLAG_DEFER | NDK_OP_FLAG_READ_FENCE | NDK_OP_FLAG_SILENT_SUCCESS),
                 STATUS_SUCCESS);
    CHECK_STATUS(post_send(&sge, 1, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT | NDK_OP_FLAG_INLINE), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_BREACHES("");
    check_flags(post_send(&sge, 1, NDK_OP_FLAG_ALLOW_REMOTE_READ), "flags-unknown in NdkSend");
    check_flags(qp->Dispatch->NdkRead(qp, NULL, &sge, 1, (uintptr_t)p.passive.memory, p.passive.remote_token,
                                      NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT),
                "flags-unknown in NdkRead");
    check_flags(qp->Dispatch->NdkWrite(qp, NULL, &sge, 1, (uintptr_t)p.passive.memory, p.passive.remote_token, 0x400),
                "flags-unknown in NdkWrite");
    kit_pair_close(&p);
}

CASE(flags_of_registrations, 0)
{
    static struct kit_side s;
    struct kit_call create = { 0 }, call = { 0 };
    NDK_MR *mr = NULL;
    NTSTATUS status;

    side_open(&s); /* which registers with all flags */
    CHECK_BREACHES("");
    status = s.pd->Dispatch->NdkCreateMr(s.pd, FALSE, kit_create_done, &create, &mr);
    CHECK_STATUS(kit_final(&create, status), STATUS_SUCCESS);
    mr = mr ? mr : (NDK_MR *)create.object;
    status = mr->Dispatch->NdkRegisterMr(mr, &s.mdl, 8, NDK_OP_FLAG_ALLOW_REMOTE_WRITE, kit_request_done, &call);
    check_flags(kit_final(&call, status), "flags-unknown in NdkRegisterMr");
    kit_close(mr);
    kit_side_close(&s);
}
