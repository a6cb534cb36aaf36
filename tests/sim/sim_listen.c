/* SPDX-License-Identifier: MIT */
/* Listeners and shared endpoints of the consumers, and the listening side of their connections. */
#include <string.h>

#include "base/addr.h"
#include "openndk/adapter.h"
#include "sim/sim.h"
#include "sim/sim_connection.h"
#include "sim/sim_consumer.h"
#include "sim/sim_net.h"
#include "sim/sim_traffic.h"

/* clang-format off */
static const NTSTATUS listen_ends[] = {
    STATUS_SUCCESS, STATUS_INSUFFICIENT_RESOURCES, STATUS_SHARING_VIOLATION, STATUS_INVALID_ADDRESS,
    STATUS_TOO_MANY_ADDRESSES, STATUS_CANCELLED, STATUS_PENDING};

bool listening_is_on(struct obj *o)
{
    return ((struct listening *)o)->listening;
}

void conn_accept(struct conn *c)
{
    NDK_CONNECTOR *n = c->o.ndk.connector;
    uint64_t most = conn_time_limit(2 * conn_config(c)->establish_ms);
    struct qp *qp = obj_pick(QP, c->o.host, qp_is_free);
    uint8_t data[MAX_PRIVATE];
    ULONG in = sim_scenario.orderly ? 32 : (ULONG)sim_below(READ_LIMIT), out = 1 + (ULONG)sim_below(READ_LIMIT);
    struct req *q;

    if (!qp) {
        (void)qp_new(c->o.host);
        return;
    }
    /* Set before the first call, because actions inside the call must not use this queue pair, too. */
    qp->in_use = true;
    c->phase = ACCEPTING;
    if (!post_receive(qp) && !qp->received && !(qp->srq && qp->srq->outstanding) && sim_scenario.orderly) {
        (void)region_new(c->o.host, LOCAL);
        (void)cq_new(c->o.host);
        (void)qp_new(c->o.host);
        qp->in_use = false;
        c->phase = REQUESTED;
        return;
    }
    c->qp = qp;
    c->answered = true;
    c->reply_len = conn_fill_private(c, data, 0, REPLY_DATA);
    qp->peer = c->peer ? c->peer->qp : NULL;
    obj_parent(&c->o, &qp->o);
    q = req_new(&c->o, "accept", conn_only_success(conn_establish_ends), most, conn_established);
    qp->o.calls++;
    if (n->Header.Version.Major == 2 && sim_chance(500))
        req_returned(q, n->Dispatch->NdkAcceptEx(n, qp->o.ndk.qp, in, out, data, c->reply_len, conn_peer_gone_ex, c,
                                                 req_done, q));
    else
        req_returned(q, n->Dispatch->NdkAccept(n, qp->o.ndk.qp, in, out, data, c->reply_len, conn_peer_gone, c,
                                               req_done, q));
    qp->o.calls--;
}

void conn_reject(struct conn *c)
{
    NDK_CONNECTOR *n = c->o.ndk.connector;
    uint8_t data[MAX_PRIVATE];
    bool passive = c->phase == REQUESTED;
    NTSTATUS status;

    if (passive) {
        c->reply_len = conn_fill_private(c, data, 0, REPLY_DATA);
        c->answered = true;
    }
    c->phase = OVER;
    conn_disturb(c);
    c->o.calls++;
    status = n->Dispatch->NdkReject(n, data, passive ? c->reply_len : 0);
    c->o.calls--;
    sim_trace("%s: reject: %s", obj_name(&c->o), ondk_status_name(status));
    sim_check(status == STATUS_SUCCESS || status == STATUS_CONNECTION_ABORTED || status == STATUS_IO_TIMEOUT,
              "%s: reject answers %s", obj_name(&c->o), ondk_status_name(status));
}

/* ---- requests that arrive ---- */

static void find_peer(struct conn *c)
{
    uint8_t data[MAX_PRIVATE];
    uint16_t name[2] = {0};
    unsigned len = conn_get_private(c, data, false);
    struct conn *peer;

    if (len >= ID)
        memcpy(name, data, ID);
    peer = conn_at(name[0]);
    sim_check(peer && peer->active && name[1] <= peer->attempt, "%s: a request from nobody", obj_name(&c->o));
    conn_check_private(c, data, len, peer, peer->request_len[name[1]], REQUEST_DATA + name[1], ID);
    sim_trace("%s: asked by %s, attempt %u", obj_name(&c->o), obj_name(&peer->o), name[1]);
    if (name[1] != peer->attempt || peer->phase != CONNECTING)
        return;
    sim_check(!peer->peer, "%s: asked twice by one attempt", obj_name(&peer->o));
    c->peer = peer;
    peer->peer = c;
}

static VOID arrived(PVOID context, NDK_CONNECTOR *n)
{
    struct listening *l = context;
    struct conn *c = obj_new(CONNECTOR, l->o.host, sizeof *c);

    sim_check(c, "too many objects");
    obj_enter(&l->o, "a request");
    sim_check(l->o.life == OPEN, "%s: a request after its close", obj_name(&l->o));
    c->o.life = OPEN;
    c->o.ndk.connector = n;
    c->phase = REQUESTED;
    obj_parent(&c->o, consumer_adapter(l->o.host));
    obj_parent(&c->o, &l->o);
    find_peer(c);
    if (sim_chance(sim_scenario.inside))
        conn_answer(c);
    obj_exit(&l->o);
}

static void listens(struct req *q, NTSTATUS status)
{
    struct listening *l = (struct listening *)q->o;
    NDK_LISTENER *n = l->o.ndk.listener;
    struct addr raw;
    ULONG len = sizeof raw;

    if (status || l->o.life != OPEN)
        return;
    sim_check(n->Dispatch->NdkGetLocalAddress(n, &raw.sa, &len) == STATUS_SUCCESS &&
              addr_from(&l->address, &raw, len) &&
                  addr_port(&l->address) != 0,
              "%s: no address", obj_name(&l->o));
    l->listening = true;
}

static void listen_at(struct obj *o)
{
    struct addr a = sim_net_address(o->host, sim_chance(300));
    NDK_LISTENER *n = o->ndk.listener;
    struct req *q;

    if (sim_chance(sim_scenario.hopeless))
        addr_set_port(&a, (uint16_t)(5000 + sim_below(3)));
    q = req_new(o, "listen", conn_only_success(listen_ends), SIM_SECOND, listens);
    req_returned(q, n->Dispatch->NdkListen(n, &a.sa, addr_len(&a), req_done, q));
}

static bool is_idle(struct obj *o)
{
    return !((struct listening *)o)->listening && !o->pending;
}

void connection_listen(unsigned host)
{
    struct obj *adapter = consumer_adapter(host);
    struct listening *l = obj_pick(LISTENER, host, is_idle);
    NDK_LISTENER *out = (NDK_LISTENER *)&obj_unwritten;

    if (l) {
        listen_at(&l->o);
        return;
    }
    if (!(l = obj_new(LISTENER, host, sizeof *l)))
        return;
    l->o.born = listen_at;
    obj_parent(&l->o, adapter);
    obj_created(&l->o,
                adapter->ndk.adapter->Dispatch->NdkCreateListener(adapter->ndk.adapter, arrived, l, obj_create_done, l,
                                                                  &out),
                &out);
}

void connection_pause(unsigned host)
{
    struct listening *l = obj_pick(LISTENER, host, listening_is_on);

    if (!l)
        return;
    l->paused = !l->paused;
    sim_trace("%s: pause %d", obj_name(&l->o), l->paused);
    l->o.calls++;
    l->o.ndk.listener->Dispatch->NdkControlConnectEvents(l->o.ndk.listener, l->paused);
    l->o.calls--;
}

void connection_endpoint(unsigned host)
{
    struct obj *adapter = consumer_adapter(host), *o = obj_new(ENDPOINT, host, sizeof *o);
    struct addr a = sim_net_address(host, sim_chance(300));
    NDK_SHARED_ENDPOINT *out = (NDK_SHARED_ENDPOINT *)&obj_unwritten;

    if (!o)
        return;
    if (sim_chance(sim_scenario.hopeless))
        addr_set_port(&a, (uint16_t)(5000 + sim_below(3)));
    obj_parent(o, adapter);
    obj_created(o,
                adapter->ndk.adapter->Dispatch->NdkCreateSharedEndpoint(adapter->ndk.adapter, &a.sa, addr_len(&a),
                                                                        obj_create_done, o, &out),
                &out);
}

/* clang-format on */