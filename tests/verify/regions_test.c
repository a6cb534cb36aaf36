/* SPDX-License-Identifier: MIT */
/* Rules about regions and windows: for each rule what breaks it, and what is legal beside it. */
#include "contract/kit/fast.h"
#include "openndk/config.h"
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

/* ---- NdkRegisterMr and NdkDeregisterMr ---- */

CASE(region_of_the_other_kind, 0)
{
    NDK_MR *fast, *normal;
    MDL mdl;

    open_pair();
    fast = fast_mr(p.active.pd);
    normal = data_mr(p.active.pd);
    kit_init_mdl(&mdl, p.active.memory, LENGTH, NULL);
    CHECK_STATUS(data_register(normal, &mdl, LENGTH, DATA_ALL), STATUS_SUCCESS);
    CHECK_STATUS(fast_initialize(fast, PAGES, FALSE), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(data_register(fast, &mdl, LENGTH, DATA_ALL) < 0);
    CHECK_BREACHES("mr-kind in NdkRegisterMr");
    CHECK(fast_initialize(normal, PAGES, FALSE) < 0);
    CHECK_BREACHES("mr-kind in NdkInitializeFastRegisterMr");
    CHECK_STATUS(kit_close(fast), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(normal), STATUS_SUCCESS);
    close_pair();
}

CASE(deregistration_without_registration, 0)
{
    NDK_MR *fast, *normal;
    MDL mdl;

    open_pair();
    fast = fast_mr(p.active.pd);
    normal = data_mr(p.active.pd);
    kit_init_mdl(&mdl, p.active.memory, LENGTH, NULL);
    CHECK(data_deregister(normal) < 0);
    CHECK_BREACHES("mr-unregistered in NdkDeregisterMr");
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(data_register(normal, &mdl, LENGTH, DATA_ALL), STATUS_SUCCESS);
        CHECK_STATUS(data_deregister(normal), STATUS_SUCCESS);
    }
    CHECK_BREACHES("");
    CHECK(data_deregister(normal) < 0);
    CHECK_BREACHES("mr-unregistered in NdkDeregisterMr");
    CHECK_STATUS(fast_initialize(fast, PAGES, FALSE), STATUS_SUCCESS);
    CHECK(data_deregister(fast) < 0);
    CHECK_BREACHES("mr-unregistered in NdkDeregisterMr");
    CHECK_STATUS(kit_close(fast), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(normal), STATUS_SUCCESS);
    close_pair();
}

/* A region is registered a second time. The first registration stays. */
CASE(registration_of_a_registered_region, 0)
{
    NDK_MR *normal;
    MDL mdl;

    open_pair();
    normal = data_mr(p.active.pd);
    kit_init_mdl(&mdl, p.active.memory, LENGTH, NULL);
    CHECK(data_register(normal, &mdl, LENGTH + 1, DATA_ALL) < 0);
    CHECK_BREACHES("mr-length in NdkRegisterMr");
    CHECK_STATUS(data_register(normal, &mdl, LENGTH, DATA_ALL), STATUS_SUCCESS); /* the call before has failed */
    CHECK_BREACHES("");
    for (int i = 0; i < 2; i++) {
        CHECK(data_register(normal, &mdl, LENGTH, DATA_ALL) < 0);
        CHECK_BREACHES("mr-registered-twice in NdkRegisterMr");
    }
    CHECK_STATUS(data_deregister(normal), STATUS_SUCCESS);
    CHECK_STATUS(data_register(normal, &mdl, LENGTH, DATA_ALL), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(normal), STATUS_SUCCESS);
    close_pair();
}

static NTSTATUS build_lam(MDL *mdl, SIZE_T length)
{
    static union {
        NDK_LOGICAL_ADDRESS_MAPPING lam;
        char room[256];
    } u;
    struct kit_call call = { 0 };
    NDK_ADAPTER *a = p.active.adapter;
    ULONG size = sizeof u, fbo;
    NTSTATUS status = kit_final(&call,
                                a->Dispatch->NdkBuildLAM(a, mdl, length, kit_request_done, &call, &u.lam, &size, &fbo));

    if (status == STATUS_SUCCESS)
        a->Dispatch->NdkReleaseLAM(a, &u.lam);
    return status;
}

CASE(length_beyond_the_chain, 0)
{
    MDL first, second;
    NDK_MR *mr;

    open_pair();
    mr = data_mr(p.active.pd);
    kit_init_mdl(&second, p.active.memory + LENGTH, LENGTH, NULL);
    kit_init_mdl(&first, p.active.memory, LENGTH, &second);
    CHECK_STATUS(build_lam(&first, 2 * LENGTH), STATUS_SUCCESS);
    CHECK_STATUS(data_register(mr, &first, 2 * LENGTH, DATA_ALL), STATUS_SUCCESS);
    CHECK_STATUS(data_deregister(mr), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(data_register(mr, &first, 2 * LENGTH + 1, DATA_ALL) < 0);
    CHECK_BREACHES("mr-length in NdkRegisterMr");
    CHECK(build_lam(&first, 2 * LENGTH + 1) < 0);
    CHECK_BREACHES("mr-length in NdkBuildLAM");
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    close_pair();
}

CASE(gap_in_the_chain, 0)
{
    MDL first, second;
    NDK_MR *mr;

    open_pair();
    mr = data_mr(p.active.pd);
    kit_init_mdl(&second, p.active.memory + LENGTH + 1, LENGTH, NULL);
    kit_init_mdl(&first, p.active.memory, LENGTH, &second);
    CHECK_STATUS(data_register(mr, &first, LENGTH, DATA_ALL), STATUS_SUCCESS); /* the gap is behind the registration */
    CHECK_STATUS(data_deregister(mr), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(data_register(mr, &first, 2 * LENGTH, DATA_ALL) < 0);
    CHECK_BREACHES("mdl-gap in NdkRegisterMr");
    CHECK(build_lam(&first, LENGTH + 1) < 0);
    CHECK_BREACHES("mdl-gap in NdkBuildLAM");
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    close_pair();
}

CASE(registration_beyond_the_adapters_limit, 0)
{
    enum { LIMIT_KIB = 64, LIMIT = LIMIT_KIB << 10 };
    ondk_config_t config;
    NDK_MR *mr;
    MDL mdl;

    breaches_begin();
    ondk_config_init(&config);
    config.max_registration_kib = LIMIT_KIB;
    CHECK_STATUS(ondk_configure(&config), STATUS_SUCCESS);
    NDK_ADAPTER *adapter = kit_open(2, 1);
    NDK_PD *pd = kit_pd(adapter);
    uint8_t *memory = calloc(2, LIMIT);

    mr = data_mr(pd);
    kit_init_mdl(&mdl, memory, 2 * LIMIT, NULL);
    CHECK_STATUS(data_register(mr, &mdl, LIMIT, DATA_ALL), STATUS_SUCCESS);
    CHECK_STATUS(data_deregister(mr), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(data_register(mr, &mdl, LIMIT + 1, DATA_ALL) < 0);
    CHECK_BREACHES("registration-size in NdkRegisterMr");
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(pd), STATUS_SUCCESS);
    kit_close_adapter(adapter);
    free(memory);
    CHECK_BREACHES("");
}

/* ---- NdkFastRegister ---- */

/* A fast-register region that is initialized, and memory for it. */
static NDK_MR *mr;
static struct fast_memory memory;
static uint8_t *const base = (uint8_t *)0x700000000000;

static void open_fast(ULONG pages, BOOLEAN remote)
{
    open_pair();
    fast_memory_open(&memory, p.active.adapter, 16, 3 * PAGE_SIZE - 16);
    CHECK_EQ(memory.fbo, 16);
    mr = fast_mr(p.active.pd);
    CHECK_STATUS(fast_initialize(mr, pages, remote), STATUS_SUCCESS);
}

static void close_fast(void)
{
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    fast_memory_close(&memory);
    close_pair();
}

static NTSTATUS post(ULONG pages, ULONG fbo, SIZE_T length, const void *address, ULONG flags)
{
    NTSTATUS status = fast_register(&p.active, 1, mr, memory.lam->AdapterPageArray, pages, fbo, length, address, flags);

    if (status == STATUS_SUCCESS)
        CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeFastRegister), 1);
    return status;
}

CASE(fast_registration_of_a_region_that_is_not_initialized, 0)
{
    open_fast(PAGES, TRUE);
    CHECK_STATUS(post(1, 16, LENGTH, base + 16, FAST_ALL), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    mr = fast_mr(p.active.pd);
    CHECK(post(1, 16, LENGTH, base + 16, FAST_ALL) < 0);
    CHECK_BREACHES("fast-register-state in NdkFastRegister");
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    mr = data_mr(p.active.pd);
    CHECK(post(1, 16, LENGTH, base + 16, FAST_ALL) < 0);
    CHECK_BREACHES("fast-register-state in NdkFastRegister");
    close_fast();
}

CASE(fast_registration_of_too_many_pages, 0)
{
    open_fast(PAGES, TRUE);
    CHECK_STATUS(post(PAGES, 16, LENGTH, base + 16, FAST_ALL), STATUS_SUCCESS);
    CHECK_STATUS(post(1, 16, LENGTH, base + 16, FAST_ALL), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(post(PAGES + 1, 16, LENGTH, base + 16, FAST_ALL) < 0);
    CHECK_BREACHES("fast-register-pages in NdkFastRegister");
    CHECK_STATUS(fast_initialize(mr, PAGES + 1, TRUE), STATUS_SUCCESS);
    CHECK_STATUS(post(PAGES + 1, 16, LENGTH, base + 16, FAST_ALL), STATUS_SUCCESS);
    close_fast();
}

CASE(fast_registration_longer_than_its_pages, 0)
{
    open_fast(PAGES, TRUE);
    CHECK_STATUS(post(1, 16, PAGE_SIZE - 16, base + 16, FAST_ALL), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(post(1, 16, PAGE_SIZE - 15, base + 16, FAST_ALL) < 0);
    CHECK_BREACHES("fast-register-length in NdkFastRegister");
    close_fast();
}

CASE(fast_registration_with_a_wrong_base, 0)
{
    open_fast(PAGES, TRUE);
    CHECK_STATUS(post(1, 16, LENGTH, base + 3 * PAGE_SIZE + 16, FAST_ALL), STATUS_SUCCESS);
    CHECK_STATUS(post(1, 16, LENGTH, (void *)16, FAST_ALL), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(post(1, 16, LENGTH, base, FAST_ALL) < 0);
    CHECK_BREACHES("fast-register-base in NdkFastRegister");
    CHECK(post(1, 16, LENGTH, NULL, FAST_ALL) < 0);
    CHECK_BREACHES("fast-register-base in NdkFastRegister");
    close_fast();
}

CASE(fast_registration_of_pages_without_a_mapping, 0)
{
    NDK_LOGICAL_ADDRESS pages[PAGES];

    open_fast(PAGES, TRUE);
    pages[0] = memory.lam->AdapterPageArray[1];
    pages[1].QuadPart = (LONGLONG)(uintptr_t)memory.map;
    CHECK_STATUS(fast_register(&p.active, 1, mr, pages, PAGES, 0, PAGE_SIZE, base, FAST_ALL), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeFastRegister), 1); /* the second page is not used */
    CHECK_BREACHES("");
    CHECK(fast_register(&p.active, 1, mr, pages, PAGES, 0, PAGE_SIZE + 1, base, FAST_ALL) < 0);
    CHECK_BREACHES("fast-register-address in NdkFastRegister");
    pages[0].QuadPart += 8;
    CHECK(fast_register(&p.active, 1, mr, pages, 1, 0, LENGTH, base, FAST_ALL) < 0);
    CHECK_BREACHES("fast-register-address in NdkFastRegister");
    close_fast();
}

CASE(fast_registration_with_rights_that_were_not_initialized, 0)
{
    open_fast(PAGES, FALSE);
    CHECK_STATUS(post(1, 16, LENGTH, base + 16, NDK_OP_FLAG_ALLOW_LOCAL_WRITE), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(post(1, 16, LENGTH, base + 16, NDK_OP_FLAG_ALLOW_REMOTE_READ), STATUS_ACCESS_VIOLATION);
    CHECK_BREACHES("fast-register-right in NdkFastRegister");
    CHECK_STATUS(post(1, 16, LENGTH, base + 16, NDK_OP_FLAG_ALLOW_REMOTE_WRITE), STATUS_ACCESS_VIOLATION);
    CHECK_BREACHES("fast-register-right in NdkFastRegister");
    CHECK_STATUS(fast_initialize(mr, PAGES, TRUE), STATUS_SUCCESS);
    CHECK_STATUS(post(1, 16, LENGTH, base + 16, FAST_ALL), STATUS_SUCCESS);
    close_fast();
}

/* The adapter's FRMRPageCount is not its maximum: more pages are an advice. */
CASE(initialization_for_many_pages, 0)
{
    NDK_ADAPTER_INFO info = { .Version = { 2, 1 } };
    ULONG size = sizeof info;
    NDK_MR *fast;

    open_pair();
    fast = fast_mr(p.active.pd);
    CHECK_STATUS(p.active.adapter->Dispatch->NdkQueryAdapterInfo(p.active.adapter, &info, &size), STATUS_SUCCESS);
    CHECK_STATUS(fast_initialize(fast, info.FRMRPageCount, FALSE), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(fast_initialize(fast, info.FRMRPageCount + 1, FALSE), STATUS_IMPLEMENTATION_LIMIT);
    CHECK_BREACHES("fast-register-limit in NdkInitializeFastRegisterMr");
    CHECK_EQ(ondk_verify_breaches(), 0);
    CHECK_STATUS(kit_close(fast), STATUS_SUCCESS);
    close_pair();
}

/* ---- NdkInvalidate ---- */

CASE(invalidation_of_what_was_never_registered_by_a_request, 0)
{
    NDK_MW *mw;

    open_fast(PAGES, TRUE);
    mw = fast_mw(p.active.pd);
    CHECK(fast_invalidate(&p.active, 1, mr, 0) < 0);
    CHECK_BREACHES("invalidate-kind in NdkInvalidate");
    CHECK(fast_invalidate(&p.active, 1, mw, 0) < 0);
    CHECK_BREACHES("invalidate-kind in NdkInvalidate");
    CHECK(fast_invalidate(&p.active, 1, p.active.mr, 0) < 0);
    CHECK_BREACHES("invalidate-kind in NdkInvalidate");
    CHECK(fast_invalidate(&p.active, 1, p.active.qp, 0) < 0);
    CHECK_BREACHES("invalidate-kind in NdkInvalidate");
    CHECK_STATUS(post(1, 16, LENGTH, base + 16, FAST_ALL), STATUS_SUCCESS);
    CHECK_STATUS(fast_invalidate(&p.active, 1, mr, 0), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeInvalidate), 1);
    CHECK_STATUS(fast_bind(&p.active, 1, p.active.mr, mw, p.active.memory, LENGTH, NDK_OP_FLAG_ALLOW_REMOTE_READ),
                 STATUS_SUCCESS);
    CHECK_STATUS(fast_invalidate(&p.active, 2, mw, 0), STATUS_SUCCESS); /* before the result of the bind is taken */
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeBind), 1);
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeInvalidate), 2);
    CHECK_BREACHES("");
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    close_fast();
}

CASE(second_invalidation, 0)
{
    open_fast(PAGES, TRUE);
    CHECK_STATUS(post(1, 16, LENGTH, base + 16, FAST_ALL), STATUS_SUCCESS);
    CHECK_STATUS(fast_invalidate(&p.active, 1, mr, 0), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeInvalidate), 1);
    (void)fast_invalidate(&p.active, 2, mr, 0);
    CHECK_BREACHES("invalidate-twice in NdkInvalidate");
    data_reconnect(&p); /* the failed request may have ended the connection */
    CHECK_STATUS(post(1, 16, LENGTH, base + 16, FAST_ALL), STATUS_SUCCESS);
    CHECK_STATUS(fast_invalidate(&p.active, 1, mr, 0), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeInvalidate), 1);
    close_fast();
}

CASE(invalidation_after_that_of_the_peer, 0)
{
    UINT32 token;

    open_fast(PAGES, TRUE);
    for (int known = 0; known < 2; known++) {
        CHECK_STATUS(post(1, 16, LENGTH, base + 16, FAST_ALL), STATUS_SUCCESS);
        token = mr->Dispatch->NdkGetRemoteTokenFromMr(mr);
        CHECK_STATUS(kit_post_receive(&p.active, 1, 0, LENGTH), STATUS_SUCCESS);
        CHECK_STATUS(fast_send_invalidate(&p.passive, 2, 0, LENGTH, 0, token), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeSend), 2);
        if (known)
            CHECK_EQ(kit_result(&p.active).Type, NdkOperationTypeReceiveAndInvalidate);
        CHECK_BREACHES("");
        (void)fast_invalidate(&p.active, 3, mr, 0);
        CHECK_BREACHES(known ? "invalidate-twice in NdkInvalidate" : "");
        if (!known) { /* the connection may have ended */
            CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
            data_reconnect(&p);
            mr = fast_mr(p.active.pd);
            CHECK_STATUS(fast_initialize(mr, PAGES, TRUE), STATUS_SUCCESS);
        }
    }
    close_fast();
}

/* ---- NdkBind ---- */

static NTSTATUS bind_window(NDK_MR *of, NDK_MW *mw, const void *address, SIZE_T length, ULONG flags)
{
    NTSTATUS status = fast_bind(&p.active, 1, of, mw, address, length, flags);

    if (status == STATUS_SUCCESS)
        CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeBind), 1);
    return status;
}

CASE(window_outside_its_region, 0)
{
    const ULONG flags = NDK_OP_FLAG_ALLOW_REMOTE_READ;
    NDK_MW *mw;

    open_fast(PAGES, TRUE);
    mw = fast_mw(p.active.pd);
    CHECK_STATUS(bind_window(p.active.mr, mw, p.active.memory, KIT_MEMORY, flags), STATUS_SUCCESS);
    CHECK_STATUS(bind_window(p.active.mr, mw, p.active.memory + KIT_MEMORY - 1, 1, flags), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(bind_window(p.active.mr, mw, p.active.memory + 1, KIT_MEMORY, flags) < 0);
    CHECK_BREACHES("window-range in NdkBind");
    CHECK_STATUS(fast_register(&p.active, 1, mr, memory.lam->AdapterPageArray, 1, 16, LENGTH, base + 16,
                               FAST_ALL | NDK_OP_FLAG_DEFER),
                 STATUS_SUCCESS);
    CHECK_STATUS(fast_bind(&p.active, 2, mr, mw, base + 16, LENGTH, flags), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeFastRegister), 1);
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeBind), 2);
    CHECK_BREACHES("");
    CHECK(bind_window(mr, mw, base, LENGTH, flags) < 0);
    CHECK_BREACHES("window-range in NdkBind");
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    close_fast();
}

static void check_bind(NDK_MR *of, NDK_MW *mw, const char *breaches)
{
    NTSTATUS status = fast_bind(&p.active, 1, of, mw, base + 16, LENGTH, NDK_OP_FLAG_ALLOW_REMOTE_READ);

    CHECK_EQ(NT_SUCCESS(status), !breaches[0]);
    CHECK_BREACHES(breaches);
    if (!breaches[0])
        CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeBind), 1);
}

/* The region is registered for the bind, and then not any more. */
CASE(window_of_an_unregistered_region, 0)
{
    NDK_MR *normal;
    NDK_MW *mw;
    MDL mdl;

    open_fast(PAGES, TRUE);
    mw = fast_mw(p.active.pd);
    check_bind(mr, mw, "window-range in NdkBind");
    CHECK_STATUS(post(1, 16, LENGTH, base + 16, FAST_ALL), STATUS_SUCCESS);
    check_bind(mr, mw, "");
    normal = data_mr(p.active.pd);
    check_bind(normal, mw, "window-range in NdkBind");
    kit_init_mdl(&mdl, p.active.memory, LENGTH, NULL);
    CHECK_STATUS(data_register(normal, &mdl, LENGTH, DATA_ALL), STATUS_SUCCESS);
    CHECK_STATUS(bind_window(normal, mw, p.active.memory, LENGTH, NDK_OP_FLAG_ALLOW_REMOTE_READ), STATUS_SUCCESS);
    CHECK_STATUS(fast_invalidate(&p.active, 2, mw, 0), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeInvalidate), 2);
    CHECK_STATUS(data_deregister(normal), STATUS_SUCCESS);
    check_bind(normal, mw, "window-range in NdkBind");
    CHECK_STATUS(kit_close(normal), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    close_fast();
}

/* A request has ended the registration. While its result was not polled, the bind is not reported. */
CASE(window_of_an_invalidated_region, 0)
{
    NDK_MW *mw;

    open_fast(PAGES, TRUE);
    mw = fast_mw(p.active.pd);
    for (int polled = 0; polled < 2; polled++) {
        CHECK_STATUS(post(1, 16, LENGTH, base + 16, FAST_ALL), STATUS_SUCCESS);
        CHECK_STATUS(fast_invalidate(&p.active, 2, mr, polled ? 0 : NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
        if (polled)
            CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeInvalidate), 2);
        (void)fast_bind(&p.active, 3, mr, mw, base + 16, LENGTH, NDK_OP_FLAG_ALLOW_REMOTE_READ);
        CHECK_BREACHES(polled ? "window-range in NdkBind" : "");
        data_reconnect(&p); /* the failed request may have ended the connection */
    }
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    close_fast();
}

CASE(window_beyond_the_adapters_limit, 0)
{
    enum { LIMIT_KIB = 64, LIMIT = LIMIT_KIB << 10 };
    ondk_config_t config;
    NDK_MW *mw;

    ondk_config_init(&config);
    config.max_window_kib = LIMIT_KIB;
    CHECK_STATUS(ondk_configure(&config), STATUS_SUCCESS);
    open_pair();
    mw = fast_mw(p.active.pd);
    CHECK_STATUS(bind_window(p.active.mr, mw, p.active.memory, LIMIT, NDK_OP_FLAG_ALLOW_REMOTE_READ), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK(bind_window(p.active.mr, mw, p.active.memory, LIMIT + 1, NDK_OP_FLAG_ALLOW_REMOTE_READ) < 0);
    CHECK_BREACHES("window-size in NdkBind");
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    close_pair();
}

CASE(window_with_a_right_that_its_region_lacks, 0)
{
    struct data_region r;
    NDK_MW *mw;

    open_pair();
    mw = fast_mw(p.active.pd);
    data_region_open(&r, p.active.pd, 0, LENGTH, NDK_MR_FLAG_ALLOW_LOCAL_READ);
    CHECK_STATUS(bind_window(r.mr, mw, r.memory, LENGTH, NDK_OP_FLAG_ALLOW_REMOTE_READ), STATUS_SUCCESS);
    CHECK_STATUS(bind_window(p.active.mr, mw, p.active.memory, LENGTH, NDK_OP_FLAG_ALLOW_REMOTE_WRITE), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(bind_window(r.mr, mw, r.memory, LENGTH, NDK_OP_FLAG_ALLOW_REMOTE_WRITE), STATUS_ACCESS_VIOLATION);
    CHECK_BREACHES("window-right in NdkBind");
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    data_region_close(&r);
    close_pair();
}
