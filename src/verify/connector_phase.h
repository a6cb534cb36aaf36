/* SPDX-License-Identifier: MIT */
/*
 * The phases of a connector as its consumer sees them, in a table: connector_phase.c has the table and its diagram. The
 * provider's own phases may differ for a moment: a completion changes the consumer's phase only when its callback is
 * about to run.
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
    PHASE_REQUESTED,     /* a listener's request that is not answered */
    PHASE_ACCEPTING,     /* NdkAccept is pending */
    PHASE_ESTABLISHED,   /* NdkCompleteConnect or NdkAccept has succeeded */
    PHASE_PEER_GONE,     /* the disconnect callback was called */
    PHASE_DISCONNECTING, /* NdkDisconnect is pending */
    PHASE_ENDED,         /* NdkDisconnect has completed */
    PHASE_ABANDONED,     /* the connection was rejected here, or NdkCompleteConnect or NdkAccept has failed */
    PHASE_UNKNOWN,       /* the result of a call cannot be seen, because the call has no completion routine */
    PHASES
};

enum phase_event {
    /* calls of the consumer */
    PHASE_CONNECT,     /* NdkConnect, NdkConnectWithSharedEndpoint */
    PHASE_COMPLETE,    /* NdkCompleteConnect(Ex) */
    PHASE_ACCEPT,      /* NdkAccept(Ex) */
    PHASE_REJECT,      /* NdkReject */
    PHASE_DISCONNECT,  /* NdkDisconnect */
    PHASE_GET_DATA,    /* NdkGetConnectionData */
    PHASE_GET_ADDRESS, /* NdkGetLocalAddress, NdkGetPeerAddress */
    /* results of the calls */
    PHASE_CONNECT_DONE,
    PHASE_CONNECT_FAILED,
    PHASE_ESTABLISH_DONE, /* NdkCompleteConnect or NdkAccept */
    PHASE_ESTABLISH_FAILED,
    PHASE_NOT_STARTED, /* the provider refused the call that began the phase; not used for NdkConnect */
    PHASE_REJECT_DONE,
    PHASE_DISCONNECT_DONE,
    /* the disconnect callback is about to run */
    PHASE_PEER_ENDED,
    PHASE_EVENTS
};

enum phase_verdict {
    PHASE_LEGAL, /* also the verdict on results */
    PHASE_WRONG,
    /*
     * The call is wrong if the provider refuses it. If the callback of an earlier call has not run, and the provider
     * accepts the new call, the earlier call has already succeeded in the provider.
     */
    PHASE_WRONG_IF_REFUSED,
    PHASE_WRONG_REUSE, /* the call begins a new connection, but the connector has had one */
};

struct phase_cell {
    enum phase next; /* if the verdict is not PHASE_LEGAL, the same phase */
    enum phase_verdict verdict;
};
struct phase_cell phase_cell(enum phase phase, enum phase_event event);

/* Returns whether NdkCompleteConnect or NdkAccept has succeeded. */
bool phase_was_established(enum phase phase);
/* Returns for example "NdkConnect is pending". */
const char *phase_text(enum phase phase);

#endif
