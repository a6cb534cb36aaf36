/* SPDX-License-Identifier: MIT */
/*
 * Who owns a local address. The kernel does not say: the SO_REUSEADDR that reconnecting at once needs lets a second
 * socket bind, and listen, where one is bound already. So an address is owned by whoever has bound the abstract AF_UNIX
 * name of the address (reservation_name.c), which every process of this provider in the network namespace sees, this
 * one included. It goes when its last holder closes it, after the TCP sockets at the address, and when the process
 * dies.
 *
 * Foreign sockets: bind without SO_REUSEADDR succeeds only where the kernel knows of nothing at the address. Where it
 * fails but bind with it succeeds, there are either remains of closed connections (TIME_WAIT), which do not count, or
 * sockets whose owner set SO_REUSEADDR too. sock_diag tells: a living connection, remains, or neither, which leaves
 * only a foreign socket that is merely bound. What stays undetected is such a one beside remains, and who binds after
 * us with SO_REUSEADDR (or with SO_REUSEPORT, as the same user, beside the connections of a shared endpoint).
 *
 * Ports that are given out (port 0) come from a bitmap for each host address; it also remembers, for a short while,
 * which ports were found taken by others, so that a nearly full range costs no more than an empty one, and, for as long
 * as remains stay, which ports have had connections, so that looking for an untouched one costs next to nothing.
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
#include "base/mutant.h"
#include "base/random.h"
#include "base/spin.h"
#include "base/zeroed.h"
#include "engine/net_internal.h"

enum {
    PORT_FIRST = 49152,
    PORTS = 16384,
    WORD_BITS = 64,
    WORDS = PORTS / WORD_BITS,
    MOST_SKIPPED = 63,         /* claims in a row that do not look for an untouched port, because there hardly is one */
    MOST_TRIES = 3 * PORTS,    /* others may give ports back, and take them, while one call looks */
    FOREIGN_MEMORY_SECONDS = 1,
    REMAINS_SECONDS = 60,      /* TIME_WAIT */
};

/* The dynamic ports of one host address. Made on its first use; never freed. */
struct port_range {
    LIST_ENTRY(port_range) link;
    struct addr host; /* port 0 */
    uint64_t own[WORDS];
    uint64_t foreign[WORDS];
    uint64_t worn[2][WORDS]; /* had connections, or were found not untouched: since the last change, before it */
    time_t foreign_since, worn_since;
    unsigned skip, skipped;  /* claims that do not look for an untouched port: so many, so many of them made */
};

struct net_reservation {
    struct addr local;
    enum net_use use;
    atomic_uint refs;
    struct port_range *range;
    int name_fd;
    bool reuses; /* tcp_fd has SO_REUSEADDR; while the address is being taken */
    atomic_int tcp_fd; /* bound; handed to the one connection or the listener, kept for a shared endpoint */
};

static struct spin ranges_lock;
static LIST_HEAD(, port_range) ranges = LIST_HEAD_INITIALIZER(ranges);

/* ---- ports ---- */

static struct port_range *find_range(const struct addr *host)
{
    struct port_range *range;

    LIST_FOREACH(range, &ranges, link)
        if (addr_same_host(&range->host, host))
            break;
    return range;
}

static struct port_range *range_of(const struct addr *local)
{
    struct port_range *range, *fresh;

    spin_lock(&ranges_lock);
    range = find_range(local);
    spin_unlock(&ranges_lock);
    if (range)
        return range;
    fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return NULL;
    fresh->host = *local;
    addr_set_port(&fresh->host, 0);
    spin_lock(&ranges_lock);
    range = find_range(local);
    if (!range) {
        LIST_INSERT_HEAD(&ranges, fresh, link);
        range = fresh;
        fresh = NULL;
    }
    spin_unlock(&ranges_lock);
    free(fresh);
    return range;
}

static void mark(uint64_t map[WORDS], uint16_t port, bool on)
{
    unsigned i = (unsigned)port - PORT_FIRST;

    if (port < PORT_FIRST)
        return;
    if (on)
        map[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
    else
        map[i / WORD_BITS] &= ~(UINT64_C(1) << i % WORD_BITS);
}

/* The first free one from start on, around the end, or -1. */
static int next_free(const struct port_range *range, unsigned start, bool untouched)
{
    for (unsigned n = 0; n <= WORDS; n++) {
        unsigned w = (start / WORD_BITS + n) % WORDS;
        uint64_t free_bits = ~(range->own[w] | range->foreign[w]);

        if (untouched)
            free_bits &= ~(range->worn[0][w] | range->worn[1][w]);

        if (n == 0)
            free_bits &= ~UINT64_C(0) << start % WORD_BITS;
        if (free_bits)
            return (int)(w * WORD_BITS) + __builtin_ctzll(free_bits);
    }
    return -1;
}

static time_t seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return t.tv_sec;
}

/* Forgets what was true too long ago. */
static void forget(struct port_range *range, bool all_foreign)
{
    time_t now = seconds();

    if (all_foreign || now - range->foreign_since > FOREIGN_MEMORY_SECONDS) {
        memset(range->foreign, 0, sizeof range->foreign);
        range->foreign_since = now;
    }
    if (now - range->worn_since > REMAINS_SECONDS) {
        memcpy(range->worn[1], range->worn[0], sizeof range->worn[1]);
        memset(range->worn[0], 0, sizeof range->worn[0]);
        range->worn_since = now;
    }
}

/* Takes the next port at or after `start` (an index) for us, as far as the map knows; -1: all taken. */
static int pick(struct port_range *range, unsigned start, bool untouched, bool forget_foreign)
{
    int i;

    spin_lock(&ranges_lock);
    forget(range, forget_foreign);
    i = next_free(range, start, untouched);
    if (i >= 0)
        mark(range->own, (uint16_t)(PORT_FIRST + i), true);
    spin_unlock(&ranges_lock);
    return i;
}

static void give_back(struct port_range *range, uint16_t port, bool to_foreigner)
{
    spin_lock(&ranges_lock);
    mark(range->own, port, false);
    mark(to_foreigner ? range->foreign : range->worn[0], port, true);
    spin_unlock(&ranges_lock);
}

/* Whether a claim first tries for an untouched port: less often while such tries fail, as each costs a bind. */
static bool tries_untouched(struct port_range *range)
{
    bool tries;

    spin_lock(&ranges_lock);
    tries = range->skipped >= range->skip;
    range->skipped = tries ? 0 : range->skipped + 1;
    spin_unlock(&ranges_lock);
    return tries;
}

static void judge_untouched(struct port_range *range, bool found)
{
    spin_lock(&ranges_lock);
    range->skip = found ? 0 : 2 * range->skip + 1 < MOST_SKIPPED ? 2 * range->skip + 1 : MOST_SKIPPED;
    spin_unlock(&ranges_lock);
}

static void note_taken(struct port_range *range, uint16_t port)
{
    spin_lock(&ranges_lock);
    mark(range->own, port, true);
    spin_unlock(&ranges_lock);
}

/* ---- claiming one address ---- */

static int set_option(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) ? errno : 0;
}

static int tcp_socket(const struct addr *local, int *out)
{
    int fd = descriptors_socket(local->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP);
    int err;

    if (fd < 0)
        return errno;
    err = set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (!err && local->sa.sa_family == AF_INET6)
        err = set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (err) {
        descriptors_close(fd);
        return err;
    }
    *out = fd;
    return 0;
}

/* A socket begins without SO_REUSEADDR, and one that was refused an address has it as it was tried last. */
static int tcp_bind(int fd, const struct addr *local, bool reuse, bool had)
{
    int err = reuse == had ? 0 : set_option(fd, SOL_SOCKET, SO_REUSEADDR, reuse);

    if (err)
        return err;
    return bind(fd, &local->sa, addr_len(local)) ? errno : 0;
}

enum claim {
    CLAIM_UNTOUCHED, /* an address at which the kernel knows of nothing */
    CLAIM_REMAINS,   /* remains of closed connections, or what looks like them, may be there */
    CLAIM_UNUSED,    /* remains may be there, sockets may not */
};

static void drop_sockets(struct net_reservation *r)
{
    int tcp_fd = atomic_exchange(&r->tcp_fd, -1);

    if (tcp_fd >= 0)
        descriptors_close(tcp_fd);
    if (r->name_fd >= 0)
        descriptors_close(r->name_fd);
    r->name_fd = -1;
}

/* On EADDRINUSE from bind the TCP socket stays, unbound, for the next try. */
static int claim(struct net_reservation *r, enum claim how)
{
    bool remains = how == CLAIM_REMAINS;
    int fd = atomic_load(&r->tcp_fd);
    int err;

    if (fd < 0) {
        err = tcp_socket(&r->local, &fd);
        if (err)
            return err;
        r->reuses = false;
        atomic_store(&r->tcp_fd, fd);
    }
    err = tcp_bind(fd, &r->local, remains, r->reuses);
    if (err == EADDRINUSE && how == CLAIM_UNUSED && !MUTANT(con_20_quarantine)) {
        err = tcp_bind(fd, &r->local, true, remains);
        remains = true;
    }
    r->reuses = remains;
    if (err)
        return err;
    err = remains ? 0 : set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (!err)
        err = reservation_name_bind(&r->local, fd, !remains, how == CLAIM_UNUSED, &r->name_fd);
    if (!err && remains && how == CLAIM_UNUSED && sock_diag_at(&r->local) != SOCK_DIAG_REMAINS)
        err = EADDRINUSE;
    if (err)
        drop_sockets(r);
    return err;
}

static int claim_wanted(struct net_reservation *r, const struct addr *peer)
{
    int err = claim(r, CLAIM_UNUSED);

    /* Once more: remains may have gone just between the two looks at them. */
    if (err == EADDRINUSE)
        err = claim(r, CLAIM_UNUSED);
    if (err == EADDRINUSE && r->use == NET_USE_CONNECT && peer && !MUTANT(con_15_in_use_first) &&
        sock_diag_connected(&r->local, peer))
        return EEXIST;
    if (err == EADDRINUSE && MUTANT(con_12_wrong_status))
        return EADDRNOTAVAIL;
    if (!err)
        note_taken(r->range, addr_port(&r->local));
    return err;
}

/* Scattered, so that others who look do not meet us at the same port; unguessable it need not be. */
static unsigned random_index(void)
{
    static _Atomic uint64_t state;
    uint64_t now = atomic_fetch_add_explicit(&state, 1, memory_order_relaxed);

    if (now == 0)
        atomic_store_explicit(&state, now = random_u64(), memory_order_relaxed);
    return (unsigned)(random_next(&now) >> 32) % PORTS;
}

static int claim_any(struct net_reservation *r)
{
    unsigned start = random_index();
    bool strict = tries_untouched(r->range), forgot = false, forget = false;

    for (unsigned tries = 0; tries < MOST_TRIES; tries++) {
        int i, err;
        uint16_t port;

        i = pick(r->range, start, strict, forget);
        forget = false;
        if (i < 0 && strict) {
            strict = false; /* none, as far as is known: to find that out again costs nothing */
            continue;
        }
        if (i < 0) {
            /* What others held a moment ago may be free now: say "exhausted" only of what is known now. */
            if (forgot)
                break;
            forgot = forget = true;
            continue;
        }
        port = (uint16_t)(PORT_FIRST + i);
        addr_set_port(&r->local, MUTANT(con_14_outside_range) ? (uint16_t)(port - PORTS) : port);
        err = claim(r, strict ? CLAIM_UNTOUCHED : CLAIM_REMAINS);
        if (strict)
            judge_untouched(r->range, !err);
        if (!err)
            return 0;
        give_back(r->range, port, err == EADDRINUSE && !strict);
        if (err != EADDRINUSE)
            return err;
        strict = false;
        start = ((unsigned)i + 1) % PORTS;
    }
    return MUTANT(con_14_in_use) ? EADDRINUSE : ENOSPC;
}

/* ---- the interface ---- */

/* The ports that the parent has are no longer reserved by this process. Inherited reservations still refer to them. */
static void reservation_forget_ranges(void)
{
    LIST_INIT(&ranges);
}

void reservation_install_fork_handlers(void)
{
    fork_guard(&ranges_lock);
    fork_on_child(reservation_forget_ranges);
}

int reservation_create(struct net *net, struct addr *local, const struct addr *peer, enum net_use use,
                     struct net_reservation **out)
{
    struct net_reservation *r;
    int err;

    (void)net;
    if (addr_is_any(local) && !MUTANT(con_13_any_address))
        return EADDRNOTAVAIL;
    r = zeroed(sizeof *r);
    if (!r)
        return ENOMEM;
    r->local = *local;
    r->use = use;
    r->name_fd = -1;
    atomic_init(&r->tcp_fd, -1);
    atomic_init(&r->refs, 1);
    r->range = range_of(local);
    if (!r->range)
        err = ENOMEM;
    else
        err = addr_port(local) ? claim_wanted(r, peer) : claim_any(r);
    if (err) {
        drop_sockets(r);
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
    drop_sockets(r); /* the TCP socket first: who then gets the name can bind */
    give_back(r->range, addr_port(&r->local), false);
    free(r);
}

const struct addr *reservation_address(const struct net_reservation *r)
{
    return &r->local;
}

/*
 * One more socket at a shared endpoint's address. With SO_REUSEADDR alone the kernel compares it with each that is
 * there: 9 us for each thousand of them. With SO_REUSEPORT it remembers that those of one user get along.
 */
static int socket_beside(const struct addr *local, int *out)
{
    int fd, err = tcp_socket(local, &fd);

    if (err)
        return err;
    err = set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (!err)
        err = tcp_bind(fd, local, true, false);
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
        return socket_beside(&r->local, out);
    *out = fd;
    return 0;
}
