/* SPDX-License-Identifier: MIT */
/*
 * Implements the transitions of the owner word. owner.h has the state table, the invariants and the memory order. Each
 * function computes the next word from the word that it has read, and stores it with one compare-exchange. If the
 * exchange makes a system call necessary, the same thread makes that call afterwards.
 */
#include "base/owner.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/owner_atomic.h"
#include "base/spin.h"

#define NS_PER_S 1000000000u

static uint32_t owner_word_sleep(uint32_t word)
{
    return word & OWNER_SLEEP_MASK;
}

/*
 * Returns true if owner_wake must end the sleep that the word shows. Only the owner's release of the token ends a sleep
 * for the token.
 */
static bool owner_word_needs_wake(uint32_t word)
{
    return owner_word_sleep(word) == OWNER_SLEEP_WATCH || owner_word_sleep(word) == OWNER_SLEEP_LEASED;
}

/*
 * Wakes the shard's thread by a system call. `was` is the word before the caller's exchange, and shows where the thread
 * sleeps. The exchange must have set AWAKE.
 */
static void owner_end_sleep(struct owner *o, uint32_t was)
{
    if (owner_word_sleep(was) == OWNER_SLEEP_WATCH) {
        o->ops->wake(o->ctx);
        return;
    }
    owner_wake_count_add(o);
    o->ops->futex_wake(o->ctx, &o->wake_count);
}

void owner_init(struct owner *o, const struct owner_ops *ops, void *ctx, unsigned spins)
{
    atomic_init(&o->word, 0);
    atomic_init(&o->wake_count, 0);
    atomic_init(&o->renewed, 0);
    o->ops = ops;
    o->ctx = ctx;
    o->spins = spins;
}

/* ---- the token ---- */

bool owner_try_acquire(struct owner *o)
{
    uint32_t w = owner_word_load(o);

    do {
        if (w & OWNER_OWNED)
            return false;
    } while (!owner_word_exchange(o, &w, w | OWNER_OWNED));
    return true;
}

bool owner_acquire_or_ring(struct owner *o)
{
    uint32_t w = owner_word_load(o);
    uint32_t next;

    do {
        next = (w & OWNER_OWNED) ? w | OWNER_DOORBELL : w | OWNER_OWNED;
    } while (!owner_word_exchange(o, &w, next));
    return !(w & OWNER_OWNED);
}

/*
 * Returns the word after a release of the token. If the shard's thread waits for the token, the thread receives the
 * token at once. If the thread had to compete for the token, a poller that polls again within nanoseconds could keep
 * the token for ever.
 */
static uint32_t owner_word_released(uint32_t w)
{
    w &= ~OWNER_DOORBELL;
    if (owner_word_sleep(w) == OWNER_SLEEP_TOKEN)
        return w & ~(OWNER_SLEEP_MASK | OWNER_WAKE);
    return w & ~OWNER_OWNED;
}

bool owner_release(struct owner *o)
{
    uint32_t w = owner_word_load(o);
    bool rung;

    do
        rung = w & OWNER_DOORBELL;
    while (!owner_word_exchange(o, &w, rung ? w & ~OWNER_DOORBELL : owner_word_released(w)));
    if (rung)
        return false;
    if (owner_word_sleep(w) == OWNER_SLEEP_TOKEN)
        owner_end_sleep(o, w);
    return true;
}

void owner_release_to_thread(struct owner *o)
{
    uint32_t w = owner_word_load(o);
    uint32_t next;

    do {
        next = owner_word_released(w);
        if (owner_word_sleep(w) != OWNER_SLEEP_TOKEN)
            next = (next & ~OWNER_SLEEP_MASK) | OWNER_WAKE;
    } while (!owner_word_exchange(o, &w, next));
    if (owner_word_sleep(w) != OWNER_SLEEP_AWAKE)
        owner_end_sleep(o, w);
}

/* ---- the thread's sleep ---- */

bool owner_wake(struct owner *o)
{
    uint32_t w = owner_word_load(o);

    while (!owner_word_exchange(o, &w, (owner_word_needs_wake(w) ? w & ~OWNER_SLEEP_MASK : w) | OWNER_WAKE))
        ;
    if (!owner_word_needs_wake(w))
        return false;
    owner_end_sleep(o, w);
    return true;
}

/*
 * If the token is free, acquires it for the shard's thread and returns true. Otherwise returns false; if `queue` is
 * true, the current owner will pass the token to the thread later. The caller must be the shard's thread.
 */
static bool owner_thread_try_acquire(struct owner *o, bool queue)
{
    uint32_t w = owner_word_load(o);
    uint32_t next;

    do {
        if (!(w & OWNER_OWNED))
            next = (w | OWNER_OWNED) & ~OWNER_WAKE;
        else if (queue)
            next = w | OWNER_SLEEP_TOKEN;
        else
            return false;
    } while (!owner_word_exchange(o, &w, next));
    return !(w & OWNER_OWNED);
}

void owner_thread_acquire(struct owner *o)
{
    for (unsigned i = 0; i < o->spins; i++) {
        if (owner_thread_try_acquire(o, false))
            return;
        spin_relax();
    }
    if (owner_thread_try_acquire(o, true))
        return;
    for (;;) {
        uint32_t wake_count = owner_wake_count_load(o);

        if (owner_word_sleep(owner_word_load(o)) == OWNER_SLEEP_AWAKE)
            return;
        o->ops->futex_wait(o->ctx, &o->wake_count, wake_count, OWNER_NEVER);
    }
}

enum owner_sleep owner_sleep_begin(struct owner *o)
{
    uint32_t w = owner_word_load(o);
    bool rung;

    do {
        rung = w & OWNER_WAKE;
        if (!rung && (w & OWNER_LEASE))
            return OWNER_SLEEP_IN_LEASE;
    } while (!owner_word_exchange(o, &w, rung ? w & ~OWNER_WAKE : w | OWNER_SLEEP_WATCH));
    return rung ? OWNER_SLEEP_WOKEN : OWNER_SLEEP_GO;
}

bool owner_sleep_end(struct owner *o)
{
    uint32_t w = owner_word_load(o);

    while (!owner_word_exchange(o, &w, w & ~(OWNER_SLEEP_MASK | OWNER_WAKE)))
        ;
    return (w & OWNER_WAKE) != 0;
}

/* ---- the lease ---- */

bool owner_lease_begin(struct owner *o, uint64_t now)
{
    uint32_t w;
    bool watches;

    owner_renewed_store(o, now);
    w = owner_word_load(o);
    do
        watches = owner_word_sleep(w) == OWNER_SLEEP_WATCH;
    while (!owner_word_exchange(o, &w, (watches ? w & ~OWNER_SLEEP_MASK : w) | OWNER_LEASE));
    if (watches)
        owner_end_sleep(o, w);
    return !(w & OWNER_LEASE);
}

void owner_lease_renew(struct owner *o, uint64_t now)
{
    owner_renewed_store(o, now);
}

bool owner_lease_end(struct owner *o)
{
    uint32_t w = owner_word_load(o);
    bool waits;

    do
        waits = owner_word_sleep(w) == OWNER_SLEEP_LEASED;
    while (!owner_word_exchange(o, &w, (waits ? w & ~OWNER_SLEEP_MASK : w) & ~OWNER_LEASE));
    if (waits)
        owner_end_sleep(o, w);
    return (w & OWNER_LEASE) != 0;
}

static bool owner_lease_is_expired(uint64_t renewed, uint64_t now)
{
    return now >= renewed && now - renewed >= OWNER_LEASE_NS;
}

bool owner_lease_end_expired(struct owner *o)
{
    if (!owner_is_leased(o))
        return false;
    if (!owner_lease_is_expired(owner_renewed_load(o), o->ops->now(o->ctx)))
        return false;
    return owner_lease_end(o);
}

/* Reads the word by an exchange that changes no bit. So a thread that later ends the lease sees the published work. */
bool owner_publish_lazy(struct owner *o)
{
    uint32_t w = owner_word_load(o);

    while (!owner_word_exchange(o, &w, w))
        ;
    return (w & OWNER_LEASE) != 0;
}

/*
 * Returns true and sets *why to the reason if the shard's thread must end its sleep in the polling lease. Otherwise
 * returns false and sets *limit to the time until which the thread may sleep.
 */
static bool owner_lease_wait_is_over(struct owner *o, uint32_t w, uint64_t deadline, uint64_t *limit,
                                     enum owner_lease *why)
{
    uint64_t renewed, now;

    if ((w & OWNER_WAKE) || !(w & OWNER_LEASE)) {
        *why = (w & OWNER_WAKE) ? OWNER_LEASE_WOKEN : OWNER_LEASE_ENDED;
        return true;
    }
    renewed = owner_renewed_load(o);
    now = o->ops->now(o->ctx);
    *limit = renewed + OWNER_LEASE_NS < deadline ? renewed + OWNER_LEASE_NS : deadline;
    *why = owner_lease_is_expired(renewed, now) ? OWNER_LEASE_EXPIRED : OWNER_LEASE_DEADLINE;
    return *why == OWNER_LEASE_EXPIRED || now >= deadline;
}

enum owner_lease owner_lease_wait(struct owner *o, uint64_t deadline)
{
    for (;;) {
        uint32_t wake_count = owner_wake_count_load(o);
        uint32_t w = owner_word_load(o);
        uint64_t limit = deadline;
        enum owner_lease why;

        if (owner_lease_wait_is_over(o, w, deadline, &limit, &why)) {
            if (owner_word_exchange(o, &w, w & ~(OWNER_SLEEP_MASK | OWNER_WAKE)))
                return why;
        } else if (owner_word_sleep(w) == OWNER_SLEEP_LEASED || owner_word_exchange(o, &w, w | OWNER_SLEEP_LEASED)) {
            o->ops->futex_wait(o->ctx, &o->wake_count, wake_count, limit);
        }
    }
}

/* ---- state ---- */

bool owner_is_leased(struct owner *o)
{
    return (owner_word_load(o) & OWNER_LEASE) != 0;
}

bool owner_is_owned(struct owner *o)
{
    return (owner_word_load(o) & OWNER_OWNED) != 0;
}

/* ---- the kernel ---- */

void owner_futex_wait(void *ctx, _Atomic uint32_t *word, uint32_t expected, uint64_t deadline)
{
    struct timespec at = { .tv_sec = (time_t)(deadline / NS_PER_S), .tv_nsec = (long)(deadline % NS_PER_S) };

    (void)ctx;
    /* The result is ignored, because each caller checks the word and the time itself. */
    (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                  deadline == OWNER_NEVER ? NULL : &at, NULL, FUTEX_BITSET_MATCH_ANY);
}

void owner_futex_wake(void *ctx, _Atomic uint32_t *word)
{
    (void)ctx;
    (void)syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

uint64_t owner_clock(void *ctx)
{
    struct timespec t;

    (void)ctx;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}
