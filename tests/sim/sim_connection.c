/* SPDX-License-Identifier: MIT */
/* The common part of both sides of the consumers' connections, see sim_consumer.h. */
#include <string.h>

#include "base/addr.h"
#include "openndk/adapter.h"
#include "sim/sim.h"
#include "sim/sim_connection.h"
#include "sim/sim_consumer.h"
#include "sim/sim_net.h"
#include "sim/sim_traffic.h"

/* clang-format off */
const NTSTATUS conn_establish_ends[] = {
    STATUS_SUCCESS, STATUS_CONNECTION_ABORTED, STATUS_IO_TIMEOUT, STATUS_CANCELLED, STATUS_PENDING};
static const NTSTATUS disconnect_ends[] = {
    STATUS_SUCCESS, STATUS_CONNECTION_ABORTED, STATUS_IO_TIMEOUT, STATUS_CANCELLED, STATUS_PENDING};
static const NTSTATUS success_alone[] = {STATUS_SUCCESS, STATUS_PENDING};
static const NTSTATUS invalid_alone[] = {STATUS_CONNECTION_INVALID, STATUS_PENDING};

const NTSTATUS *conn_only_success(const NTSTATUS *usual)
{
    return sim_scenario.orderly ? success_alone : usual;
}

uint64_t conn_time_limit(unsigned ms)
{
    return ms * SIM_MS + 3 * SIM_SECOND;
}

const ondk_config_t *conn_config(const struct conn *c)
{
    return &sim_scenario.config[c->o.host];
}

/* From now on the requests of the queue pair may be cancelled or lost. */
void conn_disturb(struct conn *c)
{
    if (c->qp)
        c->qp->disturbed = true;
}

struct conn *conn_at(unsigned id)
{
    return id < object_count && objects[id]->kind == CONNECTOR ? (struct conn *)objects[id] : NULL;
}

unsigned connection_count(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < object_count; i++)
        count += conn_at(i) && conn_at(i)->phase != FRESH && conn_at(i)->phase != OVER;
    return count;
}

/* ---- private data ---- */

unsigned conn_fill_private(struct conn *c, uint8_t *data, unsigned min_receives, unsigned number)
{
    unsigned most = conn_config(c)->max_private, len;

    len = min_receives + (unsigned)sim_below(most - min_receives + 1);
    for (unsigned i = 0; i < len; i++)
        data[i] = traffic_byte(c->o.id, number, i);
    if (min_receives) {
        uint16_t name[2] = {(uint16_t)c->o.id, (uint16_t)c->attempt};

        memcpy(data, name, ID);
    }
    return len;
}

/* silent: the peer may have sent no private data. */
unsigned conn_get_private(struct conn *c, uint8_t *data, bool silent)
{
    ULONG len = MAX_PRIVATE, in = 0, out = 0;
    NDK_CONNECTOR *n = c->o.ndk.connector;
    NTSTATUS status;

    c->o.calls++;
    status = n->Dispatch->NdkGetConnectionData(n, &in, &out, data, &len);
    c->o.calls--;
    if (silent && status == STATUS_INVALID_DEVICE_STATE)
        return 0;
    sim_check(status == STATUS_SUCCESS, "%s: connection data: %s", obj_name(&c->o), ondk_status_name(status));
    if (c->qp)
        c->qp->reads = out;
    return len;
}

void conn_check_private(const struct conn *c, const uint8_t *data, unsigned len, const struct conn *from,
                          unsigned expected, unsigned number, unsigned skip)
{
    sim_check(len == expected, "%s: %u bytes of private data, %s gave %u", obj_name(&c->o), len, obj_name(&from->o),
              expected);
    for (unsigned i = skip; i < len; i++)
        sim_check(data[i] == traffic_byte(from->o.id, number, i), "%s: wrong private data", obj_name(&c->o));
}

/* ---- established connections ---- */

VOID conn_peer_gone(PVOID context)
{
    struct conn *c = context;

    obj_enter(&c->o, "the peer is gone");
    sim_check(!c->notified, "%s: the peer is gone twice", obj_name(&c->o));
    sim_check(c->phase == UP, "%s: the peer is gone before it was established", obj_name(&c->o));
    sim_check(!c->left, "%s: told of the peer's end after it had disconnected", obj_name(&c->o));
    sim_check(c->o.life == OPEN, "%s: told of the peer's end after it was closed", obj_name(&c->o));
    c->notified = true;
    conn_disturb(c);
    obj_exit(&c->o);
}

VOID conn_peer_gone_ex(PVOID context, ULONG reason)
{
    sim_check(reason != 0, "%s: gone for no reason", obj_name(context));
    conn_peer_gone(context);
}

void conn_established(struct req *q, NTSTATUS status)
{
    struct conn *c = (struct conn *)q->o;
    uint8_t data[MAX_PRIVATE];

    c->phase = status ? OVER : UP;
    c->qp->connected = !status;
    if (status || c->o.life != OPEN) {
        conn_disturb(c);
        return;
    }
    (void)conn_get_private(c, data, false);
    if (c->active && sim_scenario.orderly)
        (void)post_send(c->qp, 0); /* permits the peer to send, if no other message does */
}

static void parted(struct req *q, NTSTATUS status)
{
    struct conn *c = (struct conn *)q->o;

    c->phase = OVER;
    c->parted = status;
    c->qp->connected = false;
    qp_check_completed(c->qp, c->posted_before, "disconnected");
}

static void disconnect(struct conn *c)
{
    NDK_CONNECTOR *n = c->o.ndk.connector;
    NTSTATUS status;
    struct req *q;

    if (!obj_is_open(&c->o) || c->phase != UP)
        return;
    conn_disturb(c);
    c->posted_before = c->qp->posted;
    c->phase = LEAVING;
    q = req_new(&c->o, "disconnect", conn_only_success(disconnect_ends),
                conn_time_limit(3 * conn_config(c)->disconnect_ms), parted);
    status = n->Dispatch->NdkDisconnect(n, req_done, q);
    c->left = true;
    req_returned(q, status);
}

void connection_disconnect(unsigned host)
{
    struct conn *c = obj_pick(CONNECTOR, host, NULL);

    if (c)
        disconnect(c);
}

void conn_answer(struct conn *c)
{
    bool reject_it = !sim_scenario.orderly && sim_chance(80);

    if (!obj_is_open(&c->o) || c->o.calls)
        return;
    if ((c->phase == REPLIED || c->phase == REQUESTED) && reject_it)
        conn_reject(c);
    else if (c->phase == REPLIED)
        conn_complete(c);
    else if (c->phase == REQUESTED)
        conn_accept(c);
}

static bool waits(struct obj *o)
{
    return ((struct conn *)o)->phase == REPLIED || ((struct conn *)o)->phase == REQUESTED;
}

void connection_answer(unsigned host)
{
    struct conn *c = obj_pick(CONNECTOR, host, waits);

    if (c)
        conn_answer(c);
}

/* ---- looking, and calling at the wrong time ---- */

static bool is_up(struct obj *o)
{
    return ((struct conn *)o)->phase == UP;
}

static struct addr address_of(struct conn *c, bool own)
{
    NDK_CONNECTOR *n = c->o.ndk.connector;
    struct addr raw, a;
    ULONG len = sizeof raw;
    NTSTATUS status = own ? n->Dispatch->NdkGetLocalAddress(n, &raw.sa, &len)
                          : n->Dispatch->NdkGetPeerAddress(n, &raw.sa, &len);

    sim_check(status == STATUS_SUCCESS && addr_from(&a, &raw, len), "%s: no address: %s", obj_name(&c->o),
              ondk_status_name(status));
    return a;
}

void connection_ask(unsigned host)
{
    struct conn *c = obj_pick(CONNECTOR, host, is_up);
    struct addr mine, theirs;

    if (!c || !c->peer || !obj_is_open(&c->peer->o) || c->peer->phase == CONNECTING)
        return;
    if (c->peer->peer != c)
        return;
    mine = address_of(c, true);
    theirs = address_of(c->peer, false);
    sim_check(addr_equal(&mine, &theirs), "%s and %s disagree on an address", obj_name(&c->o), obj_name(&c->peer->o));
}

void connection_wrong(unsigned host)
{
    struct conn *c = obj_pick(CONNECTOR, host, NULL);
    NDK_CONNECTOR *n;
    struct req *q;

    if (!c || c->o.pending || c->o.calls || (c->phase != FRESH && c->phase != UP && c->phase != REQUESTED))
        return;
    n = c->o.ndk.connector;
    q = req_new(&c->o, "complete, at the wrong time", invalid_alone, SIM_SECOND, NULL);
    req_returned(q, n->Dispatch->NdkCompleteConnect(n, conn_peer_gone, c, req_done, q));
    if (c->phase == UP)
        return;
    q = req_new(&c->o, "disconnect, at the wrong time", invalid_alone, SIM_SECOND, NULL);
    req_returned(q, n->Dispatch->NdkDisconnect(n, req_done, q));
}

struct qp *connection_any_qp(unsigned host)
{
    struct conn *c = obj_pick(CONNECTOR, host, is_up);

    return c && obj_is_open(&c->qp->o) ? c->qp : NULL;
}

/* ---- an orderly end ---- */

bool connection_all_answered(bool explain)
{
    bool all = true;

    for (unsigned i = 0; i < object_count; i++) {
        struct conn *c = conn_at(i);

        if (!c || c->phase == FRESH || c->phase == OVER)
            continue;
        conn_answer(c);
        if (c->phase == UP && c->active && c->qp->sent == 0)
            (void)post_send(c->qp, 0);
        if (c->phase == UP)
            post_undeferred(c->qp);
        if (c->phase == UP && qp_is_drained(c->qp))
            continue;
        all = false;
        if (explain)
            sim_trace("%s, of %s: waits in phase %u", obj_name(&c->o), c->qp ? obj_name(&c->qp->o) : "nobody",
                      c->phase);
    }
    return all;
}

void connection_all_established(void)
{
    for (unsigned i = 0; i < object_count; i++)
        sim_check(!conn_at(i) || conn_at(i)->phase == FRESH || conn_at(i)->phase == UP, "%s: not established",
                  obj_name(objects[i]));
}

void connection_disconnect_all(bool first)
{
    for (unsigned i = 0; i < object_count; i++) {
        struct conn *c = conn_at(i);

        if (!c || c->phase != UP)
            continue;
        /* One side or both disconnect; the other side follows when its disconnect callback runs. */
        if (c->notified || (first && (c->active ? !sim_chance(300) : sim_chance(300))))
            disconnect(c);
    }
}

bool connection_all_left(void)
{
    for (unsigned i = 0; i < object_count; i++) {
        const struct conn *c = conn_at(i);

        if (c && (c->phase == UP || c->phase == LEAVING)) {
            if (c->phase == UP && c->peer && c->peer->phase == UP && !c->peer->left)
                disconnect((struct conn *)objects[i]);
            return false;
        }
    }
    return true;
}

/* clang-format on */