/* SPDX-License-Identifier: MIT */
/*
 * A shard: an event loop with its sockets, timers and work. The invariant: only the shard's owner drives the shard. The
 * owner is the thread that has the token (base/owner.h): the shard's own thread, or a consumer's thread that posted or
 * polled when the token was free.
 *
 *   shard_post   work that runs with the token held, in the order posted; any thread may post at any time
 *   shard_call   a callback into the consumer: it runs on the shard's thread without the token, in the order queued;
 *                callbacks of one shard never overlap
 *   timers       fire with the token held
 *   sockets      net.h reports readiness with the token held
 *
 * Only executor_wait, executor_wait_until, shard_destroy and the functions for executors block. The shard's code does
 * not depend on the layers that use it.
 *
 * A thread that drives one shard may post to another shard. If the other shard's token is free, the posted task runs
 * inside the post, with both tokens held. So a task either posts as its last action, or allows for changes that work of
 * the other shard makes during the post, or uses shard_enqueue. Only a shard's own thread waits for a token, and only
 * for the token of its own shard.
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
 * Runs task->run with the token held. If the token is free, the task runs in this thread before shard_post returns.
 * Otherwise the present owner runs it. If the caller is the owner (in a task, a timer's `fire` or a socket's `ready`),
 * the posted task runs later, never inside the post.
 */
void shard_post(struct shard *s, struct task *task);
/*
 * Works like shard_post, but does nothing if the task is already queued. A task is queued until its run begins. The
 * caller must keep the shard alive during shard_post_once, shard_post_lazy and shard_poll. The other functions keep it
 * alive themselves.
 */
void shard_post_once(struct shard *s, struct task *task);
/*
 * Posts a task that may wait. While a consumer has the polling lease, the task waits until a poll gets the token, or
 * other work runs, or shard_post_once is called for the task, or the lease ends. Without a lease, works like
 * shard_post_once. Returns true if the task may be waiting for a poll. If it returns false, the task has run,
 * or an owner runs it without waiting for a poll. The caller must keep the task alive until shard_post_lazy returns.
 */
bool shard_post_lazy(struct shard *s, struct task *task);
/*
 * Queues the task as shard_post_once does, but never drives the shard in this thread. Needed if the caller has
 * something for which the shard's work may wait: a lock, a token or protected memory.
 */
void shard_enqueue(struct shard *s, struct task *task);
/*
 * Queues a callback into the consumer. Any thread may call this function, with or without the token. The callback never
 * runs inside shard_call.
 */
void shard_call(struct shard *s, struct task *task);

/* Returns true if the calling thread drives this shard now. For assertions: only the owner touches a shard's state. */
bool shard_is_owner(const struct shard *s);

/* All functions of timers require the token. */
struct shard_timer {
    union {
        RB_ENTRY(shard_timer) node;
        TAILQ_ENTRY(shard_timer) link;
    };
    uint64_t deadline; /* nanoseconds on the executor's clock */
    uint64_t order;    /* higher than in all timers set earlier; timers with equal deadlines fire in this order */
    bool armed;
    uint8_t fifo; /* while armed: the index of the timer's FIFO, or MAX_TIMER_FIFOS if the timer is in the tree */
    void (*fire)(struct shard_timer *timer); /* called after the timer is disarmed; may set it again */
};
void shard_timer_set(struct shard *s, struct shard_timer *timer, uint64_t deadline);
void shard_timer_stop(struct shard *s, struct shard_timer *timer);

/*
 * Returns the executor's monotonic clock in nanoseconds. It is virtual in a simulation. In a turn, the result may be as
 * old as the turn, because the owner reads the clock only a few times in each turn.
 */
uint64_t shard_now(struct shard *s);
uint64_t shard_clock(struct shard *s); /* always reads the clock; for turns that may take long */

/*
 * Drives the shard for a consumer that polls an empty queue. If the token is free, serves a limited amount of input,
 * work and timers, but runs no callbacks. Otherwise only renews the polling lease or counts the poll. Any thread may
 * call this function. Never blocks.
 *
 * During the polling lease, the shard's thread does not wait for sockets, but serves timers and callbacks. Polls in
 * quick succession begin the lease, and each poll renews it. If the shard's thread is always busy, so that the polls do
 * not get the token, that thread begins the lease. A poll from a callback begins no lease. The lease ends after
 * about 1 ms without a poll, or by shard_watch.
 */
void shard_poll(struct shard *s);
/* Ends the polling lease, so that the shard's thread waits for sockets again. Called by NdkArmCq. */
void shard_watch(struct shard *s);

/*
 * An executor provides threads, sleep and time. The executor of real threads gives each shard a thread. A simulation
 * runs all shards in one thread, with shard_turn and a virtual clock.
 */
struct executor;
struct executor_ops {
    uint64_t (*now)(struct executor *e);
    int (*start)(struct executor *e, struct shard *s); /* returns 0 or errno */
    void (*stop)(struct executor *e, struct shard *s); /* returns after the shard's last turn */
    void (*wake)(struct executor *e, struct shard *s); /* ends the wait of the shard's thread in net_ops.wait */
    /* Waits until the gate is open. Returns false if the deadline passes first. A simulation runs turns meanwhile. */
    bool (*gate_wait)(struct executor *e, struct gate *g, uint64_t deadline);
};
struct executor {
    const struct executor_ops *ops;
};
static inline void executor_wait(struct executor *e, struct gate *g)
{
    (void)e->ops->gate_wait(e, g, UINT64_MAX);
}
/* Waits until the gate is open, or the executor's clock reaches the deadline. Returns false if the gate is closed. */
static inline bool executor_wait_until(struct executor *e, struct gate *g, uint64_t deadline)
{
    return e->ops->gate_wait(e, g, deadline);
}

struct shard_config {
    uint64_t spin_ns; /* maximum time that the thread spins after an event before it sleeps */
    unsigned batch;   /* maximum number of sockets that are served in one turn; 0: the default */
    int cpu;          /* the processor to which the thread is pinned, or -1 */
};

/* Creates a shard whose sockets belong to `net`. Returns 0 or errno. */
int shard_create(struct executor *e, struct net *net, const struct shard_config *config, struct shard **out);
/* Frees the shard, which must have no sockets, timers or work. Blocks until the shard's thread has ended. */
void shard_destroy(struct shard *s);
struct executor *shard_executor(const struct shard *s);
struct net *shard_net(const struct shard *s);
const struct shard_config *shard_get_config(const struct shard *s);
void *shard_poller(const struct shard *s); /* the poller that net_ops.poller_create has made for this shard */
/* For net backends: reports that a socket became ready outside of net_ops.poll. Requires the token. */
void shard_set_sockets_ready(struct shard *s);
/*
 * For net backends whose poller does not itself end the thread's wait: makes the shard's thread run a turn. Any thread
 * may call this function.
 */
void shard_wake(struct shard *s);

/*
 * Runs one turn: acquires the token, serves ready sockets, work and due timers, releases the token, and delivers
 * queued callbacks. Returns a set of SHARD_WORKED (it served sockets, work or timers) and SHARD_CALLED (it delivered
 * callbacks). A turn inside a callback of the same shard delivers no callbacks.
 *
 * This function and those below are for executors. Only the shard's own thread calls them.
 */
enum { SHARD_WORKED = 1, SHARD_CALLED = 2 };
unsigned shard_turn(struct shard *s);
/*
 * Returns the next timer's deadline, UINT64_MAX if there is none, or 0 if work, ready sockets or callbacks are waiting.
 */
uint64_t shard_next_deadline(struct shard *s);
/* Sleeps until the shard has something to do or a consumer's poll begins a lease. May return early. */
void shard_sleep(struct shard *s);
/* Returns true if a consumer has the polling lease. The thread then need not poll. */
bool shard_is_leased(struct shard *s);
/*
 * Renews the polling lease, so that the lease does not expire during a long turn. Requires the token. Does nothing if
 * there is no lease, or if the caller is the shard's own thread. Any other caller is assumed to be the consumer that
 * has the lease.
 */
void shard_renew_lease(struct shard *s);
/* Returns the address of a pointer in the shard. The executor uses the pointer for its own data. */
void **shard_executor_slot(struct shard *s);

/*
 * Returns the executor of real threads. The process has one such executor, which is created at the first use and never
 * destroyed.
 */
struct executor *executor_threads(void);
/* Returns true if the calling thread is a shard's thread of this executor. */
bool executor_on_worker(void);

#endif
