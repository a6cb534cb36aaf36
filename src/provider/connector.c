/* SPDX-License-Identifier: MIT */
/*
 * Implements the connector, which translates between the consumer's calls and the fabric's events. connector_table.c
 * has the state machine. The handler of an event takes one step of the state machine with the lock held, releases the
 * lock, and then carries out the step's action.
 *
 * References. The fabric's connection has an INTERNAL reference on the connector until the connection's address is
 * free. From connect or accept on, the connector has CHILD references on its queue pair and its shared endpoint. A
 * failed NdkConnect drops both. A passive connector has a CHILD reference on its listener.
 *
 * The invariant: conn_close is not called while a call of the consumer is between connector_enter and connector_exit,
 * because conn_close may free the fabric's connection. During such a call, a close of the connector or a failed
 * NdkConnect may end the connection; the last connector_exit then calls conn_close.
 *
 * Each NdkConnect has its own connection of the fabric. A failed NdkConnect completes after that connection has closed.
 * So the connector has one connection at a time, and the address and the endpoint are free for the next attempt.
 *
 * Order. The queue pair's shard runs all callbacks of a connection in the order in which they were queued. The
 * disconnect callback is queued after the completion of NdkCompleteConnect or NdkAccept.
 */
#include "provider/connector.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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
    /* In phase CONNECTING, c->conn is NULL until the connection has been created. */
    assert(!connector_has_fabric(c->phase) || c->phase == CONNECTOR_CONNECTING || c->conn);
    assert(!connector_has_qp(c->phase) || c->qp);
    assert(c->phase != CONNECTOR_IDLE || (!c->conn && !c->qp && !c->endpoint));
    assert(c->peer.private_data || !c->peer.private_len);
    spin_unlock(&c->lock);
}

enum connector_action connector_advance(struct connector *c, enum connector_event event)
{
    return connector_step(&c->phase, event);
}

void connector_enter(struct connector *c)
{
    object_ref(&c->obj, REF_INTERNAL);
    connector_lock(c);
    c->n_calls++;
    connector_unlock(c);
}

void connector_exit(struct connector *c)
{
    struct fabric_conn *conn = NULL;

    connector_lock(c);
    assert(c->n_calls > 0);
    c->n_calls--;
    if (!c->n_calls && c->end_is_due) {
        c->end_is_due = false;
        conn = c->conn; /* NULL if memory ran out before the connection was created */
    }
    connector_unlock(c);
    if (conn)
        connector_ops(c)->conn_close(conn);
    object_unref(&c->obj, REF_INTERNAL);
}

/*
 * Returns the connection that the caller must pass to conn_close. Returns NULL if there is none, or if the last
 * connector_exit will call conn_close. Requires the lock.
 */
static struct fabric_conn *connector_claim_end(struct connector *c)
{
    c->end_is_due = c->n_calls > 0;
    return c->end_is_due ? NULL : c->conn;
}

/* ---- the peer's data ---- */

static uint16_t read_limit_min(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

static struct fabric_limits connector_min_limits(struct fabric_limits a, struct fabric_limits b)
{
    return (struct fabric_limits){ .inbound = read_limit_min(a.inbound, b.inbound),
                                   .outbound = read_limit_min(a.outbound, b.outbound) };
}

/* Copies *peer, which is valid only during the event. Returns false if out of memory. */
static bool connector_copy_peer(struct connector_peer *copy, const struct fabric_peer *peer, struct fabric_limits own)
{
    size_t len = peer->private_len;

    memset(copy, 0, sizeof(*copy));
    if (len) {
        copy->private_data = malloc(len);
        if (!copy->private_data)
            return false;
        memcpy(copy->private_data, peer->private_data, len);
        copy->private_len = len;
    }
    copy->has_data = true;
    copy->limits = connector_min_limits(peer->limits, own);
    copy->local = peer->local;
    copy->remote = peer->remote;
    return true;
}

/* ---- queue pair and shared endpoint ---- */

bool connector_bind_qp(struct qp *qp)
{
    bool unbound = false;

    return atomic_compare_exchange_strong(&qp->bound, &unbound, true);
}

void connector_unbind_qp(struct qp *qp)
{
    atomic_store(&qp->bound, false);
}

static void connector_depend(struct connector *c)
{
    object_depend(&c->obj, &c->qp->obj);
    if (c->endpoint)
        object_depend(&c->obj, c->endpoint);
    /* From here on, the queue pair's shard runs the connector's callbacks. */
    atomic_store(&c->obj.shard, atomic_load(&c->qp->obj.shard));
}

static void connector_undepend(struct connector *c, struct qp *qp, struct object *endpoint)
{
    if (endpoint)
        object_undepend(&c->obj, endpoint);
    connector_unbind_qp(qp); /* before object_undepend, which may free qp */
    object_undepend(&c->obj, &qp->obj);
}

/* ---- NdkConnect ---- */

/*
 * Drops the queue pair and the endpoint of a failed attempt before the connector becomes IDLE, because the next attempt
 * may use them again. If the consumer has closed the connector meanwhile, object_finish drops them. Runs in callback
 * context.
 */
static void connector_end_attempt(struct connector *c)
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
        connector_undepend(c, qp, endpoint);
    connector_lock(c);
    (void)connector_advance(c, CONNECTOR_REPORTING);
    connector_unlock(c);
}

/* Calls NdkConnect's completion routine, in which the consumer may begin the next attempt. */
static void connector_finish_connect(void *context, NTSTATUS status)
{
    struct connector *c = context;
    NDK_FN_REQUEST_COMPLETION done = c->connect_done;
    void *done_context = c->connect_context;

    if (!NT_SUCCESS(status))
        connector_end_attempt(c);
    done(done_context, status);
}

static void connector_fail_connect(struct connector *c, enum fabric_reason why)
{
    request_complete(&c->connect, status_of_connect(why));
}

static void connector_on_connected(void *owner, enum fabric_reason why, const struct fabric_peer *peer)
{
    struct connector *c = owner;
    struct connector_peer copy = { 0 };

    if (peer && !connector_copy_peer(&copy, peer, c->own))
        why = FABRIC_RESOURCES;
    copy.has_addresses = why == FABRIC_OK;
    connector_lock(c);
    struct connector_peer old = c->peer;
    enum connector_action action = connector_advance(c, why == FABRIC_OK ? CONNECTOR_CONNECT_DONE
                                                                         : CONNECTOR_CONNECT_FAILED);
    struct fabric_conn *ends = action == CONNECTOR_RETIRE ? connector_claim_end(c) : NULL;
    c->peer = copy;
    c->reason = why;
    c->terminate = FABRIC_NO_TERMINATE;
    connector_unlock(c);
    free(old.private_data);
    if (ends)
        connector_ops(c)->conn_close(ends);
    if (action == CONNECTOR_REPORT_CONNECTED)
        request_complete(&c->connect, STATUS_SUCCESS);
    else if (action == CONNECTOR_REPORT_CANCELLED)
        request_complete(&c->connect, STATUS_CANCELLED);
}

/*
 * Restores the connector after a call that changed the connector's phase and then failed because memory ran out. The
 * fabric reports no event for that call. If the consumer has closed the connector meanwhile, the phase stays CLOSING.
 */
static NTSTATUS connector_undo_start(struct connector *c, struct request *r)
{
    struct qp *qp = c->qp;

    request_cancel(r);
    object_ref(&qp->obj, REF_INTERNAL); /* a walk of the adapter's lists may access *qp until c->qp is NULL */
    connector_undepend(c, qp, c->endpoint);
    connector_lock(c);
    c->qp = NULL;
    c->endpoint = NULL;
    c->qp_is_used = false;
    (void)connector_advance(c, CONNECTOR_NOT_STARTED);
    connector_unlock(c);
    object_unref(&qp->obj, REF_INTERNAL);
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS connector_start_connect(struct connector *c, const struct fabric_connect *params,
                                 NDK_FN_REQUEST_COMPLETION done, void *context)
{
    const struct fabric_ops *ops = connector_ops(c);
    struct fabric_conn *conn;

    connector_depend(c);
    c->connect_done = done;
    c->connect_context = context;
    request_begin(&c->connect, &c->obj, connector_finish_connect, c);
    if (ops->conn_create(c->obj.adapter->fabric, &connector_events, c, &conn) != 0)
        return connector_undo_start(c, &c->connect);
    object_ref(&c->obj, REF_INTERNAL);
    connector_lock(c);
    c->conn = conn;
    connector_unlock(c);
    if (ops->conn_connect(conn, params) != 0)
        connector_on_connected(c, FABRIC_RESOURCES, NULL); /* the fabric reports no event if conn_connect fails */
    return STATUS_PENDING;
}

/* ---- NdkAccept, NdkCompleteConnect ---- */

NTSTATUS connector_start_accept(struct connector *c, const struct fabric_accept *params, NDK_FN_REQUEST_COMPLETION done,
                                void *context)
{
    connector_depend(c);
    request_begin(&c->establish, &c->obj, done, context);
    if (connector_ops(c)->conn_accept(c->conn, &connector_events, params) != 0)
        return connector_undo_start(c, &c->establish);
    return STATUS_PENDING;
}

static void connector_run_disconnect_callback(struct task *task);

static void connector_queue_disconnect_callback(struct connector *c)
{
    if (!c->disconnect_callback.plain && !c->disconnect_callback.ex)
        return;
    object_ref(&c->obj, REF_CALLBACK);
    c->event.run = connector_run_disconnect_callback;
    object_call(&c->obj, &c->event);
}

static void connector_on_established(void *owner, enum fabric_reason why, uint16_t terminate,
                                     const struct fabric_limits *limits, const struct fabric_agreement *agreed)
{
    struct connector *c = owner;

    connector_lock(c);
    enum connector_action action = connector_advance(c, why == FABRIC_OK ? CONNECTOR_ESTABLISH_DONE
                                                                         : CONNECTOR_ESTABLISH_FAILED);
    if (why == FABRIC_OK) {
        c->peer.limits = connector_min_limits(*limits, c->own);
        c->was_established = true;
        c->agreed = *agreed;
    }
    c->reason = why;
    c->terminate = terminate;
    connector_unlock(c);
    request_complete(&c->establish, action == CONNECTOR_REPORT_ESTABLISHED ? status_of_reason(why) : STATUS_CANCELLED);
}

/* ---- the disconnect callback ---- */

static void disconnect_callback_call(const struct disconnect_callback *callback, uint32_t reason)
{
    if (callback->ex)
        callback->ex(callback->context, reason);
    else
        callback->plain(callback->context);
}

/* Calls the disconnect callback, unless the consumer has disconnected or closed since the task was queued. */
static void connector_run_disconnect_callback(struct task *task)
{
    struct connector *c = (struct connector *)((char *)task - offsetof(struct connector, event));

    connector_lock(c);
    bool is_due = c->phase == CONNECTOR_PEER_GONE;
    struct disconnect_callback callback = c->disconnect_callback;
    uint32_t why = reason_code(c->reason, c->terminate);
    connector_unlock(c);
    if (is_due)
        disconnect_callback_call(&callback, why);
    object_unref(&c->obj, REF_CALLBACK);
}

static void connector_on_peer_ended(void *owner, enum fabric_reason why, uint16_t terminate)
{
    struct connector *c = owner;

    connector_lock(c);
    enum connector_action action = connector_advance(c, CONNECTOR_PEER_ENDED);
    if (action == CONNECTOR_REPORT_PEER_ENDED) {
        c->reason = why;
        c->terminate = terminate;
    }
    connector_unlock(c);
    if (action == CONNECTOR_REPORT_PEER_ENDED)
        connector_queue_disconnect_callback(c);
}

/* ---- the end of the connection ---- */

static void connector_on_disconnected(void *owner, enum fabric_reason why, uint16_t terminate)
{
    struct connector *c = owner;

    connector_lock(c);
    (void)connector_advance(c, CONNECTOR_DISCONNECT_DONE);
    /*
     * A failed disconnect stores its own reason. After a successful disconnect, the reason of an earlier event remains.
     */
    if (why != FABRIC_OK || c->reason == FABRIC_OK) {
        c->reason = why == FABRIC_OK ? FABRIC_LOCAL_DISCONNECT : why;
        c->terminate = terminate;
    }
    connector_unlock(c);
    request_complete(&c->disconnect, status_of_reason(why));
}

static void connector_on_closed(void *owner)
{
    struct connector *c = owner;

    connector_lock(c);
    c->conn = NULL;
    enum connector_action action = connector_advance(c, CONNECTOR_FABRIC_CLOSED);
    enum fabric_reason why = c->reason;
    connector_unlock(c);
    if (action == CONNECTOR_REPORT_FAILED)
        connector_fail_connect(c, why);
    object_unref(&c->obj, REF_INTERNAL);
}

const struct fabric_conn_events connector_events = {
    .connected = connector_on_connected,
    .established = connector_on_established,
    .peer_ended = connector_on_peer_ended,
    .disconnected = connector_on_disconnected,
    .closed = connector_on_closed,
};

static void connector_cancel(struct object *o)
{
    struct connector *c = connector_of_object(o);

    connector_lock(c);
    enum connector_action action = connector_advance(c, CONNECTOR_CLOSE);
    struct fabric_conn *ends = action == CONNECTOR_END_FABRIC ? connector_claim_end(c) : NULL;
    enum fabric_reason why = c->reason;
    connector_unlock(c);
    if (ends)
        connector_ops(c)->conn_close(ends);
    if (action == CONNECTOR_REPORT_FAILED)
        connector_fail_connect(c, why);
}

/* ---- entries of the public list ---- */

/* clang-format off */
static const char *const connector_state_names[CONNECTOR_PHASES] = {
    [CONNECTOR_CONNECTING] = "connecting",
    [CONNECTOR_REPLIED] = "replied",
    [CONNECTOR_COMPLETING] = "completing",
    [CONNECTOR_REQUESTED] = "requested",
    [CONNECTOR_ACCEPTING] = "accepting",
    [CONNECTOR_ESTABLISHED] = "established",
    [CONNECTOR_PEER_GONE] = "peer-gone",
    [CONNECTOR_DISCONNECTING] = "disconnecting",
    [CONNECTOR_ENDED] = "ended",
    [CONNECTOR_CLOSING] = "closing",
};
/* clang-format on */

/* Fills the members about the queue pair. c->qp must not be NULL. Requires the connector's lock. */
static void connector_describe_qp(struct connector *c, ondk_connection_t *entry)
{
    struct fabric_qp_info info;

    connector_ops(c)->qp_info(c->qp->fabric, &info);
    entry->qp = c->qp->obj.live_id;
    entry->out_sends = info.out_sends;
    entry->out_writes = info.out_writes;
    entry->out_reads = info.out_reads;
    entry->in_sends = info.in_sends;
    entry->in_writes = info.in_writes;
    entry->in_reads = info.in_reads;
    entry->out_octets = info.out_bytes;
    entry->in_octets = info.in_bytes;
    entry->out_frames = info.out_frames;
    entry->in_frames = info.in_frames;
}

/* Fills the connector's entry in the list of connections. Returns false if the connector has no connection. */
static bool connector_describe(struct object *o, union live_entry *entry)
{
    struct connector *c = connector_of_object(o);
    bool listed;

    connector_lock(c);
    listed = connector_state_names[c->phase] && (c->conn || c->phase == CONNECTOR_CONNECTING) &&
             c->peer.remote.sa.sa_family;
    if (listed) {
        entry->connection = (ondk_connection_t){
            .state = connector_state_names[c->phase],
            .initiated = c->listener == NULL,
            .if_index = o->adapter->if_index,
            .inbound_reads = c->peer.limits.inbound,
            .outbound_reads = c->peer.limits.outbound,
            .owner_pid = o->adapter->pid,
            .id = o->live_id,
            .listener = c->listener_id,
            .age_ns = connector_ops(c)->now(o->adapter->fabric) - c->started_ns,
            .was_established = c->was_established,
            .mpa_revision = c->agreed.revision,
            .crc = c->agreed.has_crc,
        };
        if (c->qp)
            connector_describe_qp(c, &entry->connection);
        memcpy(&entry->connection.local, &c->peer.local.sa, addr_len(&c->peer.local));
        memcpy(&entry->connection.foreign, &c->peer.remote.sa, addr_len(&c->peer.remote));
    }
    connector_unlock(c);
    return listed;
}

/* ---- the end of the object ---- */

static void connector_destroy(struct object *o)
{
    struct connector *c = connector_of_object(o);

    assert(!c->conn);
    if (c->qp && !c->qp_is_used)
        connector_unbind_qp(c->qp);
    free(c->peer.private_data);
}

static const struct object_type connector_type = {
    .ndk_type = NdkObjectTypeConnector,
    .cancel = connector_cancel,
    .destroy = connector_destroy,
    .describe = connector_describe,
};

/* ---- creation ---- */

struct connector *connector_new(struct adapter *adapter, struct shard *shard)
{
    struct connector *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    spin_init(&c->lock);
    c->phase = CONNECTOR_IDLE;
    c->pub.Dispatch = &connector_dispatch;
    object_init(&c->obj, &connector_type, &c->pub.Header, c, adapter, shard);
    object_depend(&c->obj, &adapter->obj);
    return c;
}

struct connector *connector_new_passive(struct listener *listener, struct object *listener_object,
                                        struct fabric_conn *conn, const struct fabric_peer *peer)
{
    struct adapter *adapter = listener_object->adapter;
    struct fabric_limits max = { adapter->limits.max_inbound_reads, adapter->limits.max_outbound_reads };
    struct connector *c = connector_new(adapter, atomic_load(&listener_object->shard));

    if (!c)
        return NULL;
    if (!connector_copy_peer(&c->peer, peer, max)) {
        object_unref(&c->obj, REF_HANDLE);
        return NULL;
    }
    c->peer.has_addresses = true;
    c->started_ns = connector_ops(c)->now(adapter->fabric);
    c->phase = CONNECTOR_REQUESTED;
    c->conn = conn;
    c->listener = listener;
    c->listener_id = listener_object->live_id;
    object_ref(&c->obj, REF_INTERNAL);
    object_depend(&c->obj, listener_object);
    live_list_insert(&adapter->live, &c->obj);
    return c;
}
