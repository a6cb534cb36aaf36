/* SPDX-License-Identifier: MIT */
/*
 * A connector's machine as a table: what each call of the consumer's and each event of the fabric's does in each phase.
 * No lock, no memory, no calls: connector.c steps it under the connector's lock and then carries out the action.
 */
#ifndef PROVIDER_CONNECTOR_TABLE_H
#define PROVIDER_CONNECTOR_TABLE_H

#include <stdbool.h>
#include <stdio.h>

enum connector_phase {
    CONNECTOR_IDLE,          /* can connect */
    CONNECTOR_CONNECTING,    /* NdkConnect is under way */
    CONNECTOR_FAILING,       /* it failed; its address is being freed */
    CONNECTOR_FAILED,        /* everything is released; the consumer is about to be told */
    CONNECTOR_REPLIED,       /* the peer has accepted: complete or reject */
    CONNECTOR_COMPLETING,    /* NdkCompleteConnect is under way */
    CONNECTOR_REQUESTED,     /* a peer asks: accept or reject */
    CONNECTOR_ACCEPTING,     /* NdkAccept is under way */
    CONNECTOR_ESTABLISHED,
    CONNECTOR_PEER_GONE,     /* the peer has disconnected, or broke off; this side has not answered */
    CONNECTOR_DISCONNECTING, /* NdkDisconnect is under way */
    CONNECTOR_SPENT,         /* over: only close is left */
    CONNECTOR_CLOSING,       /* the consumer has closed it; what was pending is being ended */
    CONNECTOR_PHASES
};

enum connector_event {
    /* The consumer's calls. */
    CONNECTOR_CONNECT,
    CONNECTOR_COMPLETE,
    CONNECTOR_ACCEPT,
    CONNECTOR_REJECT,
    CONNECTOR_DISCONNECT,
    CONNECTOR_CLOSE,
    /* The fabric's events. */
    CONNECTOR_CONNECT_DONE,
    CONNECTOR_CONNECT_FAILED,
    CONNECTOR_ESTABLISH_DONE,
    CONNECTOR_ESTABLISH_FAILED,
    CONNECTOR_PEER_ENDED,
    CONNECTOR_DISCONNECT_DONE,
    CONNECTOR_FABRIC_GONE,
    /* The connector's own. */
    CONNECTOR_NOT_STARTED,   /* connect or accept found no memory: nothing has begun */
    CONNECTOR_TELLING,       /* the failed connect's completion routine is about to be called */
    CONNECTOR_EVENTS
};

enum connector_action {
    CONNECTOR_NOTHING,
    /* A call that is wrong in this phase. */
    CONNECTOR_REFUSE_STATE,   /* STATUS_INVALID_DEVICE_STATE */
    CONNECTOR_REFUSE_INVALID, /* STATUS_CONNECTION_INVALID */
    /* A call that starts something. */
    CONNECTOR_START_CONNECT,
    CONNECTOR_START_COMPLETE,
    CONNECTOR_START_ACCEPT,
    CONNECTOR_START_REJECT,
    CONNECTOR_START_DISCONNECT,
    /* An event. */
    CONNECTOR_TELL_CONNECTED,   /* NdkConnect has succeeded */
    CONNECTOR_RETIRE,           /* NdkConnect has failed: end the fabric's connection, then tell */
    CONNECTOR_TELL_FAILED,      /* NdkConnect has failed, and nothing of it is left */
    CONNECTOR_TELL_CANCELLED,   /* NdkConnect was overtaken by close */
    CONNECTOR_TELL_ESTABLISHED, /* NdkCompleteConnect or NdkAccept has ended, well or not */
    CONNECTOR_CANCEL_ESTABLISH, /* the same, overtaken by close */
    CONNECTOR_TELL_PEER_ENDED,  /* the disconnect callback */
    CONNECTOR_TELL_DISCONNECTED,
    CONNECTOR_END_FABRIC,       /* end the fabric's connection */
    /* Cannot happen: the fabric, or connector.c, is at fault. */
    CONNECTOR_IMPOSSIBLE,
    CONNECTOR_ACTIONS
};

struct connector_cell {
    enum connector_phase next;
    enum connector_action action;
};

struct connector_cell connector_cell(enum connector_phase phase, enum connector_event event);
/* The one function that writes a phase. Asserts that the event is possible. */
enum connector_action connector_step(enum connector_phase *phase, enum connector_event event);

/* What a connector in this phase certainly has. */
bool connector_has_fabric(enum connector_phase phase); /* a connection of the fabric's that nobody has ended */
bool connector_has_qp(enum connector_phase phase);     /* a queue pair, bound to it */
bool connector_has_request(enum connector_phase phase); /* a request of the consumer's, pending */
/* A call that is answered with an error at once. */
bool connector_is_refusal(enum connector_action action);

const char *connector_phase_name(enum connector_phase phase);
const char *connector_event_name(enum connector_event event);
const char *connector_action_name(enum connector_action action);

/* The first invariant of the table that does not hold, as a sentence; NULL: all hold. */
const char *connector_check_table(void);
/* As a table in Markdown. */
void connector_print_table(FILE *out);

#endif
