/* SPDX-License-Identifier: MIT */
/*
 * A queue pair refuses requests shortly before its connector receives the end of the connection. Between the two, which
 * wrappers of the connector's events extend here, the connector already has the reason.
 */
#include "contract/kit/data.h"
#include "openndk/reason.h"
#include "provider/connector.h"

static struct fabric_ops wrapped;
static const struct fabric_ops *real;
static struct fabric_conn_events events;
static struct kit_side *watched;
static atomic_uint seen; /* the reason at that time */

/* Before the connector receives the event. */
static void read_reason(void *owner)
{
    struct connector *c = owner;

    CHECK_EQ(c->reason, FABRIC_OK);
    CHECK_STATUS(kit_post_send(watched, 1, 0, 8), STATUS_CONNECTION_INVALID);
    atomic_store(&seen, ondk_connector_reason(&c->pub));
}

static void on_peer_ended(void *owner, enum fabric_reason why, uint16_t terminate)
{
    read_reason(owner);
    connector_events.peer_ended(owner, why, terminate);
}

static void on_disconnected(void *owner, enum fabric_reason why, uint16_t terminate)
{
    read_reason(owner);
    connector_events.disconnected(owner, why, terminate);
}

static int make_watched(struct fabric *f, const struct fabric_conn_events *its, void *owner, struct fabric_conn **out)
{
    CHECK(its == &connector_events);
    return real->conn_create(f, &events, owner, out);
}

static void pair_open(struct kit_pair *p)
{
    struct fabric *fabric;

    kit_pair_open_idle(p);
    watched = &p->active;
    fabric = adapter_of(watched->adapter)->fabric;
    events = connector_events;
    events.peer_ended = on_peer_ended;
    events.disconnected = on_disconnected;
    real = fabric->ops;
    wrapped = *real;
    wrapped.conn_create = make_watched;
    fabric->ops = &wrapped;
    kit_establish(&p->active, &p->passive, &p->listener);
    CHECK_EQ(ondk_connector_reason(watched->connector), 0);
}

/* covers: QPR-03 */
CASE(reason_order_peer_resets, 0)
{
    static struct kit_pair p;

    pair_open(&p);
    kit_close_connector(&p.passive);
    kit_wait_count(&p.active.disconnected, 1);
    CHECK_EQ(atomic_load(&seen), ONDK_CAUSE_PEER_RESET << 16);
    CHECK_EQ(ondk_connector_reason(p.active.connector), ONDK_CAUSE_PEER_RESET << 16);
    kit_pair_close(&p);
}

/* covers: QPR-03 */
CASE(reason_order_own_disconnect, 0)
{
    static struct kit_pair p;

    pair_open(&p);
    kit_pair_disconnect(&p);
    CHECK_EQ(atomic_load(&seen), ONDK_CAUSE_LOCAL_DISCONNECT << 16);
    CHECK_EQ(ondk_connector_reason(p.active.connector), ONDK_CAUSE_LOCAL_DISCONNECT << 16);
    kit_pair_close(&p);
}

/* ---- an overflow, and the peer's end behind it ---- */

static atomic_int held, go;

/* Blocks the queue pair's shard, which then finds all that the peer has done at once. */
static void block_shard(struct kit_side *s)
{
    (void)s;
    kit_increment(&held);
    kit_wait_count(&go, 1);
}

static NDK_CQ *shallow_open(struct kit_pair *p)
{
    struct data_qp how = { .receives = 8, .initiators = 4, .receive_sges = 1, .initiator_sges = 1 };
    NDK_CQ *shallow;

    kit_pair_open_idle(p);
    CHECK_STATUS(kit_close(p->passive.qp), STATUS_SUCCESS);
    CHECK_STATUS(data_cq(p->passive.adapter, 1, kit_on_notify, &p->passive, &shallow), STATUS_SUCCESS);
    how.receive_cq = shallow;
    CHECK_STATUS(data_qp(&p->passive, &how, &p->passive.qp), STATUS_SUCCESS);
    for (int i = 0; i < 4; i++)
        CHECK_STATUS(kit_post_receive(&p->passive, i, 64, 8), STATUS_SUCCESS);
    kit_establish(&p->active, &p->passive, &p->listener);
    shallow->Dispatch->NdkArmCq(shallow, NDK_CQ_NOTIFY_ANY);
    return shallow;
}

static void wait_sent(struct kit_side *s)
{
    CHECK_STATUS(kit_result(s).Status, STATUS_SUCCESS);
}

/*
 * The second message overflows the queue. In the same turn, the answer to the read finds that the peer has closed. But
 * the overflow has ended the connection. covers: CQX-07
 */
CASE(reason_order_overflow_before_a_reset, 0)
{
    static struct kit_pair p;
    NDK_CQ *shallow = shallow_open(&p);
    NDK_SGE sge = kit_sge(&p.active, 0, 8);

    p.passive.inside_notified = block_shard;
    CHECK_STATUS(kit_post_send(&p.active, 1, 0, 8), STATUS_SUCCESS);
    wait_sent(&p.active);
    kit_wait_count(&held, 1);
    CHECK_STATUS(p.active.qp->Dispatch->NdkSend(p.active.qp, NULL, &sge, 1, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_read(&p.active, 2, 8, 8, &p.passive, 0), STATUS_SUCCESS);
    wait_sent(&p.active);
    kit_close_connector(&p.active);
    kit_increment(&go);
    kit_wait_count(&p.passive.disconnected, 1);
    CHECK_EQ(ondk_connector_reason(p.passive.connector), ONDK_CAUSE_CQ_OVERFLOW << 16);
    kit_close_connector(&p.passive);
    CHECK_STATUS(kit_close(p.passive.qp), STATUS_SUCCESS);
    p.passive.qp = NULL;
    CHECK_STATUS(kit_close(shallow), STATUS_SUCCESS);
    kit_pair_close(&p);
}
