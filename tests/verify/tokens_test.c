/* SPDX-License-Identifier: MIT */
/* Rules about tokens in requests: for each rule what breaks it, and what is legal beside it. */
#include "contract/kit/fast.h"
#include "contract/kit/sharing.h"
#include "verify/breaches.h"

enum { LENGTH = 100, PAGES = 2 };

static struct kit_pair p;

static void open_pair(void)
{
    breaches_begin();
    kit_pair_open(&p);
}

static void close_pair(void)
{
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

static NTSTATUS receive(NDK_SGE sge)
{
    return p.active.qp->Dispatch->NdkReceive(p.active.qp, NULL, &sge, 1);
}

static NTSTATUS send_with(NDK_SGE sge, ULONG flags)
{
    return p.active.qp->Dispatch->NdkSend(p.active.qp, NULL, &sge, 1, flags);
}

/* ---- token-early ---- */

CASE(token_of_a_region_before_its_registration, 0)
{
    struct data_region r;
    NDK_MR *mr;

    open_pair();
    mr = data_mr(p.active.pd);
    (void)mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    CHECK_BREACHES("token-early in NdkGetLocalTokenFromMr");
    (void)mr->Dispatch->NdkGetRemoteTokenFromMr(mr);
    CHECK_BREACHES("token-early in NdkGetRemoteTokenFromMr");
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    data_region_open(&r, p.active.pd, 0, LENGTH, DATA_ALL);
    CHECK_STATUS(data_deregister(r.mr), STATUS_SUCCESS);
    (void)r.mr->Dispatch->NdkGetLocalTokenFromMr(r.mr); /* after a registration, even if it has ended */
    data_region_close(&r);
    close_pair();
}

CASE(token_of_a_fast_region_before_its_initialization, 0)
{
    NDK_MR *mr;

    open_pair();
    mr = fast_mr(p.active.pd);
    (void)mr->Dispatch->NdkGetRemoteTokenFromMr(mr);
    CHECK_BREACHES("token-early in NdkGetRemoteTokenFromMr");
    CHECK_STATUS(fast_initialize(mr, PAGES, TRUE), STATUS_SUCCESS);
    (void)mr->Dispatch->NdkGetRemoteTokenFromMr(mr);
    (void)mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    close_pair();
}

CASE(token_of_a_window_before_its_bind, 0)
{
    NDK_MW *mw;

    open_pair();
    mw = fast_mw(p.active.pd);
    (void)fast_mw_token(mw);
    CHECK_BREACHES("token-early in NdkGetRemoteTokenFromMw");
    CHECK_STATUS(fast_bind(&p.active, 1, p.active.mr, mw, p.active.memory, LENGTH, NDK_OP_FLAG_ALLOW_REMOTE_READ),
                 STATUS_SUCCESS);
    (void)fast_mw_token(mw); /* before the result is taken */
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeBind), 1);
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    close_pair();
}

/* ---- token-unknown ---- */

CASE(token_that_names_nothing, 0)
{
    NDK_SGE sge;

    open_pair();
    sge = kit_sge(&p.active, 0, LENGTH);
    sge.MemoryRegionToken ^= 0x5a5a;
    CHECK(send_with(sge, 0) < 0);
    CHECK_BREACHES("token-unknown in NdkSend");
    CHECK(receive(sge) < 0);
    CHECK_BREACHES("token-unknown in NdkReceive");
    sge.Length = 0; /* no byte is accessed, whatever the provider answers */
    (void)receive(sge);
    close_pair();
}

CASE(token_of_inline_data, 0)
{
    NDK_SGE sge = { .VirtualAddress = "inline", .Length = 6, .MemoryRegionToken = 0x1234 };

    breaches_begin();
    kit_pair_open_idle(&p);
    CHECK_STATUS(kit_close(p.active.qp), STATUS_SUCCESS);
    CHECK_STATUS(
        data_qp(&p.active,
                &(struct data_qp){
                    .receives = 1, .initiators = 1, .receive_sges = 1, .initiator_sges = 1, .inline_size = sge.Length },
                &p.active.qp),
        STATUS_SUCCESS);
    kit_establish(&p.active, &p.passive, &p.listener);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, LENGTH), STATUS_SUCCESS);
    CHECK_STATUS(send_with(sge, NDK_OP_FLAG_INLINE), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    close_pair();
}

CASE(token_after_the_deregistration, 0)
{
    struct data_region r;
    NDK_SGE sge;

    open_pair();
    data_region_open(&r, p.active.pd, 0, LENGTH, DATA_ALL);
    sge = data_sge(&r, 0, LENGTH);
    CHECK_STATUS(receive(sge), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(data_deregister(r.mr), STATUS_SUCCESS);
    CHECK(receive(sge) < 0);
    CHECK_BREACHES("token-unknown in NdkReceive");
    CHECK_STATUS(data_register(r.mr, &r.mdl, LENGTH, DATA_ALL), STATUS_SUCCESS);
    CHECK(receive(sge) < 0); /* the new registration has another token */
    CHECK_BREACHES("token-unknown in NdkReceive");
    sge = data_sge(&r, 0, LENGTH);
    CHECK_STATUS(receive(sge), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(kit_close(r.mr), STATUS_SUCCESS);
    r.mr = NULL;
    CHECK(receive(sge) < 0);
    CHECK_BREACHES("token-unknown in NdkReceive");
    data_region_close(&r);
    close_pair();
}

/* Registrations that come and go, and many at once. */
CASE(tokens_of_many_regions, 0)
{
    enum { REGIONS = 300, ROUNDS = 3 };
    static struct data_region all[REGIONS];

    open_pair();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < REGIONS; i++)
            data_region_open(&all[i], p.active.pd, 0, LENGTH, DATA_ALL);
        for (int i = 0; i < REGIONS; i++) {
            CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, LENGTH), STATUS_SUCCESS);
            CHECK_STATUS(send_with(data_sge(&all[i], 0, LENGTH), 0), STATUS_SUCCESS);
            CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
            CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
        }
        for (int i = 0; i < REGIONS; i++)
            data_region_close(&all[i]);
    }
    close_pair();
}

static void open_fast(struct fast_region *r)
{
    open_pair();
    fast_region_open(r, &p.active, PAGES, FAST_ALL);
    CHECK_BREACHES("");
}

CASE(token_after_an_invalidation, 0)
{
    static struct fast_region r;
    NDK_SGE sge;

    open_fast(&r);
    sge = fast_sge(&r, 0, LENGTH);
    CHECK_STATUS(receive(sge), STATUS_SUCCESS);
    CHECK_STATUS(fast_invalidate(&p.active, 2, r.mr, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(receive(kit_sge(&p.active, 0, LENGTH)), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, LENGTH), STATUS_SUCCESS);
    (void)send_with(sge, 0);
    CHECK_BREACHES("token-unknown in NdkSend");
    fast_region_close(&r);
    close_pair();
}

/* The order of an NdkInvalidate and of posts to another queue is not defined until its result is taken. */
CASE(token_after_the_result_of_an_invalidation, 0)
{
    static struct fast_region r;
    NDK_SGE sge;

    open_fast(&r);
    sge = fast_sge(&r, 0, LENGTH);
    CHECK_STATUS(fast_invalidate(&p.active, 2, r.mr, 0), STATUS_SUCCESS);
    (void)receive(sge);
    CHECK_BREACHES("");
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeInvalidate), 2);
    CHECK(receive(sge) < 0);
    CHECK_BREACHES("token-unknown in NdkReceive");
    fast_region_close(&r);
    close_pair();
}

/* An NdkInvalidate that fails may leave the token valid. */
CASE(token_after_an_invalidation_that_fails, 0)
{
    static struct fast_region r;
    NDK_RESULT_EX result;
    NDK_SGE sge;

    open_fast(&r);
    sge = fast_sge(&r, 0, LENGTH);
    CHECK_STATUS(fast_invalidate(&p.active, 2, r.mr, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    p.active.qp->Dispatch->NdkFlush(p.active.qp);
    do {
        result = kit_result(&p.active);
    } while (result.Type != NdkOperationTypeInvalidate);
    if (result.Status < 0) {
        (void)send_with(sge, 0);
        CHECK_BREACHES("");
    }
    fast_region_close(&r);
    close_pair();
}

/* A request with the new token is legal as soon as NdkFastRegister has returned. The old token is over. */
CASE(token_of_a_later_fast_registration, 0)
{
    static struct fast_region r;
    NDK_SGE old, new;

    open_fast(&r);
    old = fast_sge(&r, 0, LENGTH);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, LENGTH), STATUS_SUCCESS);
    CHECK_STATUS(fast_invalidate(&p.active, 2, r.mr, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    CHECK_STATUS(fast_region_post(&r, &p.active, 3, FAST_ALL | NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    new = fast_sge(&r, 0, LENGTH);
    CHECK_STATUS(send_with(new, 0), STATUS_SUCCESS);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_BREACHES("");
    (void)send_with(old, 0);
    CHECK_BREACHES("token-unknown in NdkSend");
    fast_region_close(&r);
    close_pair();
}

/* The first registration has the token that was readable after the initialization. */
CASE(token_before_the_first_fast_registration, 0)
{
    struct fast_memory m;
    NDK_SGE sge;
    NDK_MR *mr;

    open_pair();
    fast_memory_open(&m, p.active.adapter, 0, PAGE_SIZE);
    mr = fast_mr(p.active.pd);
    CHECK_STATUS(fast_initialize(mr, 1, TRUE), STATUS_SUCCESS);
    sge = data_mr_sge(mr, m.memory, LENGTH);
    CHECK(send_with(sge, 0) < 0);
    CHECK_BREACHES("token-unknown in NdkSend");
    CHECK_STATUS(fast_register(&p.active, 1, mr, m.lam->AdapterPageArray, 1, 0, PAGE_SIZE, m.memory,
                               FAST_ALL | NDK_OP_FLAG_DEFER),
                 STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, LENGTH), STATUS_SUCCESS);
    CHECK_STATUS(send_with(sge, 0), STATUS_SUCCESS);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    fast_memory_close(&m);
    close_pair();
}

/* The peer's invalidation counts from the poll that returns the receive's result. */
CASE(token_that_the_peer_has_invalidated, 0)
{
    static struct fast_region r;
    NDK_RESULT_EX result;
    NDK_SGE sge;

    open_fast(&r);
    sge = fast_sge(&r, 0, LENGTH);
    CHECK_STATUS(kit_post_receive(&p.active, 1, 0, LENGTH), STATUS_SUCCESS);
    p.active.cq->Dispatch->NdkArmCq(p.active.cq, NDK_CQ_NOTIFY_ANY);
    CHECK_STATUS(fast_send_invalidate(&p.passive, 2, 0, LENGTH, 0, r.token), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeSend), 2);
    kit_wait_count(&p.active.notified, 1); /* until the invalidation has arrived */
    CHECK(receive(sge) != STATUS_SUCCESS);
    CHECK_BREACHES("");
    result = kit_result(&p.active);
    CHECK_EQ(result.Type, NdkOperationTypeReceiveAndInvalidate);
    CHECK(receive(sge) < 0);
    CHECK_BREACHES("token-unknown in NdkReceive");
    CHECK_STATUS(fast_region_post(&r, &p.active, 3, FAST_ALL), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeFastRegister), 3);
    (void)receive(fast_sge(&r, 0, LENGTH)); /* the queue may be full */
    CHECK_BREACHES("");
    fast_region_close(&r);
    close_pair();
}

/* ---- sge-range ---- */

CASE(range_of_an_sge, 0)
{
    struct data_region r;

    open_pair();
    data_region_open(&r, p.active.pd, 10, LENGTH, DATA_ALL);
    CHECK_STATUS(receive(data_sge(&r, 0, LENGTH)), STATUS_SUCCESS);
    CHECK_STATUS(receive(data_sge(&r, LENGTH - 1, 1)), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(receive(data_sge(&r, 1, LENGTH)) < 0);
    CHECK_BREACHES("sge-range in NdkReceive");
    CHECK(send_with(data_mr_sge(r.mr, r.memory - 1, LENGTH), 0) < 0);
    CHECK_BREACHES("sge-range in NdkSend");
    CHECK_STATUS(data_deregister(r.mr), STATUS_SUCCESS);
    CHECK_STATUS(data_register(r.mr, &r.mdl, LENGTH / 2, DATA_ALL), STATUS_SUCCESS);
    CHECK_STATUS(receive(data_sge(&r, 0, LENGTH / 2)), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(receive(data_sge(&r, 0, LENGTH / 2 + 1)) < 0); /* inside the MDL, but not registered */
    CHECK_BREACHES("sge-range in NdkReceive");
    data_region_close(&r);
    close_pair();
}

/* A fast registration begins at its base address, not at its memory. */
CASE(range_of_a_fast_registration, 0)
{
    static struct fast_region r;

    open_fast(&r);
    CHECK_STATUS(receive(fast_sge(&r, r.len - LENGTH, LENGTH)), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(receive(data_mr_sge(r.mr, r.memory.memory, LENGTH)) < 0);
    CHECK_BREACHES("sge-range in NdkReceive");
    fast_region_close(&r);
    close_pair();
}

/* The second SGE is checked, too, and the post makes one report. */
CASE(range_of_the_second_sge, 0)
{
    NDK_SGE sges[3];

    open_pair();
    sges[0] = kit_sge(&p.active, 0, LENGTH);
    sges[1] = kit_sge(&p.active, KIT_MEMORY - 1, LENGTH);
    sges[2] = sges[1];
    CHECK(p.active.qp->Dispatch->NdkReceive(p.active.qp, NULL, sges, 3) < 0);
    CHECK_BREACHES("sge-range in NdkReceive");
    close_pair();
}

/* ---- local-write-right ---- */

CASE(region_without_local_write, 0)
{
    struct data_region r;
    NDK_SGE sge;

    open_pair();
    data_region_open(&r, p.active.pd, 0, LENGTH, NDK_MR_FLAG_ALLOW_LOCAL_READ);
    sge = data_sge(&r, 0, LENGTH);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, LENGTH), STATUS_SUCCESS);
    CHECK_STATUS(send_with(sge, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_STATUS(data_write(&p.active, 1, &sge, (uintptr_t)p.passive.memory, p.passive.remote_token), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(receive(sge) < 0);
    CHECK_BREACHES("local-write-right in NdkReceive");
    CHECK(data_read(&p.active, 1, &sge, (uintptr_t)p.passive.memory, p.passive.remote_token) < 0);
    CHECK_BREACHES("local-write-right in NdkRead");
    CHECK_STATUS(data_deregister(r.mr), STATUS_SUCCESS);
    CHECK_STATUS(data_register(r.mr, &r.mdl, LENGTH, NDK_MR_FLAG_ALLOW_REMOTE_WRITE), STATUS_SUCCESS);
    CHECK_STATUS(receive(data_sge(&r, 0, LENGTH)), STATUS_SUCCESS); /* remote write includes local write */
    data_region_close(&r);
    close_pair();
}

CASE(region_without_local_write_in_a_shared_queue, 0)
{
    static struct sharing s;
    struct data_region r;
    NDK_SGE sge;

    breaches_begin();
    sharing_open(&s, &(struct sharing_config){ .sges = 1 });
    data_region_open(&r, s.passive.pd, 0, LENGTH, NDK_MR_FLAG_ALLOW_LOCAL_READ);
    sge = data_sge(&r, 0, LENGTH);
    CHECK(s.srq->Dispatch->NdkSrqReceive(s.srq, NULL, &sge, 1) < 0);
    CHECK_BREACHES("local-write-right in NdkSrqReceive");
    data_region_close(&r);
    sharing_close(&s);
    CHECK_BREACHES("");
}

/* ---- mdl-read-only ---- */

static uint32_t mdl_state_of_all;

static uint32_t host_mdl_state(const MDL *mdl)
{
    (void)mdl;
    return mdl_state_of_all;
}

CASE(region_locked_for_reading, 0)
{
    const ondk_verify_host_t host = { .size = sizeof host, .mdl_state = host_mdl_state };
    struct data_region r;
    NDK_SGE sge;

    CHECK_STATUS(ondk_verify_set_host(&host), STATUS_SUCCESS);
    mdl_state_of_all = ONDK_VERIFY_MDL_READ_ONLY;
    open_pair();
    data_region_open(&r, p.active.pd, 0, LENGTH, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
    sge = data_sge(&r, 0, LENGTH);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, LENGTH), STATUS_SUCCESS);
    CHECK_BREACHES(
        "mdl-read-only in NdkReceive"); /* all regions are locked for reading, also that of the passive end */
    CHECK_STATUS(send_with(sge, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(data_read(&p.active, 1, &sge, (uintptr_t)p.passive.memory, p.passive.remote_token), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_BREACHES("mdl-read-only in NdkRead");
    mdl_state_of_all = ONDK_VERIFY_MDL_LOCKED;
    CHECK_STATUS(data_deregister(r.mr), STATUS_SUCCESS);
    CHECK_STATUS(data_register(r.mr, &r.mdl, LENGTH, NDK_MR_FLAG_ALLOW_LOCAL_WRITE), STATUS_SUCCESS);
    CHECK_STATUS(receive(data_sge(&r, 0, LENGTH)), STATUS_SUCCESS);
    data_region_close(&r);
    close_pair();
}

/* ---- read-sink-right ---- */

static NDK_ADAPTER_DISPATCH no_flag;
static NTSTATUS (*query_info)(NDK_ADAPTER *adapter, NDK_ADAPTER_INFO *info, ULONG *size);

static NTSTATUS query_info_without_flag(NDK_ADAPTER *adapter, NDK_ADAPTER_INFO *info, ULONG *size)
{
    NTSTATUS status = query_info(adapter, info, size);

    if (status == STATUS_SUCCESS)
        info->AdapterFlags &= ~(ULONG)NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED;
    return status;
}

/* Opens the pair. The active side's adapter does not report NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED. */
static NDK_ADAPTER *open_pair_without_flag(void)
{
    NDK_ADAPTER *provider, *wrapped;

    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    provider = kit_open(2, 1);
    no_flag = *provider->Dispatch;
    query_info = no_flag.NdkQueryAdapterInfo;
    no_flag.NdkQueryAdapterInfo = query_info_without_flag;
    provider->Dispatch = &no_flag;
    breaches_begin();
    CHECK_STATUS(ondk_verify_wrap(provider, &wrapped), STATUS_SUCCESS);
    kit_side_open(&p.active, wrapped);
    kit_side_open(&p.passive, NULL);
    kit_listen(&p.listener, p.passive.adapter);
    kit_establish(&p.active, &p.passive, &p.listener);
    return wrapped;
}

static NTSTATUS read_into(NDK_SGE sge)
{
    NTSTATUS status = data_read(&p.active, 1, &sge, (uintptr_t)p.passive.memory, p.passive.remote_token);

    if (status == STATUS_SUCCESS)
        CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    return status;
}

CASE(read_sink_on_an_adapter_that_needs_the_right, 0)
{
    NDK_ADAPTER *wrapped = open_pair_without_flag();
    struct data_region with, without;
    struct fast_memory m;

    data_region_open(&without, p.active.pd, 0, LENGTH, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
    data_region_open(&with, p.active.pd, 0, LENGTH, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK);
    fast_memory_open(&m, wrapped, 0, PAGE_SIZE);
    CHECK_STATUS(read_into(data_sge(&with, 0, LENGTH)), STATUS_SUCCESS);
    CHECK_STATUS(receive(data_sge(&without, 0, LENGTH)), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(read_into(data_sge(&without, 0, LENGTH)), STATUS_SUCCESS);
    CHECK_BREACHES("read-sink-right in NdkRead");
    CHECK_STATUS(read_into(fast_logical(&m, p.active.pd, 0, LENGTH)), STATUS_SUCCESS);
    CHECK_BREACHES("read-sink-right in NdkRead");
    data_region_close(&with);
    data_region_close(&without);
    fast_memory_close(&m);
    kit_pair_close(&p);
    kit_close_adapter(ondk_verify_unwrap(wrapped));
    CHECK_BREACHES("");
}

CASE(fast_registered_read_sink_on_an_adapter_that_needs_the_right, 0)
{
    NDK_ADAPTER *wrapped = open_pair_without_flag();
    static struct fast_region with, without;

    fast_region_open(&with, &p.active, PAGES, NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_RDMA_READ_SINK);
    fast_region_open(&without, &p.active, PAGES, FAST_ALL);
    CHECK_STATUS(read_into(fast_sge(&with, 0, LENGTH)), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(read_into(fast_sge(&without, 0, LENGTH)), STATUS_SUCCESS);
    CHECK_BREACHES("read-sink-right in NdkRead");
    fast_region_close(&with);
    fast_region_close(&without);
    kit_pair_close(&p);
    kit_close_adapter(ondk_verify_unwrap(wrapped));
    CHECK_BREACHES("");
}

CASE(read_sink_on_an_adapter_that_does_not_need_the_right, 0)
{
    struct data_region r;

    open_pair();
    data_region_open(&r, p.active.pd, 0, LENGTH, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
    CHECK_STATUS(read_into(data_sge(&r, 0, LENGTH)), STATUS_SUCCESS);
    data_region_close(&r);
    close_pair();
}

/* ---- the privileged token ---- */

CASE(privileged_token_with_a_virtual_address, 0)
{
    struct fast_memory m;
    NDK_SGE logical, virtual;

    open_pair();
    fast_memory_open(&m, p.active.adapter, 100, PAGES * PAGE_SIZE);
    logical = fast_logical(&m, p.active.pd, 10, LENGTH);
    virtual = logical;
    virtual.VirtualAddress = m.memory + 10;
    CHECK_STATUS(receive(logical), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(receive(virtual) < 0);
    CHECK_BREACHES("privileged-token-virtual in NdkReceive");
    p.active.qp->Dispatch->NdkFlush(p.active.qp);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_CANCELLED);
    fast_memory_close(&m);
    CHECK(receive(logical) < 0);
    CHECK_BREACHES("privileged-token-virtual in NdkReceive");
    close_pair();
}

CASE(privileged_token_at_the_peer, 0)
{
    NDK_SGE sge;
    UINT32 token;

    open_pair();
    sge = kit_sge(&p.active, 0, LENGTH);
    p.active.pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(p.active.pd, &token);
    CHECK_STATUS(data_write(&p.active, 1, &sge, (uintptr_t)p.passive.memory, p.passive.remote_token), STATUS_SUCCESS);
    CHECK_STATUS(p.active.qp->Dispatch->NdkWrite(p.active.qp, NULL, NULL, 0, 0, token, 0), STATUS_SUCCESS);
    CHECK_BREACHES(""); /* a write without data uses no token */
    (void)data_write(&p.active, 1, &sge, (uintptr_t)p.passive.memory, token);
    CHECK_BREACHES("privileged-token-peer in NdkWrite");
    (void)data_read(&p.active, 1, &sge, (uintptr_t)p.passive.memory, token);
    CHECK_BREACHES("privileged-token-peer in NdkRead");
    close_pair();
}
