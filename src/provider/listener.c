/* SPDX-License-Identifier: MIT */
/*
 * Abstract: the listener, and the arrival of requests.
 *
 *   phase       listen                       listening OK   listening failed   the failure is told
 *   IDLE        STARTING                     -              -                  -
 *   STARTING    STATUS_INVALID_DEVICE_STATE  LISTENING      FAILED             -
 *   FAILED      STATUS_INVALID_DEVICE_STATE  -              -                  IDLE
 *   LISTENING   STATUS_INVALID_DEVICE_STATE  -              -                  -
 *
 * Close is no phase: the fabric's listener ends, which answers a pending listen, and its closed() lets go of the
 * object. Each request becomes a connector, which depends on the listener, and is handed over by
 * NdkConnectEventCallback; one that has not been handed over when the listener is closed is refused.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/spin.h"
#include "openndk/netstat.h"
#include "provider/adapter.h"
#include "provider/address.h"
#include "provider/connector.h"
#include "provider/provider.h"
#include "provider/status.h"

enum phase { IDLE, STARTING, FAILED, LISTENING };

struct listener {
    NDK_LISTENER pub;
    struct object obj;
    struct fabric_listener *fabric;
    NDK_FN_CONNECT_EVENT_CALLBACK event;
    void *event_context;
    struct spin lock; /* guards phase to ending; a leaf */
    enum phase phase;
    struct addr local;
    unsigned inside;  /* calls of the consumer's that are using fabric */
    bool ending;      /* the last of them ends it as it leaves */
    struct request listen;
    NDK_FN_REQUEST_COMPLETION listen_done; /* the consumer's; constant while listen is pending */
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

static const struct fabric_ops *ops_of(const struct listener *l)
{
    return l->obj.adapter->fabric->ops;
}

/* One step of the table above. False: it was in another phase. */
static bool step(struct listener *l, enum phase from, enum phase to)
{
    spin_lock(&l->lock);
    bool right = l->phase == from;
    if (right)
        l->phase = to;
    spin_unlock(&l->lock);
    return right;
}

/*
 * Around each call of the consumer's that uses what is the fabric's: close in another thread leaves its end to the last
 * of them. False: close came first, and what is the fabric's may be gone.
 */
static bool enter(struct listener *l)
{
    spin_lock(&l->lock);
    bool open = !object_is_closing(&l->obj);
    if (open) {
        object_ref(&l->obj, REF_INTERNAL);
        l->inside++;
    }
    spin_unlock(&l->lock);
    return open;
}

static void leave(struct listener *l)
{
    spin_lock(&l->lock);
    assert(l->inside > 0);
    l->inside--;
    bool ends = !l->inside && l->ending;
    spin_unlock(&l->lock);
    if (ends)
        ops_of(l)->listener_close(l->fabric);
    object_unref(&l->obj, REF_INTERNAL);
}

/* ---- NdkListen ---- */

/* Callback context. Inside done the consumer may listen again: the request is free by then. */
static void tell_listen(void *context, NTSTATUS status)
{
    struct listener *l = context;
    NDK_FN_REQUEST_COMPLETION done = l->listen_done;
    void *done_context = l->listen_context;

    if (!NT_SUCCESS(status))
        (void)step(l, FAILED, IDLE);
    done(done_context, status);
}

static void listening(void *owner, enum fabric_reason why, const struct addr *local)
{
    struct listener *l = owner;

    spin_lock(&l->lock);
    assert(l->phase == STARTING);
    l->phase = why == FABRIC_OK ? LISTENING : FAILED;
    if (why == FABRIC_OK)
        l->local = *local;
    spin_unlock(&l->lock);
    request_complete(&l->listen, status_of_reason(why));
}

static NTSTATUS do_listen(NDK_LISTENER *pub, CONST PSOCKADDR address, ULONG address_length,
                          NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct listener *l = listener_of(pub);
    struct addr local;

    if (!done || !addr_from(&local, address, address_length))
        return STATUS_INVALID_PARAMETER;
    /* The completion may run before this returns, and the consumer may close inside it. */
    if (!enter(l))
        return STATUS_INVALID_DEVICE_STATE;
    if (!step(l, IDLE, STARTING)) {
        leave(l);
        return STATUS_INVALID_DEVICE_STATE;
    }
    l->listen_done = done;
    l->listen_context = context;
    request_begin(&l->listen, &l->obj, tell_listen, l);
    ops_of(l)->listener_listen(l->fabric, &local);
    leave(l);
    return STATUS_PENDING;
}

/* ---- requests ---- */

/* Callback context. */
static void run_arrival(struct task *task)
{
    struct connector *c = (struct connector *)((char *)task - offsetof(struct connector, event));
    struct listener *l = c->listener;

    if (object_is_closing(&l->obj)) {
        (void)object_close(&c->obj, NULL, NULL);
    } else {
        l->event(l->event_context, &c->pub); /* the connector is the consumer's from here on, and may be gone after */
    }
    object_unref(&l->obj, REF_CALLBACK);
}

static void *request(void *owner, struct fabric_conn *conn, const struct fabric_peer *peer)
{
    struct listener *l = owner;
    struct connector *c = object_is_closing(&l->obj) ? NULL : connector_new_passive(l, &l->obj, conn, peer);

    if (!c)
        return NULL;
    object_ref(&l->obj, REF_CALLBACK);
    c->event.run = run_arrival;
    object_call(&c->obj, &c->event);
    return c;
}

static void closed(void *owner)
{
    struct listener *l = owner;

    object_unref(&l->obj, REF_INTERNAL);
}

static const struct fabric_listener_events events = {
    .listening = listening,
    .request = request,
    .closed = closed,
};

static void control_connect_events(NDK_LISTENER *pub, BOOLEAN pause)
{
    struct listener *l = listener_of(pub);

    if (!enter(l))
        return;
    ops_of(l)->listener_pause(l->fabric, pause != FALSE);
    leave(l);
}

/* Before NdkListen has succeeded: STATUS_INVALID_DEVICE_STATE. */
static NTSTATUS get_local_address(NDK_LISTENER *pub, PSOCKADDR address, ULONG *length)
{
    struct listener *l = listener_of(pub);

    spin_lock(&l->lock);
    bool known = l->phase == LISTENING;
    struct addr local = l->local;
    spin_unlock(&l->lock);
    return known ? address_answer(&l->obj, &local, address, length) : STATUS_INVALID_DEVICE_STATE;
}

/* ---- life ---- */

static void cancel(struct object *o)
{
    struct listener *l = listener_of_object(o);

    spin_lock(&l->lock);
    l->ending = l->inside > 0;
    bool ends = !l->ending;
    spin_unlock(&l->lock);
    if (ends)
        ops_of(l)->listener_close(l->fabric);
}

static void destroy(struct object *o)
{
    (void)o; /* the fabric's listener has said closed() */
}

void listener_describe(struct object *o, ondk_listener_t *entry)
{
    static const char *const states[] = {
        [IDLE] = "idle", [STARTING] = "starting", [FAILED] = "idle", [LISTENING] = "listening",
    };
    struct listener *l = listener_of_object(o);

    spin_lock(&l->lock);
    *entry = (ondk_listener_t){ .state = object_is_closing(o) ? "closing" : states[l->phase] };
    if (l->phase == LISTENING)
        memcpy(&entry->local, &l->local.sa, addr_len(&l->local));
    spin_unlock(&l->lock);
}

static const struct object_type type = {
    .ndk_type = NdkObjectTypeListener,
    .cancel = cancel,
    .destroy = destroy,
};

static const NDK_LISTENER_DISPATCH dispatch = {
    .NdkCloseListener = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkListen = do_listen,
    .NdkGetLocalAddress = get_local_address,
    .NdkControlConnectEvents = control_connect_events,
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
    l->pub.Dispatch = &dispatch;
    if (a->fabric->ops->listener_create(a->fabric, &events, &connector_events, l, &l->fabric) != 0) {
        free(l);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    object_init(&l->obj, &type, &l->pub.Header, l, a, a->fabric->ops->listener_shard(l->fabric));
    object_depend(&l->obj, &a->obj);
    object_ref(&l->obj, REF_INTERNAL); /* until closed() */
    return object_created(a, &l->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
