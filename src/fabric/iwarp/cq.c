/* SPDX-License-Identifier: MIT */
/*
 * Implements completion queues. A queue is a ring that a spin lock guards. The owner of any shard pushes completions,
 * and any thread polls.
 *
 * A completion is new if it has not been polled, and was pushed after the last notification began. An armed queue must
 * notify if there is a new completion of the type for which the queue is armed. After an overflow, the queue must
 * notify for every type of arm, including later arms.
 *
 * If moderation is set, the notification is delayed until there are as many new completions as requested, or until the
 * interval has passed. The delay also ends when the queue is full, because the next completion would overflow the
 * queue. The delay also ends when a request has failed, because the requested number of completions may then never be
 * reached.
 *
 * The invariant: an arm causes one notification at most. Only the owner of the home shard uses the timer; other threads
 * post update_timer to that shard.
 */
#include "fabric/iwarp/cq.h"
#include "fabric/iwarp/delivery.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

struct fabric_cq {
    _Atomic(struct iwarp_shard *) home; /* NULL until iwarp_cq_set_home; written with the lock held */
    struct fabric_cq_config config;
    atomic_bool overflowed; /* written with the lock held */
    /*
     * The number of polls until one must drive the shard even if that poll finds completions. 0: no poll must. Set by
     * doorbell_defer_to_poll. While it is 0, no request waits for a poll.
     */
    atomic_uint polls_left;
    atomic_uint empty_polls; /* polls that drove the shard and still found nothing */
    atomic_uint count;       /* completions in the ring; changed only with the lock held */
    struct spin lock;        /* guards the members from `ring` to `users`, except `closed` */
    struct rdma_completion *ring;
    uint32_t depth, head;
    enum fabric_arm armed;
    /*
     * Completions are numbered from 1, in the order of the pushes. Each of these members is the number of a completion,
     * or 0 if there is none: `notified` is the newest completion when the last notification began. Each other member is
     * the newest completion of the kind that its name states.
     */
    uint64_t pushed, popped, notified, solicited, failed;
    uint32_t interval_us, moderation_count; /* no moderation if interval_us is 0 or moderation_count is below 2 */
    uint32_t min_interval_us;               /* a minimum for interval_us */
    bool is_delayed;                        /* a notification is due, but moderation delays it */
    uint64_t delays;                        /* the number of delays that have begun */
    /*
     * The number of the newest completion that was polled or notified when the last delay began. The delay ends when
     * moderation_count later completions have been pushed.
     */
    uint64_t delayed_from;
    void (*closed)(void *owner);
    LIST_HEAD(, cq_user) users;
    struct delivery delivery;
    struct task update_timer;
    /* Only the thread that has the home shard's token uses the members from here on: */
    struct shard_timer timer;
    uint64_t timer_delay;       /* the number of the delay for which the timer was set; the first delay has number 1 */
    uint64_t timer_since;       /* when the timer was first set for this delay: the delay's interval begins then */
    uint32_t timer_interval_us; /* the interval for which the timer was last set */
};

static void cq_deliver(struct delivery *d);
static void cq_on_delivery_closed(struct delivery *d);
static void cq_run_update_timer(struct task *task);
static void cq_on_timer(struct shard_timer *timer);

/*
 * Returns the home shard, or NULL before iwarp_cq_set_home. The home shard is always set before the first completion.
 */
static struct iwarp_shard *cq_home(struct fabric_cq *cq)
{
    return atomic_load_explicit(&cq->home, memory_order_relaxed);
}

/*
 * Sets the interval and the count of the moderation. The interval is at least min_interval_us, which is a setting of
 * the fabric. Requires the lock.
 */
static void cq_set_moderation(struct fabric_cq *cq, uint32_t interval_us, uint32_t count)
{
    bool is_set = interval_us > 0 && count > 1;

    cq->interval_us = interval_us > cq->min_interval_us && (is_set || !cq->min_interval_us) ? interval_us
                                                                                            : cq->min_interval_us;
    cq->moderation_count = is_set || !cq->min_interval_us ? count : UINT32_MAX;
}

int iwarp_cq_create(struct fabric *f, const struct fabric_cq_config *config, struct fabric_cq **out)
{
    struct iwarp_fabric *fabric = (struct iwarp_fabric *)f;
    struct fabric_cq *cq = calloc(1, sizeof *cq);
    struct iwarp_shard *home;

    if (!cq)
        return ENOMEM;
    cq->depth = config->depth;
    cq->ring = calloc(cq->depth ? cq->depth : 1, sizeof *cq->ring);
    if (!cq->ring) {
        free(cq);
        return ENOMEM;
    }
    home = config->affinity >= 0 ? iwarp_home(fabric, config->affinity, &fabric->next_cq) : NULL;
    atomic_init(&cq->home, home);
    cq->config = *config;
    spin_init(&cq->lock);
    LIST_INIT(&cq->users);
    delivery_init(&cq->delivery, home ? home : &fabric->shards[0], cq_deliver, cq_on_delivery_closed);
    cq->min_interval_us = fabric->config.notify_us;
    cq_set_moderation(cq, 0, 0);
    cq->update_timer.run = cq_run_update_timer;
    cq->timer.fire = cq_on_timer;
    *out = cq;
    return 0;
}

static uint32_t cq_count(const struct fabric_cq *cq)
{
    return atomic_load_explicit(&cq->count, memory_order_relaxed);
}

/* ---- notification; the lock is held, except in cq_run_actions and cq_deliver ---- */

static bool cq_is_new(const struct fabric_cq *cq, uint64_t number)
{
    return number > cq->notified && number > cq->popped;
}

/*
 * Returns true if the queue has overflowed. Requires the lock. The flag is written only with the lock held, so a
 * relaxed load suffices.
 */
static bool cq_has_overflowed(const struct fabric_cq *cq)
{
    return atomic_load_explicit(&cq->overflowed, memory_order_relaxed);
}

static bool cq_arm_is_met(const struct fabric_cq *cq)
{
    if (cq_has_overflowed(cq))
        return cq->armed != FABRIC_ARM_NONE;
    switch (cq->armed) {
    case FABRIC_ARM_ANY:
        return cq_is_new(cq, cq->pushed);
    case FABRIC_ARM_SOLICITED:
        return cq_is_new(cq, cq->solicited);
    case FABRIC_ARM_ERRORS:
    case FABRIC_ARM_NONE:
        return false;
    }
    return false;
}

static bool cq_is_moderated(const struct fabric_cq *cq)
{
    return cq->interval_us > 0 && cq->moderation_count > 1;
}

static bool cq_delay_is_over(struct fabric_cq *cq)
{
    if (!cq_is_moderated(cq) || cq->pushed - cq->delayed_from >= cq->moderation_count)
        return true;
    if (cq_count(cq) >= cq->depth)
        return true;
    if (cq_has_overflowed(cq))
        return true;
    return cq->failed > cq->delayed_from;
}

/* A set of actions, which cq_run_actions carries out after the lock has been released. */
enum { CQ_NOTIFY = 1, CQ_UPDATE_TIMER = 2 };

/*
 * If the condition of the arm is met (cq_arm_is_met), disarms the queue and begins the moderation delay. If the delay
 * is over, ends the delay and returns CQ_NOTIFY. The caller must carry out the returned actions after it has released
 * the lock.
 */
static unsigned cq_update_arm(struct fabric_cq *cq)
{
    unsigned actions = 0;

    if (cq_arm_is_met(cq)) {
        cq->armed = FABRIC_ARM_NONE;
        if (!cq->is_delayed) {
            cq->is_delayed = true;
            cq->delays++;
            cq->delayed_from = cq->notified > cq->popped ? cq->notified : cq->popped;
            actions = cq->interval_us < UINT32_MAX ? CQ_UPDATE_TIMER : 0;
        }
    }
    if (cq->is_delayed && cq_delay_is_over(cq)) {
        cq->is_delayed = false;
        actions = CQ_NOTIFY;
    }
    return actions;
}

/* Carries out the actions that cq_update_arm has returned. The lock must not be held. */
static void cq_run_actions(struct fabric_cq *cq, unsigned actions)
{
    if (actions & CQ_NOTIFY)
        delivery_add(&cq->delivery);
    if (actions & CQ_UPDATE_TIMER)
        shard_post_once(cq_home(cq)->shard, &cq->update_timer);
}

static void cq_deliver(struct delivery *d)
{
    struct fabric_cq *cq = (struct fabric_cq *)((char *)d - offsetof(struct fabric_cq, delivery));
    bool overflowed;

    spin_lock(&cq->lock);
    cq->notified = cq->pushed;
    overflowed = cq_has_overflowed(cq);
    spin_unlock(&cq->lock);
    cq->config.notify(cq->config.owner, overflowed);
}

/* ---- queueing ---- */

/*
 * Finds a user (a queue pair) that has not received a report of the overflow, claims it, and copies its struct to
 * *claimed. Returns false if there is no such user. The claim (claim_overflow) acquires a reference on the user's
 * owner, which keeps the owner valid after the lock is released.
 */
static bool cq_claim_user(struct fabric_cq *cq, struct cq_user *claimed)
{
    struct cq_user *user;
    bool found = false;

    spin_lock(&cq->lock);
    LIST_FOREACH (user, &cq->users, link) {
        found = user->claim_overflow(user->owner);
        if (found) {
            *claimed = *user;
            break;
        }
    }
    spin_unlock(&cq->lock);
    return found;
}

static void cq_report_overflow(struct fabric_cq *cq)
{
    struct cq_user user;

    while (cq_claim_user(cq, &user))
        user.overflowed(user.owner);
}

/* Copies member by member, because wider loads would wait for the recent stores of the members. */
static void completion_copy(struct rdma_completion *to, const struct rdma_completion *from)
{
    to->context = from->context;
    to->qp_context = from->qp_context;
    to->op = from->op;
    to->status = from->status;
    to->length = from->length;
    to->token = from->token;
    to->error = from->error;
    to->terminate = from->terminate;
    to->reason = from->reason;
    to->solicited = from->solicited;
}

/* Inserts a completion into the ring, which must have room. Requires the lock. */
static void cq_insert(struct fabric_cq *cq, const struct rdma_completion *c)
{
    uint32_t count = cq_count(cq), at = cq->head + count;

    completion_copy(&cq->ring[at < cq->depth ? at : at - cq->depth], c);
    atomic_store_explicit(&cq->count, count + 1, memory_order_relaxed);
    cq->pushed++;
    if (c->solicited)
        cq->solicited = cq->pushed;
    if (c->status != RDMA_STATUS_OK)
        cq->failed = cq->pushed;
}

void iwarp_cq_push(struct fabric_cq *cq, const struct rdma_completion *c, unsigned n)
{
    bool overflows = false;
    unsigned actions;

    spin_lock(&cq->lock);
    if (!cq_has_overflowed(cq)) {
        for (; n > 0 && cq_count(cq) < cq->depth; c++, n--)
            cq_insert(cq, c);
        overflows = n > 0;
    }
    if (overflows)
        atomic_store_explicit(&cq->overflowed, true, memory_order_release);
    actions = cq_update_arm(cq);
    spin_unlock(&cq->lock);
    if (overflows)
        iwarp_count(cq_home(cq), COUNT_CQ_ERRORS, 1);
    /*
     * shard_enqueue only queues the task. This thread must not drive the shard, because it may protect a region
     * (mem_release ends the protection), and work of the shard may wait until nothing protects that region.
     */
    if (actions & CQ_UPDATE_TIMER)
        shard_enqueue(cq_home(cq)->shard, &cq->update_timer);
    cq_run_actions(cq, actions & ~(unsigned)CQ_UPDATE_TIMER);
    if (overflows)
        cq_report_overflow(cq);
}

/* Moves up to `max` completions to `out`, and returns their number. */
static int cq_pop(struct fabric_cq *cq, struct rdma_completion *out, int max)
{
    int n = 0;
    uint32_t count = cq_count(cq);

    if (count == 0)
        return 0; /* the lock is not needed: the queue was empty a moment ago */
    spin_lock(&cq->lock);
    count = cq_count(cq);
    for (; n < max && (uint32_t)n < count; n++) {
        completion_copy(&out[n], &cq->ring[cq->head]);
        cq->head = cq->head + 1 < cq->depth ? cq->head + 1 : 0;
    }
    if ((uint32_t)n == count)
        cq->head = 0; /* the ring is empty: entry 0 is probably in the CPU's cache */
    cq->popped += (uint32_t)n;
    atomic_store_explicit(&cq->count, count - (uint32_t)n, memory_order_relaxed);
    spin_unlock(&cq->lock);
    return n;
}

/*
 * Returns true if this poll must drive the shard. `found` is the number of completions that the poll has read. A poll
 * must drive the shard if it has found none. If polls_left is 1, the poll must drive the shard too, because the waiting
 * requests must not wait longer. After any other poll, the consumer usually posts a request, which is then transmitted
 * together with the waiting requests.
 */
static bool cq_poll_drives(struct fabric_cq *cq, int found)
{
    unsigned polls = atomic_load_explicit(&cq->polls_left, memory_order_relaxed);
    bool drive = found == 0 || polls == 1;

    if (polls > 0)
        atomic_store_explicit(&cq->polls_left, drive ? 0 : polls - 1, memory_order_relaxed);
    return drive;
}

int iwarp_cq_poll(struct fabric_cq *cq, struct rdma_completion *out, int max)
{
    struct iwarp_shard *home = cq_home(cq);
    int n = cq_pop(cq, out, max);

    if (max <= 0 || !cq_poll_drives(cq, n) || !home)
        return n;
    shard_poll(home->shard);
    if (n == 0)
        n = cq_pop(cq, out, max);
    if (n == 0)
        atomic_fetch_add_explicit(&cq->empty_polls, 1, memory_order_relaxed);
    return n;
}

void iwarp_cq_arm(struct fabric_cq *cq, enum fabric_arm type)
{
    struct iwarp_shard *home;
    unsigned actions;

    spin_lock(&cq->lock);
    if (type > cq->armed)
        cq->armed = type;
    actions = cq_update_arm(cq);
    home = cq_home(cq);
    spin_unlock(&cq->lock);
    cq_run_actions(cq, actions);
    if (home) /* otherwise iwarp_cq_set_home calls shard_watch */
        shard_watch(home->shard);
}

/* ---- moderation ---- */

/*
 * Sets the timer for the moderation delay that is in progress. Stops the timer if no delay with a time limit is in
 * progress. The interval of a delay begins at the first call that sets the timer for that delay. Called by the home
 * shard's owner.
 */
static void cq_run_update_timer(struct task *task)
{
    struct fabric_cq *cq = (struct fabric_cq *)((char *)task - offsetof(struct fabric_cq, update_timer));
    struct shard *home = cq_home(cq)->shard;
    uint32_t interval_us;
    uint64_t delays;
    bool has_limit;

    spin_lock(&cq->lock);
    cq->timer_interval_us = interval_us = cq->interval_us;
    delays = cq->delays;
    has_limit = cq->is_delayed && interval_us < UINT32_MAX;
    spin_unlock(&cq->lock);
    shard_timer_stop(home, &cq->timer);
    if (!has_limit)
        return;
    if (cq->timer_delay != delays) {
        cq->timer_delay = delays;
        cq->timer_since = shard_now(home);
    }
    shard_timer_set(home, &cq->timer, cq->timer_since + interval_us * UINT64_C(1000));
}

static void cq_on_timer(struct shard_timer *timer)
{
    struct fabric_cq *cq = (struct fabric_cq *)((char *)timer - offsetof(struct fabric_cq, timer));
    bool is_over;

    spin_lock(&cq->lock);
    /* If the timer was set for another delay or interval, nothing is due, and update_timer will set the timer again. */
    is_over = cq->is_delayed && cq->delays == cq->timer_delay && cq->interval_us == cq->timer_interval_us;
    if (is_over)
        cq->is_delayed = false;
    spin_unlock(&cq->lock);
    cq_run_actions(cq, is_over ? CQ_NOTIFY : 0);
}

void iwarp_cq_moderate(struct fabric_cq *cq, uint32_t interval_us, uint32_t count)
{
    unsigned actions;

    spin_lock(&cq->lock);
    cq_set_moderation(cq, interval_us, count);
    actions = cq_update_arm(cq);
    if (cq->is_delayed)
        actions |= CQ_UPDATE_TIMER;
    spin_unlock(&cq->lock);
    cq_run_actions(cq, actions);
}

int iwarp_cq_resize(struct fabric_cq *cq, uint32_t depth)
{
    struct rdma_completion *ring = calloc(depth ? depth : 1, sizeof *ring);
    struct rdma_completion *old = ring;
    unsigned actions = 0;
    int result = 0;

    if (!ring)
        return ENOMEM;
    spin_lock(&cq->lock);
    if (depth < cq_count(cq)) {
        result = EINVAL;
    } else {
        for (uint32_t i = 0; i < cq_count(cq); i++)
            ring[i] = cq->ring[(cq->head + (uint64_t)i) % cq->depth];
        old = cq->ring;
        cq->ring = ring;
        cq->depth = depth;
        cq->head = 0;
        actions = cq_update_arm(cq); /* because a full ring ends a delay, and the ring may be full now */
    }
    spin_unlock(&cq->lock);
    cq_run_actions(cq, actions);
    free(old);
    return result;
}

void iwarp_cq_info(struct fabric_cq *cq, struct fabric_cq_info *info)
{
    spin_lock(&cq->lock);
    *info = (struct fabric_cq_info){
        .depth = cq->depth,
        .queued = cq_count(cq),
        .armed = cq->armed,
        .interval_us = cq_is_moderated(cq) ? cq->interval_us : 0,
        .moderation_count = cq_is_moderated(cq) ? cq->moderation_count : 0,
        .overflowed = cq_has_overflowed(cq),
    };
    spin_unlock(&cq->lock);
}

struct shard *iwarp_cq_shard(struct fabric_cq *cq)
{
    return cq->delivery.home->shard;
}

struct iwarp_shard *iwarp_cq_set_home(struct iwarp_fabric *f, struct fabric_cq *cq, struct iwarp_shard *home)
{
    bool armed = false;

    spin_lock(&cq->lock);
    if (!cq_home(cq)) {
        /* The home can be set, because no completion was pushed yet, and so no delivery or timer is active. */
        home = home ? home : iwarp_pick_shard(f, &f->next_cq);
        atomic_store_explicit(&cq->home, home, memory_order_relaxed);
        delivery_move(&cq->delivery, home);
        armed = cq->armed != FABRIC_ARM_NONE;
    }
    home = cq_home(cq);
    spin_unlock(&cq->lock);
    if (armed)
        shard_watch(home->shard);
    return home;
}

void iwarp_cq_add(struct fabric_cq *cq, struct cq_user *user)
{
    spin_lock(&cq->lock);
    LIST_INSERT_HEAD(&cq->users, user, link);
    spin_unlock(&cq->lock);
}

void iwarp_cq_remove(struct fabric_cq *cq, struct cq_user *user)
{
    spin_lock(&cq->lock);
    LIST_REMOVE(user, link);
    spin_unlock(&cq->lock);
}

/* ---- end ---- */

static void cq_on_delivery_closed(struct delivery *d)
{
    struct fabric_cq *cq = (struct fabric_cq *)((char *)d - offsetof(struct fabric_cq, delivery));
    void (*closed)(void *owner) = cq->closed;
    void *owner = cq->config.owner;

    shard_timer_stop(d->home->shard, &cq->timer);
    free(cq->ring);
    free(cq);
    closed(owner);
}

void iwarp_cq_close(struct fabric_cq *cq, void (*done)(void *owner))
{
    cq->closed = done;
    delivery_close(&cq->delivery);
}

/* ---- calls of queue pairs ---- */

bool iwarp_cq_has_overflowed(const struct fabric_cq *cq)
{
    return atomic_load_explicit(&cq->overflowed, memory_order_acquire);
}

uint32_t iwarp_cq_unread(const struct fabric_cq *cq)
{
    return cq_count(cq);
}

unsigned iwarp_cq_empty_polls(const struct fabric_cq *cq)
{
    return atomic_load_explicit(&cq->empty_polls, memory_order_relaxed);
}

void iwarp_cq_defer_to_poll(struct fabric_cq *cq, unsigned max_polls)
{
    if (atomic_load_explicit(&cq->polls_left, memory_order_relaxed) == 0)
        atomic_store_explicit(&cq->polls_left, max_polls, memory_order_relaxed);
}
