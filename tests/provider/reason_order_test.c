/* SPDX-License-Identifier: MIT */
/*
 * A queue pair refuses requests a moment before its connector is told of the connection's end. In that moment, which is
 * here held open by wrapping the connector's events, the connector's reason is known already.
 */
#include "contract/kit.h"
#include "openndk/reason.h"
#include "provider/connector.h"

static struct fabric_ops wrapped;
static const struct fabric_ops *real;
static struct fabric_conn_events events;
static struct kit_side *watched;
static atomic_uint seen; /* the reason, in the moment */

/* Before the connector hears of it. */
static void look(void *owner)
{
    struct connector *c = owner;

    CHECK_EQ(c->reason, FABRIC_OK);
    CHECK_STATUS(kit_post_send(watched, 1, 0, 8), STATUS_CONNECTION_INVALID);
    atomic_store(&seen, ondk_connector_reason(&c->pub));
}

static void on_peer_ended(void *owner, enum fabric_reason why, uint16_t terminate)
{
    look(owner);
    connector_events.peer_ended(owner, why, terminate);
}

static void on_disconnected(void *owner, enum fabric_reason why, uint16_t terminate)
{
    look(owner);
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

    kit_pair_idle(p);
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
    kit_drop(&p.passive);
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
