/* SPDX-License-Identifier: MIT */
/* Posts the requests of a bandwidth run: see pump.h. */
#include "pump.h"

#include "flow.h"
#include "pattern.h"

void pump_begin(struct session *s, uint64_t count, uint32_t burst, bool corrupt)
{
    s->pump = (struct pump){ .count = count, .burst = burst, .corrupt = corrupt };
    for (uint32_t i = 0; i < s->lane_count; i++)
        s->lanes[i].posted = s->lanes[i].completed = 0;
}

enum id pump_request_kind(enum test test, uint64_t message)
{
    static const enum id kinds[] = { [TEST_SEND] = ID_SEND, [TEST_WRITE] = ID_WRITE, [TEST_READ] = ID_READ };

    return kinds[test == TEST_MIXED ? message % 3 : test];
}

static bool pump_post_next(struct session *s, struct lane *l, uint32_t flags)
{
    uint64_t message = l->posted++;
    uint32_t slot = (uint32_t)(message % s->window);
    enum id id = pump_request_kind((enum test)s->run.test, message);

    if (s->check && id != ID_READ) {
        uint8_t *at = lane_memory(s, l, AREA_SOURCE, slot);
        pattern_fill(at, s->run.size, l->index, message);
        if (s->pump.corrupt && !message)
            at[s->run.size / 2] ^= 1;
    }
    l->sent += id == ID_SEND;
    return lane_post(s, l, id, slot, s->run.size, flags);
}

/*
 * Returns the number of messages after which a queue pair stops posting. Without --check this is the end of the run.
 * With --check it is the end of the present lap (pump.h).
 */
static uint64_t pump_lap_end(const struct session *s)
{
    uint64_t all = s->pump.count ? s->pump.count : UINT64_MAX, lap = s->pump.lap + s->window;

    return s->check && lap < all ? lap : all;
}

/*
 * Posts complete bursts until the queue pair's window has no space for another one. Returns false if a post has failed.
 */
static bool pump_post_bursts(struct session *s, struct lane *l)
{
    uint64_t left = pump_lap_end(s) - l->posted, room = s->window - (l->posted - l->completed);
    uint64_t credit = s->window - (l->sent - l->credited);

    if (credit < room && flow_sends(s))
        room = credit;
    for (;;) {
        uint64_t burst = s->pump.burst;
        /*
         * A burst is at most half a window. A credit permits only some of the window's sends, so a burst of a whole
         * window might wait forever.
         */
        if (burst > s->window / 2)
            burst = s->window / 2 ? s->window / 2 : 1;
        if (burst > left)
            burst = left;
        if (!burst || room < burst)
            return true;
        for (uint64_t i = 0; i < burst; i++)
            if (!pump_post_next(s, l, i + 1 < burst ? NDK_OP_FLAG_DEFER : 0))
                return false;
        room -= burst;
        left -= burst;
    }
}

/*
 * Returns true if the run's time has not elapsed: the lanes (queue pairs) may post more requests. With --check, also
 * returns true if a lane has posted messages of the present lap (one window of messages). Then all lanes must complete
 * the lap.
 */
static bool pump_may_post(const struct session *s)
{
    bool begun = false;

    for (uint32_t i = 0; i < s->lane_count; i++)
        begun = begun || s->lanes[i].posted != s->pump.lap;
    return !s->pump.over || (s->check && begun);
}

bool pump_post(struct session *s, bool *done)
{
    bool to_fill = pump_may_post(s);

    for (uint32_t i = 0; to_fill && i < s->lane_count; i++)
        if (!pump_post_bursts(s, &s->lanes[i]))
            return false;
    *done = false;
    for (uint32_t i = 0; i < s->lane_count; i++) {
        const struct lane *l = &s->lanes[i];
        if (l->completed != l->posted || (to_fill && l->posted < pump_lap_end(s)))
            return true;
    }
    *done = true;
    return true;
}

/*
 * Returns true if another lap follows. Examines only the first queue pair, because with --check all queue pairs have
 * posted equally many messages.
 */
bool pump_has_next_lap(const struct session *s)
{
    return s->check && !s->pump.over && (!s->pump.count || s->lanes[0].posted < s->pump.count);
}

void pump_begin_lap(struct session *s)
{
    s->pump.lap = s->lanes[0].posted;
}

uint64_t pump_posted(const struct session *s)
{
    uint64_t posted = 0;

    for (uint32_t i = 0; i < s->lane_count; i++)
        posted += s->lanes[i].posted;
    return posted;
}
