/* SPDX-License-Identifier: MIT */
/*
 * Tokens of providers that differ from OpenNDK's: registrations complete later, or each registration has the same
 * token. And tokens that several threads make and end at once.
 */
#include "contract/kit/fast.h"
#include "verify/breaches.h"
#include "verify/verify.h"

enum { LENGTH = 100, PAGES = 2, ROUNDS = 100 };

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

/* ---- calls that complete later ---- */

static NDK_MR_DISPATCH real, changed;
static NDK_FN_REQUEST_COMPLETION pending_done;
static PVOID pending_context;

static NTSTATUS pend_register(NDK_MR *mr, MDL *mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION done,
                              PVOID context)
{
    CHECK_STATUS(real.NdkRegisterMr(mr, mdl, length, flags, done, context), STATUS_SUCCESS);
    pending_done = done;
    pending_context = context;
    return STATUS_PENDING;
}

static NTSTATUS pend_deregister(NDK_MR *mr, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    (void)mr;
    pending_done = done;
    pending_context = context;
    return STATUS_PENDING;
}

/* Lets the provider's object of a region use the table `changed`, which is a copy of its own at first. */
static void change_provider(NDK_MR *mr)
{
    NDK_MR *object = verify_unwrap(mr);

    real = changed = *object->Dispatch;
    object->Dispatch = &changed;
}

static void complete(struct kit_call *call, NTSTATUS status)
{
    pending_done(pending_context, status);
    CHECK_STATUS(kit_final(call, STATUS_PENDING), status);
    memset(call, 0, sizeof *call);
}

CASE(token_of_a_pending_registration, 0)
{
    struct kit_call call = { 0 };
    NDK_MR *mr;
    MDL mdl;

    open_pair();
    mr = data_mr(p.active.pd);
    change_provider(mr);
    changed.NdkRegisterMr = pend_register;
    changed.NdkDeregisterMr = pend_deregister;
    kit_init_mdl(&mdl, p.active.memory, LENGTH, NULL);
    CHECK_STATUS(mr->Dispatch->NdkRegisterMr(mr, &mdl, LENGTH, DATA_ALL, kit_request_done, &call), STATUS_PENDING);
    (void)mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    CHECK_BREACHES("token-early in NdkGetLocalTokenFromMr");
    complete(&call, STATUS_SUCCESS);
    CHECK_STATUS(receive(data_mr_sge(mr, p.active.memory, LENGTH)), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(receive(data_mr_sge(mr, p.active.memory, LENGTH + 1)) < 0);
    CHECK_BREACHES("sge-range in NdkReceive");
    CHECK_STATUS(mr->Dispatch->NdkDeregisterMr(mr, kit_request_done, &call), STATUS_PENDING);
    CHECK_STATUS(receive(data_mr_sge(mr, p.active.memory, LENGTH)), STATUS_SUCCESS);
    CHECK_BREACHES("token-unknown in NdkReceive"); /* from the call on, although the provider still accepts it */
    complete(&call, STATUS_INSUFFICIENT_RESOURCES);
    CHECK_STATUS(receive(data_mr_sge(mr, p.active.memory, LENGTH)), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    close_pair();
}

CASE(token_of_a_registration_that_fails_later, 0)
{
    struct kit_call call = { 0 };
    NDK_MR *mr;
    MDL mdl;

    open_pair();
    mr = data_mr(p.active.pd);
    change_provider(mr);
    changed.NdkRegisterMr = pend_register;
    kit_init_mdl(&mdl, p.active.memory, LENGTH, NULL);
    CHECK_STATUS(mr->Dispatch->NdkRegisterMr(mr, &mdl, LENGTH, DATA_ALL, kit_request_done, &call), STATUS_PENDING);
    complete(&call, STATUS_INSUFFICIENT_RESOURCES);
    (void)mr->Dispatch->NdkGetRemoteTokenFromMr(mr);
    CHECK_BREACHES("token-early in NdkGetRemoteTokenFromMr");
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    close_pair();
}

/* ---- a provider that gives a region the same token each time ---- */

static UINT32 same_token(NDK_MR *mr)
{
    (void)mr;
    return 0x777;
}

static NTSTATUS register_page(NDK_MR *mr, const struct fast_memory *m, ULONG page)
{
    return fast_register(&p.active, 1, mr, m->lam->AdapterPageArray + page, 1, 0, PAGE_SIZE,
                         m->memory + (size_t)page * PAGE_SIZE, FAST_ALL);
}

/* The provider below refuses the token, but the checks see a provider for which it is right. */
CASE(token_that_stays_the_same, 0)
{
    struct fast_memory m;
    NDK_MR *mr;

    open_pair();
    fast_memory_open(&m, p.active.adapter, 0, PAGES * PAGE_SIZE);
    mr = fast_mr(p.active.pd);
    change_provider(mr);
    changed.NdkGetLocalTokenFromMr = changed.NdkGetRemoteTokenFromMr = same_token;
    CHECK_STATUS(fast_initialize(mr, PAGES, TRUE), STATUS_SUCCESS);
    CHECK(receive(data_mr_sge(mr, m.memory, LENGTH)) < 0);
    CHECK_BREACHES("token-unknown in NdkReceive");
    for (ULONG page = 0; page < PAGES; page++) {
        uint8_t *at = m.memory + (size_t)page * PAGE_SIZE;

        CHECK_STATUS(register_page(mr, &m, page), STATUS_SUCCESS);
        (void)receive(data_mr_sge(mr, at, PAGE_SIZE));
        CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeFastRegister), 1);
        (void)receive(data_mr_sge(mr, at, PAGE_SIZE));
        CHECK_BREACHES("");
        (void)receive(data_mr_sge(mr, at + 1, PAGE_SIZE));
        CHECK_BREACHES("sge-range in NdkReceive");
    }
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    fast_memory_close(&m);
    close_pair();
}

/* ---- two adapter objects ---- */

/* The provider below refuses the address, but another provider may accept it, because the hardware is the same. */
CASE(mapping_of_another_adapter_object, 0)
{
    struct fast_memory m;
    NDK_SGE sge;
    NDK_MR *mr;

    open_pair();
    fast_memory_open(&m, p.passive.adapter, 0, PAGE_SIZE);
    CHECK(p.active.adapter != p.passive.adapter);
    sge = fast_logical(&m, p.active.pd, 0, LENGTH);
    (void)receive(sge);
    mr = fast_mr(p.active.pd);
    CHECK_STATUS(fast_initialize(mr, PAGES, TRUE), STATUS_SUCCESS);
    (void)register_page(mr, &m, 0);
    CHECK_BREACHES("");
    fast_memory_close(&m);
    (void)receive(sge);
    CHECK_BREACHES("privileged-token-virtual in NdkReceive");
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    close_pair();
}

/* ---- threads ---- */

static void ignore_notification(void *context, NTSTATUS status)
{
    (void)context, (void)status;
}

/* Posts receives to a queue pair of its own, which is never connected. */
static void *register_regions(void *arg)
{
    struct data_qp wanted = { .receives = ROUNDS, .initiators = 1, .receive_sges = 1, .initiator_sges = 1 };
    NDK_CQ *cq;
    NDK_QP *qp;

    (void)arg;
    CHECK_STATUS(data_cq(p.active.adapter, ROUNDS + 1, ignore_notification, NULL, &cq), STATUS_SUCCESS);
    wanted.receive_cq = wanted.initiator_cq = cq;
    CHECK_STATUS(data_qp(&p.active, &wanted, &qp), STATUS_SUCCESS);
    for (int i = 0; i < ROUNDS; i++) {
        struct data_region r;
        NDK_SGE sge;

        data_region_open(&r, p.active.pd, 0, LENGTH, DATA_ALL);
        sge = data_sge(&r, 0, LENGTH);
        CHECK_STATUS(qp->Dispatch->NdkReceive(qp, NULL, &sge, 1), STATUS_SUCCESS);
        if (i & 1)
            CHECK_STATUS(data_deregister(r.mr), STATUS_SUCCESS);
        data_region_close(&r);
    }
    CHECK_STATUS(kit_close(qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(cq), STATUS_SUCCESS);
    return NULL;
}

/* Each round registers, writes from the region at once, and invalidates. The results are taken at the end. */
static void *fast_register_regions(void *arg)
{
    static struct fast_region r;

    (void)arg;
    fast_region_open(&r, &p.active, PAGES, FAST_ALL);
    for (int i = 0; i < ROUNDS; i++) {
        NDK_SGE sge;

        CHECK_STATUS(fast_invalidate(&p.active, 1, r.mr, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
        CHECK_STATUS(fast_region_post(&r, &p.active, 2, FAST_ALL | NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
        sge = fast_sge(&r, 0, LENGTH);
        CHECK_STATUS(data_write(&p.active, 3, &sge, (uintptr_t)p.passive.memory, p.passive.remote_token),
                     STATUS_SUCCESS);
        for (int result = 1; result <= 3; result++)
            CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    }
    fast_region_close(&r);
    return NULL;
}

static void *map_memory(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct fast_memory m;

        fast_memory_open(&m, p.active.adapter, 0, PAGES * PAGE_SIZE);
        fast_memory_close(&m);
    }
    return NULL;
}

CASE(tokens_of_many_threads, 0)
{
    void *(*const routines[])(void *) = { register_regions, register_regions, fast_register_regions, map_memory };
    enum { THREADS = sizeof routines / sizeof routines[0] };
    pthread_t threads[THREADS];

    open_pair();
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, routines[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    close_pair();
}
