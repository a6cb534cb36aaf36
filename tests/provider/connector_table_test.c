/* SPDX-License-Identifier: MIT */
/*
 * The connector's state machine, cell by cell, against a second description: the transitions are listed here, and the
 * content of every other cell follows from its event.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "provider/connector_table.h"

struct transition {
    enum connector_phase from;
    enum connector_event event;
    enum connector_phase to;
    enum connector_action action;
};

/* clang-format off */
#define T(from, event, to, action) { CONNECTOR_##from, CONNECTOR_##event, CONNECTOR_##to, CONNECTOR_##action }
/* clang-format on */

static const struct transition transitions[] = {
    T(IDLE, CONNECT, CONNECTING, START_CONNECT),
    T(CONNECTING, CONNECT_DONE, REPLIED, REPORT_CONNECTED),
    T(CONNECTING, CONNECT_FAILED, FAILING, RETIRE),
    T(CONNECTING, NOT_STARTED, IDLE, NOTHING),
    T(FAILING, FABRIC_CLOSED, FAILED, REPORT_FAILED),
    T(FAILED, REPORTING, IDLE, NOTHING),
    T(REPLIED, COMPLETE, COMPLETING, START_COMPLETE),
    T(REPLIED, REJECT, ENDED, START_REJECT),
    T(COMPLETING, ESTABLISH_DONE, ESTABLISHED, REPORT_ESTABLISHED),
    T(COMPLETING, ESTABLISH_FAILED, ENDED, REPORT_ESTABLISHED),
    T(REQUESTED, ACCEPT, ACCEPTING, START_ACCEPT),
    T(REQUESTED, REJECT, ENDED, START_REJECT),
    T(ACCEPTING, ESTABLISH_DONE, ESTABLISHED, REPORT_ESTABLISHED),
    T(ACCEPTING, ESTABLISH_FAILED, ENDED, REPORT_ESTABLISHED),
    T(ACCEPTING, NOT_STARTED, REQUESTED, NOTHING),
    T(ESTABLISHED, PEER_ENDED, PEER_GONE, REPORT_PEER_ENDED),
    T(ESTABLISHED, DISCONNECT, DISCONNECTING, START_DISCONNECT),
    T(PEER_GONE, DISCONNECT, DISCONNECTING, START_DISCONNECT),
    T(DISCONNECTING, PEER_ENDED, DISCONNECTING, NOTHING),
    T(DISCONNECTING, DISCONNECT_DONE, ENDED, REPORT_DISCONNECTED),
    T(ENDED, PEER_ENDED, ENDED, NOTHING),
    T(IDLE, CLOSE, CLOSING, NOTHING),
    T(CONNECTING, CLOSE, CLOSING, END_FABRIC),
    T(FAILING, CLOSE, CLOSING, REPORT_FAILED),
    T(FAILED, CLOSE, CLOSING, NOTHING),
    T(REPLIED, CLOSE, CLOSING, END_FABRIC),
    T(COMPLETING, CLOSE, CLOSING, END_FABRIC),
    T(REQUESTED, CLOSE, CLOSING, END_FABRIC),
    T(ACCEPTING, CLOSE, CLOSING, END_FABRIC),
    T(ESTABLISHED, CLOSE, CLOSING, END_FABRIC),
    T(PEER_GONE, CLOSE, CLOSING, END_FABRIC),
    T(DISCONNECTING, CLOSE, CLOSING, END_FABRIC),
    T(ENDED, CLOSE, CLOSING, END_FABRIC),
    T(CLOSING, CLOSE, CLOSING, NOTHING),
    T(CLOSING, CONNECT_DONE, CLOSING, REPORT_CANCELLED),
    T(CLOSING, CONNECT_FAILED, CLOSING, REPORT_CANCELLED),
    T(CLOSING, ESTABLISH_DONE, CLOSING, REPORT_NOT_ESTABLISHED),
    T(CLOSING, ESTABLISH_FAILED, CLOSING, REPORT_NOT_ESTABLISHED),
    T(CLOSING, PEER_ENDED, CLOSING, NOTHING),
    T(CLOSING, DISCONNECT_DONE, CLOSING, REPORT_DISCONNECTED),
    T(CLOSING, FABRIC_CLOSED, CLOSING, NOTHING),
    T(CLOSING, NOT_STARTED, CLOSING, NOTHING),
    T(CLOSING, REPORTING, CLOSING, NOTHING),
};
enum { TRANSITIONS = sizeof(transitions) / sizeof(transitions[0]) };

/* clang-format off */
#define NAME(name) [CONNECTOR_##name] = #name
static const char *const phase_names[CONNECTOR_PHASES] = {
    NAME(IDLE), NAME(CONNECTING), NAME(FAILING), NAME(FAILED), NAME(REPLIED), NAME(COMPLETING), NAME(REQUESTED),
    NAME(ACCEPTING), NAME(ESTABLISHED), NAME(PEER_GONE), NAME(DISCONNECTING), NAME(ENDED), NAME(CLOSING),
};
/* clang-format on */

static const struct transition *find(int phase, int event)
{
    for (size_t i = 0; i < TRANSITIONS; i++) {
        if ((int)transitions[i].from == phase && (int)transitions[i].event == event)
            return &transitions[i];
    }
    return NULL;
}

/* Returns the expected content of a cell that is no transition. */
static enum connector_action otherwise(int event)
{
    switch (event) {
    case CONNECTOR_CONNECT:
    case CONNECTOR_ACCEPT:
    case CONNECTOR_REJECT:
        return CONNECTOR_REFUSE_STATE;
    case CONNECTOR_COMPLETE:
    case CONNECTOR_DISCONNECT:
        return CONNECTOR_REFUSE_INVALID;
    default:
        return CONNECTOR_IMPOSSIBLE;
    }
}

static void every_cell(void **state)
{
    (void)state;
    for (int phase = 0; phase < CONNECTOR_PHASES; phase++) {
        for (int event = 0; event < CONNECTOR_EVENTS; event++) {
            const struct transition *t = find(phase, event);
            struct connector_cell cell = connector_cell((enum connector_phase)phase, (enum connector_event)event);

            if ((int)cell.next != (t ? (int)t->to : phase) ||
                (int)cell.action != (t ? (int)t->action : (int)otherwise(event)))
                fail_msg("%s, event %d: %s, action %d", phase_names[phase], event, phase_names[cell.next],
                         (int)cell.action);
        }
    }
}

static void step_is_the_cell(void **state)
{
    (void)state;
    for (int phase = 0; phase < CONNECTOR_PHASES; phase++) {
        for (int event = 0; event < CONNECTOR_EVENTS; event++) {
            struct connector_cell cell = connector_cell((enum connector_phase)phase, (enum connector_event)event);
            enum connector_phase now = (enum connector_phase)phase;

            if (cell.action == CONNECTOR_IMPOSSIBLE)
                continue;
            assert_int_equal(connector_step(&now, (enum connector_event)event), cell.action);
            assert_int_equal(now, cell.next);
        }
    }
}

/* ---- the invariants that connector_table.c lists ---- */

/* Returns true if a connector in this phase has a pending request of the consumer. */
static bool has_request(enum connector_phase phase)
{
    return phase == CONNECTOR_CONNECTING || phase == CONNECTOR_FAILING || phase == CONNECTOR_COMPLETING ||
           phase == CONNECTOR_ACCEPTING || phase == CONNECTOR_DISCONNECTING;
}

static bool cell_reports(enum connector_action action)
{
    return action == CONNECTOR_REPORT_CONNECTED || action == CONNECTOR_REPORT_FAILED ||
           action == CONNECTOR_REPORT_ESTABLISHED || action == CONNECTOR_REPORT_DISCONNECTED;
}

static bool cell_starts(enum connector_action action)
{
    return action == CONNECTOR_START_CONNECT || action == CONNECTOR_START_COMPLETE ||
           action == CONNECTOR_START_ACCEPT || action == CONNECTOR_START_REJECT || action == CONNECTOR_START_DISCONNECT;
}

static bool cell_may_start(enum connector_phase phase, enum connector_event event)
{
    switch (event) {
    case CONNECTOR_CONNECT:
        return phase == CONNECTOR_IDLE;
    case CONNECTOR_COMPLETE:
        return phase == CONNECTOR_REPLIED;
    case CONNECTOR_ACCEPT:
        return phase == CONNECTOR_REQUESTED;
    case CONNECTOR_REJECT:
        return phase == CONNECTOR_REPLIED || phase == CONNECTOR_REQUESTED;
    case CONNECTOR_DISCONNECT:
        return phase == CONNECTOR_ESTABLISHED || phase == CONNECTOR_PEER_GONE;
    default:
        return false;
    }
}

static const char *check_close(enum connector_phase phase, enum connector_event event, struct connector_cell cell)
{
    bool ends = cell.action == CONNECTOR_END_FABRIC || cell.action == CONNECTOR_RETIRE;
    bool must_end = event == CONNECTOR_CLOSE && connector_has_fabric(phase);

    if (event == CONNECTOR_CLOSE && cell.next != CONNECTOR_CLOSING)
        return "close leads to CLOSING from everywhere";
    if (phase == CONNECTOR_CLOSING && (cell.next != phase || cell.action == CONNECTOR_IMPOSSIBLE))
        return "nothing leads out of CLOSING, and every event is possible there";
    if (phase == CONNECTOR_ENDED && event != CONNECTOR_CLOSE && cell.next != phase)
        return "only close leads out of ENDED";
    if (must_end && cell.action != CONNECTOR_END_FABRIC)
        return "close ends a living connection of the fabric";
    if (ends && !must_end && !(phase == CONNECTOR_CONNECTING && cell.action == CONNECTOR_RETIRE))
        return "a connection of the fabric is ended once";
    return NULL;
}

static const char *check_request(enum connector_phase phase, struct connector_cell cell)
{
    bool keeps_request = cell.action == CONNECTOR_RETIRE || cell.action == CONNECTOR_END_FABRIC;
    bool takes_back = cell.next == CONNECTOR_IDLE || cell.next == CONNECTOR_REQUESTED;

    if (has_request(phase) && cell.next != phase && !cell_reports(cell.action) && !keeps_request && !takes_back)
        return "a pending request is reported, taken back, or stays pending";
    if (cell_reports(cell.action) && !has_request(phase) && phase != CONNECTOR_CLOSING)
        return "only a pending request is reported";
    if ((cell.action == CONNECTOR_REPORT_CANCELLED || cell.action == CONNECTOR_REPORT_NOT_ESTABLISHED) &&
        phase != CONNECTOR_CLOSING)
        return "only close cancels";
    return NULL;
}

static const char *check_cell(enum connector_phase phase, enum connector_event event)
{
    struct connector_cell cell = connector_cell(phase, event);
    bool refused = connector_is_refusal(cell.action) || cell.action == CONNECTOR_IMPOSSIBLE;
    const char *broken = check_close(phase, event, cell);

    if (broken)
        return broken;
    broken = check_request(phase, cell);
    if (broken)
        return broken;
    if (refused && cell.next != phase)
        return "a refused call or an impossible event does not change the phase";
    if (event < CONNECTOR_CLOSE && cell_starts(cell.action) != cell_may_start(phase, event))
        return "a call starts something only in its own phases";
    if (event < CONNECTOR_CLOSE && !cell_starts(cell.action) && !connector_is_refusal(cell.action))
        return "a call starts something or is refused";
    if (event >= CONNECTOR_CLOSE && (cell_starts(cell.action) || connector_is_refusal(cell.action)))
        return "an event neither starts a call nor is refused";
    if ((cell.action == CONNECTOR_REPORT_PEER_ENDED) !=
        (phase == CONNECTOR_ESTABLISHED && cell.next == CONNECTOR_PEER_GONE))
        return "the disconnect callback is queued on the way from ESTABLISHED to PEER_GONE";
    if (cell.next == CONNECTOR_IDLE && phase != CONNECTOR_IDLE && event != CONNECTOR_REPORTING &&
        event != CONNECTOR_NOT_STARTED)
        return "IDLE is reached by reporting a failure or by a call that did not start";
    return NULL;
}

/* Returns NULL if all invariants hold, otherwise a sentence about the first violation. */
static const char *check_table(void)
{
    for (int phase = 0; phase < CONNECTOR_PHASES; phase++) {
        for (int event = 0; event < CONNECTOR_EVENTS; event++) {
            const char *broken = check_cell((enum connector_phase)phase, (enum connector_event)event);

            if (broken)
                return broken;
        }
    }
    return NULL;
}

static void test_invariants(void **state)
{
    const char *broken = check_table();

    (void)state;
    if (broken)
        fail_msg("%s", broken);
}

/* ---- the table as a whole ---- */

static bool reachable[CONNECTOR_PHASES];

static void reach(int phase)
{
    if (reachable[phase])
        return;
    reachable[phase] = true;
    for (size_t i = 0; i < TRANSITIONS; i++) {
        if ((int)transitions[i].from == phase)
            reach(transitions[i].to);
    }
}

/* A connector begins in IDLE or REQUESTED. Each phase can be reached from there, and CLOSING from each phase. */
static void every_phase_is_reached(void **state)
{
    (void)state;
    reach(CONNECTOR_IDLE);
    reach(CONNECTOR_REQUESTED);
    for (int phase = 0; phase < CONNECTOR_PHASES; phase++) {
        assert_true(reachable[phase]);
        assert_int_equal(connector_cell((enum connector_phase)phase, CONNECTOR_CLOSE).next, CONNECTOR_CLOSING);
    }
}

static void calls_are_refused_in_kind(void **state)
{
    (void)state;
    assert_true(connector_is_refusal(CONNECTOR_REFUSE_STATE));
    assert_true(connector_is_refusal(CONNECTOR_REFUSE_INVALID));
    for (int action = CONNECTOR_START_CONNECT; action < CONNECTOR_ACTIONS; action++)
        assert_false(connector_is_refusal((enum connector_action)action));
}

static void prints_as_markdown(void **state)
{
    char *text = NULL;
    size_t len = 0, lines = 0, bars = 0;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    assert_non_null(out);
    connector_print_table(out);
    assert_int_equal(fclose(out), 0);
    for (size_t i = 0; i < len; i++) {
        lines += text[i] == '\n';
        bars += text[i] == '|';
    }
    assert_int_equal(lines, CONNECTOR_PHASES + 2);
    assert_int_equal(bars, (CONNECTOR_PHASES + 2) * (CONNECTOR_EVENTS + 2));
    for (int phase = 0; phase < CONNECTOR_PHASES; phase++)
        assert_non_null(strstr(text, phase_names[phase]));
    free(text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell),
        cmocka_unit_test(step_is_the_cell),
        cmocka_unit_test(test_invariants),
        cmocka_unit_test(every_phase_is_reached),
        cmocka_unit_test(calls_are_refused_in_kind),
        cmocka_unit_test(prints_as_markdown),
    };

    if (argc > 1 && strcmp(argv[1], "--print") == 0) {
        connector_print_table(stdout);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
