/* SPDX-License-Identifier: MIT */
/*
 * A shard: an event loop with its sockets, timers and work. The invariant: one thread drives it at a time, its owner
 * (base/owner.h). If the token is free, that is the shard's own thread, or a consumer's thread that posts or polls.
 *
 *   shard_post   work that runs with the token held, in the order posted; any thread may post at any time
 *   shard_call   a callback into the consumer: it runs on the shard's thread without the token, in the order queued;
 *                callbacks of one shard never overlap
 *   timers       fire with the token held
 *   sockets      net.h reports readiness with the token held
 *
 * Only executor_wait and shard_destroy block. A shard does not depend on what it carries.
 *
 * A thread that drives one shard may post to another one. If that shard's token is free, the task runs inside the post,
 * with both tokens held. So a task posts to another shard as its last act, or expects that the other shard's work is
 * done when the post returns, or uses shard_enqueue. Only a shard's own thread ever waits for a token.
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
 * Runs task->run with the token held: in this thread before it returns if the token is free, otherwise in the present
 * owner. If the caller is the owner (in a task, a timer or a socket's ready), it runs later, never inside the post.
 */
void shard_post(struct shard *s, struct task *task);
/*
 * The same for a doorbell: does nothing if the task is queued. A task counts as queued until its run begins. The caller
 * must keep the shard alive while this, shard_post_lazy or shard_poll runs. The other functions do that themselves.
 */
void shard_post_once(struct shard *s, struct task *task);
/*
 * The same for a doorbell that may wait. While a consumer polls, the task waits for its next poll that gets the token,
 * any other work, shard_post_once of the same task, or the end of the lease. Without a lease this is shard_post_once.
 * Returns true if the task may be waiting. The caller must keep the task alive while this runs.
 */
bool shard_post_lazy(struct shard *s, struct task *task);
/*
 * shard_post_once for a caller who holds something that the shard's work may wait for: queues the task and never
 * drives the shard in this thread.
 */
void shard_enqueue(struct shard *s, struct task *task);
/* Queues a callback into the consumer. Any thread, with or without the token. Never runs it before it returns. */
void shard_call(struct shard *s, struct task *task);

/* Does the calling thread drive this shard now? For assertions: only the owner touches a shard's state. */
bool shard_is_owner(const struct shard *s);

/* Timers: all functions require the token. */
struct shard_timer {
    union {
        RB_ENTRY(shard_timer) node;
        TAILQ_ENTRY(shard_timer) link;
    };
    uint64_t deadline; /* nanoseconds on the executor's clock */
    uint64_t order;    /* timers with the same deadline fire in the order in which they were set */
    bool armed;
    uint8_t fifo;      /* while armed: which of the shard's timer FIFOs has it, or MAX_TIMER_FIFOS for the tree */
    void (*fire)(struct shard_timer *timer); /* called disarmed; may set the timer again */
};
void shard_timer_set(struct shard *s, struct shard_timer *timer, uint64_t deadline);
void shard_timer_stop(struct shard *s, struct shard_timer *timer);

/*
 * Returns nanoseconds of the executor's monotonic clock, which is virtual in a simulation. The owner reads the clock at
 * most twice a turn; timers are due by the time that was read before the sockets were polled.
 */
uint64_t shard_now(struct shard *s);
uint64_t shard_clock(struct shard *s); /* reads the same clock anew, for turns that may take long */

/*
 * For a consumer that polls an empty queue. If the token is free, drives the shard: a bounded batch of input, work and
 * timers, but no callbacks. Otherwise does nothing. Consecutive polls begin and renew the polling lease. If the shard's
 * thread is always busy, it begins a lease for them. Until the lease ends (1 ms without a poll, or shard_watch), the
 * shard's thread does not wait for sockets, but it does serve timers and callbacks. Any thread; a poll from a callback
 * begins no lease. Never blocks.
 */
void shard_poll(struct shard *s);
/* Ends the lease, so the shard's thread waits for sockets again. For NdkArmCq. */
void shard_watch(struct shard *s);

/*
 * An executor provides threads, sleep and time. The real one gives each shard a thread. A simulation runs all shards in
 * one thread by shard_turn, on a virtual clock.
 */
struct executor;
struct executor_ops {
    uint64_t (*now)(struct executor *e);
    int (*start)(struct executor *e, struct shard *s); /* returns 0 or errno */
    void (*stop)(struct executor *e, struct shard *s); /* returns after the shard's last turn */
    void (*wake)(struct executor *e, struct shard *s); /* ends the wait of the shard's thread in net_ops.wait */
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
/* Waits at most until the executor's clock reads deadline. Returns false if the gate is still closed. */
static inline bool executor_wait_until(struct executor *e, struct gate *g, uint64_t deadline)
{
    return e->ops->gate_wait(e, g, deadline);
}

struct shard_config {
    uint64_t spin_ns; /* how long the thread polls after an event before it sleeps, at most */
    unsigned batch;   /* sockets served in one turn, at most; 0: the default */
    int cpu;          /* the processor to pin the thread to, or -1 */
};

/* Creates a shard whose sockets are net's. Returns 0 or errno. */
int shard_create(struct executor *e, struct net *net, const struct shard_config *config, struct shard **out);
/* Requires that the shard has no sockets, timers or work. Blocks until its thread has ended. */
void shard_destroy(struct shard *s);
struct executor *shard_executor(const struct shard *s);
struct net *shard_net(const struct shard *s);
const struct shard_config *shard_get_config(const struct shard *s);
void *shard_poller(const struct shard *s); /* the poller that net_ops.poller_create made for it */
/* For net backends, token held: a socket became ready outside of poll. */
void shard_set_sockets_ready(struct shard *s);
/* Any thread. Makes the shard's thread run a turn, for net backends whose sockets become ready without their poller. */
void shard_wake(struct shard *s);

/*
 * For executors. One thread, the shard's, calls these functions for a shard.
 * Runs one turn: acquires the token, serves ready sockets, work and due timers, releases the token, and delivers queued
 * callbacks. Returns what it did, or 0. A turn from inside a callback of the same shard delivers no callbacks.
 */
enum { SHARD_WORKED = 1, SHARD_CALLED = 2 };
unsigned shard_turn(struct shard *s);
/* Returns the next timer's deadline, UINT64_MAX if there is none, or 0 if work, ready sockets or callbacks wait. */
uint64_t shard_next_deadline(struct shard *s);
/* Sleeps until the shard has something to do or a consumer's poll begins a lease. May return early. */
void shard_sleep(struct shard *s);
/* Does a consumer hold the polling lease, so that the thread need not poll? */
bool shard_is_leased(struct shard *s);
/*
 * Token held. Renews the lease in a turn that takes long, so that it does not run out meanwhile. Does so only in a
 * consumer's thread, because the consumer that drives the shard most likely has the lease.
 */
void shard_renew_lease(struct shard *s);
/* Returns a place where the executor stores a pointer of its own. */
void **shard_executor_slot(struct shard *s);

/* The executor of real threads: one for each process, created on first use, never destroyed. */
struct executor *executor_threads(void);
/* Is the calling thread one of its threads? */
bool executor_on_worker(void);

#endif
