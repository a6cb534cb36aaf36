/* SPDX-License-Identifier: MIT */
/*
 * The phases of a connector as its consumer sees them.
 *
 *          connect                connect done             complete
 *   IDLE ------------> CONNECTING -------------> REPLIED <-------------> COMPLETING
 *                       ^  |  ^                     |      not started    |      |
 *               connect |  |  | connect             | reject done         |      | establish done
 *                       |  |  '----------------.    v                     |      v
 *        connect failed |  v                   '- ABANDONED <-------------'  ESTABLISHED
 *                      FAILED                      ^     ^  establish failed     ^
 *                                      reject done |     |                       | establish done
 *                                                  |     '----------------.      |
 *                                                  |         accept       |      |
 *                                              REQUESTED <-------------> ACCEPTING
 *                                                          not started
 *
 *                disconnect                   disconnect done
 *   ESTABLISHED <-------------> DISCONNECTING ----------------> ENDED
 *        |        not started         ^
 *        | peer ended                 |
 *        '-----------> PEER_GONE -----'
 *                                disconnect
 *
 * "reject done" in REPLIED or REQUESTED leads to ABANDONED, and so does "establish failed" in COMPLETING or ACCEPTING.
 * "connect" leads from ABANDONED to CONNECTING.
 *
 * A provider may accept a call before the callback of the previous call has run. Results may therefore arrive in
 * another order than the calls, and every order is legal. A result for which the diagram has no arrow changes the phase
 * only to ESTABLISHED, PEER_GONE, ENDED or ABANDONED.
 *
 * Two calls are legal here because Microsoft's pages leave them open. One is another NdkConnect on an ABANDONED
 * connector. The other is NdkDisconnect at any time after the connection was established: the peer may end the
 * connection at the same moment.
 */
#include "verify/connector_phase.h"

#define SAME PHASES /* the phase does not change */

/* clang-format off */
#define GO(phase) { PHASE_##phase, PHASE_LEGAL }
#define PASS { SAME, PHASE_LEGAL }
#define WRONG { SAME, PHASE_WRONG }
#define EARLY { SAME, PHASE_WRONG_IF_REFUSED }
#define REUSE { SAME, PHASE_WRONG_REUSE }
/* clang-format on */

/* A row of phase_table: one cell for each event, in the order of enum phase_event. Fewer cells do not compile. */
#define ROW(phase, connect, complete, accept, reject, disconnect, get_data, get_address, connect_done, connect_failed, \
            establish_done, establish_failed, not_started, reject_done, disconnect_done, peer_ended)                   \
    [PHASE_##phase] = { connect,          complete,    accept,       reject,          disconnect,                      \
                        get_data,         get_address, connect_done, connect_failed,  establish_done,                  \
                        establish_failed, not_started, reject_done,  disconnect_done, peer_ended }

/*
 * Each row has two lines of cells:
 *   calls: connect, complete, accept, reject, disconnect, get data, get address
 *   results: connect done, connect failed, establish done, establish failed, not started, reject done,
 *            disconnect done, peer ended
 */
/* clang-format off */
static const struct phase_cell phase_table[PHASES][PHASE_EVENTS] = {
    ROW(IDLE,
        GO(CONNECTING), WRONG, WRONG, WRONG, WRONG, WRONG, EARLY,
        PASS, PASS, PASS, PASS, PASS, PASS, PASS, PASS),
    ROW(CONNECTING,
        WRONG, EARLY, WRONG, EARLY, WRONG, EARLY, PASS,
        GO(REPLIED), GO(FAILED), GO(ESTABLISHED), PASS, PASS, GO(ABANDONED), PASS, PASS),
    /* If the peer has rejected, NdkGetConnectionData returns the private data of the reject. */
    ROW(FAILED,
        GO(CONNECTING), WRONG, WRONG, WRONG, WRONG, PASS, PASS,
        PASS, PASS, PASS, PASS, PASS, PASS, PASS, PASS),
    ROW(REPLIED,
        WRONG, GO(COMPLETING), WRONG, PASS, WRONG, PASS, PASS,
        PASS, PASS, GO(ESTABLISHED), PASS, PASS, GO(ABANDONED), PASS, PASS),
    ROW(COMPLETING,
        WRONG, WRONG, WRONG, WRONG, EARLY, WRONG, PASS,
        PASS, PASS, GO(ESTABLISHED), GO(ABANDONED), GO(REPLIED), PASS, GO(ENDED), GO(PEER_GONE)),
    ROW(REQUESTED,
        WRONG, WRONG, GO(ACCEPTING), PASS, WRONG, PASS, PASS,
        PASS, PASS, PASS, PASS, PASS, GO(ABANDONED), PASS, PASS),
    ROW(ACCEPTING,
        WRONG, WRONG, WRONG, WRONG, EARLY, WRONG, PASS,
        PASS, PASS, GO(ESTABLISHED), GO(ABANDONED), GO(REQUESTED), PASS, GO(ENDED), GO(PEER_GONE)),
    ROW(ESTABLISHED,
        WRONG, WRONG, WRONG, WRONG, GO(DISCONNECTING), WRONG, PASS,
        PASS, PASS, PASS, PASS, PASS, PASS, GO(ENDED), GO(PEER_GONE)),
    ROW(PEER_GONE,
        WRONG, WRONG, WRONG, WRONG, GO(DISCONNECTING), WRONG, PASS,
        PASS, PASS, PASS, PASS, PASS, PASS, GO(ENDED), PASS),
    ROW(DISCONNECTING,
        REUSE, WRONG, REUSE, WRONG, PASS, WRONG, PASS,
        PASS, PASS, PASS, PASS, GO(ESTABLISHED), PASS, GO(ENDED), PASS),
    ROW(ENDED,
        REUSE, WRONG, REUSE, WRONG, PASS, WRONG, PASS,
        PASS, PASS, PASS, PASS, PASS, PASS, PASS, PASS),
    ROW(ABANDONED,
        GO(CONNECTING), WRONG, WRONG, WRONG, WRONG, PASS, PASS,
        PASS, PASS, PASS, PASS, PASS, PASS, PASS, PASS),
    ROW(UNKNOWN,
        PASS, PASS, PASS, PASS, PASS, PASS, PASS,
        PASS, PASS, PASS, PASS, PASS, PASS, PASS, PASS),
};
/* clang-format on */

struct phase_cell phase_cell(enum phase phase, enum phase_event event)
{
    struct phase_cell cell = phase_table[phase][event];

    if (cell.next == SAME)
        cell.next = phase;
    return cell;
}

bool phase_was_established(enum phase phase)
{
    return phase == PHASE_ESTABLISHED || phase == PHASE_PEER_GONE || phase == PHASE_DISCONNECTING ||
           phase == PHASE_ENDED;
}

const char *phase_text(enum phase phase)
{
    static const char *const texts[PHASES] = {
        [PHASE_IDLE] = "NdkConnect has not been called",
        [PHASE_CONNECTING] = "NdkConnect is pending",
        [PHASE_FAILED] = "NdkConnect has failed",
        [PHASE_REPLIED] = "NdkConnect has succeeded, and NdkCompleteConnect has not been called",
        [PHASE_COMPLETING] = "NdkCompleteConnect is pending",
        [PHASE_REQUESTED] = "the listener's request has not been answered",
        [PHASE_ACCEPTING] = "NdkAccept is pending",
        [PHASE_ESTABLISHED] = "the connection is established",
        [PHASE_PEER_GONE] = "the peer has ended the connection",
        [PHASE_DISCONNECTING] = "NdkDisconnect is pending",
        [PHASE_ENDED] = "NdkDisconnect has completed",
        [PHASE_ABANDONED] = "the connection was rejected or could not be established",
        [PHASE_UNKNOWN] = "a call without completion routine was made",
    };

    return texts[phase];
}
