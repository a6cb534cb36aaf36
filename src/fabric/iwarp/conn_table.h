/* SPDX-License-Identifier: MIT */
/* The connection machine as data: states, events, effects. conn_table.c has the table, conn.c carries it out. */
#ifndef FABRIC_IWARP_CONN_TABLE_H
#define FABRIC_IWARP_CONN_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum conn_state {
    /* active */
    CONN_IDLE,           /* nothing is under way; connect may be called (again) */
    CONN_TCP_CONNECTING,
    CONN_REQUEST_SENT,   /* the MPA request is leaving, or its reply awaited */
    CONN_REPLIED,        /* the peer accepted; waits for complete */
    CONN_COMPLETING,     /* ready-to-receive is leaving, or its answer awaited */
    /* passive */
    CONN_WAIT_REQUEST,   /* nobody's yet: its MPA request arrives */
    CONN_REQUESTED,      /* the consumer's: waits for accept or reject */
    CONN_REPLYING,       /* the MPA reply is leaving */
    CONN_WAIT_RTR,       /* waits for ready-to-receive */
    /* both */
    CONN_ESTABLISHED,
    CONN_DRAINING,       /* disconnect asked: what was posted before goes first */
    CONN_NOTICE_SENT,    /* half-closed; waits for the peer's notice */
    CONN_PEER_CLOSED,    /* the peer's notice came first; nothing is flushed */
    CONN_CLOSING,        /* both notices: ours goes after what was posted before */
    CONN_LINGERING,      /* over; the last frame (Terminate, reject) is leaving and must not be hit by a reset */
    CONN_DEAD,           /* over, no socket; waits for close */
    CONN_LAST_WORDS,     /* as LINGERING, after close or without an owner */
    CONN_CLOSED,
    CONN_STATES
};

enum conn_event {
    /* the consumer's requests */
    CONN_START,      /* connect: address reserved, TCP is connecting */
    CONN_COMPLETE,
    CONN_ACCEPT,
    CONN_REJECT,
    CONN_DISCONNECT,
    CONN_CLOSE,
    /* what happened */
    CONN_TCP_UP,
    CONN_ACCEPTED,   /* the reply accepts */
    CONN_REJECTED,   /* the reply rejects */
    CONN_UNFIT,      /* the reply asks what we did not offer: answered by Terminate */
    CONN_REQUEST,    /* a valid request, and room for it */
    CONN_REFUSE,     /* a request that is malformed or has no room: answered by a reject */
    CONN_REPLY_SENT, /* and ready-to-receive was negotiated */
    CONN_UP,         /* establishment is complete */
    CONN_DRAINED,    /* what was posted before disconnect has gone */
    CONN_NOTICE,     /* the peer's end of stream, between messages */
    CONN_FAULT,      /* the stream ended by an error that we found: a Terminate waits to be sent */
    CONN_LOST,       /* failed, reset, ended by the peer's Terminate, or out of time */
    CONN_EVENTS,
    CONN_NOTHING = CONN_EVENTS, /* no event */
};

/* What a transition does, carried out in this order. None of it can fail. */
enum conn_effect {
    DO_ANSWER = 1 << 0,        /* the MPA reply is made */
    DO_REFUSE = 1 << 1,        /* a rejecting MPA reply is made, unless start-up has made one */
    DO_STREAM = 1 << 2,        /* the queue pair takes over the socket */
    DO_TERMINATE = 1 << 3,     /* a Terminate for a reply that goes too far is sent, without a stream */
    DO_SHUT = 1 << 4,          /* half-close: our notice */
    DO_STOP_FLUSHED = 1 << 5,  /* the queue pair is completed: cancelled */
    DO_STOP_LOST = 1 << 6,     /* the queue pair is completed: connection lost */
    DO_CLOSE_TCP = 1 << 7,
    DO_RESET_TCP = 1 << 8,
    DO_FREE_ADDRESS = 1 << 9,
    DO_FORGIVE = 1 << 10,      /* the peer's notice had come: a later disconnect succeeds */
    REPORT_CONNECTED = 1 << 11,
    REPORT_REQUEST = 1 << 12,
    REPORT_ESTABLISHED = 1 << 13,
    REPORT_PEER_ENDED = 1 << 14,
    REPORT_DISCONNECTED = 1 << 15,
    DO_DROP_HANDLE = 1 << 16,
};

enum conn_cell_kind {
    CELL_UNWRITTEN,
    CELL_STEP,
    CELL_IGNORE, /* may happen, means nothing here */
    CELL_NEVER,  /* cannot happen: a bug */
};

struct conn_cell {
    enum conn_cell_kind kind;
    enum conn_state next;
    unsigned effects;
};

const struct conn_cell *conn_table_cell(enum conn_state state, enum conn_event event);
const char *conn_state_name(enum conn_state s);
const char *conn_event_name(enum conn_event e);
const char *conn_effect_name(unsigned bit); /* one bit */

bool conn_state_has_socket(enum conn_state s);
/* The queue pair owns the stream: it reads, and writes unless our notice is out. */
bool conn_state_streams(enum conn_state s);
/* Established, and not over: whoever disconnects or has been told of the peer's notice counts too. */
bool conn_state_is_active(enum conn_state s);
bool conn_state_has_limit(enum conn_state s); /* a timer runs */
/* A peer that begins a frame or a message and does not go on ends the connection: nothing else limits that. */
bool conn_state_checks_input(enum conn_state s);

/* The whole table as markdown, for the documentation. */
void iwarp_conn_print_table(FILE *out);

#endif
