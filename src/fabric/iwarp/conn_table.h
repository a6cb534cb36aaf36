/* SPDX-License-Identifier: MIT */
/*
 * Declares the connection's state machine: states, events, and effects (the actions of a step). conn_table.c has the
 * table and its invariants. A "notice" is a TCP half-close, with which a side reports to its peer that it has
 * disconnected and sends nothing more.
 */
#ifndef FABRIC_IWARP_CONN_TABLE_H
#define FABRIC_IWARP_CONN_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum conn_state {
    /* This side does what the comment of a state describes. First the states of the active side, which connects: */
    CONN_IDLE, /* waits for conn_connect; a failed connect leads here, too */
    CONN_TCP_CONNECTING,
    CONN_REQUEST_SENT, /* sends the MPA request, then waits for the reply */
    CONN_REPLIED,      /* the peer accepted; waits until the consumer calls conn_complete */
    CONN_COMPLETING,   /* sends ready-to-receive, or waits for its answer */
    /* The states of the passive side, which accepts: */
    CONN_WAIT_REQUEST, /* accepted by the listener; waits for the MPA request */
    CONN_REQUESTED,    /* the consumer has the request; waits until it calls conn_accept or conn_reject */
    CONN_REPLYING,     /* sends the MPA reply */
    CONN_WAIT_RTR,     /* waits for ready-to-receive */
    /* The states of both sides: */
    CONN_ESTABLISHED,
    CONN_DRAINING,    /* disconnects: sends the requests that were posted before the disconnect */
    CONN_NOTICE_SENT, /* this side's output is shut down; waits for the peer's end of stream */
    CONN_PEER_CLOSED, /* the peer has half-closed first; requests are flushed only when this side disconnects */
    CONN_CLOSING,     /* disconnects after the peer: sends the requests that were posted before the disconnect */
    /* Ended; sends the last frame (a Terminate or a reject), then waits for the peer's end of stream. */
    CONN_LINGERING,
    CONN_DEAD,       /* ended and without a socket; waits until the consumer calls conn_close */
    CONN_LAST_WORDS, /* like CONN_LINGERING, but close was called, or no consumer has the connection */
    CONN_CLOSED,
    CONN_STATES
};

enum conn_event {
    /* the consumer's requests */
    CONN_START, /* conn_connect has reserved the address and started TCP, or was called in a wrong state */
    CONN_COMPLETE,
    CONN_ACCEPT,
    CONN_REJECT,
    CONN_DISCONNECT,
    CONN_CLOSE,
    /* what happened */
    CONN_TCP_UP,
    CONN_ACCEPTED,   /* the reply accepts */
    CONN_REJECTED,   /* the reply rejects */
    CONN_UNFIT,      /* the reply requires what this side did not offer: a Terminate must be sent */
    CONN_REQUEST,    /* a valid request has arrived, and the listener has room for it */
    CONN_REFUSE,     /* the request is malformed, exceeds the backlog or was refused: a reject must be sent */
    CONN_REPLY_SENT, /* the whole reply has been sent, and ready-to-receive was negotiated */
    CONN_UP,         /* establishment is complete */
    CONN_DRAINED,    /* everything that was posted before the disconnect has been sent */
    CONN_NOTICE,     /* the peer has half-closed between messages */
    CONN_FAULT,      /* this side found an error that ended the stream: a Terminate must be sent */
    CONN_LOST,       /* the connection failed, was reset, ended by the peer's Terminate, or exceeded its time limit */
    CONN_EVENTS,
    CONN_NOTHING = CONN_EVENTS, /* no event */
};

/* The effects of a step, in the order in which they are carried out. No effect can fail. */
enum conn_effect {
    DO_ANSWER = 1 << 0,       /* make the MPA reply that accepts */
    DO_REFUSE = 1 << 1,       /* make an MPA reply that rejects, unless start-up has made one */
    DO_STREAM = 1 << 2,       /* bind the queue pair to the socket */
    DO_TERMINATE = 1 << 3,    /* send a Terminate because of an unfit reply; no queue pair is bound yet */
    DO_SHUT = 1 << 4,         /* half-close the socket, which is the notice to the peer that this side disconnects */
    DO_STOP_FLUSHED = 1 << 5, /* complete all requests of the queue pair as cancelled */
    DO_STOP_LOST = 1 << 6,    /* complete all requests of the queue pair as lost */
    DO_CLOSE_TCP = 1 << 7,
    DO_RESET_TCP = 1 << 8,
    DO_FREE_ADDRESS = 1 << 9,
    DO_FORGIVE = 1 << 10, /* set c->ended to OK: the peer half-closed before the failure, so a disconnect succeeds */
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
    CELL_IGNORE, /* the event may occur and has no effect */
    CELL_NEVER,  /* the event can occur only because of a bug */
};

struct conn_cell {
    enum conn_cell_kind kind;
    enum conn_state next;
    unsigned effects;
};

const struct conn_cell *conn_table_cell(enum conn_state state, enum conn_event event);
const char *conn_state_name(enum conn_state s);
const char *conn_event_name(enum conn_event e);

bool conn_state_has_socket(enum conn_state s);
/*
 * Returns true if the queue pair owns the stream. The queue pair then reads until the end of stream, and writes until
 * this side half-closes.
 */
bool conn_state_streams(enum conn_state s);
/*
 * Returns true if the connection is established and has not ended. Also returns true during a disconnect, and after the
 * peer's half-close.
 */
bool conn_state_is_active(enum conn_state s);
bool conn_state_has_limit(enum conn_state s); /* true: the state has a time limit */
/*
 * Returns true if stalled input ends a connection in this state. The other states need no such check: they have a time
 * limit, or the queue pair receives nothing.
 */
bool conn_state_checks_input(enum conn_state s);

/* Prints the whole table as Markdown, for docs/states.md. */
void iwarp_conn_print_table(FILE *out);

#endif
