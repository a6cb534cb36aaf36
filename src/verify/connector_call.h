/* SPDX-License-Identifier: MIT */
/*
 * Checks a call against the connector's phase, and changes the phase when the call has its result. connector.c has the
 * entries of the dispatch table. They call the provider between connector_call_begin and connector_call_end.
 */
#ifndef VERIFY_CONNECTOR_CALL_H
#define VERIFY_CONNECTOR_CALL_H

#include "verify/address.h"
#include "verify/async_call.h"
#include "verify/connector.h"

/* A disconnect routine (plain or Ex) that the consumer has passed, and its context. */
struct disconnect_event {
    struct disconnect_event *next;
    struct connector *connector;
    bool is_ex;
    NDK_FN_DISCONNECT_EVENT_CALLBACK plain;
    NDK_FN_DISCONNECT_EVENT_CALLBACK_EX ex;
    void *context;
};

struct connector {
    struct proxy p;
    /* The proxies' lock guards the members below. */
    struct disconnect_event *events;
    struct proxy *qp; /* the queue pair of the latest connect or accept, with a reference; NULL if there was none */
    struct connector_state state;
    struct address_key local, peer; /* the addresses of this end and of the peer; family 0: not known */
    /*
     * The value of connections_begun after this connector's latest NdkConnect or connect event. A later event has a
     * higher value.
     */
    uint64_t began;
    bool is_passive; /* the connector is in passive_ends: see connector_add_passive */
    LIST_ENTRY(connector) passive;
    unsigned steps;         /* number of phase changes so far */
    bool is_stall_reported; /* the stall of this phase was reported: see stall_connector.h */
};

/* Initializes a new connector. `parent` is the proxy of an adapter or a listener. */
void connector_init(struct connector *c, struct proxy *parent);

struct connector_call {
    struct proxy *p;
    const char *routine;
    enum phase_event event;
    enum phase before;
    enum phase_verdict verdict;
    bool moved;               /* the call has changed the connector's phase */
    unsigned steps;           /* the connector's `steps` after connector_call_begin */
    struct async_call *async; /* NULL if the call is not asynchronous or has no completion routine */
};

void connector_call_begin(struct connector_call *call, struct proxy *p, const char *routine, enum phase_event event);
/*
 * Reports requests of the connector's queue pair that are outstanding when the consumer disconnects an established
 * connection.
 */
void connector_call_check_rest(const struct connector_call *call);
/*
 * Checks the private data that the consumer passes to be sent. `limit` is the adapter's limit in bytes, or 0 if the
 * provider has not reported a limit.
 */
void connector_call_check_data(const struct connector_call *call, const void *data, ULONG length, ULONG limit);
/*
 * Checks the queue pair of a connect or accept. If this call has changed the phase, stores the queue pair in the
 * connector. Returns the provider's queue pair, or NULL if qp is NULL or closed.
 */
NDK_QP *connector_call_use_qp(const struct connector_call *call, NDK_QP *qp);
/*
 * Stores the destination of a connect as the peer's address. Does nothing if this call has not changed the phase. The
 * address must be in the provider's format.
 */
void connector_call_set_destination(const struct connector_call *call, const void *address, size_t length);
/* Begins to observe the completion of a call: connect, complete, accept or disconnect. Sets call->async. */
void connector_call_begin_async(struct connector_call *call, NDK_FN_REQUEST_COMPLETION done, void *context);
/*
 * Handles the return of the provider's function, which returned `status`. Frees call->async unless `status` is
 * STATUS_PENDING. Reports the call if the connector's phase forbids it. Returns `status`.
 */
NTSTATUS connector_call_end(struct connector_call *call, NTSTATUS status);

/*
 * Adds a disconnect routine to the connector p. Sets *added to the context to pass to the provider, or to NULL if
 * `event` has no routine. Returns false if out of memory.
 */
bool connector_add_event(struct proxy *p, struct disconnect_event event, struct disconnect_event **added);
/*
 * These functions are passed to the provider as disconnect routines. They call the consumer's disconnect routine.
 * `context` is a struct disconnect_event.
 */
void connector_on_disconnect_event(PVOID context);
void connector_on_disconnect_event_ex(PVOID context, ULONG reason);

#endif
