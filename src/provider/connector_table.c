/* SPDX-License-Identifier: MIT */
/*
 * Implements the connector's state machine as a table.
 *
 * This side connects:
 *
 *          connect               connect done            complete               establish done
 *   IDLE -----------> CONNECTING -----------> REPLIED -----------> COMPLETING -----------------> ESTABLISHED
 *    ^                 |      |                  |                      |
 *    |<-- not started -'      | connect failed   | reject               | establish failed
 *    |                        v                  v                      v
 *    |                      FAILING            ENDED                  ENDED
 *    |                        | fabric closed
 *    |       reporting        v
 *    '--------------------- FAILED
 *
 * A peer connects:
 *
 *               accept               establish done
 *   REQUESTED -----------> ACCEPTING ---------------> ESTABLISHED
 *    |     ^                |     |
 *    |     '- not started --'     | establish failed
 *    v                            v
 *   ENDED (reject)              ENDED
 *
 * The connection ends:
 *
 *                  peer ended               disconnect                  disconnect done
 *   ESTABLISHED ---------------> PEER_GONE ------------> DISCONNECTING -----------------> ENDED
 *        |                                                 ^
 *        '------------------- disconnect ------------------'
 *
 * Close leads from any phase to CLOSING.
 *
 * Two actions (connector_table.h) end the fabric's connection: RETIRE after a failed NdkConnect, END_FABRIC when the
 * connector is closed.
 *
 * Invariants, which tests/provider/connector_table_test.c checks:
 *   1. A refused call and an impossible event do not change the phase.
 *   2. Close leads from every phase to CLOSING. Nothing leads out of CLOSING, and every event of the fabric is possible
 *      there.
 *   3. Only close leads out of ENDED: neither connector nor queue pair is connected again.
 *   4. The fabric's connection is ended once: by RETIRE in CONNECTING, or by close in any phase that has a living
 *      connection.
 *   5. A step out of a phase in which a request is pending does one of three things: it completes the request; it
 *      undoes the call that began the request; or it leads to FAILING (with RETIRE) or to
 *      CLOSING (with END_FABRIC), where the request completes later.
 *   6. The disconnect callback is queued only on the way from ESTABLISHED to PEER_GONE.
 *   7. IDLE is reached only when a failure is reported or a call did not start.
 *   8. A call starts something only in the phases where the diagrams show it.
 */
#include "provider/connector_table.h"

#include <assert.h>
#include <stddef.h>

#define SAME CONNECTOR_PHASES /* the phase does not change */

/* A row has one cell for each event, in the order of enum connector_event. A row of fewer cells does not compile. */
#define ROW(phase, connect, complete, accept, reject, disconnect, close, connect_done, connect_failed, establish_done, \
            establish_failed, peer_ended, disconnect_done, fabric_closed, not_started, reporting)                      \
    [CONNECTOR_##phase] = { connect,    complete,        accept,         reject,         disconnect,                   \
                            close,      connect_done,    connect_failed, establish_done, establish_failed,             \
                            peer_ended, disconnect_done, fabric_closed,  not_started,    reporting }
/* clang-format off */
#define GO(phase, action) { CONNECTOR_##phase, CONNECTOR_##action }
#define TO(phase) { CONNECTOR_##phase, CONNECTOR_NOTHING }
#define DO(action) { SAME, CONNECTOR_##action }
#define STATE { SAME, CONNECTOR_REFUSE_STATE }
#define WRONG { SAME, CONNECTOR_REFUSE_INVALID }
#define NEVER { SAME, CONNECTOR_IMPOSSIBLE }
#define PASS { SAME, CONNECTOR_NOTHING }
/* clang-format on */

/*
 * Each row has three lines of cells:
 *   calls: connect, complete, accept, reject, disconnect, close
 *   events of the fabric: connect done or failed, establish done or failed, peer ended, disconnect done, fabric closed
 *   events of the connector itself: not started (out of memory), reporting (a failed NdkConnect is about to complete)
 */
/* clang-format off */
static const struct connector_cell connector_table[CONNECTOR_PHASES][CONNECTOR_EVENTS] = {
    ROW(IDLE,
        GO(CONNECTING, START_CONNECT), WRONG, STATE, STATE, WRONG, TO(CLOSING),
        NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER,
        NEVER, NEVER),
    ROW(CONNECTING,
        STATE, WRONG, STATE, STATE, WRONG, GO(CLOSING, END_FABRIC),
        GO(REPLIED, REPORT_CONNECTED), GO(FAILING, RETIRE), NEVER, NEVER, NEVER, NEVER, NEVER,
        TO(IDLE), NEVER),
    ROW(FAILING,
        STATE, WRONG, STATE, STATE, WRONG, GO(CLOSING, REPORT_FAILED),
        NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, GO(FAILED, REPORT_FAILED),
        NEVER, NEVER),
    ROW(FAILED,
        STATE, WRONG, STATE, STATE, WRONG, TO(CLOSING),
        NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER,
        NEVER, TO(IDLE)),
    ROW(REPLIED,
        STATE, GO(COMPLETING, START_COMPLETE), STATE, GO(ENDED, START_REJECT), WRONG, GO(CLOSING, END_FABRIC),
        NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER,
        NEVER, NEVER),
    ROW(COMPLETING,
        STATE, WRONG, STATE, STATE, WRONG, GO(CLOSING, END_FABRIC),
        NEVER, NEVER, GO(ESTABLISHED, REPORT_ESTABLISHED), GO(ENDED, REPORT_ESTABLISHED), NEVER, NEVER, NEVER,
        NEVER, NEVER),
    ROW(REQUESTED,
        STATE, WRONG, GO(ACCEPTING, START_ACCEPT), GO(ENDED, START_REJECT), WRONG, GO(CLOSING, END_FABRIC),
        NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER,
        NEVER, NEVER),
    ROW(ACCEPTING,
        STATE, WRONG, STATE, STATE, WRONG, GO(CLOSING, END_FABRIC),
        NEVER, NEVER, GO(ESTABLISHED, REPORT_ESTABLISHED), GO(ENDED, REPORT_ESTABLISHED), NEVER, NEVER, NEVER,
        TO(REQUESTED), NEVER),
    ROW(ESTABLISHED,
        STATE, WRONG, STATE, STATE, GO(DISCONNECTING, START_DISCONNECT), GO(CLOSING, END_FABRIC),
        NEVER, NEVER, NEVER, NEVER, GO(PEER_GONE, REPORT_PEER_ENDED), NEVER, NEVER,
        NEVER, NEVER),
    ROW(PEER_GONE,
        STATE, WRONG, STATE, STATE, GO(DISCONNECTING, START_DISCONNECT), GO(CLOSING, END_FABRIC),
        NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER,
        NEVER, NEVER),
    /* If the peer disconnects while NdkDisconnect is pending, the disconnect callback is not called. */
    ROW(DISCONNECTING,
        STATE, WRONG, STATE, STATE, WRONG, GO(CLOSING, END_FABRIC),
        NEVER, NEVER, NEVER, NEVER, PASS, GO(ENDED, REPORT_DISCONNECTED), NEVER,
        NEVER, NEVER),
    ROW(ENDED,
        STATE, WRONG, STATE, STATE, WRONG, GO(CLOSING, END_FABRIC),
        NEVER, NEVER, NEVER, NEVER, PASS, NEVER, NEVER,
        NEVER, NEVER),
    /* In this phase the fabric still reports the end of the operations that close has interrupted. */
    ROW(CLOSING,
        STATE, WRONG, STATE, STATE, WRONG, PASS,
        DO(REPORT_CANCELLED), DO(REPORT_CANCELLED), DO(REPORT_NOT_ESTABLISHED), DO(REPORT_NOT_ESTABLISHED), PASS,
        DO(REPORT_DISCONNECTED), PASS,
        PASS, PASS),
};
/* clang-format on */

struct connector_cell connector_cell(enum connector_phase phase, enum connector_event event)
{
    struct connector_cell cell = connector_table[phase][event];

    if (cell.next == SAME)
        cell.next = phase;
    return cell;
}

enum connector_action connector_step(enum connector_phase *phase, enum connector_event event)
{
    struct connector_cell cell = connector_cell(*phase, event);

    assert(cell.action != CONNECTOR_IMPOSSIBLE);
    *phase = cell.next;
    return cell.action;
}

bool connector_has_fabric(enum connector_phase phase)
{
    return phase == CONNECTOR_CONNECTING || connector_has_qp(phase) || phase == CONNECTOR_REQUESTED ||
           phase == CONNECTOR_ENDED;
}

bool connector_has_qp(enum connector_phase phase)
{
    return phase == CONNECTOR_REPLIED || phase == CONNECTOR_COMPLETING || phase == CONNECTOR_ACCEPTING ||
           phase == CONNECTOR_ESTABLISHED || phase == CONNECTOR_PEER_GONE || phase == CONNECTOR_DISCONNECTING;
}

bool connector_is_refusal(enum connector_action action)
{
    return action == CONNECTOR_REFUSE_STATE || action == CONNECTOR_REFUSE_INVALID;
}

/* ---- names ---- */

#define NAME(name) [CONNECTOR_##name] = #name
/* clang-format off */
static const char *const connector_phase_names[CONNECTOR_PHASES] = {
    NAME(IDLE), NAME(CONNECTING), NAME(FAILING), NAME(FAILED), NAME(REPLIED), NAME(COMPLETING), NAME(REQUESTED),
    NAME(ACCEPTING), NAME(ESTABLISHED), NAME(PEER_GONE), NAME(DISCONNECTING), NAME(ENDED), NAME(CLOSING),
};
static const char *const connector_event_names[CONNECTOR_EVENTS] = {
    [CONNECTOR_CONNECT] = "connect",
    [CONNECTOR_COMPLETE] = "complete",
    [CONNECTOR_ACCEPT] = "accept",
    [CONNECTOR_REJECT] = "reject",
    [CONNECTOR_DISCONNECT] = "disconnect",
    [CONNECTOR_CLOSE] = "close",
    [CONNECTOR_CONNECT_DONE] = "connect done",
    [CONNECTOR_CONNECT_FAILED] = "connect failed",
    [CONNECTOR_ESTABLISH_DONE] = "establish done",
    [CONNECTOR_ESTABLISH_FAILED] = "establish failed",
    [CONNECTOR_PEER_ENDED] = "peer ended",
    [CONNECTOR_DISCONNECT_DONE] = "disconnect done",
    [CONNECTOR_FABRIC_CLOSED] = "fabric closed",
    [CONNECTOR_NOT_STARTED] = "not started",
    [CONNECTOR_REPORTING] = "reporting",
};
static const char *const connector_action_names[CONNECTOR_ACTIONS] = {
    [CONNECTOR_NOTHING] = "nothing",
    [CONNECTOR_REFUSE_STATE] = "STATUS_INVALID_DEVICE_STATE",
    [CONNECTOR_REFUSE_INVALID] = "STATUS_CONNECTION_INVALID",
    [CONNECTOR_START_CONNECT] = "start connect",
    [CONNECTOR_START_COMPLETE] = "start complete",
    [CONNECTOR_START_ACCEPT] = "start accept",
    [CONNECTOR_START_REJECT] = "reject",
    [CONNECTOR_START_DISCONNECT] = "start disconnect",
    [CONNECTOR_REPORT_CONNECTED] = "report connected",
    [CONNECTOR_RETIRE] = "end fabric, report later",
    [CONNECTOR_REPORT_FAILED] = "report failed",
    [CONNECTOR_REPORT_CANCELLED] = "report cancelled",
    [CONNECTOR_REPORT_ESTABLISHED] = "report established",
    [CONNECTOR_REPORT_NOT_ESTABLISHED] = "report cancelled",
    [CONNECTOR_REPORT_PEER_ENDED] = "disconnect callback",
    [CONNECTOR_REPORT_DISCONNECTED] = "report disconnected",
    [CONNECTOR_END_FABRIC] = "end fabric",
    [CONNECTOR_IMPOSSIBLE] = "-",
};
/* clang-format on */

static void connector_print_cell(FILE *out, enum connector_phase phase, struct connector_cell cell)
{
    if (cell.action == CONNECTOR_IMPOSSIBLE)
        fprintf(out, " |");
    else if (cell.next == phase)
        fprintf(out, " %s |", connector_action_names[cell.action]);
    else if (cell.action == CONNECTOR_NOTHING)
        fprintf(out, " **%s** |", connector_phase_names[cell.next]);
    else
        fprintf(out, " **%s**, %s |", connector_phase_names[cell.next], connector_action_names[cell.action]);
}

void connector_print_table(FILE *out)
{
    fprintf(out, "| |");
    for (int event = 0; event < CONNECTOR_EVENTS; event++)
        fprintf(out, " %s |", connector_event_names[event]);
    fprintf(out, "\n|---|");
    for (int event = 0; event < CONNECTOR_EVENTS; event++)
        fprintf(out, "---|");
    for (int phase = 0; phase < CONNECTOR_PHASES; phase++) {
        fprintf(out, "\n| **%s** |", connector_phase_names[phase]);
        for (int event = 0; event < CONNECTOR_EVENTS; event++)
            connector_print_cell(out, (enum connector_phase)phase,
                                 connector_cell((enum connector_phase)phase, (enum connector_event)event));
    }
    fprintf(out, "\n");
}
