/* SPDX-License-Identifier: MIT */
/*
 * Declares the connector, the NDK object with which the consumer controls one connection of the fabric.
 *
 * connector.c handles the state, the fabric's events, the completions and close. connector_calls.c has the functions of
 * the dispatch table, which check their arguments, take one step of the state machine and call the fabric, for connect
 * and accept through connector_start_*. The invariant: between connector_enter and connector_exit neither the connector
 * nor the fabric's connection is freed.
 */
#ifndef PROVIDER_CONNECTOR_H
#define PROVIDER_CONNECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/spin.h"
#include "fabric/fabric.h"
#include "ndk/ndkpi.h"
#include "openndk/netstat.h"
#include "provider/adapter.h"
#include "provider/connector_table.h"
#include "provider/object.h"
#include "provider/provider.h"

struct listener;

/* The consumer's disconnect callback, in one of two forms. */
struct disconnect_callback {
    NDK_FN_DISCONNECT_EVENT_CALLBACK plain;
    NDK_FN_DISCONNECT_EVENT_CALLBACK_EX ex;
    void *context;
};

/* The peer's limits, private data and addresses. The connector owns private_data, which is a copy. */
struct connector_peer {
    bool has_data;      /* limits and private data are valid */
    bool has_addresses; /* the consumer may query `local` and `remote` */
    struct fabric_limits limits;
    void *private_data;
    size_t private_len;
    struct addr local, remote;
};

struct connector {
    NDK_CONNECTOR pub;
    struct object obj;
    struct spin lock; /* guards the members from `phase` to `terminate` */
    enum connector_phase phase;
    unsigned n_calls; /* calls of the consumer between connector_enter and connector_exit */
    bool end_is_due;  /* set by close or a failed NdkConnect: the last connector_exit must call conn_close */
    bool qp_is_used;  /* NdkCompleteConnect or NdkAccept has begun, so the queue pair cannot be connected again */
    struct fabric_conn *conn; /* the fabric's connection, until its closed event; else NULL */
    struct qp *qp;            /* the queue pair that is bound to this connector, or NULL */
    struct object *endpoint;  /* the shared endpoint that this attempt uses, or NULL */
    struct fabric_limits own; /* the read limits that the consumer has requested, at most the adapter's limits */
    struct connector_peer peer;
    uint64_t started_ns; /* the fabric's clock when NdkConnect was called or the peer's request arrived */
    struct disconnect_callback disconnect_callback;
    bool was_established; /* `agreed` is valid */
    struct fabric_agreement agreed;
    enum fabric_reason reason; /* why NdkConnect failed, later why the connection ended */
    uint16_t terminate;        /* the Terminate that belongs to `reason`, or FABRIC_NO_TERMINATE */
    /*
     * Each kind of request has a struct of its own, because a request may begin while the completion of another kind is
     * still queued.
     */
    struct request connect, establish, disconnect;
    NDK_FN_REQUEST_COMPLETION connect_done; /* the consumer's completion routine; constant while `connect` is pending */
    void *connect_context;
    struct task event;         /* queues the connect event of a passive connector, later the disconnect callback */
    struct listener *listener; /* the listener of a passive connector; else NULL */
    uint32_t listener_id;      /* the listener's live_id */
};
OBJECT_ASSERT_LAYOUT(connector);

static inline struct connector *connector_of(NDK_CONNECTOR *pub)
{
    return (struct connector *)pub;
}
static inline const struct fabric_ops *connector_ops(const struct connector *c)
{
    return c->obj.adapter->fabric->ops;
}

extern const NDK_CONNECTOR_DISPATCH connector_dispatch;  /* connector_calls.c */
extern const struct fabric_conn_events connector_events; /* connector.c */

/* Returns a connector in phase IDLE with its HANDLE reference, or NULL if out of memory. */
struct connector *connector_new(struct adapter *adapter, struct shard *shard);
/*
 * Creates the connector for a peer's request, in phase REQUESTED and with a reference on its listener. Returns NULL if
 * out of memory. Called in an event of the fabric.
 */
struct connector *connector_new_passive(struct listener *listener, struct object *listener_object,
                                        struct fabric_conn *conn, const struct fabric_peer *peer);

/*
 * These two functions acquire and release the connector's lock. connector_unlock asserts the invariants of the members
 * that the lock guards.
 */
void connector_lock(struct connector *c);
void connector_unlock(struct connector *c);
/*
 * A call of the consumer that begins an operation runs between connector_enter and connector_exit. During this time,
 * neither the connector nor the fabric's connection is freed. If close or a failed NdkConnect must end the connection
 * meanwhile, the last connector_exit ends it.
 */
void connector_enter(struct connector *c);
void connector_exit(struct connector *c);
/*
 * Takes one step of the state machine and returns its action. Requires the lock. The caller releases the lock, then
 * carries out the action.
 */
enum connector_action connector_advance(struct connector *c, enum connector_event event);

/*
 * connector_bind_qp marks the queue pair as bound to a connector. Returns false if the queue pair is already bound.
 * connector_unbind_qp removes the mark.
 */
bool connector_bind_qp(struct qp *qp);
void connector_unbind_qp(struct qp *qp);

/* Starts NdkConnect. Requires the phase CONNECTING. Returns STATUS_PENDING, or an error if nothing was started. */
NTSTATUS connector_start_connect(struct connector *c, const struct fabric_connect *params,
                                 NDK_FN_REQUEST_COMPLETION done, void *context);
/* Starts NdkAccept. Requires the phase ACCEPTING. Returns STATUS_PENDING, or an error if nothing was started. */
NTSTATUS connector_start_accept(struct connector *c, const struct fabric_accept *params, NDK_FN_REQUEST_COMPLETION done,
                                void *context);

#endif
