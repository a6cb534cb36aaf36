/* SPDX-License-Identifier: MIT */
/*
 * Reports connections to the fabric's observer. The invariant: the end of each attempt to connect, and of each accepted
 * TCP connection, is reported exactly once. The report comes with the step after which the connection can no longer be
 * established or used. A last Terminate or reject after that step is not reported.
 */
#include "fabric/iwarp/conn_trace.h"
#include "fabric/iwarp/report.h"

static const enum fabric_phase report_phases[CONN_STATES] = {
    [CONN_IDLE] = FABRIC_PHASE_CONNECTING,         [CONN_TCP_CONNECTING] = FABRIC_PHASE_CONNECTING,
    [CONN_REQUEST_SENT] = FABRIC_PHASE_REQUESTING, [CONN_REPLIED] = FABRIC_PHASE_REPLIED,
    [CONN_COMPLETING] = FABRIC_PHASE_COMPLETING,   [CONN_WAIT_REQUEST] = FABRIC_PHASE_ARRIVING,
    [CONN_REQUESTED] = FABRIC_PHASE_REQUESTED,     [CONN_REPLYING] = FABRIC_PHASE_ACCEPTING,
    [CONN_WAIT_RTR] = FABRIC_PHASE_ACCEPTING,      [CONN_ESTABLISHED] = FABRIC_PHASE_ESTABLISHED,
    [CONN_DRAINING] = FABRIC_PHASE_DISCONNECTING,  [CONN_NOTICE_SENT] = FABRIC_PHASE_DISCONNECTING,
    [CONN_PEER_CLOSED] = FABRIC_PHASE_PEER_GONE,   [CONN_CLOSING] = FABRIC_PHASE_DISCONNECTING,
};

/* Returns true if a connection in this state has ended. IDLE counts, because a failed connect returns to IDLE. */
static bool report_is_over(enum conn_state s)
{
    return s == CONN_IDLE || s == CONN_DEAD || s == CONN_LINGERING || s == CONN_LAST_WORDS || s == CONN_CLOSED;
}

/*
 * Returns true if the step ends the connection. If a connect fails at once, the connection ends although it stays in
 * IDLE.
 */
static bool report_is_end(enum conn_state from, enum conn_state next, enum conn_event event)
{
    if (from == CONN_IDLE)
        return event == CONN_LOST;
    return !report_is_over(from) && report_is_over(next);
}

static enum fabric_outcome report_outcome(enum conn_state from, enum conn_event event, enum fabric_reason why)
{
    bool rejects = event == CONN_REFUSE || event == CONN_REJECT || event == CONN_CLOSE;

    /*
     * The failure of an established connection has the outcome FAILED, even if the peer half-closed before the failure.
     * If the peer half-closed first, a later disconnect of the consumer nevertheless succeeds (DO_FORGIVE).
     */
    if (conn_state_is_active(from))
        return why == FABRIC_OK ? FABRIC_OUTCOME_ENDED : FABRIC_OUTCOME_FAILED;
    return rejects && (from == CONN_WAIT_REQUEST || from == CONN_REQUESTED) ? FABRIC_OUTCOME_REFUSED
                                                                            : FABRIC_OUTCOME_FAILED;
}

/*
 * Returns the phase in which the connection ended. A request that the listener's owner has refused (c->owner is NULL)
 * still has the phase ARRIVING, because the consumer has not received the request.
 */
static enum fabric_phase report_phase(const struct fabric_conn *c, enum conn_state from)
{
    return from == CONN_REQUESTED && !c->owner ? FABRIC_PHASE_ARRIVING : report_phases[from];
}

static void report_send(const struct iwarp_fabric *f, const struct fabric_report *report)
{
    if (f->observer.report)
        f->observer.report(f->observer.owner, report);
}

void report_step(struct fabric_conn *c, enum conn_state from, enum conn_event event, enum fabric_reason why)
{
    struct fabric_report report = {
        .phase = report_phase(c, from),
        .initiated = c->active,
        .why = why,
        .terminate = c->terminate,
        .local = c->local,
        .remote = c->remote,
    };

    if (c->state == CONN_ESTABLISHED && from != CONN_ESTABLISHED) {
        report.outcome = FABRIC_OUTCOME_ESTABLISHED;
        report.agreed = conn_agreement(c);
    } else if (report_is_end(from, c->state, event)) {
        report.outcome = report_outcome(from, event, why);
        if (why == FABRIC_OK)
            report.why = from == CONN_CLOSING ? FABRIC_PEER_CLOSED : FABRIC_LOCAL_DISCONNECT;
    } else {
        return;
    }
    TRACE(outcome, c->number, .outcome = (uint8_t)report.outcome, .phase = (uint8_t)report.phase,
          .why = (uint16_t)report.why, .terminate = report.terminate);
    report_send(c->fabric, &report);
}

void report_refused(struct iwarp_fabric *f, const struct addr *local, const struct addr *remote, enum fabric_reason why)
{
    struct fabric_report report = {
        .outcome = FABRIC_OUTCOME_REFUSED,
        .phase = FABRIC_PHASE_ARRIVING,
        .why = why,
        .terminate = FABRIC_NO_TERMINATE,
        .local = *local,
    };

    if (remote)
        report.remote = *remote;
    conn_trace_refused(local, remote, why);
    report_send(f, &report);
}
