/* SPDX-License-Identifier: MIT */
/*
 * Declares the owner token of a shard, the sleep of the shard's own thread, and the polling lease.
 *
 * A shard has at most one owner at a time: the thread that acquired the token. The owner is the shard's own thread, or
 * a consumer's thread that posts or polls. The owner drives the shard and releases the token. Below, "the thread" is
 * the shard's own thread. All state that must not be lost between owners is in one atomic word:
 *
 *   bit  name      set by                             cleared by                         means
 *   0    OWNED     the thread that acquires the token the owner that releases it         somebody drives the shard
 *   1    DOORBELL  acquire_or_ring on an owned shard  release (which fails then),        the owner must check again
 *                                                     release_to_thread
 *   2    WAKE      owner_wake, release_to_thread      the thread when it checks, or a    the thread must check again
 *                                                     release that passes the token to it
 *   3    LEASE     lease_begin (token held)           lease_end, lease_end_expired       a poller watches the sockets
 *   4-5  SLEEP     the thread                         the thread, or the one that wakes  where the thread sleeps:
 *                    AWAKE  it runs, or it will see without a system call that it may run
 *                    WATCH  in epoll, on its sockets, its eventfd and its next timer; woken by ops->wake
 *                    LEASED on the futex, until the lease must be renewed;            woken by ops->futex_wake
 *                    TOKEN  on the futex, until the owner releases the token;         woken by ops->futex_wake
 *
 *   event \ SLEEP       AWAKE        WATCH                     LEASED                    TOKEN
 *   owner_wake          WAKE         WAKE, AWAKE, call         WAKE, AWAKE, call         WAKE
 *   release             free         free                      free                      passes, AWAKE, no WAKE, call
 *   release_to_thread   free, WAKE   free, WAKE, AWAKE, call   free, WAKE, AWAKE, call   passes, AWAKE, no WAKE, call
 *   lease_begin         LEASE        LEASE, AWAKE, call        nothing (renews)          LEASE
 *   lease_end           no LEASE     nothing (invariant 3)     no LEASE, AWAKE, call     no LEASE
 *   A cell has the changes of the word: "free" clears OWNED, "no LEASE" and "no WAKE" clear that bit, any other name in
 *   capitals is set. "passes" means that OWNED stays set, and the token passes to the shard's own thread. "call" is one
 *   system call. The thread whose compare-exchange set SLEEP to AWAKE makes this system call afterwards.
 *
 *   The thread itself makes the changes below. Before each of them, SLEEP is AWAKE.
 *   sleep_begin         if WAKE is set: clears WAKE. If LEASE is set, but not WAKE: nothing. Otherwise: WATCH
 *   lease_wait          if WAKE is set: clears WAKE. If LEASE is not set, the lease has expired, or the deadline has
 *                       passed: nothing. Otherwise: LEASED
 *   thread_acquire      if OWNED is set: TOKEN. Otherwise: OWNED, and clears WAKE
 *
 * Invariants, which the interleaving explorer (tests/owner) checks after every step:
 *   1. DOORBELL implies OWNED: while DOORBELL is set, there is an owner. The owner cannot release the token without
 *      checking again, except by owner_release_to_thread, which makes the shard's thread check.
 *   2. SLEEP is WATCH or LEASED implies not WAKE: the thread does not sleep while a wake is pending.
 *   3. SLEEP is WATCH implies not LEASE; SLEEP is LEASED implies LEASE: somebody always watches the sockets.
 *   4. SLEEP is TOKEN implies OWNED.
 *   5. Each sleep causes one system call at most. The call may come late, when the sleep has already ended by its
 *      deadline or an event; then the thread's next sleep ends early once. The call is never omitted.
 *
 * Memory order. Every decision is one compare-exchange of this word, with acquire and release. The exchange is made
 * even if it does not change the word. Suppose that a producer found DOORBELL or WAKE already set, and made no
 * exchange. The producer's work could then still be in its store buffer while the owner clears the bit and checks.
 * Exchanges of one word have one order, so no sequentially consistent fence is needed. The futex is a second word,
 * `wake_count`, because the owner word changes with every poll. A sleeper reads `wake_count` (acquire) before the word.
 * A waker increments `wake_count` (release) after the word has changed. So a sleeper that has seen the old word has
 * also seen the old count. If the count is incremented before this sleeper waits on the futex, the wait returns at
 * once. Accesses to `renewed` are relaxed: a late or stale value ends a lease one check too early or too late, and the
 * thread that ends the lease checks again with the token held.
 *
 * Rules of use:
 *   - Publish work first, then call owner_acquire_or_ring. If it returns true, drive the shard, then call
 *     owner_release. If owner_release returns false, check again, then call owner_release again. An owner that has
 *     checked often enough, or that leaves work which only the shard's thread may do (callbacks), calls
 *     owner_release_to_thread.
 *   - With the token held, the thread stores the time at which its next sleep ends. An owner that sets an earlier timer
 *     calls owner_release_to_thread.
 *   - The thread calls owner_thread_acquire, checks everything, releases the token, then calls owner_sleep_begin. After
 *     OWNER_SLEEP_GO it sleeps, then calls owner_sleep_end. After OWNER_SLEEP_WOKEN it checks again. After
 *     OWNER_SLEEP_IN_LEASE it calls owner_lease_wait.
 *   - The poller acquires the token. If there is a lease, the poller calls owner_lease_renew. Otherwise it calls
 *     owner_lease_begin, and may then remove the sockets from the epoll set. A poll that did not get the token may
 *     renew too. The thread, with the token held, may begin a lease for a poller that keeps polling. To end a lease,
 *     acquire the token (or ring and let the owner do it), add the sockets to the epoll set, and call owner_lease_end.
 *   - A producer whose work may wait for the poller publishes the work, then calls owner_publish_lazy. If that returns
 *     false, the producer calls owner_acquire_or_ring as for any other work. Any thread that ends a lease checks the
 *     published work afterwards.
 *   - After OWNER_LEASE_EXPIRED the thread calls owner_thread_acquire, then owner_lease_end_expired. If that returns
 *     true, it adds the sockets to the epoll set.
 *   - Functions access the word, and wake the thread, after they have released the token. So the shard must exist until
 *     each call has returned.
 */
#ifndef OPENNDK_BASE_OWNER_H
#define OPENNDK_BASE_OWNER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define OWNER_OWNED 0x01u
#define OWNER_DOORBELL 0x02u
#define OWNER_WAKE 0x04u
#define OWNER_LEASE 0x08u
#define OWNER_SLEEP_MASK 0x30u
#define OWNER_SLEEP_AWAKE 0x00u
#define OWNER_SLEEP_WATCH 0x10u
#define OWNER_SLEEP_LEASED 0x20u
#define OWNER_SLEEP_TOKEN 0x30u

/*
 * The time that a lease lasts after its last renewal, in ns: 1 ms less the timer slack (50 us) and the time of a
 * wake-up.
 */
#define OWNER_LEASE_NS 900000u

/* The deadline of a wait that has no limit. */
#define OWNER_NEVER UINT64_MAX

/* The system calls that the functions below make. Deadlines and `now` are in ns of one monotonic clock. */
struct owner_ops {
    void (*wake)(void *ctx); /* ends the thread's current or next wait for its sockets, by an eventfd */
    void (*futex_wait)(void *ctx, _Atomic uint32_t *word, uint32_t expected, uint64_t deadline);
    void (*futex_wake)(void *ctx, _Atomic uint32_t *word);
    uint64_t (*now)(void *ctx);
};

struct owner {
    _Alignas(64) _Atomic uint32_t word; /* the OWNER_ bits */
    _Atomic uint32_t wake_count;        /* futex on which the thread sleeps; each wake-up adds 1 */
    _Atomic uint64_t renewed;           /* time of the last renewal of the lease */
    const struct owner_ops *ops;
    void *ctx;      /* the `ctx` argument for ops */
    unsigned spins; /* number of tries of owner_thread_acquire before it sleeps */
};

enum owner_sleep {
    OWNER_SLEEP_GO,       /* sleep in epoll, then call owner_sleep_end */
    OWNER_SLEEP_WOKEN,    /* a wake was pending and is now cleared: check again */
    OWNER_SLEEP_IN_LEASE, /* a poller watches the sockets: call owner_lease_wait */
};

enum owner_lease {
    OWNER_LEASE_WOKEN,    /* the thread was woken and must check queues, timers and callbacks */
    OWNER_LEASE_ENDED,    /* the lease has ended, and the thread must watch the sockets again */
    OWNER_LEASE_EXPIRED,  /* not renewed in time: call owner_thread_acquire, then owner_lease_end_expired */
    OWNER_LEASE_DEADLINE, /* the deadline of the caller has passed */
};

void owner_init(struct owner *o, const struct owner_ops *ops, void *ctx, unsigned spins);

/*
 * Acquires the token if it is free. Returns true if the caller owns the shard now. Any thread may call this function.
 */
bool owner_try_acquire(struct owner *o);
/*
 * If the token is free, acquires it and returns true. Otherwise rings the doorbell and returns false; the current owner
 * will then check for work again. The caller must have published its work.
 */
bool owner_acquire_or_ring(struct owner *o);

/*
 * Releases the token and returns true. If the doorbell was rung, clears DOORBELL and returns false instead; the caller
 * is then still the owner and must check again. The caller must be the owner.
 */
bool owner_release(struct owner *o);
/* Releases the token in any case, and makes the shard's thread check everything. The caller must be the owner. */
void owner_release_to_thread(struct owner *o);

/*
 * Makes the shard's thread check everything. Returns true if a system call was needed to wake the thread. Any thread
 * may call this function.
 */
bool owner_wake(struct owner *o);

/*
 * Waits until the shard's thread owns the shard. Clears a pending wake. The caller must be the shard's thread, without
 * the token.
 */
void owner_thread_acquire(struct owner *o);
/*
 * Begins the sleep of the shard's thread in epoll, unless there is a reason to stay awake. Returns what the thread must
 * do next. After OWNER_SLEEP_GO, other threads see the thread as sleeping. The caller must be the shard's thread,
 * without the token.
 */
enum owner_sleep owner_sleep_begin(struct owner *o);
/*
 * Ends the sleep that owner_sleep_begin has begun. Returns true if the thread was woken and must check everything. The
 * caller must be the shard's thread, after it has waited for its sockets.
 */
bool owner_sleep_end(struct owner *o);

/*
 * Begins the polling lease and returns true. If there is already a lease, renews it and returns false. The caller must
 * be the owner.
 */
bool owner_lease_begin(struct owner *o, uint64_t now);
/*
 * Renews the polling lease, which then lasts OWNER_LEASE_NS from `now`. The caller must be the poller, with or without
 * the token.
 */
void owner_lease_renew(struct owner *o, uint64_t now);
/* Ends the polling lease. Returns false if there was none. The caller must be the owner. */
bool owner_lease_end(struct owner *o);
/* If the polling lease has expired, ends it and returns true. Otherwise returns false. The caller must be the owner. */
bool owner_lease_end_expired(struct owner *o);

/*
 * Must be called after the caller has published work that can wait for the next poll. Returns true if there is a
 * polling lease; the work is then checked at the next poll or at the end of the lease. If the result is false, the
 * caller must call owner_acquire_or_ring.
 */
bool owner_publish_lazy(struct owner *o);

/*
 * Sleeps while a poller has the lease and the thread has nothing to do, at most until `deadline`. Returns why the sleep
 * has ended. The caller must be the shard's thread, without the token.
 */
enum owner_lease owner_lease_wait(struct owner *o, uint64_t deadline);

/*
 * Returns true if a poller has the polling lease. The result is exact for the owner, and only a hint for any other
 * thread.
 */
bool owner_is_leased(struct owner *o);
/* Returns true if a thread owns the shard. Used by assertions. */
bool owner_is_owned(struct owner *o);

/*
 * These functions can be the members `futex_wait`, `futex_wake` and `now` of struct owner_ops. They use the kernel's
 * futex and CLOCK_MONOTONIC, and ignore `ctx`.
 */
void owner_futex_wait(void *ctx, _Atomic uint32_t *word, uint32_t expected, uint64_t deadline);
void owner_futex_wake(void *ctx, _Atomic uint32_t *word);
uint64_t owner_clock(void *ctx);

#endif
