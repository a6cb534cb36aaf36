/* SPDX-License-Identifier: MIT */
/* Handles messages and completions of a measured queue pair: see flow.h. */
#include "flow.h"

#include <string.h>

#include "pattern.h"

bool flow_sends(const struct session *s)
{
    bool posts = !s->options->server || s->both;

    return posts && (s->run.test == TEST_SEND || s->run.test == TEST_MIXED);
}

uint32_t flow_credit(const struct session *s)
{
    return s->window / 4 ? s->window / 4 : 1;
}

static bool flow_is_latency(const struct session *s)
{
    return s->run.flags & ORDER_LATENCY;
}

/*
 * Returns the maximum number of answers that a queue pair may have in flight. With --latency and --check this is 1: all
 * answers are sent from the same memory, and their contents differ.
 */
static uint64_t flow_max_answers(const struct session *s)
{
    if (flow_is_latency(s))
        return s->check ? 1 : s->window;
    return s->both ? s->spare - 1 : s->window;
}

/*
 * Sends the answers that are due. If latency is measured, an answer is a message of the run's size, otherwise a credit
 * (flow.h).
 */
static bool flow_send_answers(struct session *s, struct lane *l)
{
    bool latency = flow_is_latency(s);

    while (l->owed && l->answered - l->confirmed < flow_max_answers(s)) {
        l->owed--;
        l->answered++;
        if (s->check && latency)
            pattern_fill(lane_memory(s, l, AREA_SOURCE, 0), s->run.size, l->index, l->received - 1);
        if (!lane_post(s, l, ID_ANSWER, 0, latency ? s->run.size : 0, 0))
            return false;
    }
    return true;
}

static bool flow_on_empty(struct session *s, struct lane *l)
{
    if (flow_sends(s))
        l->credited += flow_credit(s);
    else
        l->flushes++;
    return true;
}

static bool flow_on_message(struct session *s, struct lane *l, uint32_t slot, uint32_t len)
{
    uint64_t message = s->run.test == TEST_MIXED ? 3 * l->received : l->received;
    uint32_t offset = len;

    if (len != s->run.size)
        return s->on_difference(s, l->index, message, len);
    if (s->check)
        offset = pattern_differs(lane_memory(s, l, AREA_RECEIVE, slot), len, l->index, message);
    return offset == len || s->on_difference(s, l->index, message, offset);
}

bool flow_on_receive(struct session *s, struct lane *l, uint32_t slot, uint32_t len)
{
    bool is_right;

    if (!len)
        return flow_on_empty(s, l) && lane_receive(s, l, slot);
    /*
     * A difference does not end this function. This end must post the receive and send the credit, because the
     * peer's sends continue until the end of the session.
     */
    is_right = flow_on_message(s, l, slot, len);
    l->received++;
    if (!lane_receive(s, l, slot))
        return false;
    if (flow_is_latency(s)) {
        l->owed += s->options->server;
    } else if (++l->uncredited >= flow_credit(s)) {
        l->uncredited = 0;
        l->owed++;
    }
    return flow_send_answers(s, l) && is_right;
}

/* Verifies the data of a read, then changes the memory. So a later read that writes nothing is detected. */
static bool flow_check_read(struct session *s, struct lane *l, uint32_t slot)
{
    uint8_t *at = lane_memory(s, l, AREA_TARGET, slot);
    uint32_t size = s->run.size, offset = pattern_differs(at, size, l->index, slot);

    if (offset < size)
        return s->on_difference(s, l->index, l->completed - 1, offset);
    memset(at, ~at[0], size);
    return true;
}

bool flow_on_completed(struct session *s, struct lane *l, enum id id, uint32_t slot)
{
    if (id == ID_ANSWER) {
        l->confirmed++;
        return flow_send_answers(s, l);
    }
    l->completed++;
    s->pump.completed++;
    return id != ID_READ || !s->check || flow_check_read(s, l, slot);
}

bool flow_flush(struct session *s)
{
    if (s->both && flow_sends(s))
        return true;
    for (uint32_t i = 0; i < s->lane_count; i++)
        if (!lane_post(s, &s->lanes[i], ID_FLUSH, 0, 0, 0))
            return false;
    return true;
}

bool flow_has_arrived(const struct session *s, uint64_t flushes, uint64_t messages)
{
    uint64_t received = 0;

    for (uint32_t i = 0; i < s->lane_count; i++) {
        received += s->lanes[i].received;
        if (!flow_sends(s) && s->lanes[i].flushes < flushes)
            return false;
    }
    return !flow_sends(s) || received >= messages;
}

bool flow_check_written(struct session *s, uint64_t first, uint64_t count)
{
    for (uint32_t i = 0; i < s->lane_count; i++)
        for (uint64_t m = first; m < first + count; m++) {
            struct lane *l = &s->lanes[i];
            uint32_t size = s->run.size, offset;

            if (s->run.test == TEST_MIXED && m % 3 != 1)
                continue;
            offset = pattern_differs(lane_memory(s, l, AREA_TARGET, (uint32_t)(m % s->window)), size, l->index, m);
            if (offset < size && !s->on_difference(s, l->index, m, offset))
                return false;
        }
    return true;
}
