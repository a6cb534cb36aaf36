/* SPDX-License-Identifier: MIT */
/*
 * The phases of a connector as the consumer sees them. connector_phase.c has the table and its diagram. The provider's
 * own phase may differ for a moment, because a completion changes the consumer's phase just before the callback runs.
 */
#ifndef VERIFY_CONNECTOR_PHASE_H
#define VERIFY_CONNECTOR_PHASE_H

#include <stdbool.h>

enum phase {
    PHASE_IDLE,          /* NdkConnect was not called */
    PHASE_CONNECTING,    /* NdkConnect is pending */
    PHASE_FAILED,        /* NdkConnect has failed and may be called again */
    PHASE_REPLIED,       /* NdkConnect has succeeded */
    PHASE_COMPLETING,    /* NdkCompleteConnect is pending */
    PHASE_REQUESTED,     /* a connect event has delivered the connector; the consumer has not answered the request */
    PHASE_ACCEPTING,     /* NdkAccept is pending */
    PHASE_ESTABLISHED,   /* NdkCompleteConnect or NdkAccept has succeeded */
    PHASE_PEER_GONE,     /* the disconnect callback was called */
    PHASE_DISCONNECTING, /* NdkDisconnect is pending */
    PHASE_ENDED,         /* NdkDisconnect has completed */
    PHASE_ABANDONED,     /* the consumer has rejected the connection, or NdkCompleteConnect or NdkAccept has failed */
    PHASE_UNKNOWN,       /* a call had no completion routine, so its result is not known */
    PHASES
};

enum phase_event {
    /* calls by the consumer */
    PHASE_CONNECT,     /* NdkConnect, NdkConnectWithSharedEndpoint */
    PHASE_COMPLETE,    /* NdkCompleteConnect(Ex) */
    PHASE_ACCEPT,      /* NdkAccept(Ex) */
    PHASE_REJECT,      /* NdkReject */
    PHASE_DISCONNECT,  /* NdkDisconnect */
    PHASE_GET_DATA,    /* NdkGetConnectionData */
    PHASE_GET_ADDRESS, /* NdkGetLocalAddress, NdkGetPeerAddress */
    /* results of these calls */
    PHASE_CONNECT_DONE,
    PHASE_CONNECT_FAILED,
    PHASE_ESTABLISH_DONE, /* NdkCompleteConnect or NdkAccept has succeeded */
    PHASE_ESTABLISH_FAILED,
    PHASE_NOT_STARTED, /* the provider has refused the call that began the phase; not used for NdkConnect */
    PHASE_REJECT_DONE,
    PHASE_DISCONNECT_DONE,
    /* events */
    PHASE_PEER_ENDED,
    PHASE_EVENTS
};

enum phase_verdict {
    PHASE_LEGAL, /* results always have this verdict */
    PHASE_WRONG,
    /*
     * The call is wrong only if the provider refuses it. The provider may accept the call, for example because an
     * earlier call has completed and only the callback of the earlier call has not run yet.
     */
    PHASE_WRONG_IF_REFUSED,
    PHASE_WRONG_REUSE, /* the call begins a new connection, but the connector has had one before */
};

struct phase_cell {
    enum phase next; /* the phase after the event; if the verdict is not PHASE_LEGAL, the phase does not change */
    enum phase_verdict verdict;
};
struct phase_cell phase_cell(enum phase phase, enum phase_event event);

/* Returns true if NdkCompleteConnect or NdkAccept has succeeded in this phase or before it. */
bool phase_was_established(enum phase phase);
/* Returns a description of the phase for reports, for example "NdkConnect is pending". */
const char *phase_text(enum phase phase);

#endif
