/* SPDX-License-Identifier: MIT */
/*
 * Fast registration, windows, invalidation and logical addresses: inline refusals, the arguments that the scripted
 * fabric receives, and the token after a post that succeeded or failed.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "iwarp/memory.h"
#include "provider/adapter.h"
#include "provider/support.h"

enum { PAGES = 8, WINDOW = 1 << 20 };

static struct {
    NDK_ADAPTER *adapter;
    NDK_PD *pd, *other_pd;
    NDK_CQ *cq;
    NDK_QP *qp;
    NDK_MR *mr, *fast; /* fast: PAGES, remote */
    NDK_MW *mw;
} t;

static const NDK_LOGICAL_ADDRESS pages[PAGES + 1] = { { .QuadPart = 0x10000 },
                                                      { .QuadPart = 0x90000 },
                                                      { .QuadPart = 0x50000 } };
static unsigned char buffer[8 * PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));

static NDK_MR *make_fast(NDK_PD *pd)
{
    NDK_MR *mr = NULL;

    assert_int_equal(pd->Dispatch->NdkCreateMr(pd, TRUE, on_create, NULL, &mr), STATUS_SUCCESS);
    return mr;
}

static NDK_MW *make_mw(NDK_PD *pd)
{
    NDK_MW *mw = NULL;

    assert_int_equal(pd->Dispatch->NdkCreateMw(pd, on_create, NULL, &mw), STATUS_SUCCESS);
    return mw;
}

static NTSTATUS initialize(NDK_MR *mr, ULONG count, BOOLEAN remote)
{
    return mr->Dispatch->NdkInitializeFastRegisterMr(mr, count, remote, on_request, NULL);
}

static int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    t.adapter = fake_open(version_2_1, NULL);
    adapter_of(t.adapter)->limits.fast_register_pages = PAGES + 1;
    adapter_of(t.adapter)->limits.max_window = WINDOW;
    adapter_of(t.adapter)->limits.read_local_invalidate = true;
    t.pd = make_pd(t.adapter);
    t.other_pd = make_pd(t.adapter);
    t.cq = make_cq(t.adapter, NULL);
    t.qp = make_qp(t.pd, t.cq, t.cq);
    t.mr = make_mr(t.pd);
    t.fast = make_fast(t.pd);
    t.mw = make_mw(t.pd);
    return initialize(t.fast, PAGES, TRUE);
}

static int tear_down(void **state)
{
    void *objects[] = { t.mw, t.fast, t.mr, t.qp, t.cq, t.other_pd, t.pd };

    (void)state;
    fake.defers_ends = false;
    fake_run_deferred();
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        if (objects[i])
            close_and_wait(objects[i]);
    }
    assert_int_equal(fake.mrs, 0);
    assert_int_equal(fake.lams, 0);
    ondk_close_adapter(t.adapter);
    return 0;
}

/* ---- what is reported ---- */

/* covers: ADP-02 */
static void test_reported(void **state)
{
    NDK_ADAPTER_INFO info;
    ULONG size = sizeof(info);

    (void)state;
    assert_int_equal(t.adapter->Dispatch->NdkQueryAdapterInfo(t.adapter, &info, &size), STATUS_SUCCESS);
    assert_int_equal(info.FRMRPageCount, PAGES + 1);
    assert_int_equal(info.MaxWindowSize, WINDOW);
    assert_true(info.AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED);
}

/* ---- fast registration ---- */

/* An MR has one kind. covers: INV-07 */
static void test_kinds(void **state)
{
    NDK_MR *fresh = make_fast(t.pd);

    (void)state;
    assert_int_equal(initialize(t.mr, 1, FALSE), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(register_buffer(t.fast, buffer, 10, 0), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(t.fast->Dispatch->NdkDeregisterMr(t.fast, on_request, NULL), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(initialize(fresh, 0, FALSE), STATUS_INVALID_PARAMETER);
    assert_int_equal(initialize(fresh, PAGES + 2, FALSE), STATUS_IMPLEMENTATION_LIMIT);
    assert_int_equal(t.qp->Dispatch->NdkFastRegister(t.qp, NULL, fresh, 1, pages, 0, 1, buffer, 0),
                     STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(initialize(fresh, PAGES + 1, FALSE), STATUS_SUCCESS);
    assert_int_not_equal(fresh->Dispatch->NdkGetLocalTokenFromMr(fresh), FABRIC_PRIVILEGED_TOKEN);
    close_and_wait(fresh);
}

struct fast {
    NDK_MR *mr;
    ULONG count, fbo;
    SIZE_T length;
    uintptr_t base;
    ULONG flags;
};

static NTSTATUS fast_register(const struct fast *f)
{
    return t.qp->Dispatch->NdkFastRegister(t.qp, (void *)0x77, f->mr, f->count, pages, f->fbo, f->length,
                                           (PVOID)f->base, f->flags);
}

/* covers: INV-04 */
static void test_fast_register_is_passed_on(void **state)
{
    const struct fast f = { t.fast,
                            3,
                            100,
                            8000,
                            7 * PAGE_SIZE + 100,
                            NDK_OP_FLAG_ALLOW_REMOTE_WRITE | NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_READ_FENCE |
                                NDK_OP_FLAG_DEFER | NDK_OP_FLAG_RDMA_READ_SINK };

    (void)state;
    assert_int_equal(fast_register(&f), STATUS_SUCCESS);
    assert_int_equal(fake.request.op, RDMA_OP_FAST_REGISTER);
    assert_ptr_equal(fake.request.context, (void *)0x77);
    assert_int_equal(fake.request.flags, RDMA_FLAG_SILENT | RDMA_FLAG_READ_FENCE | RDMA_FLAG_DEFER);
    assert_int_equal(fake.request.token, fake.prepared);
    assert_int_equal(fake.pages.count, 3);
    assert_int_equal(fake.pages.offset, 100);
    assert_int_equal(fake.pages.len, 8000);
    assert_int_equal(fake.pages.base_address, f.base);
    assert_int_equal(fake.access, RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_WRITE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fake.page_list[i], pages[i].QuadPart);
    assert_int_equal(t.fast->Dispatch->NdkGetRemoteTokenFromMr(t.fast), fake.prepared);
    assert_int_equal(t.fast->Dispatch->NdkGetLocalTokenFromMr(t.fast), fake.prepared);
}

/* covers: INV-04, INV-05, INV-06 */
static void test_fast_register_is_refused(void **state)
{
    NDK_MR *foreign = make_fast(t.other_pd);
    const ULONG read = NDK_OP_FLAG_ALLOW_REMOTE_READ, page = PAGE_SIZE;
    const struct {
        struct fast f;
        NTSTATUS status;
    } cases[] = {
        { { t.fast, PAGES, 0, 1, page, 0 }, STATUS_SUCCESS },
        { { t.fast, 1, 0, 1, 0, 0 }, STATUS_SUCCESS },
        { { t.fast, 1, 5, 1, 5, 0 }, STATUS_SUCCESS },
        { { t.fast, PAGES + 1, 0, 1, page, 0 }, STATUS_INVALID_PARAMETER },
        { { t.fast, 1, 0, 0, page, 0 }, STATUS_INVALID_PARAMETER },
        { { t.fast, 1, 5, 1, page, 0 }, STATUS_INVALID_PARAMETER },
        { { t.fast, 1, 5, 1, page + 4, 0 }, STATUS_INVALID_PARAMETER },
        { { t.fast, 1, 5, 1, 0, 0 }, STATUS_INVALID_PARAMETER },
        { { t.fast, 1, 0, page + 1, UINTPTR_MAX - page + 1, 0 }, STATUS_INVALID_PARAMETER },
        { { NULL, 1, 0, 1, page, 0 }, STATUS_INVALID_PARAMETER },
        { { foreign, 1, 0, 1, page, 0 }, STATUS_INVALID_PARAMETER },
        { { t.mr, 1, 0, 1, page, 0 }, STATUS_INVALID_DEVICE_STATE },
        { { t.fast, 1, 0, 1, page, 0x20 }, STATUS_INVALID_PARAMETER },
        { { t.fast, 1, 0, 1, page, NDK_OP_FLAG_INLINE }, STATUS_INVALID_PARAMETER },
        { { t.fast, 1, 0, 1, page, 0x80000000 }, STATUS_INVALID_PARAMETER },
    };

    (void)state;
    assert_int_equal(initialize(foreign, 1, TRUE), STATUS_SUCCESS);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(fast_register(&cases[i].f), cases[i].status);
    assert_int_equal(t.qp->Dispatch->NdkFastRegister(t.qp, NULL, t.fast, 1, NULL, 0, 1, (void *)PAGE_SIZE, 0),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(initialize(t.fast, 1, FALSE), STATUS_SUCCESS);
    assert_int_equal(fast_register(&(struct fast){ t.fast, 1, 0, 1, page, read }), STATUS_ACCESS_VIOLATION);
    assert_int_equal(fast_register(&(struct fast){ t.fast, 1, 0, 1, page, 0x30 }), STATUS_ACCESS_VIOLATION);
    assert_int_equal(fast_register(&(struct fast){ t.fast, 2, 0, 1, page, 0 }), STATUS_INVALID_PARAMETER);
    assert_int_equal(fast_register(&(struct fast){ t.fast, 1, 0, 1, page, 0x10 }), STATUS_SUCCESS);
    close_and_wait(foreign);
}

/* A failed post leaves the token from before. covers: INV-09 */
static void test_failed_fast_register(void **state)
{
    static const struct {
        int prepare, post;
        NTSTATUS status;
    } cases[] = { { EFAULT, 0, STATUS_ACCESS_VIOLATION },       { EINVAL, 0, STATUS_INVALID_PARAMETER },
                  { ENOMEM, 0, STATUS_INSUFFICIENT_RESOURCES }, { ECANCELED, 0, STATUS_INVALID_DEVICE_STATE },
                  { 0, ENOTCONN, STATUS_CONNECTION_INVALID },   { 0, ENOSPC, STATUS_INSUFFICIENT_RESOURCES } };
    const struct fast f = { t.fast, 1, 0, 1, PAGE_SIZE, 0 };
    UINT32 first, latest;

    (void)state;
    assert_int_equal(fast_register(&f), STATUS_SUCCESS);
    first = fake.prepared;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake.prepare_error = cases[i].prepare;
        fake.error = cases[i].post;
        fake.discarded = 0;
        assert_int_equal(fast_register(&f), cases[i].status);
        assert_int_equal(fake.discarded, cases[i].post ? fake.prepared : 0);
        assert_int_equal(t.fast->Dispatch->NdkGetRemoteTokenFromMr(t.fast), first);
    }
    assert_int_equal(fast_register(&f), STATUS_SUCCESS);
    latest = t.fast->Dispatch->NdkGetRemoteTokenFromMr(t.fast);
    assert_int_equal(latest, fake.prepared);
    assert_int_not_equal(latest, first);
}

static UINT32 made_meanwhile;

static void *register_meanwhile(void *unused)
{
    assert_int_equal(fast_register(&(struct fast){ t.fast, 1, 0, 1, PAGE_SIZE, 0 }), STATUS_SUCCESS);
    made_meanwhile = fake.prepared;
    return unused;
}

/* Runs in the first post: another thread's post does not wait for it. */
static void post_another(void)
{
    pthread_t other;

    assert_int_equal(pthread_create(&other, NULL, register_meanwhile, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
}

/* A post that fails discards its own token, and no other. covers: INV-09 */
static void test_two_fast_registers(void **state)
{
    const struct fast f = { t.fast, 1, 0, 1, PAGE_SIZE, 0 };

    (void)state;
    assert_int_equal(fast_register(&f), STATUS_SUCCESS);
    fake.inside_post = post_another;
    fake.error = ENOSPC;
    assert_int_equal(fast_register(&f), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_not_equal(fake.discarded, made_meanwhile);
    assert_int_equal(t.fast->Dispatch->NdkGetRemoteTokenFromMr(t.fast), made_meanwhile);
}

/* ---- windows ---- */

static NTSTATUS bind_window(NDK_MR *mr, NDK_MW *mw, SIZE_T length, ULONG flags)
{
    return t.qp->Dispatch->NdkBind(t.qp, (void *)0x78, mr, mw, buffer + 100, length, flags);
}

/* covers: INV-08 */
static void test_bind_is_passed_on(void **state)
{
    UINT32 token;

    (void)state;
    assert_int_equal(bind_window(t.mr, t.mw, 50, 0), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(register_buffer(t.mr, buffer, 1000, NDK_MR_FLAG_ALLOW_LOCAL_WRITE), STATUS_SUCCESS);
    assert_int_equal(bind_window(t.mr, t.mw, 50, NDK_OP_FLAG_ALLOW_REMOTE_WRITE | NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    assert_int_equal(fake.request.op, RDMA_OP_BIND);
    assert_ptr_equal(fake.request.context, (void *)0x78);
    assert_int_equal(fake.request.flags, RDMA_FLAG_DEFER);
    assert_int_equal(fake.of, t.mr->Dispatch->NdkGetLocalTokenFromMr(t.mr));
    assert_int_equal(fake.base, (uintptr_t)buffer + 100);
    assert_int_equal(fake.length, 50);
    assert_int_equal(fake.access, RDMA_ACCESS_REMOTE_WRITE);
    token = t.mw->Dispatch->NdkGetRemoteTokenFromMw(t.mw);
    assert_int_equal(token, fake.request.token);
    assert_int_equal(fast_register(&(struct fast){ t.fast, 1, 0, 1, PAGE_SIZE, 0 }), STATUS_SUCCESS);
    assert_int_equal(bind_window(t.fast, t.mw, WINDOW, NDK_OP_FLAG_ALLOW_REMOTE_READ), STATUS_SUCCESS);
    assert_int_equal(fake.of, t.fast->Dispatch->NdkGetLocalTokenFromMr(t.fast));
    assert_int_equal(fake.access, RDMA_ACCESS_REMOTE_READ);
}

/* covers: INV-08 */
static void test_bind_is_refused(void **state)
{
    NDK_MW *foreign = make_mw(t.other_pd);
    static const struct {
        int prepare, post;
        NTSTATUS status;
    } cases[] = { { EACCES, 0, STATUS_ACCESS_VIOLATION },
                  { ERANGE, 0, STATUS_INVALID_PARAMETER },
                  { ENOENT, 0, STATUS_INVALID_DEVICE_STATE },
                  { 0, ENOTCONN, STATUS_CONNECTION_INVALID } };
    UINT32 token = t.mw->Dispatch->NdkGetRemoteTokenFromMw(t.mw);

    (void)state;
    assert_int_equal(register_buffer(t.mr, buffer, 1000, 0), STATUS_SUCCESS);
    assert_int_equal(bind_window(t.mr, NULL, 50, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(bind_window(NULL, t.mw, 50, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(bind_window(t.mr, foreign, 50, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(bind_window(t.mr, t.mw, WINDOW + 1, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(bind_window(t.mr, t.mw, 50, NDK_OP_FLAG_ALLOW_LOCAL_WRITE), STATUS_INVALID_PARAMETER);
    assert_int_equal(bind_window(t.mr, t.mw, 50, 0x20), STATUS_INVALID_PARAMETER);
    assert_int_equal(bind_window(t.mr, t.mw, 50, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT), STATUS_INVALID_PARAMETER);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake.prepare_error = cases[i].prepare;
        fake.error = cases[i].post;
        assert_int_equal(bind_window(t.mr, t.mw, 50, 0), cases[i].status);
        assert_int_equal(t.mw->Dispatch->NdkGetRemoteTokenFromMw(t.mw), token);
    }
    assert_int_equal(fake.discarded, fake.prepared);
    close_and_wait(foreign);
}

/* covers: OBJ-12 */
static void test_window_and_region_close(void **state)
{
    struct call region = { 0 }, window = { 0 };

    (void)state;
    fake.defers_ends = true;
    assert_int_equal(close_object(t.fast, &region), STATUS_PENDING);
    assert_int_equal(close_object(t.mw, &window), STATUS_PENDING);
    assert_int_equal(fake_deferred_count(), 2);
    assert_int_equal(region.count + window.count, 0);
    fake.defers_ends = false;
    assert_int_equal(fake_run_deferred(), 2);
    fake_wait(&region.returned);
    fake_wait(&window.returned);
    t.fast = NULL;
    t.mw = NULL;
}

/* ---- invalidation ---- */

static NTSTATUS invalidate(NDK_OBJECT_HEADER *object, ULONG flags)
{
    return t.qp->Dispatch->NdkInvalidate(t.qp, (void *)0x79, object, flags);
}

/* covers: INV-03 */
static void test_invalidate(void **state)
{
    NDK_MR *foreign = make_fast(t.other_pd);

    (void)state;
    assert_int_equal(invalidate(NULL, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(invalidate(&t.mr->Header, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(invalidate(&t.pd->Header, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(invalidate(&foreign->Header, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(invalidate(&t.fast->Header, 0), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(invalidate(&t.mw->Header, 0), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(fast_register(&(struct fast){ t.fast, 1, 0, 1, PAGE_SIZE, 0 }), STATUS_SUCCESS);
    assert_int_equal(bind_window(t.fast, t.mw, 1, 0), STATUS_SUCCESS);
    assert_int_equal(invalidate(&t.fast->Header, NDK_OP_FLAG_INLINE), STATUS_INVALID_PARAMETER);
    assert_int_equal(invalidate(&t.fast->Header, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
    assert_int_equal(fake.request.op, RDMA_OP_INVALIDATE);
    assert_int_equal(fake.request.flags, RDMA_FLAG_SILENT);
    assert_ptr_equal(fake.request.context, (void *)0x79);
    assert_int_equal(fake.request.token, t.fast->Dispatch->NdkGetLocalTokenFromMr(t.fast));
    assert_int_equal(invalidate(&t.mw->Header, 0), STATUS_SUCCESS);
    assert_int_equal(fake.request.token, t.mw->Dispatch->NdkGetRemoteTokenFromMw(t.mw));
    fake.error = ENOTCONN;
    assert_int_equal(invalidate(&t.mw->Header, 0), STATUS_CONNECTION_INVALID);
    close_and_wait(foreign);
}

/* covers: INV-01, QPR-15 */
static void test_requests_that_invalidate(void **state)
{
    const NDK_SGE sge = { { (void *)0x1000 }, 10, 7 };
    const NDK_QP_DISPATCH *d = t.qp->Dispatch;

    (void)state;
    assert_int_equal(d->NdkSendAndInvalidate(t.qp, (void *)1, &sge, 1, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT, 0x1234),
                     STATUS_SUCCESS);
    assert_int_equal(fake.request.op, RDMA_OP_SEND);
    assert_int_equal(fake.request.flags, RDMA_FLAG_SEND_INVALIDATE | RDMA_FLAG_SOLICIT);
    assert_int_equal(fake.request.remote_token, 0x1234);
    assert_int_equal(d->NdkSendAndInvalidate(t.qp, NULL, &sge, 1, NDK_OP_FLAG_ALLOW_REMOTE_READ, 1),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(d->NdkRead(t.qp, NULL, &sge, 1, 2, 3, NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE), STATUS_SUCCESS);
    assert_int_equal(fake.request.flags, RDMA_FLAG_READ_INVALIDATE);
}

/* ---- logical addresses ---- */

static NTSTATUS build(MDL *mdl, SIZE_T length, void *lam, ULONG *size, ULONG *fbo)
{
    return t.adapter->Dispatch->NdkBuildLAM(t.adapter, mdl, length, NULL, NULL, lam, size, fbo);
}

/* covers: ADP-05, ADP-06, ADP-07 */
static void test_lam(void **state)
{
    union {
        NDK_LOGICAL_ADDRESS_MAPPING lam;
        unsigned char bytes[256];
    } out = { .lam = { 0 } };
    MDL chain[3], before[3];
    ULONG size = 0x10 + 3 * 8 - 1, fbo = 99;

    (void)state;
    ondk_mdl_init(&chain[2], buffer + PAGE_SIZE + 400, 5000, NULL);
    ondk_mdl_init(&chain[1], buffer + 300, PAGE_SIZE + 100, &chain[2]);
    ondk_mdl_init(&chain[0], buffer + 100, 200, &chain[1]);
    memcpy(before, chain, sizeof(before));
    assert_int_equal(build(chain, 8100, &out, &size, &fbo), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(size, 0x10 + 3 * 8);
    assert_int_equal(fake.lams, 0);
    assert_int_equal(build(chain, 8100, &out, &size, &fbo), STATUS_SUCCESS);
    assert_int_equal(size, 0x10 + 3 * 8);
    assert_int_equal(fbo, 100);
    assert_ptr_equal(fake.memory, buffer + 100);
    assert_int_equal(fake.length, 8100);
    assert_int_equal(out.lam.AdapterPageCount, 3);
    for (ULONG i = 0; i < 3; i++)
        assert_int_equal(((NDK_LOGICAL_ADDRESS *)out.lam.AdapterPageArray)[i].QuadPart,
                         FAKE_LOGICAL + i * 2 * PAGE_SIZE);
    assert_int_equal(out.bytes[0x10 + 3 * 8], 0);
    NDK_LOGICAL_ADDRESS_MAPPING again = out.lam;
    t.adapter->Dispatch->NdkReleaseLAM(t.adapter, &out.lam);
    assert_int_equal(fake.lams, 0);
    t.adapter->Dispatch->NdkReleaseLAM(t.adapter, &out.lam);
    t.adapter->Dispatch->NdkReleaseLAM(t.adapter, &again);
    again.AdapterContext = buffer;
    t.adapter->Dispatch->NdkReleaseLAM(t.adapter, &again);
    t.adapter->Dispatch->NdkReleaseLAM(t.adapter, NULL);
    assert_memory_equal(before, chain, sizeof(before));
}

/* covers: ADP-05, ADP-06 */
static void test_lam_is_refused(void **state)
{
    NDK_LOGICAL_ADDRESS_MAPPING lam;
    MDL chain[2];
    ULONG size = sizeof(lam), fbo;

    (void)state;
    ondk_mdl_init(&chain[1], buffer + 201, 100, NULL);
    ondk_mdl_init(&chain[0], buffer + 100, 100, &chain[1]);
    assert_int_equal(build(NULL, 1, &lam, &size, &fbo), STATUS_INVALID_PARAMETER);
    assert_int_equal(build(chain, 0, &lam, &size, &fbo), STATUS_INVALID_PARAMETER);
    assert_int_equal(build(chain, 101, &lam, &size, &fbo), STATUS_INVALID_PARAMETER);
    assert_int_equal(build(&chain[1], 101, &lam, &size, &fbo), STATUS_INVALID_PARAMETER);
    assert_int_equal(build(chain, 100, &lam, NULL, &fbo), STATUS_INVALID_PARAMETER);
    assert_int_equal(build(chain, 100, NULL, &size, &fbo), STATUS_INVALID_PARAMETER);
    assert_int_equal(build(chain, 100, &lam, &size, NULL), STATUS_INVALID_PARAMETER);
    size = 0;
    assert_int_equal(build(chain, 100, NULL, &size, NULL), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(size, sizeof(lam));
    fake.error = ENOMEM;
    assert_int_equal(build(chain, 100, &lam, &size, &fbo), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(fake.lams, 0);
    assert_int_equal(build(chain, 100, &lam, &size, &fbo), STATUS_SUCCESS); /* the hole is behind it */
    t.adapter->Dispatch->NdkReleaseLAM(t.adapter, &lam);
}

/* covers: QPR-18 */
static void test_privileged_token(void **state)
{
    NDK_SGE sges[2] = { { .Length = 10 }, { { (void *)0x1000 }, 5, 7 } };

    (void)state;
    sges[0].LogicalAddress.QuadPart = (LONGLONG)0x9000000012345678;
    t.pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(t.pd, &sges[0].MemoryRegionToken);
    assert_int_equal(t.qp->Dispatch->NdkReceive(t.qp, NULL, sges, 2), STATUS_SUCCESS);
    assert_int_equal(fake.sges[0].token, FABRIC_PRIVILEGED_TOKEN);
    assert_int_equal(fake.sges[0].address, 0x9000000012345678);
    assert_int_equal(fake.sges[0].length, 10);
    assert_int_equal(fake.sges[1].token, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kinds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fast_register_is_passed_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fast_register_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failed_fast_register, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_fast_registers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bind_is_passed_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bind_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_window_and_region_close, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalidate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_requests_that_invalidate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lam, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lam_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_privileged_token, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
