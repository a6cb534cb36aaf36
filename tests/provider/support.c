/* SPDX-License-Identifier: MIT */
/* The kit of the provider's tests, see support.h. */
#include "provider/support.h"

const NDK_VERSION version_2_1 = { 2, 1 };

int next_order(void)
{
    static atomic_int order;

    return atomic_fetch_add(&order, 1) + 1;
}

static void called(struct call *call, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    call->status = status;
    call->object = object;
    call->order = next_order();
    atomic_fetch_add(&call->count, 1);
    gate_open(&call->entered);
    if (call->inside)
        call->inside(call);
    if (call->blocks)
        fake_wait(call->blocks);
    call->returned_order = next_order();
    gate_open(&call->returned);
}

void on_create(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    called(context, status, object);
}

void on_request(void *context, NTSTATUS status)
{
    called(context, status, NULL);
}

void on_close(void *context)
{
    called(context, STATUS_SUCCESS, NULL);
}

void on_notify(void *context, NTSTATUS status)
{
    called(context, status, NULL);
}

NDK_PD *make_pd(NDK_ADAPTER *adapter)
{
    NDK_PD *pd = NULL;

    assert_int_equal(adapter->Dispatch->NdkCreatePd(adapter, on_create, NULL, &pd), STATUS_SUCCESS);
    return pd;
}

NDK_CQ *make_cq(NDK_ADAPTER *adapter, struct call *notify)
{
    NDK_CQ *cq = NULL;

    assert_int_equal(adapter->Dispatch->NdkCreateCq(adapter, 64, on_notify, notify, NULL, on_create, NULL, &cq),
                     STATUS_SUCCESS);
    return cq;
}

NDK_MR *make_mr(NDK_PD *pd)
{
    NDK_MR *mr = NULL;

    assert_int_equal(pd->Dispatch->NdkCreateMr(pd, FALSE, on_create, NULL, &mr), STATUS_SUCCESS);
    return mr;
}

NDK_QP *make_qp(NDK_PD *pd, NDK_CQ *receive, NDK_CQ *initiator)
{
    NDK_QP *qp = NULL;

    assert_int_equal(
        pd->Dispatch->NdkCreateQp(pd, receive, initiator, (void *)0x51, 16, 32, 3, 5, 100, on_create, NULL, &qp),
        STATUS_SUCCESS);
    return qp;
}

/* Every table that has a close has it first. */
NTSTATUS close_object(void *object, struct call *call)
{
    NDK_PD *any = object;

    return any->Dispatch->NdkClosePd(&any->Header, on_close, call);
}

void close_and_wait(void *object)
{
    struct call call = { 0 };

    if (close_object(object, &call) == STATUS_PENDING) {
        fake_wait(&call.returned);
        fake_drain();
    }
}

NTSTATUS register_buffer(NDK_MR *mr, void *buffer, ULONG length, ULONG flags)
{
    MDL mdl;

    ondk_mdl_init(&mdl, buffer, length, NULL);
    return mr->Dispatch->NdkRegisterMr(mr, &mdl, length, flags, on_request, NULL);
}
