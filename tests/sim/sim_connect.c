/* SPDX-License-Identifier: MIT */
/* The connecting side of the consumers' connections. */
#include <string.h>

#include "base/addr.h"
#include "openndk/adapter.h"
#include "sim/sim.h"
#include "sim/sim_connection.h"
#include "sim/sim_consumer.h"
#include "sim/sim_net.h"
#include "sim/sim_traffic.h"

/* clang-format off */
static const NTSTATUS connect_ends[] = {
    STATUS_SUCCESS, STATUS_NETWORK_UNREACHABLE, STATUS_HOST_UNREACHABLE, STATUS_CONNECTION_REFUSED, STATUS_IO_TIMEOUT,
    STATUS_SHARING_VIOLATION, STATUS_INVALID_ADDRESS, STATUS_TOO_MANY_ADDRESSES, STATUS_ADDRESS_ALREADY_EXISTS,
    STATUS_INSUFFICIENT_RESOURCES, STATUS_CANCELLED, STATUS_PENDING};
static const NTSTATUS shared_ends[] = {
    STATUS_SUCCESS, STATUS_NETWORK_UNREACHABLE, STATUS_HOST_UNREACHABLE, STATUS_CONNECTION_REFUSED, STATUS_IO_TIMEOUT,
    STATUS_ADDRESS_ALREADY_EXISTS, STATUS_INSUFFICIENT_RESOURCES, STATUS_CANCELLED, STATUS_PENDING};

static void rejected_data(struct conn *c)
{
    uint8_t data[MAX_PRIVATE];
    unsigned len;

    if (c->o.life != OPEN || (len = conn_get_private(c, data, true)) == 0)
        return;
    sim_check(c->peer && c->peer->answered, "%s: private data from nobody", obj_name(&c->o));
    conn_check_private(c, data, len, c->peer, c->peer->reply_len, REPLY_DATA, 0);
}

/* Releases the queue pair for another connection if it was never connected. */
static void conn_release_qp(struct conn *c)
{
    if (c->qp)
        c->qp->in_use = false;
    c->qp = NULL;
}

static void conn_ended(struct obj *o)
{
    if (((struct conn *)o)->phase == FRESH)
        conn_release_qp((struct conn *)o);
}

static void connected(struct req *q, NTSTATUS status)
{
    struct conn *c = (struct conn *)q->o;
    uint8_t data[MAX_PRIVATE];

    if (status) {
        if (status == STATUS_CONNECTION_REFUSED)
            rejected_data(c);
        c->phase = FRESH;
        c->peer = NULL;
        if (c->o.life == OPEN)
            conn_release_qp(c);
        return;
    }
    c->phase = REPLIED;
    sim_check(c->peer && c->peer->answered, "%s: nobody has accepted", obj_name(&c->o));
    c->qp->peer = c->peer->qp;
    obj_parent(&c->o, &c->qp->o);
    if (c->endpoint)
        obj_parent(&c->o, c->endpoint);
    if (c->o.life == OPEN)
        conn_check_private(c, data, conn_get_private(c, data, false), c->peer, c->peer->reply_len, REPLY_DATA, 0);
}

static bool is_fresh(struct obj *o)
{
    const struct conn *c = (struct conn *)o;

    return c->phase == FRESH && c->active && c->attempt + 1 < ATTEMPTS;
}

static struct conn *conn_new(unsigned host)
{
    struct conn *c = obj_new(CONNECTOR, host, sizeof *c);
    struct obj *adapter = consumer_adapter(host);
    NDK_CONNECTOR *out = (NDK_CONNECTOR *)&obj_unwritten;

    if (!c)
        return NULL;
    c->active = true;
    c->o.gone = conn_ended;
    obj_parent(&c->o, adapter);
    obj_created(&c->o,
                adapter->ndk.adapter->Dispatch->NdkCreateConnector(adapter->ndk.adapter, obj_create_done, c, &out),
                &out);
    return c;
}

/* Returns false if there is no target yet. */
static bool choose_target(struct addr *target)
{
    struct listening *l;

    if (sim_chance(sim_scenario.hopeless)) {
        *target = sim_chance(500) ? sim_net_nobody((unsigned)sim_below(3))
                                  : sim_net_address((unsigned)sim_below(SIM_HOSTS), false);
        addr_set_port(target, (uint16_t)(1 + sim_below(10)));
        return true;
    }
    l = obj_pick(LISTENER, (unsigned)sim_below(SIM_HOSTS), listening_is_on);
    if (!l)
        return false;
    *target = l->address;
    return true;
}

static struct addr choose_source(unsigned host, const struct addr *target)
{
    bool strange = sim_chance(sim_scenario.hopeless);
    struct addr source = sim_net_address(strange && sim_chance(300) ? !host : host, target->sa.sa_family == AF_INET6);

    addr_set_port(&source, strange ? (uint16_t)(5000 + sim_below(3)) : 0);
    return source;
}

static struct obj *choose_endpoint(unsigned host, const struct addr *target)
{
    struct obj *e = sim_chance(250) ? obj_pick(ENDPOINT, host, NULL) : NULL;
    struct addr source;
    uint8_t raw[sizeof source];
    ULONG len = sizeof raw;

    if (!e || e->ndk.endpoint->Dispatch->NdkGetLocalAddress(e->ndk.endpoint, (PSOCKADDR)(void *)raw, &len) ||
        !addr_from(&source, raw, len) || source.sa.sa_family != target->sa.sa_family)
        return NULL;
    return e;
}

static void connect_to(struct conn *c, const struct addr *target)
{
    const ondk_config_t *limits = conn_config(c);
    uint64_t most = conn_time_limit(limits->connect_ms + limits->reply_ms);
    NDK_CONNECTOR *n = c->o.ndk.connector;
    struct obj *endpoint = choose_endpoint(c->o.host, target);
    struct addr source = choose_source(c->o.host, target);
    PSOCKADDR to = (PSOCKADDR)(uintptr_t)&target->sa;
    uint8_t data[MAX_PRIVATE];
    ULONG in = sim_scenario.orderly ? 32 : (ULONG)sim_below(READ_LIMIT), out = 1 + (ULONG)sim_below(READ_LIMIT);
    struct req *q;

    c->attempt++;
    c->request_len[c->attempt] = conn_fill_private(c, data, ID, REQUEST_DATA + c->attempt);
    c->endpoint = endpoint;
    if (endpoint) {
        endpoint->calls++;
        q = req_new(&c->o, "connect, shared endpoint", shared_ends, most, connected);
        req_returned(q, n->Dispatch->NdkConnectWithSharedEndpoint(n, c->qp->o.ndk.qp, endpoint->ndk.endpoint, to,
                                                                  addr_len(target), in, out, data,
                                                                  c->request_len[c->attempt], req_done, q));
        endpoint->calls--;
        return;
    }
    q = req_new(&c->o, "connect", conn_only_success(connect_ends), most, connected);
    req_returned(q, n->Dispatch->NdkConnect(n, c->qp->o.ndk.qp, &source.sa, addr_len(&source), to, addr_len(target), in,
                                            out, data, c->request_len[c->attempt], req_done, q));
}

void connection_connect(unsigned host)
{
    struct conn *c = obj_pick(CONNECTOR, host, is_fresh);
    struct qp *qp = obj_pick(QP, host, qp_is_free);
    struct addr target;

    if (!c)
        (void)conn_new(host);
    if (!qp)
        (void)qp_new(host);
    if (!c || !qp || c->o.pending || !choose_target(&target))
        return;
    /* Set before the first call, because actions inside the call must not use this queue pair, too. */
    c->qp = qp;
    c->phase = CONNECTING;
    qp->in_use = true;
    c->o.calls++;
    qp->o.calls++;
    for (unsigned n = (unsigned)sim_below(4); n; n--)
        (void)post_receive(qp);
    connect_to(c, &target);
    qp->o.calls--;
    c->o.calls--;
}

void conn_complete(struct conn *c)
{
    NDK_CONNECTOR *n = c->o.ndk.connector;
    uint64_t most = conn_time_limit(conn_config(c)->establish_ms);
    struct req *q;

    c->phase = COMPLETING;
    q = req_new(&c->o, "complete", conn_only_success(conn_establish_ends), most, conn_established);
    if (n->Header.Version.Major == 2 && sim_chance(500))
        req_returned(q, n->Dispatch->NdkCompleteConnectEx(n, conn_peer_gone_ex, c, req_done, q));
    else
        req_returned(q, n->Dispatch->NdkCompleteConnect(n, conn_peer_gone, c, req_done, q));
}

/* clang-format on */