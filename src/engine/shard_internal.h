/* SPDX-License-Identifier: MIT */
/* What shard.c and timer.c share: the shard itself. Nobody else includes this. */
#ifndef ENGINE_SHARD_INTERNAL_H
#define ENGINE_SHARD_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <bsd/sys/tree.h>

#include "base/owner.h"
#include "engine/shard.h"

enum { TIMER_ROWS = 4 };

RB_HEAD(timer_tree, shard_timer);
TAILQ_HEAD(timer_row, shard_timer);

/* Posted by anybody, newest first; taken as a whole by the one who runs them. */
struct task_stack {
    struct task *_Atomic newest;
};

/* Taken already, oldest first; linked by the tasks' next. */
struct task_list {
    struct task *first;
    struct task *last;
};

struct shard {
    struct owner owner;

    /* Any thread's. */
    struct task_stack posted;
    struct task_stack called;
    _Atomic uint32_t visitors;   /* threads in here that may hold nothing that keeps it alive */
    _Atomic(const void *) driver; /* the thread that holds the token, by the address of a variable of its own */
    atomic_bool watch_wanted;    /* end the lease: whoever owns the shard does it */
    _Atomic uint32_t missed;     /* polls that met another owner while the thread was awake; about so many */

    /* The owner's. */
    struct task_list work;
    struct timer_row timer_rows[TIMER_ROWS];
    struct timer_tree timers;    /* those that fit no row */
    uint64_t first_deadline;     /* of all timers; UINT64_MAX: there is none. Asked several times in each turn */
    uint64_t timers_set;         /* how many so far: orders those with one deadline */
    uint64_t now;                /* 0: not read yet by this owner */
    uint64_t work_until;         /* when this turn's work has taken its time; 0: not measured yet */
    bool worked_long;            /* and it has */
    uint64_t thread_deadline;    /* when the shard's thread looks next by itself; 0: it is not going to sleep */
    unsigned polls;              /* since the thread was last asked to watch */
    uint64_t polled;             /* when it was polled last */
    bool watched;                /* somebody has armed since the thread last looked */
    bool calls_due;
    bool sockets_left;

    /* The shard's thread's. */
    struct task_list calls;
    uint64_t sleep_until;        /* its own copy of thread_deadline */
    bool delivering;

    /* Constant. */
    struct executor *executor;
    struct net *net;
    void *poller;
    void *executor_slot;
    struct shard_config config;
};

/* timer.c; the owner's. */
void timers_init(struct shard *s);
static inline uint64_t timer_first_deadline(const struct shard *s) /* UINT64_MAX without one */
{
    return s->first_deadline;
}
bool timer_fire_due(struct shard *s, uint64_t now);

#endif
