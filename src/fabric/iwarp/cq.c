/* SPDX-License-Identifier: MIT */
/*
 * Abstract: completion queues. A ring under a spin lock: any shard's owner pushes, any thread polls.
 *
 * Completions are numbered. One is new when its number is above those of everything that was polled, and of everything
 * that was there when the last notification began; arming finds out with two comparisons.
 *
 * An arm causes one notification at most. An overflow meets an arm of any type, one that moderation delays included.
 * A queue that has overflowed meets each later arm at once.
 *
 * With moderation a notification whose arm is met waits until as many completions as wanted were new since, or the
 * interval has passed. It waits no longer than until the queue is full, which would overflow next, nor when a request
 * has failed: what would fill the count may never come then. The interval is timed by the owner of the home shard.
 */
#include "fabric/iwarp/cq.h"
#include "fabric/iwarp/delivery.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

struct fabric_cq {
    _Atomic(struct iwarp_shard *) home; /* NULL until it is decided, see iwarp_cq_settle; written under lock */
    struct fabric_cq_config config;
    atomic_bool dead;              /* overflowed; written under lock */
    atomic_uint polls_left;        /* requests wait: after so many polls at most one drives the shard */
    atomic_uint empty_polls;       /* that drove the shard and found nothing all the same */
    atomic_uint count;             /* results to be read; written under lock */
    struct spin lock;              /* guards everything below */
    struct rdma_completion *ring;
    uint32_t depth, head;
    enum fabric_arm armed;
    /* Completions are numbered from 1. The newest: pushed, popped, pushed when a notification began, and so on. */
    uint64_t pushed, popped, notified, solicited, failed;
    uint32_t interval_us, enough;  /* moderation as it was set, or the least there is here; zeros: none */
    uint32_t least_us;             /* of interval_us */
    bool waiting;                  /* an arm is met, and moderation delays the notification */
    uint64_t waits, waits_from;    /* how often it did so; the newest number that was not new then */
    void (*closed)(void *owner);
    LIST_HEAD(, cq_user) users;
    struct delivery delivery;
    struct task timing;
    /* owner: */
    struct shard_timer interval;
    uint64_t timed, timed_from;    /* the wait that interval is for, and when it was seen to begin */
    uint32_t timed_us;             /* and the setting that it obeys */
};

static void cq_deliver(struct delivery *d);
static void cq_finish(struct delivery *d);
static void cq_run_timing(struct task *task);
static void cq_on_interval(struct shard_timer *timer);

/* Not NULL where a completion has been. */
static struct iwarp_shard *cq_home(struct fabric_cq *cq)
{
    return atomic_load_explicit(&cq->home, memory_order_relaxed);
}

/* As asked for, but never less than what the fabric imitates. Under the lock. */
static void cq_set_moderation(struct fabric_cq *cq, uint32_t interval_us, uint32_t count)
{
    bool is_set = interval_us > 0 && count > 1;

    cq->interval_us = interval_us > cq->least_us && (is_set || !cq->least_us) ? interval_us : cq->least_us;
    cq->enough = is_set || !cq->least_us ? count : UINT32_MAX;
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
    delivery_init(&cq->delivery, home ? home : &fabric->shards[0], cq_deliver, cq_finish);
    cq->least_us = fabric->config.notify_us;
    cq_set_moderation(cq, 0, 0);
    cq->timing.run = cq_run_timing;
    cq->interval.fire = cq_on_interval;
    *out = cq;
    return 0;
}

static uint32_t cq_count(const struct fabric_cq *cq)
{
    return atomic_load_explicit(&cq->count, memory_order_relaxed);
}

/* ---- notification; all under the lock ---- */

static bool cq_is_new(const struct fabric_cq *cq, uint64_t number)
{
    return number > cq->notified && number > cq->popped;
}

/* Written under the lock too. */
static bool cq_has_overflowed(const struct fabric_cq *cq)
{
    return atomic_load_explicit(&cq->dead, memory_order_relaxed);
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
    return cq->interval_us > 0 && cq->enough > 1;
}

static bool cq_has_waited_enough(struct fabric_cq *cq)
{
    if (!cq_is_moderated(cq) || cq->pushed - cq->waits_from >= cq->enough)
        return true;
    if (cq_count(cq) >= cq->depth)
        return true;
    if (cq_has_overflowed(cq))
        return true;
    return cq->failed > cq->waits_from;
}

/* What the caller has to do after unlocking. */
enum { NOTIFY = 1, TIME = 2 };

/* Consumes the arm where it is met. */
static unsigned cq_check_arm(struct fabric_cq *cq)
{
    unsigned wanted = 0;

    if (cq_arm_is_met(cq)) {
        cq->armed = FABRIC_ARM_NONE;
        if (!cq->waiting) {
            cq->waiting = true;
            cq->waits++;
            cq->waits_from = cq->notified > cq->popped ? cq->notified : cq->popped;
            wanted = cq->interval_us < UINT32_MAX ? TIME : 0;
        }
    }
    if (cq->waiting && cq_has_waited_enough(cq)) {
        cq->waiting = false;
        wanted = NOTIFY;
    }
    return wanted;
}

/* Unlocked. */
static void cq_act(struct fabric_cq *cq, unsigned wanted)
{
    if (wanted & NOTIFY)
        delivery_add(&cq->delivery);
    if (wanted & TIME)
        shard_post_once(cq_home(cq)->shard, &cq->timing);
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

/* Copies a user that has not learned of the overflow to *claimed. What it has claimed keeps its owner afterwards. */
static bool cq_claim_user(struct fabric_cq *cq, struct cq_user *claimed)
{
    struct cq_user *user;
    bool found = false;

    spin_lock(&cq->lock);
    LIST_FOREACH(user, &cq->users, link) {
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

/* Member by member, as they were written a moment ago: wider loads would wait until the stores have left the buffer. */
static void completion_copy(struct rdma_completion *to, const struct rdma_completion *from)
{
    to->context = from->context;
    to->qp_context = from->qp_context;
    to->op = from->op;
    to->status = from->status;
    to->length = from->length;
    to->token = from->token;
    to->error = from->error;
    to->reason = from->reason;
    to->solicited = from->solicited;
}

/* Under the lock. There is room. */
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
    unsigned wanted;

    spin_lock(&cq->lock);
    if (!cq_has_overflowed(cq)) {
        for (; n > 0 && cq_count(cq) < cq->depth; c++, n--)
            cq_insert(cq, c);
        overflows = n > 0;
    }
    if (overflows)
        atomic_store_explicit(&cq->dead, true, memory_order_release);
    wanted = cq_check_arm(cq);
    spin_unlock(&cq->lock);
    if (overflows)
        iwarp_count_cq_error(cq_home(cq));
    if (wanted & TIME) /* not here: who completes may hold memory that the home shard's work waits for */
        shard_enqueue(cq_home(cq)->shard, &cq->timing);
    cq_act(cq, wanted & ~(unsigned)TIME);
    if (overflows)
        cq_report_overflow(cq);
}

static int cq_pop(struct fabric_cq *cq, struct rdma_completion *out, int max)
{
    int n = 0;
    uint32_t count = cq_count(cq);

    if (count == 0)
        return 0; /* as it would have been under the lock, a moment ago */
    spin_lock(&cq->lock);
    count = cq_count(cq);
    for (; n < max && (uint32_t)n < count; n++) {
        completion_copy(&out[n], &cq->ring[cq->head]);
        cq->head = cq->head + 1 < cq->depth ? cq->head + 1 : 0;
    }
    if ((uint32_t)n == count)
        cq->head = 0; /* the same few entries again and again, as long as few are enough: they stay in the cache */
    cq->popped += (uint32_t)n;
    atomic_store_explicit(&cq->count, count - (uint32_t)n, memory_order_relaxed);
    spin_unlock(&cq->lock);
    return n;
}

/*
 * Where requests were left to the poll: when it finds nothing, or a few have found something all the same. One that
 * reads the last result does not: what the consumer posts for it goes at once, and takes along what waits.
 */
static bool cq_poll_drives(struct fabric_cq *cq, int found)
{
    unsigned left = atomic_load_explicit(&cq->polls_left, memory_order_relaxed);
    bool drive = found == 0 || left == 1;

    if (left > 0)
        atomic_store_explicit(&cq->polls_left, drive ? 0 : left - 1, memory_order_relaxed);
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
        atomic_store_explicit(&cq->empty_polls, atomic_load_explicit(&cq->empty_polls, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    return n;
}

void iwarp_cq_arm(struct fabric_cq *cq, enum fabric_arm type)
{
    struct iwarp_shard *home;
    unsigned wanted;

    spin_lock(&cq->lock);
    if (type > cq->armed)
        cq->armed = type;
    wanted = cq_check_arm(cq);
    home = cq_home(cq);
    spin_unlock(&cq->lock);
    cq_act(cq, wanted);
    if (home) /* else iwarp_cq_settle will */
        shard_watch(home->shard);
}

/* ---- moderation ---- */

/* Owner of the home shard: the time limit of what waits, from when this saw it first, as the setting is now. */
static void cq_run_timing(struct task *task)
{
    struct fabric_cq *cq = (struct fabric_cq *)((char *)task - offsetof(struct fabric_cq, timing));
    struct shard *home = cq_home(cq)->shard;
    uint32_t interval_us;
    uint64_t waits;
    bool timed;

    spin_lock(&cq->lock);
    cq->timed_us = interval_us = cq->interval_us;
    waits = cq->waits;
    timed = cq->waiting && interval_us < UINT32_MAX;
    spin_unlock(&cq->lock);
    shard_timer_stop(home, &cq->interval);
    if (!timed)
        return;
    if (cq->timed != waits) {
        cq->timed = waits;
        cq->timed_from = shard_now(home);
    }
    shard_timer_set(home, &cq->interval, cq->timed_from + interval_us * UINT64_C(1000));
}

static void cq_on_interval(struct shard_timer *timer)
{
    struct fabric_cq *cq = (struct fabric_cq *)((char *)timer - offsetof(struct fabric_cq, interval));
    bool over;

    spin_lock(&cq->lock);
    /* Otherwise timing is queued, or this wait has no limit. */
    over = cq->waiting && cq->waits == cq->timed && cq->interval_us == cq->timed_us;
    if (over)
        cq->waiting = false;
    spin_unlock(&cq->lock);
    cq_act(cq, over ? NOTIFY : 0);
}

void iwarp_cq_moderate(struct fabric_cq *cq, uint32_t interval_us, uint32_t count)
{
    unsigned wanted;

    spin_lock(&cq->lock);
    cq_set_moderation(cq, interval_us, count);
    wanted = cq_check_arm(cq);
    if (cq->waiting)
        wanted |= TIME;
    spin_unlock(&cq->lock);
    cq_act(cq, wanted);
}

int iwarp_cq_resize(struct fabric_cq *cq, uint32_t depth)
{
    struct rdma_completion *ring = calloc(depth ? depth : 1, sizeof *ring);
    struct rdma_completion *old = ring;
    unsigned wanted = 0;
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
        wanted = cq_check_arm(cq); /* it may be full now */
    }
    spin_unlock(&cq->lock);
    cq_act(cq, wanted);
    free(old);
    return result;
}

struct shard *iwarp_cq_shard(struct fabric_cq *cq)
{
    return cq->delivery.home->shard;
}

struct iwarp_shard *iwarp_cq_settle(struct iwarp_fabric *f, struct fabric_cq *cq, struct iwarp_shard *home)
{
    bool armed = false;

    spin_lock(&cq->lock);
    if (!cq_home(cq)) {
        /* No completion has been here, so nothing is being told or timed. */
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

static void cq_finish(struct delivery *d)
{
    struct fabric_cq *cq = (struct fabric_cq *)((char *)d - offsetof(struct fabric_cq, delivery));
    void (*closed)(void *owner) = cq->closed;
    void *owner = cq->config.owner;

    shard_timer_stop(d->home->shard, &cq->interval);
    free(cq->ring);
    free(cq);
    closed(owner);
}

void iwarp_cq_close(struct fabric_cq *cq, void (*done)(void *owner))
{
    cq->closed = done;
    delivery_close(&cq->delivery);
}

/* ---- what queue pairs ask ---- */

bool iwarp_cq_has_overflowed(const struct fabric_cq *cq)
{
    return atomic_load_explicit(&cq->dead, memory_order_acquire);
}

uint32_t iwarp_cq_unread(const struct fabric_cq *cq)
{
    return cq_count(cq);
}

unsigned iwarp_cq_empty_polls(const struct fabric_cq *cq)
{
    return atomic_load_explicit(&cq->empty_polls, memory_order_relaxed);
}

void iwarp_cq_defer_to_poll(struct fabric_cq *cq, unsigned patience)
{
    if (atomic_load_explicit(&cq->polls_left, memory_order_relaxed) == 0)
        atomic_store_explicit(&cq->polls_left, patience, memory_order_relaxed);
}
