/* SPDX-License-Identifier: MIT */
/*
 * A shard: an event loop with its sockets, timers and work, which has one owner at a time (base/owner.h). Ownership
 * moves: the shard's own thread drives it, or a thread of the consumer's that posts or polls, when the token is free.
 *
 *   shard_post   work that runs with the token held, in the order posted; posted from any thread at any time
 *   shard_call   a callback into the consumer: runs on the shard's thread, with nothing held, in the order queued;
 *                callbacks of one shard never overlap
 *   timers       fire with the token held
 *   sockets      net.h tells their owner of readiness with the token held
 *
 * Nothing here blocks except executor_wait and shard_destroy. A shard knows nothing of what it carries.
 *
 * A thread that drives one shard may post to another, and then drives that one too where it is free: the task runs
 * inside the post, with both tokens held. So a task posts to another shard as its last act, or expects the other
 * shard's work to be done when the post returns, or posts with shard_post_away. No token is ever waited for, except by
 * a shard's own thread.
 */
#ifndef ENGINE_SHARD_H
#define ENGINE_SHARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <bsd/sys/tree.h>

#include "base/gate.h"
#include "base/task.h"

struct shard;
struct net;

/*
 * Runs task->run with the token held: now, in this thread, where the token is free; else by its present owner. From
 * inside the same shard (a task, a timer, a socket): later, by the present owner, never inside the post.
 */
void shard_post(struct shard *s, struct task *task);
/*
 * The same for a doorbell: does nothing while it is queued already. The flag falls before run begins. Of this, the next
 * and shard_poll the caller keeps the shard alive until they are back; of all others the shard does so itself.
 */
void shard_post_once(struct shard *s, struct task *task);
/*
 * The same for a doorbell that can wait for the poller, while there is one: until its next poll that looks at the
 * shard, any other work, shard_post_once of the same task, or the end of the lease. Without a lease it is
 * shard_post_once. True: it may be waiting. The caller sees to it that the task outlives this call.
 */
bool shard_post_lazily(struct shard *s, struct task *task);
/* shard_post_once for whoever holds what the shard's work may wait for: nothing of it is driven in this thread. */
void shard_post_away(struct shard *s, struct task *task);
/* Queues a callback into the consumer. Any thread, token held or not; never runs it before returning. */
void shard_call(struct shard *s, struct task *task);

/* Is the caller driving this shard now? For assertions: state of a shard is touched by its owner alone. */
bool shard_is_owner(const struct shard *s);

/* Timers: token held for all of these. */
struct shard_timer {
    union {
        RB_ENTRY(shard_timer) node;
        TAILQ_ENTRY(shard_timer) link;
    };
    uint64_t deadline; /* nanoseconds on the executor's clock */
    uint64_t order;    /* of those with one deadline the one that was set first fires first */
    bool armed;
    uint8_t row;       /* where it is, while armed */
    void (*fire)(struct shard_timer *timer); /* disarmed already; may set itself again */
};
void shard_timer_set(struct shard *s, struct shard_timer *timer, uint64_t deadline);
void shard_timer_stop(struct shard *s, struct shard_timer *timer);

/*
 * Nanoseconds, monotonic; the clock of the executor (virtual in a simulation). The owner reads it once for each turn,
 * or twice: what is due is due by the time before the sockets were looked at.
 */
uint64_t shard_now(struct shard *s);
uint64_t shard_clock(struct shard *s); /* the same clock, read anew: for turns that may take long */

/*
 * A consumer that looks at an empty queue drives the shard: a bounded, fair batch of input, work and timers, when the
 * token is free; otherwise nothing. Never delivers callbacks. Polls that keep coming take and renew the polling lease,
 * or are given it by the shard's thread where that always has something to do:
 * until it runs out (1 ms) or shard_watch, the shard's thread does not watch the sockets; it does serve timers and
 * callbacks. Any thread (from a callback too, then without a lease), never blocks.
 */
void shard_poll(struct shard *s);
/* Ends the lease: the shard's thread watches the sockets again. For NdkArmCq. */
void shard_watch(struct shard *s);

/*
 * Where threads, sleep and time come from. The real one gives each shard a thread; a simulation runs all shards
 * in one thread by shard_turn, on a virtual clock.
 */
struct executor;
struct executor_ops {
    uint64_t (*now)(struct executor *e);
    int (*start)(struct executor *e, struct shard *s); /* 0 or errno */
    void (*stop)(struct executor *e, struct shard *s); /* returns when no thread is in the shard any more */
    void (*wake)(struct executor *e, struct shard *s); /* the shard's thread sleeps in net_ops.wait: end that */
    /* Returns false if the deadline passes first. A simulation turns its shards meanwhile. */
    bool (*gate_wait)(struct executor *e, struct gate *g, uint64_t deadline);
};
struct executor {
    const struct executor_ops *ops;
};
static inline void executor_wait(struct executor *e, struct gate *g)
{
    (void)e->ops->gate_wait(e, g, UINT64_MAX);
}
/* The same until the executor's clock reads deadline. Returns false if the gate is not open by then. */
static inline bool executor_wait_until(struct executor *e, struct gate *g, uint64_t deadline)
{
    return e->ops->gate_wait(e, g, deadline);
}

struct shard_config {
    uint64_t spin_ns;   /* how long the thread looks on after an event before it sleeps, at most */
    unsigned batch;     /* most sockets served in one turn; 0: the default */
    int cpu;            /* processor to pin the thread to, or -1 */
};

/* Creates a shard whose sockets are net's. 0 or errno. */
int shard_create(struct executor *e, struct net *net, const struct shard_config *config, struct shard **out);
/* Everything that lived on the shard is gone by now. Blocks until its thread has ended. */
void shard_destroy(struct shard *s);
struct executor *shard_executor(const struct shard *s);
struct net *shard_net(const struct shard *s);
const struct shard_config *shard_config_of(const struct shard *s);
void *shard_net_state(const struct shard *s); /* the poller that net_ops.poller_create made for it */
/* For net backends, token held: a socket became ready other than by poll. */
void shard_sockets_left(struct shard *s);
/* Has the shard's thread look at everything: for net backends whose sockets become ready from outside. Any thread. */
void shard_kick(struct shard *s);

/*
 * For executors; one thread (the shard's thread) calls these for a shard.
 * One turn: takes the token, serves ready sockets, work, due timers, lets go of the token, then delivers queued
 * callbacks. Returns what it did, 0: nothing. A turn from inside a callback of the same shard delivers none.
 */
enum { SHARD_WORKED = 1, SHARD_CALLED = 2 };
unsigned shard_turn(struct shard *s);
/* The next timer's deadline, UINT64_MAX without one; 0 where work, ready sockets or callbacks wait. */
uint64_t shard_next_deadline(struct shard *s);
/* Sleeps until the shard has something to do, or a consumer's poll wants the sockets; returns early at times. */
void shard_sleep(struct shard *s);
/* Does a consumer poll, so that looking on is its business? */
bool shard_is_leased(struct shard *s);
/*
 * The owner, in a turn that takes long: the lease that it is under would run out meanwhile. Only in a consumer's turn,
 * poll or post: who had the lease is most likely this one.
 */
void shard_keep_lease(struct shard *s);
/* A place for what the executor keeps for this shard. */
void **shard_executor_slot(struct shard *s);

/* The executor of real threads, one for a process; created on first use, lives until the process ends. */
struct executor *executor_threads(void);
/* Is this one of its threads? */
bool executor_on_worker(void);

#endif
