/* SPDX-License-Identifier: MIT */
/*
 * OBJ-03: the consumer saves the table of each new object and clears the object's Dispatch. A whole connection then
 * works by calls through the saved tables.
 */
#include "contract/kit/kit.h"

struct end {
    struct kit_side side;
    const NDK_ADAPTER_DISPATCH *adapter;
    const NDK_PD_DISPATCH *pd;
    const NDK_CQ_DISPATCH *cq;
    const NDK_QP_DISPATCH *qp;
    const NDK_MR_DISPATCH *mr;
    const NDK_CONNECTOR_DISPATCH *connector;
};

static const NDK_CONNECTOR_DISPATCH *clear_connector(NDK_CONNECTOR *c)
{
    const NDK_CONNECTOR_DISPATCH *table = c->Dispatch;

    c->Dispatch = NULL;
    return table;
}

static void open_end(struct end *e, bool connector)
{
    struct kit_side *s = &e->side;

    kit_side_open(s, NULL);
    if (connector) {
        s->connector = kit_connector(s->adapter);
        e->connector = clear_connector(s->connector);
    }
    e->adapter = s->adapter->Dispatch;
    e->pd = s->pd->Dispatch;
    e->cq = s->cq->Dispatch;
    e->qp = s->qp->Dispatch;
    e->mr = s->mr->Dispatch;
}

static void clear_tables(struct end *e)
{
    e->side.adapter->Dispatch = NULL;
    e->side.pd->Dispatch = NULL;
    e->side.cq->Dispatch = NULL;
    e->side.qp->Dispatch = NULL;
    e->side.mr->Dispatch = NULL;
}

static void await(struct kit_call *call, NTSTATUS status)
{
    CHECK_STATUS(kit_final(call, status), STATUS_SUCCESS);
}

static void connect_ends(struct end *a, struct end *b, struct kit_listener *l)
{
    struct sockaddr_storage source = kit_host(0);
    ULONG len = kit_address_len(&source);
    struct kit_call connect = { 0 }, accept = { 0 }, complete = { 0 };
    NTSTATUS connecting, accepting, completing;

    connecting = a->connector->NdkConnect(a->side.connector, a->side.qp, (PSOCKADDR)&source, len,
                                          (PSOCKADDR)&l->address, len, 8, 8, NULL, 0, kit_request_done, &connect);
    b->side.connector = kit_next_request(l);
    b->connector = clear_connector(b->side.connector);
    accepting = b->connector->NdkAccept(b->side.connector, b->side.qp, 8, 8, NULL, 0, kit_on_disconnect, &b->side,
                                        kit_request_done, &accept);
    await(&connect, connecting);
    completing = a->connector->NdkCompleteConnect(a->side.connector, kit_on_disconnect, &a->side, kit_request_done,
                                                  &complete);
    await(&complete, completing);
    await(&accept, accepting);
}

static void poll(struct end *e)
{
    NDK_RESULT_EX result;

    while (e->cq->NdkGetCqResultsEx(e->side.cq, &result, 1) == 0)
        sched_yield();
    CHECK_STATUS(result.Status, STATUS_SUCCESS);
}

static void exchange(struct end *from, struct end *to)
{
    NDK_SGE sink = kit_sge(&to->side, 0, 100), source = kit_sge(&from->side, 0, 100);

    to->cq->NdkArmCq(to->side.cq, NDK_CQ_NOTIFY_ANY);
    CHECK_STATUS(to->qp->NdkReceive(to->side.qp, NULL, &sink, 1), STATUS_SUCCESS);
    CHECK_STATUS(from->qp->NdkSend(from->side.qp, NULL, &source, 1, 0), STATUS_SUCCESS);
    kit_wait_count(&to->side.notified, 1);
    poll(from);
    poll(to);
}

static void close_with(void *object, NDK_FN_CLOSE_OBJECT close)
{
    struct kit_call call = { 0 };

    await(&call, close(object, kit_close_done, &call));
}

static void close_end(struct end *e)
{
    struct kit_call call = { 0 };

    await(&call, e->mr->NdkDeregisterMr(e->side.mr, kit_request_done, &call));
    close_with(e->side.connector, e->connector->NdkCloseConnector);
    close_with(e->side.qp, e->qp->NdkCloseQp);
    close_with(e->side.mr, e->mr->NdkCloseMr);
    close_with(e->side.cq, e->cq->NdkCloseCq);
    close_with(e->side.pd, e->pd->NdkClosePd);
    free(e->side.memory);
}

/* covers: OBJ-03 */
CASE(obj_03_nothing_reads_dispatch, KIT_FAMILIES)
{
    static struct end a, b;
    static struct kit_listener l;
    struct kit_call disconnect = { 0 }, closing = { 0 };
    const NDK_LISTENER_DISPATCH *listener;
    NTSTATUS disconnecting, status;

    open_end(&a, true);
    open_end(&b, false);
    kit_listen(&l, b.side.adapter);
    listener = l.listener->Dispatch;
    l.listener->Dispatch = NULL;
    clear_tables(&a);
    clear_tables(&b);
    connect_ends(&a, &b, &l);
    exchange(&a, &b);
    exchange(&b, &a);
    disconnecting = a.connector->NdkDisconnect(a.side.connector, kit_request_done, &disconnect);
    kit_wait_count(&b.side.disconnected, 1);
    struct kit_call answer = { 0 };
    await(&answer, b.connector->NdkDisconnect(b.side.connector, kit_request_done, &answer));
    await(&disconnect, disconnecting);
    status = listener->NdkCloseListener(&l.listener->Header, kit_close_done, &closing);
    close_end(&b);
    await(&closing, status);
    close_end(&a);
    kit_close_adapter(a.side.adapter);
    kit_close_adapter(b.side.adapter);
}

/* A verifier's table: some entries check and forward, the others are copied. */
static atomic_int verified;
static const NDK_CONNECTOR_DISPATCH *original;

static NTSTATUS verify_disconnect(NDK_CONNECTOR *c, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    kit_increment(&verified);
    return original->NdkDisconnect(c, done, context);
}

static NTSTATUS verify_close(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    kit_increment(&verified);
    return original->NdkCloseConnector(header, done, context);
}

/* covers: OBJ-03 */
CASE(obj_03_a_verifiers_table, KIT_FAMILIES)
{
    static struct kit_pair p;
    static NDK_CONNECTOR_DISPATCH table;

    kit_pair_open(&p);
    original = p.active.connector->Dispatch;
    table = *original;
    table.NdkDisconnect = verify_disconnect;
    table.NdkCloseConnector = verify_close;
    p.active.connector->Dispatch = &table;
    kit_exchange(&p.active, &p.passive);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
    CHECK_EQ(atomic_load(&verified), 2);
}
