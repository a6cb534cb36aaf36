/* SPDX-License-Identifier: MIT */
/*
 * The connection machine of both roles as one table: state x event -> next state and effects.
 *
 *   active:   IDLE > TCP_CONNECTING > REQUEST_SENT > REPLIED > COMPLETING ---.
 *              ^________|_________________|  (a failed connect)              |
 *   passive:  WAIT_REQUEST > REQUESTED > REPLYING > WAIT_RTR ----------------+> ESTABLISHED
 *                                            '--- (no ready-to-receive) -----'
 *   end:      ESTABLISHED > DRAINING > NOTICE_SENT > DEAD         (this side half-closes first)
 *             ESTABLISHED > PEER_CLOSED > CLOSING > DEAD          (the peer first; DRAINING > CLOSING: both together)
 *             any > LINGERING > DEAD                              (this side still sends a Terminate or a reject)
 *             any > DEAD                                          (lost)
 *             close: any > CLOSED, through LAST_WORDS if a frame must still be sent
 *
 * An event states how an operation ended, so that a cell of the table has one outcome. For example, an accepting and a
 * rejecting reply are two different events. A step has a reason, which the REPORT effects pass to the consumer.
 *
 * Invariants (after every step, conn.c checks 1 to 3):
 *   1. the connection has a socket exactly in the states that conn_state_has_socket names
 *   2. the queue pair is bound to the connection in all states for which conn_state_streams returns true; it may be
 *      bound in LINGERING and LAST_WORDS; it is bound in no other state
 *   3. the timer runs exactly in the states that have a limit
 *   4. a connection in CLOSED has neither handle nor socket
 * The timer `stall`, for input that stalls, runs only while the queue pair is bound (liveness.c).
 */
#include "fabric/iwarp/conn_table.h"

#include <assert.h>
#include <string.h>

/* clang-format off */
#define GO(to, what) { CELL_STEP, CONN_##to, (what) }
#define IGNORE { CELL_IGNORE, CONN_IDLE, 0 }
#define NEVER { CELL_NEVER, CONN_IDLE, 0 }
/* clang-format on */

/*
 * Cells for calls in a wrong state. These calls do not change the state. The consumer's callback for the call, for
 * example `connected`, reports the reason. A reject has no callback, so a reject in a wrong state is ignored.
 */
#define BUSY_START(here) [CONN_START] = GO(here, REPORT_CONNECTED)
#define NO_COMPLETE(here) [CONN_COMPLETE] = GO(here, REPORT_ESTABLISHED)
#define NO_ACCEPT(here) [CONN_ACCEPT] = GO(here, REPORT_ESTABLISHED)
#define NO_REJECT [CONN_REJECT] = IGNORE
#define NO_DISCONNECT(here) [CONN_DISCONNECT] = GO(here, REPORT_DISCONNECTED)

/* Groups of events. The row of a state contains a group if the group's events cannot occur in that state. */
#define NO_TCP_UP [CONN_TCP_UP] = NEVER
#define NO_REPLY [CONN_ACCEPTED] = NEVER, [CONN_REJECTED] = NEVER, [CONN_UNFIT] = NEVER
#define NO_REQUEST [CONN_REQUEST] = NEVER, [CONN_REFUSE] = NEVER
#define NO_REPLY_SENT [CONN_REPLY_SENT] = NEVER
#define NO_UP [CONN_UP] = NEVER
#define NO_DRAINED [CONN_DRAINED] = NEVER
#define NO_NOTICE [CONN_NOTICE] = NEVER
#define NO_FAULT [CONN_FAULT] = NEVER
#define NO_STREAM NO_UP, NO_DRAINED, NO_NOTICE, NO_FAULT

#define LOSE (DO_STOP_LOST | DO_RESET_TCP)
#define ABORT (DO_STOP_FLUSHED | DO_RESET_TCP | DO_DROP_HANDLE)
#define FAILED (DO_RESET_TCP | DO_FREE_ADDRESS | REPORT_CONNECTED)
#define OVER (DO_STOP_FLUSHED | DO_CLOSE_TCP | REPORT_DISCONNECTED)

static const struct conn_cell table[CONN_STATES][CONN_EVENTS] = {
    [CONN_IDLE] = {
        [CONN_START] = GO(TCP_CONNECTING, 0),
        NO_COMPLETE(IDLE), NO_ACCEPT(IDLE), NO_REJECT, NO_DISCONNECT(IDLE),
        [CONN_CLOSE] = GO(CLOSED, DO_DROP_HANDLE),
        [CONN_LOST] = GO(IDLE, DO_FREE_ADDRESS | REPORT_CONNECTED),
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_STREAM,
    },
    [CONN_TCP_CONNECTING] = {
        [CONN_TCP_UP] = GO(REQUEST_SENT, 0),
        [CONN_LOST] = GO(IDLE, FAILED),
        [CONN_CLOSE] = GO(CLOSED, DO_RESET_TCP | REPORT_CONNECTED | DO_DROP_HANDLE),
        BUSY_START(TCP_CONNECTING), NO_COMPLETE(TCP_CONNECTING), NO_ACCEPT(TCP_CONNECTING), NO_REJECT,
        NO_DISCONNECT(TCP_CONNECTING),
        NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_STREAM,
    },
    [CONN_REQUEST_SENT] = {
        [CONN_ACCEPTED] = GO(REPLIED, REPORT_CONNECTED),
        [CONN_REJECTED] = GO(IDLE, DO_CLOSE_TCP | DO_FREE_ADDRESS | REPORT_CONNECTED),
        [CONN_UNFIT] = GO(IDLE, DO_TERMINATE | DO_CLOSE_TCP | DO_FREE_ADDRESS | REPORT_CONNECTED),
        [CONN_LOST] = GO(IDLE, FAILED),
        [CONN_CLOSE] = GO(CLOSED, DO_RESET_TCP | REPORT_CONNECTED | DO_DROP_HANDLE),
        BUSY_START(REQUEST_SENT), NO_COMPLETE(REQUEST_SENT), NO_ACCEPT(REQUEST_SENT), NO_REJECT,
        NO_DISCONNECT(REQUEST_SENT),
        NO_TCP_UP, NO_REQUEST, NO_REPLY_SENT, NO_STREAM,
    },
    [CONN_REPLIED] = {
        [CONN_COMPLETE] = GO(COMPLETING, DO_STREAM),
        [CONN_REJECT] = GO(DEAD, DO_CLOSE_TCP),
        [CONN_LOST] = GO(DEAD, DO_RESET_TCP),
        [CONN_CLOSE] = GO(CLOSED, DO_RESET_TCP | DO_DROP_HANDLE),
        BUSY_START(REPLIED), NO_ACCEPT(REPLIED), NO_DISCONNECT(REPLIED),
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_STREAM,
    },
    [CONN_COMPLETING] = {
        [CONN_UP] = GO(ESTABLISHED, REPORT_ESTABLISHED),
        [CONN_NOTICE] = GO(DEAD, LOSE | REPORT_ESTABLISHED),
        [CONN_LOST] = GO(DEAD, LOSE | REPORT_ESTABLISHED),
        [CONN_FAULT] = GO(LINGERING, REPORT_ESTABLISHED),
        [CONN_CLOSE] = GO(CLOSED, ABORT | REPORT_ESTABLISHED),
        BUSY_START(COMPLETING), [CONN_COMPLETE] = IGNORE, NO_ACCEPT(COMPLETING), NO_REJECT, NO_DISCONNECT(COMPLETING),
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_DRAINED,
    },
    [CONN_WAIT_REQUEST] = {
        [CONN_REQUEST] = GO(REQUESTED, REPORT_REQUEST),
        [CONN_REFUSE] = GO(LAST_WORDS, DO_REFUSE),
        [CONN_LOST] = GO(CLOSED, DO_RESET_TCP),
        [CONN_START] = NEVER, [CONN_COMPLETE] = NEVER, [CONN_ACCEPT] = NEVER, [CONN_REJECT] = NEVER,
        [CONN_DISCONNECT] = NEVER, [CONN_CLOSE] = NEVER, /* no consumer has the handle */
        NO_TCP_UP, NO_REPLY, NO_REPLY_SENT, NO_STREAM,
    },
    [CONN_REQUESTED] = {
        [CONN_ACCEPT] = GO(REPLYING, DO_ANSWER),
        [CONN_REJECT] = GO(LINGERING, DO_REFUSE),
        [CONN_REFUSE] = GO(LAST_WORDS, DO_REFUSE | DO_DROP_HANDLE), /* the listener's owner refused */
        [CONN_CLOSE] = GO(LAST_WORDS, DO_REFUSE | DO_DROP_HANDLE),
        [CONN_LOST] = GO(DEAD, DO_RESET_TCP),
        BUSY_START(REQUESTED), NO_COMPLETE(REQUESTED), NO_DISCONNECT(REQUESTED),
        [CONN_REQUEST] = NEVER, NO_TCP_UP, NO_REPLY, NO_REPLY_SENT, NO_STREAM,
    },
    [CONN_REPLYING] = {
        [CONN_REPLY_SENT] = GO(WAIT_RTR, DO_STREAM),
        [CONN_UP] = GO(ESTABLISHED, DO_STREAM | REPORT_ESTABLISHED),
        [CONN_LOST] = GO(DEAD, DO_RESET_TCP | REPORT_ESTABLISHED),
        [CONN_CLOSE] = GO(CLOSED, DO_RESET_TCP | REPORT_ESTABLISHED | DO_DROP_HANDLE),
        BUSY_START(REPLYING), NO_COMPLETE(REPLYING), [CONN_ACCEPT] = IGNORE, NO_REJECT, NO_DISCONNECT(REPLYING),
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_DRAINED, NO_NOTICE, NO_FAULT,
    },
    [CONN_WAIT_RTR] = {
        [CONN_UP] = GO(ESTABLISHED, REPORT_ESTABLISHED),
        [CONN_NOTICE] = GO(DEAD, LOSE | REPORT_ESTABLISHED),
        [CONN_LOST] = GO(DEAD, LOSE | REPORT_ESTABLISHED),
        [CONN_FAULT] = GO(LINGERING, REPORT_ESTABLISHED),
        [CONN_CLOSE] = GO(CLOSED, ABORT | REPORT_ESTABLISHED),
        BUSY_START(WAIT_RTR), NO_COMPLETE(WAIT_RTR), [CONN_ACCEPT] = IGNORE, NO_REJECT, NO_DISCONNECT(WAIT_RTR),
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_DRAINED,
    },
    [CONN_ESTABLISHED] = {
        [CONN_DISCONNECT] = GO(DRAINING, 0),
        [CONN_NOTICE] = GO(PEER_CLOSED, REPORT_PEER_ENDED),
        [CONN_LOST] = GO(DEAD, LOSE | REPORT_PEER_ENDED),
        [CONN_FAULT] = GO(LINGERING, REPORT_PEER_ENDED),
        [CONN_CLOSE] = GO(CLOSED, ABORT),
        BUSY_START(ESTABLISHED), NO_COMPLETE(ESTABLISHED), NO_ACCEPT(ESTABLISHED), NO_REJECT,
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_UP, NO_DRAINED,
    },
    [CONN_DRAINING] = {
        [CONN_DRAINED] = GO(NOTICE_SENT, DO_SHUT),
        [CONN_NOTICE] = GO(CLOSING, 0),
        [CONN_LOST] = GO(DEAD, LOSE | REPORT_DISCONNECTED),
        [CONN_FAULT] = GO(LINGERING, REPORT_DISCONNECTED),
        [CONN_CLOSE] = GO(CLOSED, ABORT | REPORT_DISCONNECTED),
        BUSY_START(DRAINING), NO_COMPLETE(DRAINING), NO_ACCEPT(DRAINING), NO_REJECT, [CONN_DISCONNECT] = IGNORE,
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_UP,
    },
    [CONN_NOTICE_SENT] = {
        [CONN_NOTICE] = GO(DEAD, OVER),
        [CONN_LOST] = GO(DEAD, LOSE | REPORT_DISCONNECTED),
        [CONN_FAULT] = GO(DEAD, LOSE | REPORT_DISCONNECTED), /* no Terminate can follow this side's half-close */
        [CONN_CLOSE] = GO(CLOSED, ABORT | REPORT_DISCONNECTED),
        BUSY_START(NOTICE_SENT), NO_COMPLETE(NOTICE_SENT), NO_ACCEPT(NOTICE_SENT), NO_REJECT,
        [CONN_DISCONNECT] = IGNORE,
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_UP, NO_DRAINED,
    },
    [CONN_PEER_CLOSED] = {
        [CONN_DISCONNECT] = GO(CLOSING, 0),
        [CONN_LOST] = GO(DEAD, LOSE | DO_FORGIVE),
        [CONN_FAULT] = GO(LINGERING, DO_FORGIVE),
        [CONN_CLOSE] = GO(CLOSED, ABORT),
        BUSY_START(PEER_CLOSED), NO_COMPLETE(PEER_CLOSED), NO_ACCEPT(PEER_CLOSED), NO_REJECT,
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_UP, NO_DRAINED, NO_NOTICE,
    },
    [CONN_CLOSING] = {
        [CONN_DRAINED] = GO(DEAD, OVER),
        [CONN_LOST] = GO(DEAD, LOSE | REPORT_DISCONNECTED),
        [CONN_FAULT] = GO(LINGERING, REPORT_DISCONNECTED),
        [CONN_CLOSE] = GO(CLOSED, ABORT | REPORT_DISCONNECTED),
        BUSY_START(CLOSING), NO_COMPLETE(CLOSING), NO_ACCEPT(CLOSING), NO_REJECT, [CONN_DISCONNECT] = IGNORE,
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_UP, NO_NOTICE,
    },
    [CONN_LINGERING] = {
        [CONN_LOST] = GO(DEAD, DO_STOP_LOST | DO_CLOSE_TCP),
        [CONN_CLOSE] = GO(LAST_WORDS, DO_DROP_HANDLE),
        BUSY_START(LINGERING), NO_COMPLETE(LINGERING), NO_ACCEPT(LINGERING), NO_REJECT, NO_DISCONNECT(LINGERING),
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_STREAM,
    },
    [CONN_DEAD] = {
        [CONN_CLOSE] = GO(CLOSED, DO_DROP_HANDLE),
        BUSY_START(DEAD), NO_COMPLETE(DEAD), NO_ACCEPT(DEAD), NO_REJECT, NO_DISCONNECT(DEAD),
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_STREAM, [CONN_LOST] = NEVER,
    },
    [CONN_LAST_WORDS] = {
        [CONN_LOST] = GO(CLOSED, DO_STOP_LOST | DO_CLOSE_TCP),
        [CONN_START] = NEVER, [CONN_COMPLETE] = NEVER, [CONN_ACCEPT] = NEVER, [CONN_REJECT] = NEVER,
        [CONN_DISCONNECT] = NEVER, [CONN_CLOSE] = NEVER,
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_STREAM,
    },
    [CONN_CLOSED] = {
        [CONN_START] = NEVER, [CONN_COMPLETE] = NEVER, [CONN_ACCEPT] = NEVER, [CONN_REJECT] = NEVER,
        [CONN_DISCONNECT] = NEVER, [CONN_CLOSE] = NEVER,
        NO_TCP_UP, NO_REPLY, NO_REQUEST, NO_REPLY_SENT, NO_STREAM, [CONN_LOST] = NEVER,
    },
};

static const char *const state_names[CONN_STATES] = {
    [CONN_IDLE] = "IDLE",
    [CONN_TCP_CONNECTING] = "TCP_CONNECTING",
    [CONN_REQUEST_SENT] = "REQUEST_SENT",
    [CONN_REPLIED] = "REPLIED",
    [CONN_COMPLETING] = "COMPLETING",
    [CONN_WAIT_REQUEST] = "WAIT_REQUEST",
    [CONN_REQUESTED] = "REQUESTED",
    [CONN_REPLYING] = "REPLYING",
    [CONN_WAIT_RTR] = "WAIT_RTR",
    [CONN_ESTABLISHED] = "ESTABLISHED",
    [CONN_DRAINING] = "DRAINING",
    [CONN_NOTICE_SENT] = "NOTICE_SENT",
    [CONN_PEER_CLOSED] = "PEER_CLOSED",
    [CONN_CLOSING] = "CLOSING",
    [CONN_LINGERING] = "LINGERING",
    [CONN_DEAD] = "DEAD",
    [CONN_LAST_WORDS] = "LAST_WORDS",
    [CONN_CLOSED] = "CLOSED",
};

/* clang-format off */
static const char *const event_names[CONN_EVENTS] = {
    [CONN_START] = "start",
    [CONN_COMPLETE] = "complete",
    [CONN_ACCEPT] = "accept",
    [CONN_REJECT] = "reject",
    [CONN_DISCONNECT] = "disconnect",
    [CONN_CLOSE] = "close",
    [CONN_TCP_UP] = "tcp up",
    [CONN_ACCEPTED] = "accepted",
    [CONN_REJECTED] = "rejected",
    [CONN_UNFIT] = "unfit reply",
    [CONN_REQUEST] = "request",
    [CONN_REFUSE] = "refuse",
    [CONN_REPLY_SENT] = "reply sent",
    [CONN_UP] = "up",
    [CONN_DRAINED] = "drained",
    [CONN_NOTICE] = "notice",
    [CONN_FAULT] = "fault",
    [CONN_LOST] = "lost",
};
/* clang-format on */

/* clang-format off */
static const char *const effect_names[] = {
    "answer", "refuse", "stream", "terminate", "shut", "stop flushed", "stop lost", "close tcp", "reset tcp",
    "free address", "forgive", "report connected", "report request", "report established", "report peer ended",
    "report disconnected", "drop handle",
};
/* clang-format on */

const struct conn_cell *conn_table_cell(enum conn_state state, enum conn_event event)
{
    assert(state < CONN_STATES && event < CONN_EVENTS);
    return &table[state][event];
}

const char *conn_state_name(enum conn_state s)
{
    return s < CONN_STATES ? state_names[s] : "?";
}

const char *conn_event_name(enum conn_event e)
{
    return e < CONN_EVENTS ? event_names[e] : "?";
}

static const char *conn_effect_name(unsigned bit)
{
    for (unsigned i = 0; i < sizeof effect_names / sizeof *effect_names; i++)
        if (bit == 1u << i)
            return effect_names[i];
    return "?";
}

bool conn_state_has_socket(enum conn_state s)
{
    return s != CONN_IDLE && s != CONN_DEAD && s != CONN_CLOSED;
}

bool conn_state_streams(enum conn_state s)
{
    switch (s) {
    case CONN_COMPLETING:
    case CONN_WAIT_RTR:
    case CONN_ESTABLISHED:
    case CONN_DRAINING:
    case CONN_NOTICE_SENT:
    case CONN_PEER_CLOSED:
    case CONN_CLOSING:
        return true;
    default:
        return false;
    }
}

bool conn_state_is_active(enum conn_state s)
{
    return conn_state_streams(s) && s != CONN_COMPLETING && s != CONN_WAIT_RTR;
}

bool conn_state_has_limit(enum conn_state s)
{
    switch (s) {
    case CONN_IDLE:
    case CONN_REPLIED:
    case CONN_REQUESTED:
    case CONN_ESTABLISHED:
    case CONN_PEER_CLOSED:
    case CONN_DEAD:
    case CONN_CLOSED:
        return false;
    default:
        return true;
    }
}

/* True for ESTABLISHED, which has no time limit, and for DRAINING, because received bytes renew its time limit. */
bool conn_state_checks_input(enum conn_state s)
{
    return s == CONN_ESTABLISHED || s == CONN_DRAINING;
}

static void conn_table_print_cell(FILE *out, enum conn_event e, const struct conn_cell *cell)
{
    const char *separator = "";

    fprintf(out, "| %s | %s | ", conn_event_name(e), conn_state_name(cell->next));
    for (unsigned bit = 1; bit <= DO_DROP_HANDLE; bit <<= 1) {
        if (cell->effects & bit) {
            fprintf(out, "%s%s", separator, conn_effect_name(bit));
            separator = ", ";
        }
    }
    fprintf(out, " |\n");
}

static void conn_table_print_list(FILE *out, const char *title, enum conn_state s, enum conn_cell_kind kind)
{
    const char *separator = "";
    int column = fprintf(out, "%s:", title);

    for (enum conn_event e = 0; e < CONN_EVENTS; e++) {
        if (table[s][e].kind != kind)
            continue;
        column += fprintf(out, "%s", separator);
        if (column + strlen(conn_event_name(e)) > 115) {
            fprintf(out, "\n%s", conn_event_name(e));
            column = 0;
        } else {
            column += fprintf(out, " %s", conn_event_name(e));
        }
        separator = ",";
    }
    fprintf(out, "%s\n\n", *separator ? "" : " none");
}

static void conn_table_print_states(FILE *out)
{
    static const char *const answers[] = { "", "yes" };

    fprintf(out, "| state | socket | queue pair owns the stream | time limit | stalled input ends it |\n"
                 "|---|---|---|---|---|\n");
    for (enum conn_state s = 0; s < CONN_STATES; s++)
        fprintf(out, "| %s | %s | %s | %s | %s |\n", conn_state_name(s), answers[conn_state_has_socket(s)],
                answers[conn_state_streams(s)], answers[conn_state_has_limit(s)], answers[conn_state_checks_input(s)]);
    fprintf(out, "\n");
}

void iwarp_conn_print_table(FILE *out)
{
    conn_table_print_states(out);
    for (enum conn_state s = 0; s < CONN_STATES; s++) {
        fprintf(out, "### %s\n\n| event | next state | effects |\n|---|---|---|\n", conn_state_name(s));
        for (enum conn_event e = 0; e < CONN_EVENTS; e++)
            if (table[s][e].kind == CELL_STEP)
                conn_table_print_cell(out, e, &table[s][e]);
        fprintf(out, "\n");
        conn_table_print_list(out, "Ignored", s, CELL_IGNORE);
        conn_table_print_list(out, "Cannot happen", s, CELL_NEVER);
    }
}
