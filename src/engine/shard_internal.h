/* SPDX-License-Identifier: MIT */
/*
 * The fields of a shard, only for shard.c and timer.c. The comment before each group of fields states which threads
 * access the group. The invariant: no other thread accesses it.
 */
#ifndef ENGINE_SHARD_INTERNAL_H
#define ENGINE_SHARD_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <bsd/sys/tree.h>

#include "base/owner.h"
#include "engine/shard.h"
#include "engine/task_queue.h"

enum { MAX_TIMER_FIFOS = 4 };

RB_HEAD(timer_tree, shard_timer);
TAILQ_HEAD(timer_fifo, shard_timer);

struct shard {
    struct owner owner;

    /* Any thread accesses the fields of this group. */
    struct task_stack posted;
    struct task_stack called;
    _Atomic uint32_t n_callers;           /* threads between shard_enter and shard_exit */
    _Atomic(const void *) driving_thread; /* the address of the owner's thread_identity, or NULL */
    atomic_bool end_lease_requested;      /* set by shard_watch; the owner then ends the lease */
    _Atomic uint32_t missed_polls;        /* recent polls that did not get the token; not exact */

    /* Only the owner accesses the fields of this group. */
    struct task_list work;
    struct timer_fifo timer_fifos[MAX_TIMER_FIFOS];
    struct timer_tree timers; /* the timers that fit no FIFO */
    uint64_t first_deadline;  /* the earliest deadline of all timers; UINT64_MAX: there is no timer */
    uint64_t n_timers_set;    /* timers set so far; orders timers with the same deadline */
    uint64_t now;             /* the clock as the owner has read it; 0: not read in this turn */
    uint64_t work_deadline;   /* the end of the time for this turn's work; 0: not set in this turn */
    bool work_time_is_over;
    uint64_t thread_deadline; /* when the thread's next sleep must end; 0: it runs a turn before it sleeps */
    unsigned polls_in_row;    /* polls in quick succession since the last shard_watch */
    uint64_t last_poll;       /* the time of the last poll that got the token */
    bool was_watched;         /* shard_watch was called since the thread's last turn */
    bool has_calls;           /* callbacks are queued; the thread runs them when the owner has released the token */
    bool sockets_ready;       /* some sockets are ready and not served yet */

    /* Only the shard's thread accesses the fields of this group. */
    struct task_list calls;
    uint64_t sleep_until; /* the thread's own copy of thread_deadline */
    bool delivering;

    /* The fields of this group are constant. */
    struct executor *executor;
    struct net *net;
    void *poller;
    void *executor_slot;
    struct shard_config config;
};

/* Functions of timer.c. Only the shard's owner calls them. */
void timers_init(struct shard *s);
static inline uint64_t timer_first_deadline(const struct shard *s) /* UINT64_MAX: there is no timer */
{
    return s->first_deadline;
}
/* Fires the timers that are due at the time `now`. Returns true if any timer fired. */
bool timer_fire_due(struct shard *s, uint64_t now);

#endif
