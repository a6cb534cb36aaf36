/* SPDX-License-Identifier: MIT */
/*
 * Declares a connector's state machine. A table defines the effect of each call of the consumer, and of each event of
 * the fabric, in each phase. The invariant: after a connector's creation, only connector_step changes its phase.
 * connector.c calls connector_step with the connector's lock held, releases the lock, and then carries out the action.
 */
#ifndef PROVIDER_CONNECTOR_TABLE_H
#define PROVIDER_CONNECTOR_TABLE_H

#include <stdbool.h>
#include <stdio.h>

enum connector_phase {
    CONNECTOR_IDLE,       /* NdkConnect is possible */
    CONNECTOR_CONNECTING, /* NdkConnect is pending */
    CONNECTOR_FAILING,    /* NdkConnect has failed; the fabric's connection is being closed */
    CONNECTOR_FAILED,     /* the fabric's connection is closed; NdkConnect is about to complete */
    CONNECTOR_REPLIED,    /* the peer has accepted; NdkCompleteConnect and NdkReject are possible */
    CONNECTOR_COMPLETING, /* NdkCompleteConnect is pending */
    CONNECTOR_REQUESTED,  /* a peer requests a connection; NdkAccept and NdkReject are possible */
    CONNECTOR_ACCEPTING,  /* NdkAccept is pending */
    CONNECTOR_ESTABLISHED,
    CONNECTOR_PEER_GONE,     /* the peer has disconnected, or the connection broke; this side has not disconnected */
    CONNECTOR_DISCONNECTING, /* NdkDisconnect is pending */
    CONNECTOR_ENDED,         /* the connection has ended; only close is possible */
    CONNECTOR_CLOSING,       /* the consumer has closed the connector; its pending requests are being completed */
    CONNECTOR_PHASES
};

enum connector_event {
    /* Calls of the consumer. */
    CONNECTOR_CONNECT,
    CONNECTOR_COMPLETE,
    CONNECTOR_ACCEPT,
    CONNECTOR_REJECT,
    CONNECTOR_DISCONNECT,
    CONNECTOR_CLOSE,
    /* Events of the fabric. */
    CONNECTOR_CONNECT_DONE,
    CONNECTOR_CONNECT_FAILED,
    CONNECTOR_ESTABLISH_DONE,
    CONNECTOR_ESTABLISH_FAILED,
    CONNECTOR_PEER_ENDED,
    CONNECTOR_DISCONNECT_DONE,
    CONNECTOR_FABRIC_CLOSED,
    /* Events of the connector itself. */
    CONNECTOR_NOT_STARTED, /* connect or accept failed for lack of memory */
    CONNECTOR_REPORTING,   /* the completion routine of a failed NdkConnect is about to be called */
    CONNECTOR_EVENTS
};

enum connector_action {
    CONNECTOR_NOTHING,
    /* Actions for a call that is illegal in this phase: */
    CONNECTOR_REFUSE_STATE,   /* return STATUS_INVALID_DEVICE_STATE */
    CONNECTOR_REFUSE_INVALID, /* return STATUS_CONNECTION_INVALID */
    /* Actions for a call that begins an operation: */
    CONNECTOR_START_CONNECT,
    CONNECTOR_START_COMPLETE,
    CONNECTOR_START_ACCEPT,
    CONNECTOR_START_REJECT,
    CONNECTOR_START_DISCONNECT,
    /* Actions for an event: */
    CONNECTOR_REPORT_CONNECTED,       /* complete NdkConnect, which has succeeded */
    CONNECTOR_RETIRE,                 /* end the fabric's connection; NdkConnect, which has failed, completes later */
    CONNECTOR_REPORT_FAILED,          /* complete NdkConnect, which has failed */
    CONNECTOR_REPORT_CANCELLED,       /* complete NdkConnect, which close has interrupted */
    CONNECTOR_REPORT_ESTABLISHED,     /* complete NdkCompleteConnect or NdkAccept, which has succeeded or failed */
    CONNECTOR_REPORT_NOT_ESTABLISHED, /* complete NdkCompleteConnect or NdkAccept, which close has interrupted */
    CONNECTOR_REPORT_PEER_ENDED,      /* queue the disconnect callback */
    CONNECTOR_REPORT_DISCONNECTED,
    CONNECTOR_END_FABRIC, /* end the fabric's connection */
    /* The event cannot occur in this phase. If it does, the fabric or connector.c has a bug. */
    CONNECTOR_IMPOSSIBLE,
    CONNECTOR_ACTIONS
};

struct connector_cell {
    enum connector_phase next;
    enum connector_action action;
};

struct connector_cell connector_cell(enum connector_phase phase, enum connector_event event);
/* Changes the phase and returns the action. Asserts that the event is possible in the phase. */
enum connector_action connector_step(enum connector_phase *phase, enum connector_event event);

/* Returns true if a connector in this phase has a connection of the fabric, and no action has ended the connection. */
bool connector_has_fabric(enum connector_phase phase);
/* Returns true for the phases from REPLIED or ACCEPTING to DISCONNECTING. A connector then has a bound queue pair. */
bool connector_has_qp(enum connector_phase phase);
/* Returns true if the action refuses a call. */
bool connector_is_refusal(enum connector_action action);

/* Prints the table in Markdown. */
void connector_print_table(FILE *out);

#endif
