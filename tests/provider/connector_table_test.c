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
                fail_msg("%s, %s: %s, %s", connector_phase_name((enum connector_phase)phase),
                         connector_event_name((enum connector_event)event), connector_phase_name(cell.next),
                         connector_action_name(cell.action));
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

static void test_invariants(void **state)
{
    const char *broken = connector_check_table();

    (void)state;
    if (broken)
        fail_msg("%s", broken);
}

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
        assert_non_null(strstr(text, connector_phase_name((enum connector_phase)phase)));
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
