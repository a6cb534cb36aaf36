/* SPDX-License-Identifier: MIT */
/* With each profile the adapter enforces what it reports: a request at the limit succeeds, one beyond it is refused. */
#include <unistd.h>

#include "contract/kit/data.h"
#include "contract/kit/kit.h"
#include "openndk/config.h"

enum { RECEIVES, REQUESTS, RECEIVE_SGES, REQUEST_SGES, INLINE, SIZES };

static NDK_ADAPTER_INFO info;
static ondk_config_t config;

static void use(const char *name)
{
    ondk_config_init(&config);
    CHECK_EQ(ondk_config_profile(&config, name), STATUS_SUCCESS);
    CHECK_EQ(ondk_configure(&config), STATUS_SUCCESS);
}

static ULONG min_u32(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct data_qp most(void)
{
    return (struct data_qp){ .receives = info.MaxReceiveQueueDepth,
                             .initiators = info.MaxInitiatorQueueDepth,
                             .receive_sges = info.MaxReceiveRequestSge,
                             .initiator_sges = info.MaxInitiatorRequestSge,
                             .inline_size = info.MaxInlineDataSize };
}

/* A side whose queues have the largest size. */
static void open_side(struct kit_side *s)
{
    struct data_qp how;

    memset(s, 0, sizeof *s);
    s->owns_adapter = true;
    s->adapter = kit_open(2, 1);
    info = data_info(s->adapter);
    how = most();
    s->pd = kit_pd(s->adapter);
    CHECK_STATUS(data_cq(s->adapter, info.MaxCqDepth, kit_on_notify, s, &s->cq), STATUS_SUCCESS);
    CHECK_STATUS(data_qp(s, &how, &s->qp), STATUS_SUCCESS);
    s->memory = aligned_alloc(PAGE_SIZE, KIT_MEMORY);
    CHECK(s->memory);
    memset(s->memory, 0, KIT_MEMORY);
    s->mr = kit_mr(s, s->memory, KIT_MEMORY, DATA_ALL, &s->mdl, &s->remote_token);
    s->local_token = s->mr->Dispatch->NdkGetLocalTokenFromMr(s->mr);
}

static void check_reported(void)
{
    bool resize = info.AdapterFlags & NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED;
    bool moderation = info.AdapterFlags & NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED;
    bool invalidate = info.AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED;

    CHECK_EQ(info.MaxCallerData, config.max_private);
    CHECK_EQ(info.MaxCalleeData, config.max_private);
    CHECK_EQ(info.MaxInboundReadLimit, config.max_inbound_reads);
    CHECK_EQ(info.MaxOutboundReadLimit, config.max_outbound_reads);
    CHECK_EQ(info.MaxInitiatorRequestSge, min_u32(config.max_initiator_sge, 16));
    CHECK_EQ(info.MaxReceiveRequestSge, min_u32(config.max_receive_sge, 16));
    CHECK_EQ(info.MaxReadRequestSge, min_u32(config.max_read_sge, 16));
    CHECK_EQ(info.MaxInlineDataSize, min_u32(config.max_inline, 1024));
    CHECK_EQ(info.MaxInitiatorQueueDepth, min_u32(config.max_initiator_depth, 16384));
    CHECK_EQ(info.MaxReceiveQueueDepth, min_u32(config.max_receive_depth, 16384));
    CHECK_EQ(info.MaxCqDepth, min_u32(config.max_cq_depth, 262144));
    CHECK_EQ(info.MaxSrqDepth, min_u32(config.max_srq_depth, 16384));
    CHECK(info.FRMRPageCount <= config.fast_register_pages);
    CHECK_EQ(info.FRMRPageCount == 0, config.fast_register_pages == 0);
    CHECK_EQ(info.MaxWindowSize == 0, config.max_window_kib == 0);
    CHECK_EQ(info.MaxTransferLength, config.max_transfer);
    if (config.max_registration_kib != ONDK_UNLIMITED)
        CHECK_EQ(info.MaxRegistrationSize, (uint64_t)config.max_registration_kib << 10);
    CHECK_EQ(resize, config.cq_resize);
    CHECK_EQ(moderation, config.cq_moderation);
    CHECK_EQ(invalidate, config.read_local_invalidate);
}

/* ---- what is made ---- */

static void check_queues(struct kit_side *s)
{
    struct kit_call call = { 0 };
    NDK_CQ *cq;
    NDK_QP *qp;

    CHECK_STATUS(data_cq(s->adapter, info.MaxCqDepth + 1, kit_on_notify, s, &cq), STATUS_INVALID_PARAMETER);
    for (int i = 0; i < SIZES; i++) {
        struct data_qp how = most();

        how.receives += i == RECEIVES;
        how.initiators += i == REQUESTS;
        how.receive_sges += i == RECEIVE_SGES;
        how.initiator_sges += i == REQUEST_SGES;
        how.inline_size += i == INLINE;
        CHECK_STATUS(data_qp(s, &how, &qp), STATUS_INVALID_PARAMETER);
    }
    CHECK_STATUS(data_cq(s->adapter, 2, kit_on_notify, s, &cq), STATUS_SUCCESS);
    CHECK_STATUS(cq->Dispatch->NdkResizeCq(cq, info.MaxCqDepth, kit_request_done, &call),
                 config.cq_resize ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED);
    CHECK_STATUS(cq->Dispatch->NdkResizeCq(cq, info.MaxCqDepth + 1, kit_request_done, &call),
                 config.cq_resize ? STATUS_INVALID_PARAMETER : STATUS_NOT_SUPPORTED);
    CHECK_STATUS(cq->Dispatch->NdkControlCqInterruptModeration(cq, 0, 0),
                 config.cq_moderation ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED);
    CHECK_STATUS(kit_close(cq), STATUS_SUCCESS);
    CHECK_EQ(atomic_load(&call.calls), 0);
}

static void check_fast_registration(struct kit_side *s)
{
    struct kit_call create = { 0 }, init = { 0 };
    NDK_MR *mr = NULL;
    NTSTATUS status = s->pd->Dispatch->NdkCreateMr(s->pd, TRUE, kit_create_done, &create, &mr);

    if (!info.FRMRPageCount) {
        CHECK_STATUS(status, STATUS_NOT_SUPPORTED);
        return;
    }
    CHECK_STATUS(status, STATUS_SUCCESS);
    CHECK_STATUS(mr->Dispatch->NdkInitializeFastRegisterMr(mr, info.FRMRPageCount + 1, FALSE, kit_request_done, &init),
                 STATUS_IMPLEMENTATION_LIMIT);
    CHECK_STATUS(mr->Dispatch->NdkInitializeFastRegisterMr(mr, info.FRMRPageCount, FALSE, kit_request_done, &init),
                 STATUS_SUCCESS);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
}

static void check_memory(struct kit_side *s)
{
    struct kit_call call = { 0 };
    NDK_MR *mr = data_mr(s->pd);
    NDK_MW *mw = NULL;
    NTSTATUS status;

    /*
     * There is not so much memory: the chain is too short, which is refused in the same way. The side's own region
     * tests the limit.
     */
    CHECK_STATUS(data_register(mr, &s->mdl, info.MaxRegistrationSize + 1, 0), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    status = s->pd->Dispatch->NdkCreateMw(s->pd, kit_create_done, &call, &mw);
    CHECK_STATUS(status, info.MaxWindowSize ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED);
    if (mw)
        CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    check_fast_registration(s);
}

static void srq_low(void *context, NTSTATUS status)
{
    (void)context, (void)status;
}

static NTSTATUS try_srq(struct kit_side *s, ULONG depth, ULONG sges)
{
    struct kit_call call = { 0 };
    NDK_SRQ *srq = NULL;
    NTSTATUS status = s->pd->Dispatch->NdkCreateSrq(s->pd, depth, sges, 0, srq_low, NULL, NULL, kit_create_done, &call,
                                                    &srq);

    if (NT_SUCCESS(status))
        CHECK_STATUS(kit_close(srq), STATUS_SUCCESS);
    return status;
}

static void check_shared_queues(struct kit_side *s)
{
    ULONG depth = info.MaxSrqDepth, sges = info.MaxReceiveRequestSge;
    NTSTATUS beyond = depth ? STATUS_INVALID_PARAMETER : STATUS_NOT_SUPPORTED;

    CHECK_STATUS(try_srq(s, depth, sges), depth ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED);
    CHECK_STATUS(try_srq(s, depth + 1, sges), beyond);
    CHECK_STATUS(try_srq(s, depth, sges + 1), beyond);
}

/* ---- what is posted ---- */

static NTSTATUS post(struct kit_side *s, bool receive, ULONG count, ULONG len, ULONG flags)
{
    NDK_SGE sges[64];

    CHECK(count <= 64);
    for (ULONG i = 0; i < count; i++)
        sges[i] = kit_sge(s, i * 64, len);
    if (receive)
        return s->qp->Dispatch->NdkReceive(s->qp, NULL, sges, count);
    return s->qp->Dispatch->NdkSend(s->qp, NULL, sges, count, flags);
}

static void check_sends(struct kit_side *from, struct kit_side *to)
{
    ULONG fewer = min_u32(info.MaxInitiatorRequestSge, info.MaxReceiveRequestSge);

    CHECK_STATUS(post(to, true, info.MaxReceiveRequestSge + 1, 10, 0), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(post(to, true, info.MaxReceiveRequestSge, 10, 0), STATUS_SUCCESS);
    CHECK_STATUS(post(from, false, info.MaxInitiatorRequestSge + 1, 10, 0), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(post(from, false, fewer, 10, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(from).Status, STATUS_SUCCESS);
    CHECK_EQ(kit_result(to).BytesTransferred, fewer * 10);
    CHECK_STATUS(kit_post_receive(to, 0, 0, 4096), STATUS_SUCCESS);
    CHECK_STATUS(post(from, false, 1, info.MaxInlineDataSize + 1, NDK_OP_FLAG_INLINE), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(post(from, false, 1, info.MaxInlineDataSize, NDK_OP_FLAG_INLINE), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(from).Status, STATUS_SUCCESS);
    CHECK_EQ(kit_result(to).BytesTransferred, info.MaxInlineDataSize);
    if (info.MaxTransferLength < KIT_MEMORY) {
        CHECK_STATUS(kit_post_receive(to, 0, 0, info.MaxTransferLength), STATUS_SUCCESS);
        CHECK_STATUS(kit_post_send(from, 0, 0, info.MaxTransferLength + 1), STATUS_INVALID_PARAMETER);
        CHECK_STATUS(kit_post_send(from, 0, 0, info.MaxTransferLength), STATUS_SUCCESS);
        CHECK_STATUS(kit_result(from).Status, STATUS_SUCCESS);
        CHECK_EQ(kit_result(to).BytesTransferred, info.MaxTransferLength);
    } else if (info.MaxTransferLength < MAXULONG && info.MaxReceiveRequestSge > 1) {
        CHECK_STATUS(kit_post_receive(to, 0, 0, info.MaxTransferLength + 1), STATUS_INVALID_PARAMETER);
    }
}

static void check_reads(struct kit_side *from, struct kit_side *to)
{
    ULONG inbound, outbound, count = info.MaxReadRequestSge, len = 0;
    NDK_SGE sges[64];

    for (ULONG i = 0; i <= count; i++)
        sges[i] = kit_sge(from, i * 64, 10);
    CHECK_STATUS(
        from->qp->Dispatch->NdkRead(from->qp, NULL, sges, count + 1, (uintptr_t)to->memory, to->remote_token, 0),
        STATUS_INVALID_PARAMETER);
    CHECK_STATUS(from->qp->Dispatch->NdkRead(from->qp, NULL, sges, count, (uintptr_t)to->memory, to->remote_token, 0),
                 STATUS_SUCCESS);
    CHECK_STATUS(kit_result(from).Status, STATUS_SUCCESS);
    CHECK_STATUS(from->connector->Dispatch->NdkGetConnectionData(from->connector, &inbound, &outbound, NULL, &len),
                 STATUS_SUCCESS);
    CHECK_EQ(inbound, min_u32(8, min_u32(config.max_inbound_reads, config.max_outbound_reads)));
    CHECK_EQ(outbound, inbound);
}

/* As many as the queue holds; the CQ holds the same number for both queues. */
static void check_depth(struct kit_side *s)
{
    NDK_RESULT_EX r;

    for (ULONG i = 0; i < info.MaxReceiveQueueDepth; i++)
        CHECK_STATUS(kit_post_receive(s, i, 0, 8), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(s, 0, 0, 8), STATUS_INSUFFICIENT_RESOURCES);
    s->qp->Dispatch->NdkFlush(s->qp);
    for (ULONG i = 0; i < info.MaxReceiveQueueDepth; i++) {
        r = kit_result(s);
        CHECK_STATUS(r.Status, STATUS_CANCELLED);
        CHECK_EQ((uintptr_t)r.RequestContext, i);
    }
}

static void check_private_data(struct kit_pair *p)
{
    struct kit_call call = { 0 };
    struct sockaddr_storage here = kit_host(0);
    uint8_t data[600] = { 1 };

    CHECK_STATUS(kit_connect_start(&p->active, &call, &here, &p->listener.address, data, info.MaxCallerData + 1),
                 STATUS_INVALID_PARAMETER);
    CHECK_EQ(atomic_load(&call.calls), 0);
}

static void check_profile(const char *name)
{
    static struct kit_pair p;

    use(name);
    open_side(&p.active);
    open_side(&p.passive);
    check_reported();
    check_queues(&p.active);
    check_memory(&p.active);
    check_shared_queues(&p.active);
    kit_listen(&p.listener, p.passive.adapter);
    check_private_data(&p);
    kit_establish(&p.active, &p.passive, &p.listener);
    check_sends(&p.active, &p.passive);
    check_reads(&p.active, &p.passive);
    check_depth(&p.active);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
}

CASE(profiles_default, KIT_FAMILIES)
{
    check_profile("default");
}

CASE(profiles_narrow, KIT_FAMILIES)
{
    check_profile("narrow");
    CHECK_EQ(info.MaxInitiatorRequestSge, 3);
    CHECK_EQ(info.MaxReadRequestSge, 1);
    CHECK_EQ(info.MaxCallerData, 56);
    CHECK_EQ(info.MaxInboundReadLimit, 16);
    CHECK_EQ(info.MaxWindowSize, 0);
}

CASE(profiles_no_windows, KIT_FAMILIES)
{
    check_profile("no-windows");
    CHECK_EQ(info.FRMRPageCount, 511);
    CHECK_EQ(info.MaxOutboundReadLimit, 128);
    CHECK_EQ(info.MaxInitiatorQueueDepth, 16351);
    CHECK_EQ(info.MaxTransferLength, 1 << 30);
}

CASE(profiles_shallow, KIT_FAMILIES)
{
    check_profile("shallow");
}

CASE(profiles_minimal, KIT_FAMILIES)
{
    check_profile("minimal");
    CHECK_EQ(info.MaxSrqDepth, 0);
    CHECK_EQ(info.FRMRPageCount, 0);
    CHECK_EQ(info.MaxCallerData, 0);
}

/* The environment's profile is applied before its variables, and both before the program's settings. */
CASE(profiles_in_the_environment, 0)
{
    ondk_config_t c;

    setenv("ONDK_PROFILE", "narrow", 1);
    setenv("ONDK_MAX_READ_SGE", "2", 1);
    ondk_config_init(&c);
    CHECK_EQ(c.max_initiator_sge, 3);
    CHECK_EQ(c.max_read_sge, 2);
    CHECK_EQ(c.cq_resize, 0);
    CHECK_EQ(c.connect_ms, 10000);
    setenv("ONDK_PROFILE", "nothing like it", 1);
    ondk_config_init(&c);
    CHECK_EQ(c.max_initiator_sge, ONDK_UNLIMITED);
    CHECK_EQ(c.max_read_sge, 2);
    unsetenv("ONDK_MAX_READ_SGE");
    unsetenv("ONDK_PROFILE");
}

CASE(profiles_are_listed, 0)
{
    ondk_config_t before, c, fresh;
    uint32_t n = 0;

    ondk_config_init(&fresh);
    for (; ondk_profile_name(n); n++) {
        c = fresh;
        CHECK(strlen(ondk_profile_text(n)) > 10);
        CHECK_EQ(ondk_config_profile(&c, ondk_profile_name(n)), STATUS_SUCCESS);
        CHECK_EQ(ondk_configure(&c), STATUS_SUCCESS); /* every value is in its range */
        if (n == 0)
            CHECK(memcmp(&c, &fresh, sizeof c) == 0); /* the default one changes nothing */
        else
            CHECK(memcmp(&c, &fresh, sizeof c) != 0);
    }
    CHECK_EQ(n, 5);
    CHECK(!ondk_profile_text(n));
    before = c;
    CHECK_EQ(ondk_config_profile(&c, "wide"), STATUS_INVALID_PARAMETER);
    CHECK(memcmp(&c, &before, sizeof c) == 0);
}
