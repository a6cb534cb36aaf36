/* SPDX-License-Identifier: MIT */
/* The timers of a shard: a tree by deadline, which only the shard's owner touches. */
#include <assert.h>
#include <stddef.h>

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
RB_GENERATE_INTERNAL(timer_tree, shard_timer, link, timer_compare, __attribute__((unused)) static)

void shard_timer_set(struct shard *s, struct shard_timer *timer, uint64_t deadline)
{
    assert(shard_is_owner(s));
    shard_timer_stop(s, timer);
    timer->deadline = deadline;
    timer->order = ++s->timers_set;
    timer->armed = true;
    RB_INSERT(timer_tree, &s->timers, timer);
}

void shard_timer_stop(struct shard *s, struct shard_timer *timer)
{
    assert(shard_is_owner(s));
    if (!timer->armed)
        return;
    timer->armed = false;
    RB_REMOVE(timer_tree, &s->timers, timer);
}

uint64_t timer_first_deadline(struct shard *s)
{
    const struct shard_timer *first = RB_MIN(timer_tree, &s->timers);

    return first ? first->deadline : UINT64_MAX;
}

bool timer_fire_due(struct shard *s, uint64_t now)
{
    int fired = 0;

    for (; fired < FIRE_BATCH; fired++) {
        struct shard_timer *timer = RB_MIN(timer_tree, &s->timers);

        if (!timer || timer->deadline > now)
            break;
        shard_timer_stop(s, timer);
        timer->fire(timer);
    }
    return fired > 0;
}
