/* SPDX-License-Identifier: MIT */
/*
 * Implements the timers of a shard. Only the shard's owner accesses them. Nearly all timers are set to one of a few
 * durations. A new timer is usually due after all earlier timers of the same duration, so these timers form a FIFO.
 * Setting or stopping a timer in a FIFO accesses only the timer's neighbours. In a tree with the timers of a thousand
 * connections, this would cost a dozen cache misses. Timers that fit no FIFO are in a tree. The invariant: each FIFO is
 * sorted, and first_deadline is the earliest deadline of all timers.
 */
#include <assert.h>
#include <stddef.h>

#include "engine/shard_internal.h"

/*
 * The maximum number of timers that fire in one turn. A limit is necessary, because timers that set themselves again
 * could otherwise delay sockets and work for ever. It is small, because a connection's timer can run a whole turn of
 * the connection. The timers that are left fire in the next turn, which begins at once.
 */
enum { MAX_FIRED = 16 };

static int timer_compare(const struct shard_timer *a, const struct shard_timer *b)
{
    if (a->deadline != b->deadline)
        return a->deadline < b->deadline ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* RB_GENERATE_STATIC is not used, because it needs a macro that only BSD's own headers define. */
RB_GENERATE_INTERNAL(timer_tree, shard_timer, node, timer_compare, __attribute__((unused)) static)

void timers_init(struct shard *s)
{
    RB_INIT(&s->timers);
    s->first_deadline = UINT64_MAX;
    for (int i = 0; i < MAX_TIMER_FIFOS; i++)
        TAILQ_INIT(&s->timer_fifos[i]);
}

/*
 * Returns a FIFO to which a timer with this deadline can be appended. A FIFO fits if its last timer is due at or
 * before the deadline. If several fit, returns the one whose last timer is due latest. If none fits, returns an empty
 * FIFO, or MAX_TIMER_FIFOS if no FIFO is empty.
 */
static unsigned timer_find_fifo(struct shard *s, uint64_t deadline)
{
    unsigned best = MAX_TIMER_FIFOS, empty = MAX_TIMER_FIFOS;
    uint64_t latest = 0;

    for (unsigned i = 0; i < MAX_TIMER_FIFOS; i++) {
        const struct shard_timer *last = TAILQ_LAST(&s->timer_fifos[i], timer_fifo);

        if (!last) {
            empty = i;
        } else if (last->deadline <= deadline && last->deadline >= latest) {
            best = i;
            latest = last->deadline;
        }
    }
    return best < MAX_TIMER_FIFOS ? best : empty;
}

void shard_timer_set(struct shard *s, struct shard_timer *timer, uint64_t deadline)
{
    assert(shard_is_owner(s));
    shard_timer_stop(s, timer);
    timer->deadline = deadline;
    timer->order = ++s->n_timers_set;
    timer->armed = true;
    timer->fifo = (uint8_t)timer_find_fifo(s, deadline);
    if (timer->fifo < MAX_TIMER_FIFOS)
        TAILQ_INSERT_TAIL(&s->timer_fifos[timer->fifo], timer, link);
    else
        RB_INSERT(timer_tree, &s->timers, timer);
    if (deadline < s->first_deadline)
        s->first_deadline = deadline;
}

static struct shard_timer *timer_first(struct shard *s)
{
    struct shard_timer *first = RB_MIN(timer_tree, &s->timers);

    for (int i = 0; i < MAX_TIMER_FIFOS; i++) {
        struct shard_timer *timer = TAILQ_FIRST(&s->timer_fifos[i]);

        if (timer && (!first || timer_compare(timer, first) < 0))
            first = timer;
    }
    return first;
}

void shard_timer_stop(struct shard *s, struct shard_timer *timer)
{
    assert(shard_is_owner(s));
    if (!timer->armed)
        return;
    timer->armed = false;
    if (timer->fifo < MAX_TIMER_FIFOS)
        TAILQ_REMOVE(&s->timer_fifos[timer->fifo], timer, link);
    else
        RB_REMOVE(timer_tree, &s->timers, timer);
    if (timer->deadline > s->first_deadline)
        return;
    const struct shard_timer *first = timer_first(s);
    s->first_deadline = first ? first->deadline : UINT64_MAX;
}

bool timer_fire_due(struct shard *s, uint64_t now)
{
    int fired = 0;

    for (; fired < MAX_FIRED && s->first_deadline <= now; fired++) {
        struct shard_timer *timer = timer_first(s);

        assert(timer);
        shard_timer_stop(s, timer);
        timer->fire(timer);
    }
    return fired > 0;
}
