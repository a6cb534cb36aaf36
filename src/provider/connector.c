/* SPDX-License-Identifier: MIT */
/*
 * Abstract: what a connector keeps and does between the consumer's calls and the fabric's events. The machine itself is
 * connector_table.c; here each event is one step under the lock, and then what the step said.
 *
 * References. The fabric's connection holds the connector (LOOKUP) from its creation to its closed(), so that the
 * connector's close stays pending until the address is free. The connector holds queue pair and shared endpoint (CHILD)
 * from connect or accept on, and its listener; a failed NdkConnect gives queue pair and endpoint back.
 *
 * Calls and the end. The consumer may close in one thread while another is between its step and the fabric, and the
 * fabric's connection may be gone as soon as it has been told to end. So it is told so when no call is inside: by
 * close, by the failure of a connect, or by the last call that leaves after them. The phase changes at once.
 *
 * One connection of the fabric's for each attempt. A failed NdkConnect is told when its connection is gone, so that
 * its address is free for the retry, and the connector becomes IDLE in the very callback that tells: only then is the
 * embedded request free to begin again.
 *
 * Order. All callbacks of a connection come from one shard, the queue pair's, in the order queued: the disconnect
 * callback is queued after the completion of NdkCompleteConnect or NdkAccept. Whether it may still begin is looked at
 * when it is delivered.
 */
#include "provider/connector.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/zeroed.h"
#include "provider/reason.h"
#include "provider/status.h"

static struct connector *connector_of_object(struct object *o)
{
    return (struct connector *)((char *)o - offsetof(struct connector, obj));
}

/* ---- the lock and the step ---- */

void connector_lock(struct connector *c)
{
    spin_lock(&c->lock);
}

void connector_unlock(struct connector *c)
{
    /* CONNECTING gets its connection right after the step. */
    assert(!connector_has_fabric(c->phase) || c->phase == CONNECTOR_CONNECTING || c->conn);
    assert(!connector_has_qp(c->phase) || c->qp);
    assert(c->phase != CONNECTOR_IDLE || (!c->conn && !c->qp && !c->endpoint));
    assert(c->peer.private_data || !c->peer.private_len);
    spin_unlock(&c->lock);
}

enum connector_action connector_take(struct connector *c, enum connector_event event)
{
    return connector_step(&c->phase, event);
}

void connector_enter(struct connector *c)
{
    object_ref(&c->obj, REF_INTERNAL);
    connector_lock(c);
    c->inside++;
    connector_unlock(c);
}

void connector_leave(struct connector *c)
{
    struct fabric_conn *conn = NULL;

    connector_lock(c);
    assert(c->inside > 0);
    c->inside--;
    if (!c->inside && c->ending) {
        c->ending = false;
        conn = c->conn; /* NULL: there was no memory for it */
    }
    connector_unlock(c);
    if (conn)
        connector_ops(c)->conn_close(conn);
    object_unref(&c->obj, REF_INTERNAL);
}

/* Under the lock. The connection that the caller is to end; NULL: a call is inside, and it will. */
static struct fabric_conn *take_end(struct connector *c)
{
    c->ending = c->inside > 0;
    return c->ending ? NULL : c->conn;
}

/* ---- what the peer said ---- */

static uint16_t lower(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

static struct fabric_limits lower_limits(struct fabric_limits a, struct fabric_limits b)
{
    return (struct fabric_limits){ .inbound = lower(a.inbound, b.inbound), .outbound = lower(a.outbound, b.outbound) };
}

/* Takes down what is valid during the event alone. False: no memory. */
static bool hear(struct connector_peer *heard, const struct fabric_peer *peer, struct fabric_limits own)
{
    size_t len = peer->private_len;

    memset(heard, 0, sizeof(*heard));
    if (len) {
        heard->private_data = malloc(len);
        if (!heard->private_data)
            return false;
        memcpy(heard->private_data, peer->private_data, len);
        heard->private_len = len;
    }
    heard->spoke = true;
    heard->limits = lower_limits(peer->limits, own);
    heard->local = peer->local;
    heard->remote = peer->remote;
    return true;
}

/* ---- queue pair and shared endpoint ---- */

bool connector_bind(struct qp *qp)
{
    bool free_one = false;

    return atomic_compare_exchange_strong(&qp->bound, &free_one, true);
}

void connector_unbind(struct qp *qp)
{
    atomic_store(&qp->bound, false);
}

static void hold(struct connector *c)
{
    object_depend(&c->obj, &c->qp->obj);
    if (c->endpoint)
        object_depend(&c->obj, c->endpoint);
    /* From here on its callbacks come from the queue pair's shard. */
    atomic_store(&c->obj.shard, atomic_load(&c->qp->obj.shard));
}

static void give_back(struct connector *c, struct qp *qp, struct object *endpoint)
{
    if (endpoint)
        object_undepend(&c->obj, endpoint);
    connector_unbind(qp); /* the reference keeps it till here */
    object_undepend(&c->obj, &qp->obj);
}

/* ---- NdkConnect ---- */

/*
 * Callback context. Gives back what a failed attempt had bound, before the connector is IDLE: another attempt may bind
 * the same. Where close has come first, that is done at the connector's end, when the fabric has let go as well.
 */
static void end_attempt(struct connector *c)
{
    struct object *endpoint = NULL;
    struct qp *qp = NULL;

    connector_lock(c);
    if (c->phase == CONNECTOR_FAILED) {
        qp = c->qp;
        endpoint = c->endpoint;
        c->qp = NULL;
        c->endpoint = NULL;
    }
    connector_unlock(c);
    if (qp)
        give_back(c, qp, endpoint);
    connector_lock(c);
    (void)connector_take(c, CONNECTOR_TELLING);
    connector_unlock(c);
}

/* Callback context. Whatever the consumer does inside done may be the next attempt. */
static void tell_connect(void *context, NTSTATUS status)
{
    struct connector *c = context;
    NDK_FN_REQUEST_COMPLETION done = c->connect_done;
    void *done_context = c->connect_context;

    if (!NT_SUCCESS(status))
        end_attempt(c);
    done(done_context, status);
}

static void complete_failed(struct connector *c, enum fabric_reason why)
{
    request_complete(&c->connect, status_of_connect(why));
}

static void connected(void *owner, enum fabric_reason why, const struct fabric_peer *peer)
{
    struct connector *c = owner;
    struct connector_peer heard = {0};

    if (peer && !hear(&heard, peer, c->own))
        why = FABRIC_RESOURCES;
    heard.located = why == FABRIC_OK;
    connector_lock(c);
    struct connector_peer old = c->peer;
    enum connector_action action =
        connector_take(c, why == FABRIC_OK ? CONNECTOR_CONNECT_DONE : CONNECTOR_CONNECT_FAILED);
    struct fabric_conn *ends = action == CONNECTOR_RETIRE ? take_end(c) : NULL;
    c->peer = heard;
    c->reason = why;
    c->terminate = FABRIC_NO_TERMINATE;
    connector_unlock(c);
    free(old.private_data);
    if (ends)
        connector_ops(c)->conn_close(ends);
    if (action == CONNECTOR_TELL_CONNECTED)
        request_complete(&c->connect, STATUS_SUCCESS);
    else if (action == CONNECTOR_TELL_CANCELLED)
        request_complete(&c->connect, STATUS_CANCELLED);
}

/* Takes back a call that found no memory. Nothing has been started, so nothing but close has happened. */
static NTSTATUS undo(struct connector *c, struct request *r)
{
    request_cancel(r);
    give_back(c, c->qp, c->endpoint);
    connector_lock(c);
    c->qp = NULL;
    c->endpoint = NULL;
    c->consumed = false;
    (void)connector_take(c, CONNECTOR_NOT_STARTED);
    connector_unlock(c);
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS connector_start_connect(struct connector *c, const struct fabric_connect *wish,
                                 NDK_FN_REQUEST_COMPLETION done, void *context)
{
    const struct fabric_ops *ops = connector_ops(c);
    struct fabric_conn *conn;

    hold(c);
    c->connect_done = done;
    c->connect_context = context;
    request_begin(&c->connect, &c->obj, tell_connect, c);
    if (ops->conn_create(c->obj.adapter->fabric, &connector_events, c, &conn) != 0)
        return undo(c, &c->connect);
    object_ref(&c->obj, REF_INTERNAL);
    connector_lock(c);
    c->conn = conn;
    connector_unlock(c);
    if (ops->conn_connect(conn, wish) != 0)
        connected(c, FABRIC_RESOURCES, NULL); /* it never will say so itself */
    return STATUS_PENDING;
}

/* ---- NdkAccept, NdkCompleteConnect ---- */

NTSTATUS connector_start_accept(struct connector *c, const struct fabric_accept *wish, NDK_FN_REQUEST_COMPLETION done,
                                void *context)
{
    hold(c);
    request_begin(&c->establish, &c->obj, done, context);
    if (connector_ops(c)->conn_accept(c->conn, &connector_events, wish) != 0)
        return undo(c, &c->establish);
    return STATUS_PENDING;
}

static void run_notice(struct task *task);

static void queue_notice(struct connector *c)
{
    if (!c->notice.plain && !c->notice.ex)
        return;
    object_ref(&c->obj, REF_CALLBACK);
    c->event.run = run_notice;
    object_call(&c->obj, &c->event);
}

static void established(void *owner, enum fabric_reason why, uint16_t terminate, const struct fabric_limits *limits)
{
    struct connector *c = owner;

    connector_lock(c);
    enum connector_action action =
        connector_take(c, why == FABRIC_OK ? CONNECTOR_ESTABLISH_DONE : CONNECTOR_ESTABLISH_FAILED);
    if (why == FABRIC_OK && limits)
        c->peer.limits = lower_limits(*limits, c->own);
    c->reason = why;
    c->terminate = terminate;
    connector_unlock(c);
    request_complete(&c->establish,
                     action == CONNECTOR_TELL_ESTABLISHED ? status_of_reason(why) : STATUS_CANCELLED);
}

/* ---- the disconnect callback ---- */

static void call_notice(const struct connector_notice *notice, uint32_t reason)
{
    if (notice->ex)
        notice->ex(notice->context, reason);
    else
        notice->plain(notice->context);
}

/* Callback context. The consumer may have disconnected or closed since this was queued: then it is not told. */
static void run_notice(struct task *task)
{
    struct connector *c = (struct connector *)((char *)task - offsetof(struct connector, event));

    connector_lock(c);
    bool begins = c->phase == CONNECTOR_PEER_GONE;
    struct connector_notice notice = c->notice;
    uint32_t why = reason_code(c->reason, c->terminate);
    connector_unlock(c);
    if (begins)
        call_notice(&notice, why);
    object_unref(&c->obj, REF_CALLBACK);
}

static void peer_ended(void *owner, enum fabric_reason why, uint16_t terminate)
{
    struct connector *c = owner;

    connector_lock(c);
    enum connector_action action = connector_take(c, CONNECTOR_PEER_ENDED);
    if (action == CONNECTOR_TELL_PEER_ENDED) {
        c->reason = why;
        c->terminate = terminate;
    }
    connector_unlock(c);
    if (action == CONNECTOR_TELL_PEER_ENDED)
        queue_notice(c);
}

/* ---- the end ---- */

static void disconnected(void *owner, enum fabric_reason why, uint16_t terminate)
{
    struct connector *c = owner;

    connector_lock(c);
    (void)connector_take(c, CONNECTOR_DISCONNECT_DONE);
    /* Where the peer's notice came first, that was the end. */
    if (why != FABRIC_OK || c->reason == FABRIC_OK) {
        c->reason = why == FABRIC_OK ? FABRIC_LOCAL_DISCONNECT : why;
        c->terminate = terminate;
    }
    connector_unlock(c);
    request_complete(&c->disconnect, status_of_reason(why));
}

static void gone(void *owner)
{
    struct connector *c = owner;

    connector_lock(c);
    c->conn = NULL;
    enum connector_action action = connector_take(c, CONNECTOR_FABRIC_GONE);
    enum fabric_reason why = c->reason;
    connector_unlock(c);
    if (action == CONNECTOR_TELL_FAILED)
        complete_failed(c, why);
    object_unref(&c->obj, REF_INTERNAL);
}

const struct fabric_conn_events connector_events = {
    .connected = connected,
    .established = established,
    .peer_ended = peer_ended,
    .disconnected = disconnected,
    .closed = gone,
};

static void cancel(struct object *o)
{
    struct connector *c = connector_of_object(o);

    connector_lock(c);
    enum connector_action action = connector_take(c, CONNECTOR_CLOSE);
    struct fabric_conn *ends = action == CONNECTOR_END_FABRIC ? take_end(c) : NULL;
    enum fabric_reason why = c->reason;
    connector_unlock(c);
    if (ends)
        connector_ops(c)->conn_close(ends);
    if (action == CONNECTOR_TELL_FAILED)
        complete_failed(c, why);
}

/* ---- for lists ---- */

static const char *const states[CONNECTOR_PHASES] = {
    [CONNECTOR_CONNECTING] = "connecting",
    [CONNECTOR_REPLIED] = "replied",
    [CONNECTOR_COMPLETING] = "completing",
    [CONNECTOR_REQUESTED] = "requested",
    [CONNECTOR_ACCEPTING] = "accepting",
    [CONNECTOR_ESTABLISHED] = "established",
    [CONNECTOR_PEER_GONE] = "peer-gone",
    [CONNECTOR_DISCONNECTING] = "disconnecting",
    [CONNECTOR_SPENT] = "ended",
    [CONNECTOR_CLOSING] = "closing",
};

bool connector_describe(struct object *o, ondk_connection_t *entry)
{
    struct connector *c = connector_of_object(o);
    bool listed;

    connector_lock(c);
    listed = states[c->phase] && (c->conn || c->phase == CONNECTOR_CONNECTING) && c->peer.remote.sa.sa_family;
    if (listed) {
        *entry = (ondk_connection_t){
            .state = states[c->phase],
            .initiated = (c->listener == NULL),
            .inbound_reads = c->peer.limits.inbound,
            .outbound_reads = c->peer.limits.outbound,
        };
        memcpy(&entry->local, &c->peer.local.sa, addr_len(&c->peer.local));
        memcpy(&entry->foreign, &c->peer.remote.sa, addr_len(&c->peer.remote));
    }
    connector_unlock(c);
    return listed;
}

/* ---- the end of the object ---- */

static void destroy(struct object *o)
{
    struct connector *c = connector_of_object(o);

    assert(!c->conn);
    if (c->qp && !c->consumed)
        connector_unbind(c->qp);
    free(c->peer.private_data);
}

static const struct object_type type = {
    .ndk_type = NdkObjectTypeConnector,
    .cancel = cancel,
    .destroy = destroy,
};

/* ---- creation ---- */

struct connector *connector_new(struct adapter *adapter, struct shard *shard)
{
    struct connector *c = zeroed(sizeof(*c));

    if (!c)
        return NULL;
    spin_init(&c->lock);
    c->phase = CONNECTOR_IDLE;
    c->pub.Dispatch = &connector_dispatch;
    object_init(&c->obj, &type, &c->pub.Header, c, adapter, shard);
    object_depend(&c->obj, &adapter->obj);
    return c;
}

struct connector *connector_new_passive(struct listener *listener, struct object *listener_object,
                                        struct fabric_conn *conn, const struct fabric_peer *peer)
{
    struct adapter *adapter = listener_object->adapter;
    struct fabric_limits most = { adapter->limits.max_inbound_reads, adapter->limits.max_outbound_reads };
    struct connector *c = connector_new(adapter, atomic_load(&listener_object->shard));

    if (!c)
        return NULL;
    if (!hear(&c->peer, peer, most)) {
        object_unref(&c->obj, REF_HANDLE);
        return NULL;
    }
    c->peer.located = true;
    c->phase = CONNECTOR_REQUESTED;
    c->conn = conn;
    c->listener = listener;
    object_ref(&c->obj, REF_INTERNAL);
    object_depend(&c->obj, listener_object);
    live_list_insert(&adapter->live, &c->obj);
    return c;
}
