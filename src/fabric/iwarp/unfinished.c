/* SPDX-License-Identifier: MIT */
/*
 * Implements the process's table of unfinished connections, and selects the connection that is dropped to make room.
 *
 * A peer that opens TCP connections and sends no request uses descriptors, and all descriptors belong to the process.
 * So there is one table for all listeners of all shards and adapters. The table groups the connections by source, which
 * is the peer's IPv4 address or IPv6 /64 (addr_source). A listener inserts each connection that it accepts. A
 * connection must be dropped if the table has more connections than the listener's limit, or if the process has no free
 * descriptor. Then the source with the most connections loses its oldest connection. So an attacker with one address
 * causes only its own connections to be dropped, and a slow client with another address keeps its place.
 *
 * Two trees hold the sources: one by address, one by rank (most connections first, then the oldest connection first).
 * Every operation is O(log n), even if an attacker chooses the addresses. A source's record is allocated with its first
 * connection and freed with its last, so that the table never holds more records than connections. One spin lock guards
 * everything. A thread that holds it takes no other lock and neither allocates nor frees memory.
 *
 * The table has no references on connections. Invariant: a connection is in the table only while the socket has a
 * reference on the connection. Before the socket is closed, the owner of the connection's shard removes the connection
 * from the table. So a connection that is found under the lock is alive, and unfinished_pop_victim can add a reference.
 *
 * A victim is a connection that is to be dropped. If the victim is on the caller's own shard, the caller drops it at
 * once. Otherwise a task on the victim's shard drops it (conn_request_drop). The victim's reference on its listener
 * keeps the listener and the shard until the task has run. In both cases the victim's socket is read first, because a
 * peer whose request has arrived is not dropped. If a listener without descriptors waits for such a task, the listener
 * pauses its socket, and continues when the task has run (listener.c). No spare descriptor is needed, because the next
 * accept uses the descriptor of the dropped victim. If there is no victim, the listener resets the peers that wait to
 * be accepted. The reset needs no descriptor.
 */
#include "fabric/iwarp/unfinished.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/sys/tree.h>

#include "base/addr.h"
#include "base/fork.h"
#include "base/spin.h"
#include "fabric/iwarp/conn.h"

struct unfinished_source {
    RB_ENTRY(unfinished_source) by_source, by_rank;
    struct addr source;
    unsigned count;
    TAILQ_HEAD(, fabric_conn) conns; /* oldest first; never empty while the source is in the trees */
};

static int source_compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int source_compare_addresses(const struct unfinished_source *a, const struct unfinished_source *b)
{
    return addr_compare(&a->source, &b->source);
}

static int source_compare_ranks(const struct unfinished_source *a, const struct unfinished_source *b)
{
    int result = source_compare(b->count, a->count);

    if (result)
        return result;
    return source_compare(TAILQ_FIRST(&a->conns)->unfinished.order, TAILQ_FIRST(&b->conns)->unfinished.order);
}

RB_HEAD(source_tree, unfinished_source);
RB_HEAD(rank_tree, unfinished_source);

static struct {
    struct spin lock; /* guards everything below, and each connection's struct unfinished */
    struct source_tree by_source;
    struct rank_tree by_rank;
    unsigned count;
    uint64_t inserted;  /* the number that the next inserted connection gets */
    uint64_t first_own; /* connections with smaller numbers were inserted before a fork, by the parent process */
} table;

/* RB_GENERATE_STATIC is not used, because it needs a macro that only BSD's own headers define. */
RB_GENERATE_INTERNAL(source_tree, unfinished_source, by_source, source_compare_addresses,
                     __attribute__((unused)) static)
RB_GENERATE_INTERNAL(rank_tree, unfinished_source, by_rank, source_compare_ranks, __attribute__((unused)) static)

/* Empties the table in a child of fork, because the connections belong to shards that have no thread in the child. */
static void unfinished_on_fork_child(void)
{
    RB_INIT(&table.by_source);
    RB_INIT(&table.by_rank);
    table.count = 0;
    table.first_own = table.inserted;
}

void unfinished_watch_forks(void)
{
    fork_guard(&table.lock);
    fork_on_child(unfinished_on_fork_child);
}

/*
 * Removes c from the table. If the caller must free the source's record after releasing the lock, returns this record.
 * Otherwise returns NULL. Requires the lock.
 */
static struct unfinished_source *unfinished_remove_locked(struct fabric_conn *c)
{
    struct unfinished_source *s = c->unfinished.source;

    /* The count and the first connection of a source are its rank. While they change, the source is not in by_rank. */
    RB_REMOVE(rank_tree, &table.by_rank, s);
    TAILQ_REMOVE(&s->conns, c, unfinished.link);
    c->unfinished.source = NULL;
    s->count--;
    table.count--;
    if (s->count > 0) {
        RB_INSERT(rank_tree, &table.by_rank, s);
        return NULL;
    }
    RB_REMOVE(source_tree, &table.by_source, s);
    return s;
}

bool unfinished_insert(struct fabric_conn *c)
{
    struct unfinished_source *fresh = malloc(sizeof *fresh), *s;

    if (!fresh)
        return false;
    fresh->source = addr_source(&c->remote);
    fresh->count = 0;
    TAILQ_INIT(&fresh->conns);
    spin_lock(&table.lock);
    s = RB_INSERT(source_tree, &table.by_source, fresh);
    if (s) {
        RB_REMOVE(rank_tree, &table.by_rank, s);
    } else {
        s = fresh;
        fresh = NULL;
    }
    c->unfinished.source = s;
    c->unfinished.order = table.inserted++;
    TAILQ_INSERT_TAIL(&s->conns, c, unfinished.link);
    s->count++;
    table.count++;
    RB_INSERT(rank_tree, &table.by_rank, s);
    spin_unlock(&table.lock);
    free(fresh);
    return true;
}

void unfinished_remove(struct fabric_conn *c)
{
    struct unfinished_source *empty = NULL;

    spin_lock(&table.lock);
    if (c->unfinished.source && c->unfinished.order >= table.first_own)
        empty = unfinished_remove_locked(c);
    spin_unlock(&table.lock);
    free(empty);
}

struct fabric_conn *unfinished_pop_victim(unsigned limit)
{
    struct unfinished_source *empty = NULL;
    struct fabric_conn *c = NULL;

    spin_lock(&table.lock);
    if (table.count > limit) {
        c = TAILQ_FIRST(&RB_MIN(rank_tree, &table.by_rank)->conns);
        conn_ref(c);
        empty = unfinished_remove_locked(c);
    }
    spin_unlock(&table.lock);
    free(empty);
    return c;
}
