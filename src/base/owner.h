/* SPDX-License-Identifier: MIT */
/*
 * Abstract: the owner token of a shard, the sleep of the shard's own thread, and the polling lease.
 *
 * A shard has one owner at a time. Its own thread, a consumer that posts, or a consumer that polls takes the token,
 * drives the shard, and lets go. Everything that must not be lost between them is in one atomic word:
 *
 *   bit  name      set by                             cleared by                        means
 *   0    OWNED     whoever takes the token            the owner that lets go            somebody drives the shard
 *   1    DOORBELL  acquire_or_ring on an owned shard  a release that fails, or hands on the owner must look again
 *   2    WAKE      owner_wake, release_to_thread      the thread when it looks          the thread must look again
 *   3    LEASE     lease_begin (token held)           lease_end, take_back (token held) a poller watches the sockets
 *   4-5  SLEEP     the thread                         the thread, or its one waker      where the thread sleeps:
 *                    AWAKE  it runs (or will find out by itself that it may)
 *                    WATCH  in epoll, on its sockets, its eventfd and its next timer; woken by ops->wake
 *                    LEASED on the futex, until the lease has to be renewed;          woken by ops->futex_wake
 *                    TOKEN  on the futex, until the owner lets go;                    woken by ops->futex_wake
 *
 *   event \ SLEEP       AWAKE                     WATCH                 LEASED                TOKEN
 *   owner_wake          WAKE                      WAKE, AWAKE, call     WAKE, AWAKE, call     WAKE
 *   release             free                      free                  free                  stays OWNED, AWAKE, call
 *   release_to_thread   free, WAKE                free, WAKE, AWAKE, call (both)              stays OWNED, AWAKE, call
 *   lease_begin         LEASE                     LEASE, AWAKE, call    nothing (renews)      LEASE
 *   lease_end           not LEASE                 nothing               no LEASE, AWAKE, call not LEASE
 *   sleep_begin         WATCH, unless WAKE, LEASE -                     -                     -
 *   lease_wait          LEASED, unless WAKE or no LEASE, or too late    -                     -
 *   thread_acquire      OWNED; TOKEN if it is taken                     -                     -
 *   ("call" is one system call, made after the compare-exchange by the one whose exchange made SLEEP AWAKE.)
 *
 * Invariants, asserted by the interleaving explorer after every step:
 *   1. DOORBELL implies OWNED: who rings has either the token or an owner that cannot let go before it has looked.
 *   2. SLEEP is WATCH or LEASED implies not WAKE: nobody sleeps over a pending wake.
 *   3. SLEEP is WATCH implies not LEASE; SLEEP is LEASED implies LEASE: somebody always watches the sockets.
 *   4. SLEEP is TOKEN implies OWNED.
 *   5. One system call at most for each sleep that began. (The call may come late, when its sleep has already ended by
 *      itself; the thread's next sleep then ends early once. It never goes missing.)
 *
 * Memory order. Everything that decides is one compare-exchange on this one word, each acquire and release, and it is
 * made even when it would not change the word: a producer that found DOORBELL or WAKE already set and only read it
 * could have its work still in its store buffer while the owner clears the bit and looks. Because the exchanges of one
 * word are in one order, no sequentially consistent fence is needed. The futex sleeps on a second word, `kicks`, as
 * the first changes with every poll; it is read (acquire) before the word is, and counted up (release) after the word
 * has changed, so that who has seen the old word cannot have seen the new count. `renewed` is relaxed: a late or stale
 * value ends a lease early or late by one look, and who ends it looks again under the token.
 *
 * The rules of use:
 *   - Publish first, then owner_acquire_or_ring. If it returns true, drive, then release; a release that returns false
 *     means: look again, then release again. Who has looked often enough, or may not do what is left (a poster drives
 *     its queue pair's transmit alone; only the thread calls back), calls owner_release_to_thread.
 *   - The thread says under the token until when it will sleep. An owner that makes an earlier timer lets go with
 *     owner_release_to_thread.
 *   - The thread: owner_thread_acquire, look at everything, release, then owner_sleep_begin. OWNER_SLEEP_GO:
 *     epoll_wait, owner_sleep_end. OWNER_SLEEP_RUNG: look again. OWNER_SLEEP_IN_LEASE: owner_lease_wait instead.
 *   - The poller: takes the token; without a lease owner_lease_begin, after which the sockets may leave the epoll set;
 *     with one, owner_lease_renew. A poll that did not get the token may renew as well. The thread, awake and with the
 *     token, may begin one for a poller that keeps asking. To end it: take the token (or ring and let the owner do it),
 *     put the sockets back, owner_lease_end.
 *   - Work that may wait for the poller is published, then owner_leave_to_poller; if it returns false: as all other
 *     work. Who ends a lease looks at what is published after that.
 *   - The thread, after OWNER_LEASE_EXPIRED: owner_thread_acquire, then owner_lease_take_back; true: sockets back in.
 *   - The word is touched, and the thread woken, after the token is gone: the shard must outlive every caller.
 */
#ifndef OPENNDK_BASE_OWNER_H
#define OPENNDK_BASE_OWNER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define OWNER_OWNED         0x01u
#define OWNER_DOORBELL      0x02u
#define OWNER_WAKE          0x04u
#define OWNER_LEASE         0x08u
#define OWNER_SLEEP_MASK    0x30u
#define OWNER_SLEEP_AWAKE   0x00u
#define OWNER_SLEEP_WATCH   0x10u
#define OWNER_SLEEP_LEASED  0x20u
#define OWNER_SLEEP_TOKEN   0x30u

/* A lease lives this long from its last renewal: 1 ms less the timer slack (50 us) and a wake-up. */
#define OWNER_LEASE_NS 900000u

/* A deadline that never comes. */
#define OWNER_NEVER UINT64_MAX

/* What the protocol needs of the world. Deadlines and `now` are nanoseconds of one monotonic clock. */
struct owner_ops {
    void (*wake)(void *ctx);            /* ends the thread's epoll_wait, also one yet to begin: an eventfd write */
    void (*futex_wait)(void *ctx, _Atomic uint32_t *word, uint32_t expected, uint64_t deadline);
    void (*futex_wake)(void *ctx, _Atomic uint32_t *word);
    uint64_t (*now)(void *ctx);
};

struct owner {
    _Alignas(64) _Atomic uint32_t word; /* the bits above */
    _Atomic uint32_t kicks;             /* the futex: counts the wake-ups of a thread that slept on it */
    _Atomic uint64_t renewed;           /* when the lease was last renewed */
    const struct owner_ops *ops;
    void *ctx;                          /* the argument of ops */
    unsigned spins;                     /* how often thread_acquire looks before it sleeps */
};

enum owner_sleep {
    OWNER_SLEEP_GO,       /* sleep in epoll, then owner_sleep_end */
    OWNER_SLEEP_RUNG,     /* a wake was pending and is now consumed: look again */
    OWNER_SLEEP_IN_LEASE, /* a poller watches the sockets: owner_lease_wait */
};

enum owner_lease {
    OWNER_LEASE_RUNG,     /* woken: look at queues, timers, callbacks */
    OWNER_LEASE_ENDED,    /* the sockets are the thread's again */
    OWNER_LEASE_EXPIRED,  /* not renewed: take it back */
    OWNER_LEASE_DEADLINE, /* the deadline given by the caller has come */
};

void owner_init(struct owner *o, const struct owner_ops *ops, void *ctx, unsigned spins);

/* Any thread. True: the caller owns the shard now. */
bool owner_try_acquire(struct owner *o);
/* Any thread that has published work. True: the caller owns the shard; false: the owner will look again. */
bool owner_acquire_or_ring(struct owner *o);

/* The owner. False: the doorbell had been rung (it is silent now), the caller still owns and looks again. */
bool owner_release(struct owner *o);
/* The owner. Lets go in any case, and has the thread look at everything. */
void owner_release_to_thread(struct owner *o);

/* Any thread: the shard's thread has to look. True: this call made the system call (one for each sleep). */
bool owner_wake(struct owner *o);

/* The shard's thread alone, without the token: waits for it; the owner hands it over. Consumes a pending wake. */
void owner_thread_acquire(struct owner *o);
/* The shard's thread alone, without the token. */
enum owner_sleep owner_sleep_begin(struct owner *o);
/* The shard's thread alone, back from epoll. True: it was rung, so it has to look at everything. */
bool owner_sleep_end(struct owner *o);
/* The shard's thread alone, without the token: sleeps for as long as a poller holds the lease and nothing is to do. */
enum owner_lease owner_lease_wait(struct owner *o, uint64_t deadline);

/* The owner. True: the lease is new (false: it was there and is renewed). */
bool owner_lease_begin(struct owner *o, uint64_t now);
/* The poller, with or without the token. */
void owner_lease_renew(struct owner *o, uint64_t now);
/* The owner. True: there was a lease. */
bool owner_lease_end(struct owner *o);
/* The owner, mostly the thread. True: there was a lease, it had run out, and it has ended. */
bool owner_lease_take_back(struct owner *o);

/* Any thread that has published work that is not urgent. True: a poller, or who ends its lease, will look. */
bool owner_leave_to_poller(struct owner *o);

/* What the word says now: certain for the owner, a hint for everybody else. */
bool owner_is_leased(struct owner *o);
/* For assertions: somebody owns the shard. */
bool owner_is_owned(struct owner *o);

/* The real futex and clock, for an ops table (futex_wait takes CLOCK_MONOTONIC; ctx is not used). */
void owner_futex_wait(void *ctx, _Atomic uint32_t *word, uint32_t expected, uint64_t deadline);
void owner_futex_wake(void *ctx, _Atomic uint32_t *word);
uint64_t owner_clock(void *ctx);

#endif
