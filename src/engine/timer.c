/* SPDX-License-Identifier: MIT */
/*
 * The timers of a shard, which only the shard's owner touches. Nearly all are limits of a few lengths, so that one that
 * is set is due after all others of its length: these form rows, in which setting and stopping touch the neighbours
 * alone, where a tree of a thousand connections costs a dozen cache misses. What fits no row is in a tree.
 */
#include <assert.h>
#include <stddef.h>

#include "base/mutant.h"
#include "engine/shard_internal.h"

/* So many in one turn, so that timers that set themselves again cannot keep sockets and work waiting. */
enum { FIRE_BATCH = 256 };

static int timer_compare(const struct shard_timer *a, const struct shard_timer *b)
{
    if (a->deadline != b->deadline)
        return a->deadline < b->deadline ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Not RB_GENERATE_STATIC, which relies on a macro that only BSD's own headers have. */
RB_GENERATE_INTERNAL(timer_tree, shard_timer, node, timer_compare, __attribute__((unused)) static)

void timers_init(struct shard *s)
{
    RB_INIT(&s->timers);
    s->first_deadline = UINT64_MAX;
    for (int i = 0; i < TIMER_ROWS; i++)
        TAILQ_INIT(&s->timer_rows[i]);
}

/* The row whose last one is due next before it, or an empty one; TIMER_ROWS: none. */
static unsigned row_for(struct shard *s, uint64_t deadline)
{
    unsigned best = TIMER_ROWS, empty = TIMER_ROWS;
    uint64_t latest = 0;

    for (unsigned i = 0; i < TIMER_ROWS; i++) {
        const struct shard_timer *last = TAILQ_LAST(&s->timer_rows[i], timer_row);

        if (!last) {
            empty = i;
        } else if ((last->deadline <= deadline || MUTANT(shard_timers_unsorted)) && last->deadline >= latest) {
            best = i;
            latest = last->deadline;
        }
    }
    return best < TIMER_ROWS ? best : empty;
}

void shard_timer_set(struct shard *s, struct shard_timer *timer, uint64_t deadline)
{
    assert(shard_is_owner(s));
    shard_timer_stop(s, timer);
    timer->deadline = deadline;
    timer->order = ++s->timers_set;
    timer->armed = true;
    timer->row = (uint8_t)row_for(s, deadline);
    if (timer->row < TIMER_ROWS)
        TAILQ_INSERT_TAIL(&s->timer_rows[timer->row], timer, link);
    else
        RB_INSERT(timer_tree, &s->timers, timer);
    if (deadline < s->first_deadline)
        s->first_deadline = deadline;
}

static struct shard_timer *first_timer(struct shard *s)
{
    struct shard_timer *first = RB_MIN(timer_tree, &s->timers);

    for (int i = 0; i < TIMER_ROWS; i++) {
        struct shard_timer *timer = TAILQ_FIRST(&s->timer_rows[i]);

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
    if (timer->row < TIMER_ROWS)
        TAILQ_REMOVE(&s->timer_rows[timer->row], timer, link);
    else
        RB_REMOVE(timer_tree, &s->timers, timer);
    if (timer->deadline > s->first_deadline)
        return;
    const struct shard_timer *first = first_timer(s);
    s->first_deadline = first ? first->deadline : UINT64_MAX;
}

bool timer_fire_due(struct shard *s, uint64_t now)
{
    int fired = 0;

    for (; fired < FIRE_BATCH && s->first_deadline <= now; fired++) {
        struct shard_timer *timer = first_timer(s);

        assert(timer);
        shard_timer_stop(s, timer);
        timer->fire(timer);
    }
    return fired > 0;
}
