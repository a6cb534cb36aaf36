/* SPDX-License-Identifier: MIT */
/*
 * Reserves local addresses. The kernel's TCP does not decide who owns an address. OpenNDK needs SO_REUSEADDR, because
 * without that option no socket can reconnect at once. But the option lets a second socket bind and listen at a bound
 * address. The invariant: a process owns an address while it has bound an abstract AF_UNIX name for the address
 * (reservation_name.c). Every OpenNDK process in the network namespace sees the name. The name disappears when the
 * process dies, or when the last reference to the reservation is released. Each TCP socket at the address is closed
 * before its reference on the reservation is released, so the name disappears last.
 *
 * Foreign sockets, which are not OpenNDK's, are found as follows. bind without SO_REUSEADDR succeeds only if the kernel
 * has nothing at the address. If that bind fails and bind with SO_REUSEADDR succeeds, there are either remains of
 * closed connections (TIME_WAIT), which do not count, or sockets that have SO_REUSEADDR too. sock_diag reports whether
 * there is a living connection, or only remains. If it reports neither, there must be a foreign socket that is only
 * bound. Two cases are not detected: a foreign socket that is only bound, if there are remains, too; and a foreign
 * socket that is bound later with SO_REUSEADDR. At a shared endpoint's address, a foreign socket of the same user can
 * also be bound later with SO_REUSEPORT.
 *
 * Port 0 selects one of the dynamic ports. Each host address has three kinds of bitmaps of these ports. `own` has the
 * ports that this process has reserved. `foreign` has the ports that this process has found in use by other processes.
 * A search skips the ports of `own` and `foreign` without a system call, so it takes no longer in a nearly full range
 * than in an empty one. `foreign` is cleared after at most two seconds, because the other processes may have released
 * the ports. `used` has the ports that this process has used or has found in use, until their remains have ended. With
 * `used`, a search finds a fresh port (a port without remains) without a system call.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>

#include "base/descriptors.h"
#include "base/fork.h"
#include "base/random.h"
#include "base/spin.h"
#include "engine/net_internal.h"

enum {
    FIRST_PORT = 49152,
    N_PORTS = 16384,
    BITS_PER_WORD = 64,
    N_WORDS = N_PORTS / BITS_PER_WORD,
    MAX_SKIPPED = 63,        /* the maximum of port_range.max_skips */
    MAX_TRIES = 3 * N_PORTS, /* limits the tries of one claim: other processes may reserve ports meanwhile */
    FOREIGN_SECONDS = 1,     /* after this time `foreign` is cleared */
    REMAINS_SECONDS = 60,    /* the length of TIME_WAIT */
};

/* The dynamic ports of one host address. Allocated at the first use, never freed. ranges_lock guards it. */
struct port_range {
    LIST_ENTRY(port_range) link;
    struct addr host; /* port 0 */
    uint64_t own[N_WORDS];
    uint64_t foreign[N_WORDS];
    /* Ports that were released or found in use in this period ([0]) or the previous one ([1]). */
    uint64_t used[2][N_WORDS];
    time_t foreign_since, used_since;
    /* n_skips counts claims that skip fresh ports; after max_skips of them, a claim tries one. */
    unsigned max_skips, n_skips;
};

struct net_reservation {
    struct addr local;
    enum net_use use;
    atomic_uint refs;
    struct port_range *range;
    int name_fd;
    bool reuses;       /* tcp_fd has SO_REUSEADDR; valid only until reservation_claim has succeeded */
    atomic_int tcp_fd; /* bound to `local`; -1 if there is none, or after a connection or listener took it over */
};

static struct spin ranges_lock;
static LIST_HEAD(, port_range) ranges = LIST_HEAD_INITIALIZER(ranges);

/* ---- ports ---- */

static struct port_range *port_range_find(const struct addr *host)
{
    struct port_range *range;

    LIST_FOREACH (range, &ranges, link)
        if (addr_same_host(&range->host, host))
            break;
    return range;
}

static struct port_range *port_range_get(const struct addr *local)
{
    struct port_range *range, *fresh;

    spin_lock(&ranges_lock);
    range = port_range_find(local);
    spin_unlock(&ranges_lock);
    if (range)
        return range;
    fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return NULL;
    fresh->host = *local;
    addr_set_port(&fresh->host, 0);
    spin_lock(&ranges_lock);
    range = port_range_find(local);
    if (!range) {
        LIST_INSERT_HEAD(&ranges, fresh, link);
        range = fresh;
        fresh = NULL;
    }
    spin_unlock(&ranges_lock);
    free(fresh);
    return range;
}

static void port_map_set(uint64_t map[N_WORDS], uint16_t port, bool on)
{
    unsigned i = (unsigned)port - FIRST_PORT;

    if (port < FIRST_PORT)
        return;
    if (on)
        map[i / BITS_PER_WORD] |= UINT64_C(1) << i % BITS_PER_WORD;
    else
        map[i / BITS_PER_WORD] &= ~(UINT64_C(1) << i % BITS_PER_WORD);
}

/*
 * Returns the index of the first free port, or -1 if there is none. Searches from `start` to the end, then from 0. If
 * fresh_only is set, skips ports that may have remains of connections.
 */
static int port_range_next_free(const struct port_range *range, unsigned start, bool fresh_only)
{
    for (unsigned n = 0; n <= N_WORDS; n++) {
        unsigned w = (start / BITS_PER_WORD + n) % N_WORDS;
        uint64_t free_bits = ~(range->own[w] | range->foreign[w]);

        if (fresh_only)
            free_bits &= ~(range->used[0][w] | range->used[1][w]);
        if (n == 0)
            free_bits &= ~UINT64_C(0) << start % BITS_PER_WORD;
        if (free_bits)
            return (int)(w * BITS_PER_WORD) + __builtin_ctzll(free_bits);
    }
    return -1;
}

static time_t reservation_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return t.tv_sec;
}

/*
 * Clears `foreign` if it is too old, or if drop_foreign is set. If the present period of `used` is over, begins a new
 * period: used[0] replaces used[1], and is cleared.
 */
static void port_range_expire(struct port_range *range, bool drop_foreign)
{
    time_t now = reservation_seconds();

    if (drop_foreign || now - range->foreign_since > FOREIGN_SECONDS) {
        memset(range->foreign, 0, sizeof range->foreign);
        range->foreign_since = now;
    }
    if (now - range->used_since > REMAINS_SECONDS) {
        memcpy(range->used[1], range->used[0], sizeof range->used[1]);
        memset(range->used[0], 0, sizeof range->used[0]);
        range->used_since = now;
    }
}

/*
 * Finds a port that the maps show as free, and marks the port as own. Searches from index `start` to the end, then
 * from 0. Returns the port's index, or -1 if the maps show no free port. The maps may be out of date: only bind shows
 * whether the port is free.
 */
static int port_range_acquire(struct port_range *range, unsigned start, bool fresh_only, bool drop_foreign)
{
    int i;

    spin_lock(&ranges_lock);
    port_range_expire(range, drop_foreign);
    i = port_range_next_free(range, start, fresh_only);
    if (i >= 0)
        port_map_set(range->own, (uint16_t)(FIRST_PORT + i), true);
    spin_unlock(&ranges_lock);
    return i;
}

static void port_range_release(struct port_range *range, uint16_t port, bool is_foreign)
{
    spin_lock(&ranges_lock);
    port_map_set(range->own, port, false);
    port_map_set(is_foreign ? range->foreign : range->used[0], port, true);
    spin_unlock(&ranges_lock);
}

/*
 * Returns true if this claim must first try a fresh port, which has no remains of connections. While such tries fail,
 * fewer claims try, because each try costs a bind.
 */
static bool port_range_tries_fresh(struct port_range *range)
{
    bool tries;

    spin_lock(&ranges_lock);
    tries = range->n_skips >= range->max_skips;
    range->n_skips = tries ? 0 : range->n_skips + 1;
    spin_unlock(&ranges_lock);
    return tries;
}

/*
 * Sets the number of following claims that do not search for a fresh port: 0 if this claim has found such a port,
 * otherwise about twice the previous number.
 */
static void port_range_report_fresh(struct port_range *range, bool found)
{
    spin_lock(&ranges_lock);
    range->max_skips = found ? 0 : 2 * range->max_skips + 1 < MAX_SKIPPED ? 2 * range->max_skips + 1 : MAX_SKIPPED;
    spin_unlock(&ranges_lock);
}

static void port_range_set_own(struct port_range *range, uint16_t port)
{
    spin_lock(&ranges_lock);
    port_map_set(range->own, port, true);
    spin_unlock(&ranges_lock);
}

/* ---- claiming one address ---- */

static int reservation_set_option(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) ? errno : 0;
}

static int reservation_tcp_socket(const struct addr *local, int *out)
{
    int fd = descriptors_socket(local->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP);
    int err;

    if (fd < 0)
        return errno;
    err = reservation_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (!err && local->sa.sa_family == AF_INET6)
        err = reservation_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (err) {
        descriptors_close(fd);
        return err;
    }
    *out = fd;
    return 0;
}

/*
 * Binds fd to the address, with SO_REUSEADDR if `reuse` is true. `had` is the present SO_REUSEADDR of fd, which is off
 * in a new socket.
 */
static int reservation_tcp_bind(int fd, const struct addr *local, bool reuse, bool had)
{
    int err = reuse == had ? 0 : reservation_set_option(fd, SOL_SOCKET, SO_REUSEADDR, reuse);

    if (err)
        return err;
    return bind(fd, &local->sa, addr_len(local)) ? errno : 0;
}

enum claim {
    CLAIM_FRESH,     /* succeeds only if the kernel has nothing at the address */
    CLAIM_UNCHECKED, /* succeeds even if there are remains of closed connections; does not search for other sockets */
    CLAIM_CHECKED,   /* succeeds if the kernel has nothing at the address, or only remains of closed connections */
};

static void reservation_close_sockets(struct net_reservation *r)
{
    int tcp_fd = atomic_exchange(&r->tcp_fd, -1);

    if (tcp_fd >= 0)
        descriptors_close(tcp_fd);
    if (r->name_fd >= 0)
        descriptors_close(r->name_fd);
    r->name_fd = -1;
}

/* Claims the address r->local. After EADDRINUSE from bind, r keeps the unbound TCP socket for the next try. */
static int reservation_claim(struct net_reservation *r, enum claim how)
{
    bool reuse = how == CLAIM_UNCHECKED;
    int fd = atomic_load(&r->tcp_fd);
    int err;

    if (fd < 0) {
        err = reservation_tcp_socket(&r->local, &fd);
        if (err)
            return err;
        r->reuses = false;
        atomic_store(&r->tcp_fd, fd);
    }
    err = reservation_tcp_bind(fd, &r->local, reuse, r->reuses);
    if (err == EADDRINUSE && how == CLAIM_CHECKED) {
        err = reservation_tcp_bind(fd, &r->local, true, reuse);
        reuse = true;
    }
    r->reuses = reuse;
    if (err)
        return err;
    err = reuse ? 0 : reservation_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (!err)
        err = reservation_name_bind(&r->local, fd, !reuse, how == CLAIM_CHECKED, &r->name_fd);
    if (!err && reuse && how == CLAIM_CHECKED && sock_diag_at(&r->local) != SOCK_DIAG_REMAINS)
        err = EADDRINUSE;
    if (err)
        reservation_close_sockets(r);
    return err;
}

static int reservation_claim_port(struct net_reservation *r, const struct addr *peer)
{
    int err = reservation_claim(r, CLAIM_CHECKED);

    /* Try again: remains of a closed connection (TIME_WAIT) may have disappeared between bind and sock_diag. */
    if (err == EADDRINUSE)
        err = reservation_claim(r, CLAIM_CHECKED);
    if (err == EADDRINUSE && r->use == NET_USE_CONNECT && peer && sock_diag_connected(&r->local, peer))
        return EEXIST;
    if (!err)
        port_range_set_own(r->range, addr_port(&r->local));
    return err;
}

/* Returns a random index, so that different processes try different ports. The index need not be secret. */
static unsigned reservation_random_index(void)
{
    static _Atomic uint64_t state;
    uint64_t now = atomic_fetch_add_explicit(&state, 1, memory_order_relaxed);

    if (now == 0)
        atomic_store_explicit(&state, now = random_u64(), memory_order_relaxed);
    return (unsigned)(random_next(&now) >> 32) % N_PORTS;
}

static int reservation_claim_any(struct net_reservation *r)
{
    unsigned start = reservation_random_index();
    bool fresh = port_range_tries_fresh(r->range), drop_foreign = false, has_dropped = false;

    for (unsigned tries = 0; tries < MAX_TRIES; tries++) {
        int i, err;
        uint16_t port;

        i = port_range_acquire(r->range, start, fresh, drop_foreign);
        drop_foreign = false;
        if (i < 0 && fresh) {
            fresh = false; /* the maps show no fresh port, so this claim does not try one */
            continue;
        }
        if (i < 0) {
            /*
             * Other processes may have released ports of range->foreign. So this map is cleared once, and its ports are
             * tried, before the range counts as exhausted.
             */
            if (has_dropped)
                break;
            has_dropped = drop_foreign = true;
            continue;
        }
        port = (uint16_t)(FIRST_PORT + i);
        addr_set_port(&r->local, port);
        err = reservation_claim(r, fresh ? CLAIM_FRESH : CLAIM_UNCHECKED);
        if (fresh)
            port_range_report_fresh(r->range, !err);
        if (!err)
            return 0;
        port_range_release(r->range, port, err == EADDRINUSE && !fresh);
        if (err != EADDRINUSE)
            return err;
        fresh = false;
        start = ((unsigned)i + 1) % N_PORTS;
    }
    return ENOSPC;
}

/* ---- the interface ---- */

/*
 * Drops the ranges in a child of fork, because the parent's reservations do not count there. Does not free them,
 * because inherited reservations still point to them.
 */
static void reservation_drop_ranges(void)
{
    LIST_INIT(&ranges);
}

void reservation_install_fork_handlers(void)
{
    fork_guard(&ranges_lock);
    fork_on_child(reservation_drop_ranges);
}

int reservation_create(struct net *net, struct addr *local, const struct addr *peer, enum net_use use,
                       struct net_reservation **out)
{
    struct net_reservation *r;
    int err;

    (void)net;
    if (addr_is_any(local))
        return EADDRNOTAVAIL;
    r = calloc(1, sizeof *r);
    if (!r)
        return ENOMEM;
    r->local = *local;
    r->use = use;
    r->name_fd = -1;
    atomic_init(&r->tcp_fd, -1);
    atomic_init(&r->refs, 1);
    r->range = port_range_get(local);
    if (!r->range)
        err = ENOMEM;
    else
        err = addr_port(local) ? reservation_claim_port(r, peer) : reservation_claim_any(r);
    if (err) {
        reservation_close_sockets(r);
        free(r);
        return err;
    }
    *local = r->local;
    *out = r;
    return 0;
}

void reservation_ref(struct net_reservation *r)
{
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
}

void reservation_unref(struct net_reservation *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
        return;
    /*
     * The TCP socket is closed before the name, because the port must be free as soon as another process can get the
     * name.
     */
    reservation_close_sockets(r);
    port_range_release(r->range, addr_port(&r->local), false);
    free(r);
}

const struct addr *reservation_address(const struct net_reservation *r)
{
    return &r->local;
}

/*
 * Opens another socket at a shared endpoint's address. If the sockets at the address have only SO_REUSEADDR, the kernel
 * compares the new socket with each of them, which takes 9 us for each thousand sockets. With SO_REUSEPORT the kernel
 * caches that sockets of one user are compatible.
 */
static int reservation_second_socket(const struct addr *local, int *out)
{
    int fd, err = reservation_tcp_socket(local, &fd);

    if (err)
        return err;
    err = reservation_set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (!err)
        err = reservation_tcp_bind(fd, local, true, false);
    if (err) {
        descriptors_close(fd);
        return err;
    }
    *out = fd;
    return 0;
}

int reservation_socket(struct net_reservation *r, int *out)
{
    int fd = r->use == NET_USE_SHARED ? -1 : atomic_exchange(&r->tcp_fd, -1);

    if (fd < 0)
        return reservation_second_socket(&r->local, out);
    *out = fd;
    return 0;
}
