/* SPDX-License-Identifier: MIT */
/* Creation, headers and tables of the objects, rule by rule. The fabric is scripted. */
#include <string.h>

#include "provider/support.h"

/* ---- creation ---- */

static void check_header(const NDK_OBJECT_HEADER *h, NDK_OBJECT_TYPE type, NDK_VERSION version)
{
    assert_int_equal(h->ObjectType, type);
    assert_int_equal(h->Version.Major, version.Major);
    assert_int_equal(h->Version.Minor, version.Minor);
    for (int i = 0; i < 4; i++)
        assert_null(h->NdkReserved.rf[i]);
}

/* covers: OBJ-01, ADP-04 */
static void test_headers(void **state)
{
    static const struct {
        NDK_VERSION asked, got;
    } cases[] = { { { 1, 0 }, { 1, 2 } },
                  { { 1, 1 }, { 1, 2 } },
                  { { 1, 2 }, { 1, 2 } },
                  { { 2, 0 }, { 2, 1 } },
                  { { 2, 1 }, { 2, 1 } } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        NDK_ADAPTER *adapter = fake_open(cases[i].asked, NULL);
        assert_non_null(adapter);
        NDK_PD *pd = make_pd(adapter);
        NDK_CQ *cq = make_cq(adapter, NULL);
        NDK_MR *mr = make_mr(pd);
        NDK_QP *qp = make_qp(pd, cq, cq);
        check_header(&adapter->Header, NdkObjectTypeAdapter, cases[i].got);
        check_header(&pd->Header, NdkObjectTypePd, cases[i].got);
        check_header(&cq->Header, NdkObjectTypeCq, cases[i].got);
        check_header(&mr->Header, NdkObjectTypeMr, cases[i].got);
        check_header(&qp->Header, NdkObjectTypeQp, cases[i].got);
        /* The consumer owns the block, and its values stay. */
        memset(&qp->Header.NdkReserved, 0x5a, sizeof(qp->Header.NdkReserved));
        assert_int_equal(qp->Dispatch->NdkReceive(qp, NULL, NULL, 0), STATUS_SUCCESS);
        assert_memory_equal(&qp->Header.NdkReserved.rf[3], "ZZZZZZZZ", 8);
        close_and_wait(qp);
        close_and_wait(mr);
        close_and_wait(cq);
        close_and_wait(pd);
        ondk_close_adapter(adapter);
    }
}

/* covers: ADP-04 */
static void test_other_versions(void **state)
{
    static const NDK_VERSION wrong[] = { { 0, 0 }, { 0, 9 }, { 1, 3 }, { 2, 2 }, { 3, 0 }, { 65535, 0 }, { 1, 65535 } };
    NDK_ADAPTER *adapter = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(ondk_open_adapter(wrong[i], 1, &adapter), NDIS_STATUS_BAD_VERSION);
        assert_null(adapter);
    }
}

/* covers: OBJ-05 */
static void test_inline_creation(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    struct call created = { 0 };
    NDK_PD *pd = NULL;

    (void)state;
    assert_int_equal(adapter->Dispatch->NdkCreatePd(adapter, on_create, &created, &pd), STATUS_SUCCESS);
    assert_non_null(pd);
    fake_drain();
    assert_int_equal(created.count, 0);
    close_and_wait(pd);
    ondk_close_adapter(adapter);
}

static NDK_ADAPTER *open_pending(void)
{
    ondk_config_t config;

    ondk_config_init(&config);
    config.pend_creates = 1;
    return fake_open(version_2_1, &config);
}

/* covers: OBJ-06, OBJ-07 */
static void test_pending_creation(void **state)
{
    NDK_ADAPTER *adapter = open_pending();
    struct call created = { 0 };
    NDK_PD *const untouched = (NDK_PD *)0x1234, *pd = untouched;

    (void)state;
    assert_int_equal(adapter->Dispatch->NdkCreatePd(adapter, on_create, &created, &pd), STATUS_PENDING);
    fake_wait(&created.returned);
    fake_drain();
    assert_ptr_equal(pd, untouched);
    assert_int_equal(created.count, 1);
    assert_int_equal(created.status, STATUS_SUCCESS);
    assert_int_equal(created.object->ObjectType, NdkObjectTypePd);
    close_and_wait(created.object);
    ondk_close_adapter(adapter);
}

static void close_created(struct call *call)
{
    call->answer = close_object(call->object, call->argument);
}

/* covers: OBJ-08, OBJ-10 */
static void test_close_in_creation(void **state)
{
    NDK_ADAPTER *adapter = open_pending();
    struct call closed = { 0 }, created = { .inside = close_created, .argument = &closed };
    NDK_PD *pd;

    (void)state;
    assert_int_equal(adapter->Dispatch->NdkCreatePd(adapter, on_create, &created, &pd), STATUS_PENDING);
    fake_wait(&created.returned);
    /* The creation's callback was still running when close was called. */
    assert_int_equal(created.answer, STATUS_PENDING);
    fake_wait(&closed.returned);
    assert_true(closed.order > created.returned_order);
    ondk_close_adapter(adapter);
    assert_int_equal(closed.count, 1);
}

/* ---- tables ---- */

/* covers: OBJ-02 */
static void test_every_slot_is_filled(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    NDK_PD *pd = make_pd(adapter);
    NDK_CQ *cq = make_cq(adapter, NULL);
    NDK_MR *mr = make_mr(pd);
    NDK_QP *qp = make_qp(pd, cq, cq);
    const struct {
        const void *table;
        size_t size;
    } tables[] = {
        { adapter->Dispatch, sizeof(*adapter->Dispatch) }, { pd->Dispatch, sizeof(*pd->Dispatch) },
        { cq->Dispatch, sizeof(*cq->Dispatch) },           { mr->Dispatch, sizeof(*mr->Dispatch) },
        { qp->Dispatch, sizeof(*qp->Dispatch) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        void *const *slots = tables[i].table;
        for (size_t n = 0; n < tables[i].size / sizeof(void *); n++)
            assert_non_null(slots[n]);
    }
    close_and_wait(qp);
    close_and_wait(mr);
    close_and_wait(cq);
    close_and_wait(pd);
    ondk_close_adapter(adapter);
}

/* covers: OBJ-02 */
static void test_absent_capabilities(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    NDK_PD *pd = make_pd(adapter);
    NDK_CQ *cq = make_cq(adapter, NULL);
    NDK_MR *mr = make_mr(pd), *fast = NULL;
    NDK_QP *qp = make_qp(pd, cq, cq);
    NDK_MW *mw = NULL;
    NDK_SRQ *srq = NULL;

    (void)state;
    assert_int_equal(pd->Dispatch->NdkCreateMw(pd, on_create, NULL, &mw), STATUS_NOT_SUPPORTED);
    assert_int_equal(pd->Dispatch->NdkCreateSrq(pd, 1, 1, 0, NULL, NULL, NULL, on_create, NULL, &srq),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(pd->Dispatch->NdkCreateQpWithSrq(pd, cq, cq, NULL, NULL, 1, 1, 0, on_create, NULL, &qp),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(pd->Dispatch->NdkCreateMr(pd, TRUE, on_create, NULL, &fast), STATUS_NOT_SUPPORTED);
    assert_int_equal(mr->Dispatch->NdkInitializeFastRegisterMr(mr, 1, FALSE, on_request, NULL), STATUS_NOT_SUPPORTED);
    assert_int_equal(cq->Dispatch->NdkControlCqInterruptModeration(cq, 10, 10), STATUS_NOT_SUPPORTED);
    assert_int_equal(qp->Dispatch->NdkBind(qp, NULL, mr, NULL, NULL, 0, 0), STATUS_NOT_SUPPORTED);
    assert_int_equal(qp->Dispatch->NdkFastRegister(qp, NULL, mr, 0, NULL, 0, 0, NULL, 0), STATUS_NOT_SUPPORTED);
    assert_int_equal(qp->Dispatch->NdkInvalidate(qp, NULL, &mr->Header, 0), STATUS_NOT_SUPPORTED);
    close_and_wait(qp);
    close_and_wait(mr);
    close_and_wait(cq);
    close_and_wait(pd);
    ondk_close_adapter(adapter);
}

static int counted_calls;

static NTSTATUS counted_close(NDK_OBJECT_HEADER *o, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    (void)o, (void)done, (void)context;
    counted_calls++;
    return STATUS_UNSUCCESSFUL;
}

static NTSTATUS counted_query(NDK_OBJECT_HEADER *o, GUID *id, NDK_VERSION version, NDK_EXTENSION_INTERFACE *out)
{
    (void)o, (void)id, (void)version, (void)out;
    counted_calls++;
    return STATUS_UNSUCCESSFUL;
}

/* covers: OBJ-03 */
static void test_dispatch_replaced(void **state)
{
    static const NDK_PD_DISPATCH pd_table = { .NdkClosePd = counted_close, .NdkQueryExtension = counted_query };
    static const NDK_QP_DISPATCH qp_table = { .NdkCloseQp = counted_close, .NdkQueryExtension = counted_query };
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    NDK_PD *pd = make_pd(adapter);
    NDK_CQ *cq = make_cq(adapter, NULL);
    NDK_QP *qp = make_qp(pd, cq, cq);
    const NDK_PD_DISPATCH *pd_ours = pd->Dispatch;
    const NDK_QP_DISPATCH *qp_ours = qp->Dispatch;
    struct call closed = { 0 };

    (void)state;
    counted_calls = 0;
    pd->Dispatch = &pd_table;
    qp->Dispatch = &qp_table;
    assert_int_equal(qp_ours->NdkReceive(qp, NULL, NULL, 0), STATUS_SUCCESS);
    if (qp_ours->NdkCloseQp(&qp->Header, on_close, &closed) == STATUS_PENDING)
        fake_wait(&closed.returned);
    fake_drain();
    assert_int_equal(pd_ours->NdkClosePd(&pd->Header, on_close, NULL), STATUS_SUCCESS);
    assert_int_equal(counted_calls, 0);
    close_and_wait(cq);
    ondk_close_adapter(adapter);
}

/* covers: OBJ-04 */
static void test_unknown_extension(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    NDK_PD *pd = make_pd(adapter);
    NDK_CQ *cq = make_cq(adapter, NULL);
    NDK_MR *mr = make_mr(pd);
    NDK_QP *qp = make_qp(pd, cq, cq);
    GUID id = { .Data1 = 0x12345678 };
    NDK_EXTENSION_INTERFACE found;

    (void)state;
    assert_int_equal(adapter->Dispatch->NdkQueryExtension(&adapter->Header, &id, version_2_1, &found),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(pd->Dispatch->NdkQueryExtension(&pd->Header, &id, version_2_1, &found), STATUS_NOT_SUPPORTED);
    assert_int_equal(cq->Dispatch->NdkQueryExtension(&cq->Header, &id, version_2_1, &found), STATUS_NOT_SUPPORTED);
    assert_int_equal(mr->Dispatch->NdkQueryExtension(&mr->Header, &id, version_2_1, &found), STATUS_NOT_SUPPORTED);
    assert_int_equal(qp->Dispatch->NdkQueryExtension(&qp->Header, &id, version_2_1, &found), STATUS_NOT_SUPPORTED);
    close_and_wait(qp);
    close_and_wait(mr);
    close_and_wait(cq);
    close_and_wait(pd);
    ondk_close_adapter(adapter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_other_versions),
        cmocka_unit_test(test_inline_creation),
        cmocka_unit_test(test_pending_creation),
        cmocka_unit_test(test_close_in_creation),
        cmocka_unit_test(test_every_slot_is_filled),
        cmocka_unit_test(test_absent_capabilities),
        cmocka_unit_test(test_dispatch_replaced),
        cmocka_unit_test(test_unknown_extension),
    };

    return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
