/* SPDX-License-Identifier: MIT */
/*
 * The connector object: the consumer's end of one connection, over a connection of the fabric's.
 *
 * connector.c has the machine: what is kept, the steps, the fabric's events, what the consumer is told, close.
 * connector_calls.c has the entries of the dispatch table: arguments first, then one step, then the fabric.
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

/* Whom to tell when the peer disconnects, in one of two forms. */
struct connector_notice {
    NDK_FN_DISCONNECT_EVENT_CALLBACK plain;
    NDK_FN_DISCONNECT_EVENT_CALLBACK_EX ex;
    void *context;
};

/* What is known of the other end. Private data is ours, of its exact size. */
struct connector_peer {
    bool spoke;               /* limits and private data are there */
    bool located;             /* local and remote are the connection's; before, what was asked for */
    struct fabric_limits limits;
    void *private_data;
    size_t private_len;
    struct addr local, remote;
};

struct connector {
    NDK_CONNECTOR pub;
    struct object obj;
    struct spin lock;          /* guards phase to reason; a leaf */
    enum connector_phase phase;
    unsigned inside;           /* calls of the consumer's that are using conn, or about to */
    bool ending;               /* conn is to be ended: by the last of them, as it leaves */
    bool consumed;             /* establishment began: the queue pair is bound for good */
    struct fabric_conn *conn;  /* from its creation to its closed() */
    struct qp *qp;             /* bound to this connector */
    struct object *endpoint;   /* the shared one that this attempt goes out from, or NULL */
    struct fabric_limits own;  /* as the consumer wished, capped by the adapter */
    struct connector_peer peer;
    struct connector_notice notice;
    enum fabric_reason reason; /* of the failed connect, later of the connection's end */
    uint16_t terminate;        /* the Terminate that had a part in it, or FABRIC_NO_TERMINATE */
    /* One request of each kind can be pending; the completion of one may be on its way when the next begins. */
    struct request connect, establish, disconnect;
    NDK_FN_REQUEST_COMPLETION connect_done; /* the consumer's; constant while connect is pending */
    void *connect_context;
    struct task event;   /* a passive one's arrival, later the disconnect callback */
    struct listener *listener; /* a passive one's */
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

/* A connector in IDLE, with its handle. NULL: no memory. */
struct connector *connector_new(struct adapter *adapter, struct shard *shard);
/* A connector in REQUESTED, which depends on its listener. Owner context. NULL: no memory. */
struct connector *connector_new_passive(struct listener *listener, struct object *listener_object,
                                        struct fabric_conn *conn, const struct fabric_peer *peer);

/* Around everything that looks at or changes what the lock guards. Unlocking checks the invariants. */
void connector_lock(struct connector *c);
void connector_unlock(struct connector *c);
/*
 * Around each call of the consumer's that starts something. Till it leaves, the connector is there, and so is the
 * fabric's connection: close and a failure leave its end to the last call inside.
 */
void connector_enter(struct connector *c);
void connector_leave(struct connector *c);
/* One step, under the lock; the action is carried out when it is released. */
enum connector_action connector_take(struct connector *c, enum connector_event event);

/* For a list: false while it has no connection. Takes the lock. */
bool connector_describe(struct object *o, ondk_connection_t *entry);

/* What a queue pair is to a connection: bound once at a time, and an antecedent while it is. */
bool connector_bind(struct qp *qp);
void connector_unbind(struct qp *qp);

/* NdkConnect after its step into CONNECTING: STATUS_PENDING, or nothing has begun. */
NTSTATUS connector_start_connect(struct connector *c, const struct fabric_connect *wish,
                                 NDK_FN_REQUEST_COMPLETION done, void *context);
/* NdkAccept after its step into ACCEPTING, likewise. */
NTSTATUS connector_start_accept(struct connector *c, const struct fabric_accept *wish, NDK_FN_REQUEST_COMPLETION done,
                                void *context);

#endif
