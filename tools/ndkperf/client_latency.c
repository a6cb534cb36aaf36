/* SPDX-License-Identifier: MIT */
/* Measures latencies at the client: sends one message at a time, on each queue pair in turn. */
#include "client.h"
#include "flow.h"
#include "monotonic.h"
#include "pattern.h"
#include "pump.h"

static bool latency_is_answered(struct client *c, struct lane *l, uint64_t message)
{
    struct session *s = c->s;
    uint32_t last = s->run.size - 1;

    if (c->o->test == TEST_READ)
        return l->completed > message;
    if (c->o->test == TEST_SEND)
        return l->received > message;
    return written_mark(lane_memory(s, l, AREA_TARGET, 0) + last) == (uint8_t)(message + 1);
}

static bool latency_ping(struct client *c, struct lane *l, uint64_t message)
{
    struct session *s = c->s;
    uint32_t slot = 0, last = s->run.size - 1;
    uint8_t *source = lane_memory(s, l, AREA_SOURCE, slot);
    enum id id = pump_request_kind(c->o->test, message);

    l->posted++;
    if (s->check && id != ID_READ) {
        pattern_fill(source, s->run.size, l->index, message);
        if (c->o->corrupt && !message)
            source[last / 2] ^= 1;
    }
    if (id == ID_WRITE)
        source[last] = (uint8_t)(message + 1);
    return lane_post(s, l, id, slot, s->run.size, 0);
}

/* Waits until the last request has completed, because the peer's answer may arrive before this completion. */
static bool latency_wait_completed(struct client *c, const struct lane *l)
{
    while (l->posted != l->completed)
        if (!session_poll(c->s))
            return false;
    return true;
}

static bool latency_check_written(struct client *c, struct lane *l, uint64_t message)
{
    uint32_t last = c->s->run.size - 1;
    uint32_t offset = written_differs(lane_memory(c->s, l, AREA_TARGET, 0), last, l->index, message);

    return offset >= last || session_differs(c->s, l->index, message, offset, "client");
}

/* Measures the latency of one message. Sets *now to the time at which the answer arrived. */
static bool latency_measure(struct client *c, struct lane *l, uint64_t message, uint64_t *now)
{
    uint64_t parts = c->o->test == TEST_READ ? 1 : 2, before;

    if (!latency_wait_completed(c, l))
        return false;
    before = monotonic_ns();
    if (!latency_ping(c, l, message))
        return false;
    while (!latency_is_answered(c, l, message))
        if (!session_poll(c->s))
            return false;
    *now = monotonic_ns();
    if (c->warmup)
        return true;
    times_add(&c->result->times, (*now - before) / parts);
    if (c->o->interval > 0)
        times_add(&c->interval->times, (*now - before) / parts);
    return true;
}

bool client_run_latency(struct client *c)
{
    struct session *s = c->s;
    uint64_t most = c->deadline ? UINT64_MAX : (uint64_t)c->o->iterations * s->lane_count, count = 0, now;

    while (count < most && !s->pump.over) {
        struct lane *l = &s->lanes[count % s->lane_count];
        uint64_t message = count / s->lane_count;

        if (!latency_measure(c, l, message, &now))
            return false;
        if (s->check && c->o->test == TEST_WRITE && !latency_check_written(c, l, message))
            return false;
        s->pump.completed = ++count; /* counts answers, because a request may complete after its answer */
        if (!client_check_clock(c, now))
            return false;
    }
    for (uint32_t i = 0; i < s->lane_count; i++)
        if (!latency_wait_completed(c, &s->lanes[i]))
            return false;
    s->pump.completed = count;
    return client_flush(c, 0, s->check ? count / s->lane_count : count);
}
