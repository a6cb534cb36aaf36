/* SPDX-License-Identifier: MIT */
/*
 * A call on a connector: the rules about phases, and what the result of the call changes. connector.c has the entries
 * of the dispatch table, which call the provider between connector_call_begin and connector_call_end.
 */
#ifndef VERIFY_CONNECTOR_CALL_H
#define VERIFY_CONNECTOR_CALL_H

#include "verify/address.h"
#include "verify/async_call.h"
#include "verify/connector.h"

/* The disconnect routine, plain or Ex, that a consumer has passed in one call. */
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
    /* The other members are under the proxies' lock. */
    struct disconnect_event *events;
    struct proxy *qp; /* queue pair of the last connect or accept, or NULL */
    struct connector_state state;
    struct address_key local, peer; /* this end's address and the peer's, if the provider has returned them */
    uint64_t began;                 /* the order of NdkConnect calls and connect events: number of the latest one */
    bool is_passive;                /* in the list of connector_add_passive */
    LIST_ENTRY(connector) passive;
    unsigned steps;         /* changes of the phase */
    bool is_stall_reported; /* in this phase: see stall_connector.h */
};

/* Must be called before a new connector is used. */
void connector_init(struct connector *c, struct proxy *parent);

struct connector_call {
    struct proxy *p;
    const char *routine;
    enum phase_event event;
    enum phase before;
    enum phase_verdict verdict;
    bool moved;               /* the call itself has changed the phase */
    unsigned steps;           /* the connector's `steps` after this call has changed the phase */
    struct async_call *async; /* NULL if the call is not asynchronous or has no completion routine */
};

void connector_call_begin(struct connector_call *call, struct proxy *p, const char *routine, enum phase_event event);
/* Checks that nothing is outstanding when the consumer itself ends the connection. */
void connector_call_check_rest(const struct connector_call *call);
/* Checks private data that is sent. `limit` is the adapter's limit, or 0 if the provider has not reported it. */
void connector_call_check_data(const struct connector_call *call, const void *data, ULONG length, ULONG limit);
/*
 * Checks the queue pair of a connect or accept, and stores it if the call is legal. Returns the provider's queue pair,
 * or NULL if qp is NULL or closed.
 */
NDK_QP *connector_call_use_qp(const struct connector_call *call, NDK_QP *qp);
/* Stores the destination of a connect, for reports. `address` has the provider's format. */
void connector_call_set_destination(const struct connector_call *call, const void *address, size_t length);
/* Begins the asynchronous part of a connect, complete, accept or disconnect. Sets call->async. */
void connector_call_begin_async(struct connector_call *call, NDK_FN_REQUEST_COMPLETION done, void *context);
/*
 * Must be called after the provider's function, which returned `status`. Also ends the asynchronous part of the call,
 * unless `status` is STATUS_PENDING. Reports a call that was wrong in the connector's phase. Returns `status`.
 */
NTSTATUS connector_call_end(struct connector_call *call, NTSTATUS status);

/*
 * Adds the disconnect routine of a call. *added receives the context for the provider, or NULL if the consumer gave no
 * routine. Returns false if out of memory.
 */
bool connector_add_event(struct proxy *p, struct disconnect_event event, struct disconnect_event **added);
/* The disconnect routines for the provider. */
void connector_on_disconnect_event(PVOID context);
void connector_on_disconnect_event_ex(PVOID context, ULONG reason);

#endif
