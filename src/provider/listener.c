/* SPDX-License-Identifier: MIT */
/*
 * Implements the listener, and passes connection requests of peers to the consumer.
 *
 *   phase       NdkListen                    listening OK   listening failed   reporting
 *   IDLE        STARTING                     -              -                  -
 *   STARTING    STATUS_INVALID_DEVICE_STATE  LISTENING      FAILED             -
 *   FAILED      STATUS_INVALID_DEVICE_STATE  -              -                  IDLE
 *   LISTENING   STATUS_INVALID_DEVICE_STATE  -              -                  -
 *
 * The event `reporting` occurs just before the completion routine of a failed NdkListen is called. Close has no phase
 * of its own. It closes the fabric's listener, which completes a pending NdkListen. Each request becomes a connector,
 * which NdkConnectEventCallback passes to the consumer. The invariant: when the consumer closes the listener, each
 * request that has not been passed to the consumer is refused.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/spin.h"
#include "openndk/netstat.h"
#include "provider/adapter.h"
#include "provider/address.h"
#include "provider/connection_log.h"
#include "provider/connector.h"
#include "provider/provider.h"
#include "provider/status.h"

enum listener_phase { LISTENER_IDLE, LISTENER_STARTING, LISTENER_FAILED, LISTENER_LISTENING };

struct listener {
    NDK_LISTENER pub;
    struct object obj;
    struct fabric_listener *fabric;
    NDK_FN_CONNECT_EVENT_CALLBACK event;
    void *event_context;
    struct spin lock; /* guards the members from `phase` to `end_is_due`; a leaf lock */
    enum listener_phase phase;
    struct addr local;
    unsigned n_calls; /* calls of the consumer between listener_enter and listener_exit */
    bool end_is_due;  /* set by close: the last listener_exit must close the fabric's listener */
    struct request listen;
    NDK_FN_REQUEST_COMPLETION listen_done; /* the consumer's routine; constant while `listen` is pending */
    void *listen_context;
};
OBJECT_ASSERT_LAYOUT(listener);

static struct listener *listener_of(NDK_LISTENER *pub)
{
    return (struct listener *)pub;
}

static struct listener *listener_of_object(struct object *o)
{
    return (struct listener *)((char *)o - offsetof(struct listener, obj));
}

static const struct fabric_ops *listener_ops(const struct listener *l)
{
    return l->obj.adapter->fabric->ops;
}

/*
 * Changes the phase from `from` to `to` and returns true. If the present phase is not `from`, changes nothing and
 * returns false.
 */
static bool listener_step(struct listener *l, enum listener_phase from, enum listener_phase to)
{
    spin_lock(&l->lock);
    bool right = l->phase == from;
    if (right)
        l->phase = to;
    spin_unlock(&l->lock);
    return right;
}

/*
 * Begins a call of the consumer that uses the fabric's listener. Returns false if the consumer has closed the listener.
 * Each successful call must be followed by listener_exit. If the consumer closes the listener in between, the last
 * listener_exit closes the fabric's listener.
 */
static bool listener_enter(struct listener *l)
{
    spin_lock(&l->lock);
    bool open = !object_is_closing(&l->obj);
    if (open) {
        object_ref(&l->obj, REF_INTERNAL);
        l->n_calls++;
    }
    spin_unlock(&l->lock);
    return open;
}

static void listener_exit(struct listener *l)
{
    spin_lock(&l->lock);
    assert(l->n_calls > 0);
    l->n_calls--;
    bool is_last = !l->n_calls && l->end_is_due;
    spin_unlock(&l->lock);
    if (is_last)
        listener_ops(l)->listener_close(l->fabric);
    object_unref(&l->obj, REF_INTERNAL);
}

/* ---- NdkListen ---- */

/* Calls NdkListen's completion routine, in which the consumer may call NdkListen again. Runs in callback context. */
static void listener_complete_listen(void *context, NTSTATUS status)
{
    struct listener *l = context;
    NDK_FN_REQUEST_COMPLETION done = l->listen_done;
    void *done_context = l->listen_context;

    if (!NT_SUCCESS(status))
        (void)listener_step(l, LISTENER_FAILED, LISTENER_IDLE);
    done(done_context, status);
}

static void listener_on_listening(void *owner, enum fabric_reason why, const struct addr *local)
{
    struct listener *l = owner;

    spin_lock(&l->lock);
    assert(l->phase == LISTENER_STARTING);
    l->phase = why == FABRIC_OK ? LISTENER_LISTENING : LISTENER_FAILED;
    if (why == FABRIC_OK)
        l->local = *local;
    spin_unlock(&l->lock);
    connection_log_listening(why, local);
    request_complete(&l->listen, status_of_reason(why));
}

static NTSTATUS listener_ndk_listen(NDK_LISTENER *pub, CONST PSOCKADDR address, ULONG address_length,
                                    NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct listener *l = listener_of(pub);
    struct addr local;

    if (!done || !addr_from(&local, address, address_length))
        return STATUS_INVALID_PARAMETER;
    /*
     * Before listener_listen returns, the completion routine may close the listener. After listener_enter, this
     * listener and the fabric's listener exist until listener_exit.
     */
    if (!listener_enter(l))
        return STATUS_INVALID_DEVICE_STATE;
    if (!listener_step(l, LISTENER_IDLE, LISTENER_STARTING)) {
        listener_exit(l);
        return STATUS_INVALID_DEVICE_STATE;
    }
    l->listen_done = done;
    l->listen_context = context;
    request_begin(&l->listen, &l->obj, listener_complete_listen, l);
    listener_ops(l)->listener_listen(l->fabric, &local);
    listener_exit(l);
    return STATUS_PENDING;
}

/* ---- requests ---- */

/* Passes the connector to the consumer, or closes the connector if the listener is being closed. */
static void listener_run_connect_event(struct task *task)
{
    struct connector *c = (struct connector *)((char *)task - offsetof(struct connector, event));
    struct listener *l = c->listener;

    if (object_is_closing(&l->obj)) {
        (void)object_close(&c->obj, NULL, NULL);
    } else {
        l->event(l->event_context, &c->pub); /* the consumer may close the connector in this callback */
    }
    object_unref(&l->obj, REF_CALLBACK);
}

static void *listener_on_request(void *owner, struct fabric_conn *conn, const struct fabric_peer *peer)
{
    struct listener *l = owner;
    struct connector *c = object_is_closing(&l->obj) ? NULL : connector_new_passive(l, &l->obj, conn, peer);

    if (!c)
        return NULL;
    object_ref(&l->obj, REF_CALLBACK);
    c->event.run = listener_run_connect_event;
    object_call(&c->obj, &c->event);
    return c;
}

static void listener_on_closed(void *owner)
{
    struct listener *l = owner;

    if (l->phase == LISTENER_LISTENING) /* read without the lock, because from LISTENING on the phase does not change */
        connection_log_stopped(&l->local);
    object_unref(&l->obj, REF_INTERNAL);
}

static const struct fabric_listener_events listener_events = {
    .listening = listener_on_listening,
    .request = listener_on_request,
    .closed = listener_on_closed,
};

static void listener_ndk_control_connect_events(NDK_LISTENER *pub, BOOLEAN pause)
{
    struct listener *l = listener_of(pub);

    if (!listener_enter(l))
        return;
    listener_ops(l)->listener_pause(l->fabric, pause != FALSE);
    listener_exit(l);
}

/* Copies the listener's local address. Returns STATUS_INVALID_DEVICE_STATE if NdkListen has not succeeded. */
static NTSTATUS listener_ndk_get_local_address(NDK_LISTENER *pub, PSOCKADDR address, ULONG *length)
{
    struct listener *l = listener_of(pub);

    spin_lock(&l->lock);
    bool known = l->phase == LISTENER_LISTENING;
    struct addr local = l->local;
    spin_unlock(&l->lock);
    return known ? address_answer(&l->obj, &local, address, length) : STATUS_INVALID_DEVICE_STATE;
}

/* ---- life ---- */

static void listener_cancel(struct object *o)
{
    struct listener *l = listener_of_object(o);

    spin_lock(&l->lock);
    l->end_is_due = l->n_calls > 0;
    bool is_last = !l->end_is_due;
    spin_unlock(&l->lock);
    if (is_last)
        listener_ops(l)->listener_close(l->fabric);
}

/*
 * Fills the entry's limits and counts. Does nothing if the consumer has closed the listener, because the fabric's
 * listener may have been freed. Requires the lock.
 */
static void listener_describe_fabric(struct listener *l, ondk_listener_t *entry)
{
    struct fabric_listener_info info;

    if (object_is_closing(&l->obj))
        return;
    listener_ops(l)->listener_info(l->fabric, &info);
    entry->backlog = info.backlog;
    entry->waiting = info.waiting;
    entry->abandoned = info.abandoned;
    entry->max_unfinished = info.max_unfinished;
    entry->paused = info.is_paused;
}

static bool listener_describe(struct object *o, union live_entry *entry)
{
    static const char *const states[] = {
        [LISTENER_IDLE] = "idle",
        [LISTENER_STARTING] = "starting",
        [LISTENER_FAILED] = "idle",
        [LISTENER_LISTENING] = "listening",
    };
    struct listener *l = listener_of_object(o);

    spin_lock(&l->lock);
    entry->listener = (ondk_listener_t){
        .state = object_state(o, states[l->phase]),
        .if_index = o->adapter->if_index,
        .owner_pid = o->adapter->pid,
        .id = o->live_id,
        .connections = object_users(o),
    };
    listener_describe_fabric(l, &entry->listener);
    if (l->phase == LISTENER_LISTENING)
        memcpy(&entry->listener.local, &l->local.sa, addr_len(&l->local));
    spin_unlock(&l->lock);
    return true;
}

static const struct object_type listener_type = {
    .ndk_type = NdkObjectTypeListener,
    .cancel = listener_cancel,
    .describe = listener_describe,
};

static const NDK_LISTENER_DISPATCH listener_dispatch = {
    .NdkCloseListener = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkListen = listener_ndk_listen,
    .NdkGetLocalAddress = listener_ndk_get_local_address,
    .NdkControlConnectEvents = listener_ndk_control_connect_events,
};

NTSTATUS listener_create(NDK_ADAPTER *adapter, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID event_context,
                         NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_LISTENER **out)
{
    struct adapter *a = adapter_of(adapter);
    struct listener *l;

    if (!event)
        return STATUS_INVALID_PARAMETER;
    l = calloc(1, sizeof(*l));
    if (!l)
        return STATUS_INSUFFICIENT_RESOURCES;
    spin_init(&l->lock);
    l->event = event;
    l->event_context = event_context;
    l->pub.Dispatch = &listener_dispatch;
    if (a->fabric->ops->listener_create(a->fabric, &listener_events, &connector_events, l, &l->fabric) != 0) {
        free(l);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    object_init(&l->obj, &listener_type, &l->pub.Header, l, a, a->fabric->ops->listener_shard(l->fabric));
    object_depend(&l->obj, &a->obj);
    object_ref(&l->obj, REF_INTERNAL); /* listener_on_closed drops this reference */
    return object_created(a, &l->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
