/* SPDX-License-Identifier: MIT */
/*
 * Observes the calls on connectors and their results, and stores each connector's phase. connector_phase.c has the
 * table of phases.
 *
 * A call that breaks a rule about phases is reported after the provider has returned, but only if no other call or
 * event has changed the phase meanwhile. So a call that races with a completion or with the peer is not reported.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "openndk/adapter.h"
#include "verify/buffer.h"
#include "verify/connector_call.h"
#include "verify/connector_peer.h"
#include "verify/disconnect_check.h"
#include "verify/messages.h"
#include "verify/net_namespace.h"
#include "verify/queue.h"
#include "verify/stall.h"

static _Atomic uint64_t connections_begun; /* number of NdkConnect calls and connect events so far */

/* ---- phases ---- */

static uint64_t connector_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Sets the connector's phase and the time of the change. Requires the proxies' lock. */
static void connector_set_phase(struct connector *c, enum phase phase)
{
    if (c->state.phase == phase)
        return;
    c->state.phase = phase;
    c->state.since_ns = connector_now_ns();
    c->is_stall_reported = false;
    c->steps++;
}

static void connector_handle(struct connector *c, enum phase_event event)
{
    proxy_lock_all();
    connector_set_phase(c, phase_cell(c->state.phase, event).next);
    proxy_unlock_all();
    stall_begin();
}

void connector_get_state(const struct proxy *p, struct connector_state *state)
{
    proxy_lock_all();
    *state = ((const struct connector *)p)->state;
    proxy_unlock_all();
}

static void connector_set_address(char stored[CONNECTOR_PEER_TEXT], struct address_key *key, const void *address,
                                  size_t length)
{
    char text[CONNECTOR_PEER_TEXT];

    address_print(text, sizeof text, address, length);
    proxy_lock_all();
    memcpy(stored, text, sizeof text);
    address_key_set(key, address, length);
    proxy_unlock_all();
}

void connector_set_peer(struct proxy *p, const void *address, size_t length)
{
    struct connector *c = (struct connector *)p;

    connector_set_address(c->state.peer, &c->peer, address, length);
}

void connector_set_local(struct proxy *p, const void *address, size_t length)
{
    struct connector *c = (struct connector *)p;

    connector_set_address(c->state.local, &c->local, address, length);
}

void connector_call_set_destination(const struct connector_call *call, const void *address, size_t length)
{
    if (call->moved)
        connector_set_peer(call->p, address, length);
}

/*
 * Stops the comparison of sends and receives for the connector's queue pair: see messages.h. Runs when the connection
 * ends or cannot be established, because the consumer may then post sends that the peer never receives. Requires the
 * proxies' lock.
 */
static void connector_end_messages(struct connector *c)
{
    bool is_early = c->state.phase == PHASE_IDLE || c->state.phase == PHASE_CONNECTING ||
                    c->state.phase == PHASE_FAILED || c->state.phase == PHASE_REPLIED ||
                    c->state.phase == PHASE_REQUESTED;

    if (c->qp && !is_early) /* in an early phase, the connection of the queue pair may be another connector's */
        messages_set_over((struct queue *)c->qp);
}

/* ---- calls that depend on the phase ---- */

void connector_call_begin(struct connector_call *call, struct proxy *p, const char *routine, enum phase_event event)
{
    struct connector *c = (struct connector *)p;

    if (event == PHASE_CONNECT)
        net_namespace_note();
    proxy_lock_all();
    struct phase_cell cell = phase_cell(c->state.phase, event);
    *call = (struct connector_call){ .p = p,
                                     .routine = routine,
                                     .event = event,
                                     .before = c->state.phase,
                                     .verdict = cell.verdict,
                                     .moved = cell.next != c->state.phase };
    if (event == PHASE_CONNECT)
        c->began = atomic_fetch_add(&connections_begun, 1) + 1;
    else if (event == PHASE_DISCONNECT)
        connector_end_messages(c);
    connector_set_phase(c, cell.next);
    call->steps = c->steps;
    proxy_unlock_all();
}

static void connector_call_check(const struct connector_call *call, bool refused, NTSTATUS status)
{
    struct connector *c = (struct connector *)call->p;

    if (call->verdict == PHASE_LEGAL || (call->verdict == PHASE_WRONG_IF_REFUSED && !refused) || !verify_on())
        return;
    proxy_lock_all();
    bool changed = c->steps != call->steps;
    proxy_unlock_all();
    if (changed)
        return;
    proxy_set_report_object(call->p);
    if (call->verdict == PHASE_WRONG_REUSE) {
        report_breach(&verify_rules[RULE_QUEUE_PAIR_REUSED], call->routine, (uintptr_t)c, NdkObjectTypeConnector,
                      (uintptr_t)c, 0, "NDK_CONNECTOR %p has had a connection: %s", (const void *)c,
                      phase_text(call->before));
        return;
    }
    enum verify_rule rule = call->event == PHASE_GET_DATA      ? RULE_CONNECTION_DATA_PHASE
                            : call->event == PHASE_GET_ADDRESS ? RULE_CONNECTION_ADDRESS_PHASE
                                                               : RULE_CONNECTOR_PHASE;
    report_breach(&verify_rules[rule], call->routine, (uintptr_t)c, call->before, (uint32_t)status, 0,
                  "%s (the provider returned %s)", phase_text(call->before), ondk_status_name(status));
}

NTSTATUS connector_call_end(struct connector_call *call, NTSTATUS status)
{
    bool refused = status != STATUS_PENDING && !NT_SUCCESS(status) && status != STATUS_BUFFER_TOO_SMALL;

    if (refused && call->event != PHASE_CONNECT) {
        async_call_set_subject(call->async, NULL);
        if (call->moved)
            connector_handle((struct connector *)call->p, PHASE_NOT_STARTED);
    }
    status = async_call_end(call->async, status);
    /* NdkReject returns STATUS_CONNECTION_ABORTED if the peer has already given up. */
    if (call->event == PHASE_REJECT && (NT_SUCCESS(status) || status == STATUS_CONNECTION_ABORTED))
        connector_handle((struct connector *)call->p, PHASE_REJECT_DONE);
    connector_call_check(call, refused, status);
    return status;
}

/* ---- disconnect events ---- */

/* Records that the peer has ended the connection. Runs before the consumer's disconnect routine. */
static void connector_call_on_peer_ended(struct connector *c)
{
    call_set_completed(&c->p);
    proxy_lock_all();
    c->state.peer_ended = true;
    connector_end_messages(c);
    connector_set_phase(c, phase_cell(c->state.phase, PHASE_PEER_ENDED).next);
    proxy_unlock_all();
    stall_begin();
}

void connector_on_disconnect_event(PVOID context)
{
    const struct disconnect_event *event = context;

    connector_call_on_peer_ended(event->connector);
    PROXY_CALLBACK(event->connector->p.adapter, "NdkDisconnectEventCallback", event->plain, event->context);
}

void connector_on_disconnect_event_ex(PVOID context, ULONG reason)
{
    const struct disconnect_event *event = context;

    connector_call_on_peer_ended(event->connector);
    PROXY_CALLBACK(event->connector->p.adapter, "NdkDisconnectEventCallbackEx", event->ex, event->context, reason);
}

bool connector_add_event(struct proxy *p, struct disconnect_event event, struct disconnect_event **added)
{
    struct connector *c = (struct connector *)p;

    *added = NULL;
    if (!event.plain && !event.ex)
        return true;
    *added = malloc(sizeof **added);
    if (!*added)
        return false;
    **added = event;
    proxy_lock_all();
    (*added)->connector = c;
    (*added)->next = c->events;
    c->events = *added;
    proxy_unlock_all();
    return true;
}

/* ---- queue pairs ---- */

NDK_QP *connector_call_use_qp(const struct connector_call *call, NDK_QP *qp)
{
    struct connector *c = (struct connector *)call->p;
    struct queue *q = (struct queue *)qp;
    NDK_QP *real = PROXY_REAL(qp, call->routine);
    struct proxy *before = NULL;

    if (!real)
        return NULL;
    proxy_lock_all();
    const void *first = q->connected_by;
    if (call->moved) {
        before = c->qp;
        c->qp = &q->p;
        proxy_ref(c->qp);
    }
    proxy_unlock_all();
    if (before)
        proxy_unref(before);
    queue_set_link(q, call->moved && call->event == PHASE_CONNECT ? QUEUE_CONNECTING : QUEUE_LINKED);
    if (first && call->moved && verify_on()) {
        proxy_set_report_object(&q->p);
        report_breach(&verify_rules[RULE_QUEUE_PAIR_REUSED], call->routine, (uintptr_t)qp, NdkObjectTypeQp,
                      (uintptr_t)first, 0, "NDK_QP %p has had a connection, of NDK_CONNECTOR %p", (const void *)qp,
                      first);
    }
    return real;
}

/*
 * Marks the queue pair as disconnected. Runs after a disconnect or the connector's close, when the connection has ended
 * and all requests of the queue pair have completed.
 */
static void connector_end_qp(struct proxy *p)
{
    struct connector *c = (struct connector *)p;

    proxy_lock_all();
    if (c->qp && ((struct queue *)c->qp)->connected_by == c)
        queue_set_disconnected(c->qp);
    proxy_unlock_all();
}

/* ---- results of calls; `subject` is NULL if the result does not change the phase ---- */

static void connector_call_on_connected(struct proxy *p, NTSTATUS status, void *subject)
{
    if (subject)
        connector_handle((struct connector *)p, NT_SUCCESS(status) ? PHASE_CONNECT_DONE : PHASE_CONNECT_FAILED);
}

static void connector_call_on_established(struct proxy *p, NTSTATUS status, void *subject)
{
    struct connector *c = (struct connector *)p;

    if (subject)
        connector_handle(c, NT_SUCCESS(status) ? PHASE_ESTABLISH_DONE : PHASE_ESTABLISH_FAILED);
    proxy_lock_all();
    if (!NT_SUCCESS(status))
        connector_end_messages(c);
    else if (c->qp && !((struct queue *)c->qp)->connected_by)
        ((struct queue *)c->qp)->connected_by = c;
    proxy_unlock_all();
}

/*
 * Handles the completion of NdkDisconnect. STATUS_CONNECTION_INVALID means that there was no connection to end. After
 * any other status the connection has ended.
 */
static void connector_call_on_disconnected(struct proxy *p, NTSTATUS status, void *subject)
{
    if (subject)
        connector_handle((struct connector *)p, PHASE_DISCONNECT_DONE);
    if (status != STATUS_CONNECTION_INVALID)
        connector_end_qp(p);
}

static void connector_link_qp(struct connector *c)
{
    proxy_lock_all();
    if (c->qp)
        queue_set_link((struct queue *)c->qp, QUEUE_LINKED);
    proxy_unlock_all();
}

void connector_call_begin_async(struct connector_call *call, NDK_FN_REQUEST_COMPLETION done, void *context)
{
    async_call_completed *on_completed = call->event == PHASE_CONNECT      ? connector_call_on_connected
                                         : call->event == PHASE_DISCONNECT ? connector_call_on_disconnected
                                                                           : connector_call_on_established;

    if (call->event == PHASE_COMPLETE)
        connector_link_qp((struct connector *)call->p);
    call->async = async_call_begin(call->p, call->routine, done, context, on_completed);
    if (call->moved || call->verdict == PHASE_WRONG_IF_REFUSED)
        async_call_set_subject(call->async, call->p);
    if (call->moved && !call->async) {
        proxy_lock_all();
        connector_set_phase((struct connector *)call->p, PHASE_UNKNOWN);
        proxy_unlock_all();
    }
}

/* ---- disconnects ---- */

void connector_call_check_rest(const struct connector_call *call)
{
    const struct connector *c = (const struct connector *)call->p;
    struct proxy *qp;

    if (call->before != PHASE_ESTABLISHED || !verify_on())
        return;
    proxy_lock_all();
    qp = c->qp;
    if (qp)
        proxy_ref(qp);
    proxy_unlock_all();
    if (!qp)
        return;
    disconnect_check((struct queue *)qp);
    proxy_unref(qp);
}

/* ---- private data ---- */

void connector_call_check_data(const struct connector_call *call, const void *data, ULONG length, ULONG limit)
{
    buffer_check(call->p, call->routine, data, length, "private data");
    if (!data || !limit || length <= limit || !verify_on())
        return;
    proxy_set_report_object(call->p);
    report_breach(&verify_rules[RULE_PRIVATE_DATA_LENGTH], call->routine, (uintptr_t)call->p, length, limit, 0,
                  "%u bytes of private data, but the adapter's limit is %u", (unsigned)length, (unsigned)limit);
}

/* ---- lifetime and reports ---- */

/*
 * Ends the comparison of this connector's messages with the peer's, and removes the connector from the list of passive
 * ends. Runs before the provider's close.
 */
static void connector_on_closing(struct proxy *p)
{
    struct connector *c = (struct connector *)p;

    proxy_lock_all();
    connector_end_messages(c);
    connector_remove_passive(c);
    proxy_unlock_all();
}

static void connector_free(struct proxy *p)
{
    struct connector *c = (struct connector *)p;

    for (struct disconnect_event *event = c->events, *next; event; event = next) {
        next = event->next;
        free(event);
    }
    if (c->qp)
        proxy_unref(c->qp);
}

static void connector_add_notes(const struct proxy *p)
{
    struct connector_state state;

    connector_get_state(p, &state);
    bool established = phase_was_established(state.phase);
    const char *passive = established ? "accepted from" : "requested by";
    const char *active = established ? "connected to" : "connects to";
    if (state.peer[0])
        report_add_note("%s %s", state.listener ? passive : active, state.peer);
    report_add_note("for %llu ms: %s", (unsigned long long)((connector_now_ns() - state.since_ns) / 1000000),
                    phase_text(state.phase));
}

void connector_init(struct connector *c, struct proxy *parent)
{
    c->p.add_notes = connector_add_notes;
    c->p.on_closing = connector_on_closing;
    c->p.on_end = connector_end_qp;
    c->p.on_free = connector_free;
    c->state.since_ns = connector_now_ns();
    if (parent->type == NdkObjectTypeListener) {
        c->state.phase = PHASE_REQUESTED;
        c->state.listener = parent;
        c->began = atomic_fetch_add(&connections_begun, 1) + 1;
    }
}
