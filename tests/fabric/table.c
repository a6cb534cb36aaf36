/* SPDX-License-Identifier: MIT */
/* Rules for every cell of the connection's state table. */
#include <stdio.h>
#include <string.h>

#include "fabric/iwarp/conn_table.h"
#include "fabric/world.h"

static const unsigned reports = REPORT_CONNECTED | REPORT_REQUEST | REPORT_ESTABLISHED | REPORT_PEER_ENDED |
                                REPORT_DISCONNECTED;

static void every_cell(void (*check)(enum conn_state s, enum conn_event e, const struct conn_cell *c))
{
    for (enum conn_state s = 0; s < CONN_STATES; s++)
        for (enum conn_event e = 0; e < CONN_EVENTS; e++)
            check(s, e, conn_table_cell(s, e));
}

static void is_written(enum conn_state s, enum conn_event e, const struct conn_cell *c)
{
    (void)s;
    (void)e;
    CHECK(c->kind != CELL_UNWRITTEN);
    CHECK(c->kind == CELL_STEP || c->effects == 0);
}

static void written(void)
{
    every_cell(is_written);
}

/*
 * A step closes the socket exactly if it leads from a state with a socket to one without. The same holds for the
 * stream.
 */
static void ends_things(enum conn_state s, enum conn_event e, const struct conn_cell *c)
{
    bool ends_socket = c->effects & (DO_CLOSE_TCP | DO_RESET_TCP);
    bool ends_stream = c->effects & (DO_STOP_FLUSHED | DO_STOP_LOST);
    bool lingers = c->next == CONN_LINGERING || c->next == CONN_LAST_WORDS;

    if (c->kind != CELL_STEP || (s == CONN_IDLE && e == CONN_START))
        return;
    CHECK(ends_socket == (conn_state_has_socket(s) && !conn_state_has_socket(c->next)));
    CHECK((c->effects & (DO_CLOSE_TCP | DO_RESET_TCP)) != (DO_CLOSE_TCP | DO_RESET_TCP));
    if (conn_state_streams(s) && !conn_state_streams(c->next))
        CHECK(ends_stream != lingers);
    if (!conn_state_streams(s) && conn_state_streams(c->next))
        CHECK(c->effects & DO_STREAM);
    if (c->effects & DO_STREAM)
        CHECK(conn_state_streams(c->next));
}

static void resources(void)
{
    every_cell(ends_things);
}

/* A request has an answer in each state that has a handle. Close drops the handle, if there is one. */
static void answers_requests(enum conn_state s, enum conn_event e, const struct conn_cell *c)
{
    bool has_handle = s != CONN_WAIT_REQUEST && s != CONN_LAST_WORDS && s != CONN_CLOSED;
    bool drops = c->effects & DO_DROP_HANDLE;

    if (e <= CONN_CLOSE)
        CHECK((c->kind != CELL_NEVER) == has_handle);
    if (e == CONN_CLOSE && has_handle)
        CHECK(drops && (c->next == CONN_CLOSED || c->next == CONN_LAST_WORDS));
    if (drops)
        CHECK(e == CONN_CLOSE || e == CONN_REFUSE);
    if (c->next == CONN_CLOSED && c->kind == CELL_STEP)
        CHECK(drops || !has_handle);
    if (!has_handle && s != CONN_WAIT_REQUEST)
        CHECK(!(c->effects & reports));
}

static void requests(void)
{
    every_cell(answers_requests);
}

/* A call completes once: when the connection leaves the states that wait for it, and never inside them. */
static bool waits_for_connected(enum conn_state s)
{
    return s == CONN_TCP_CONNECTING || s == CONN_REQUEST_SENT;
}

static bool waits_for_established(enum conn_state s)
{
    return s == CONN_COMPLETING || s == CONN_REPLYING || s == CONN_WAIT_RTR;
}

static bool waits_for_disconnected(enum conn_state s)
{
    return s == CONN_DRAINING || s == CONN_NOTICE_SENT || s == CONN_CLOSING;
}

static void answers_once(enum conn_state s, enum conn_event e, const struct conn_cell *c)
{
    if (c->kind != CELL_STEP || e <= CONN_DISCONNECT)
        return; /* requests in a wrong state are answered at once */
    if (waits_for_connected(s))
        CHECK(!(c->effects & REPORT_CONNECTED) == waits_for_connected(c->next));
    if (waits_for_established(s))
        CHECK(!(c->effects & REPORT_ESTABLISHED) == waits_for_established(c->next));
    if (waits_for_disconnected(s))
        CHECK(!(c->effects & REPORT_DISCONNECTED) == waits_for_disconnected(c->next));
    else
        CHECK(!(c->effects & REPORT_DISCONNECTED));
    if (c->effects & REPORT_PEER_ENDED)
        CHECK(s == CONN_ESTABLISHED);
}

static void answers(void)
{
    every_cell(answers_once);
}

/* Every state but the first ones is reachable, and CLOSED is reachable from every state. */
static void reaches(void)
{
    bool reached[CONN_STATES] = { [CONN_IDLE] = true, [CONN_WAIT_REQUEST] = true };
    bool ends[CONN_STATES] = { [CONN_CLOSED] = true };

    for (int round = 0; round < CONN_STATES; round++)
        for (enum conn_state s = 0; s < CONN_STATES; s++)
            for (enum conn_event e = 0; e < CONN_EVENTS; e++) {
                const struct conn_cell *c = conn_table_cell(s, e);
                if (c->kind == CELL_STEP && reached[s])
                    reached[c->next] = true;
                if (c->kind == CELL_STEP && ends[c->next])
                    ends[s] = true;
            }
    for (enum conn_state s = 0; s < CONN_STATES; s++)
        CHECK(reached[s] && ends[s]);
}

static void printed(void)
{
    char text[65536];
    FILE *out = fmemopen(text, sizeof text, "w");

    CHECK(out != NULL);
    iwarp_conn_print_table(out);
    fclose(out);
    for (enum conn_state s = 0; s < CONN_STATES; s++)
        CHECK(strstr(text, conn_state_name(s)) != NULL);
    CHECK(strstr(text, "| drained | NOTICE_SENT | shut |") != NULL);
}

static const struct test tests[] = {
    { "written", written }, { "resources", resources }, { "requests", requests },
    { "answers", answers }, { "reaches", reaches },     { "printed", printed },
};

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
