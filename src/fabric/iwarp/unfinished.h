/* SPDX-License-Identifier: MIT */
/*
 * The process's table of unfinished connections. A connection is unfinished from accept until a consumer has received
 * its request. The table decides which connection is dropped to make room for another. See unfinished.c.
 */
#ifndef FABRIC_IWARP_UNFINISHED_H
#define FABRIC_IWARP_UNFINISHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct fabric_conn;
struct unfinished_source;

/* A connection's place in the table. Guarded by the table's lock. Must be zeroed before the first insert. */
struct unfinished {
    struct unfinished_source *source; /* NULL: not in the table */
    TAILQ_ENTRY(fabric_conn) link;    /* in the list of the source's connections, oldest first */
    uint64_t order;                   /* the connection's number in the order of insertion */
};

/* Lets a child of fork begin with an empty table. Must be called before the first insert. Idempotent, any thread. */
void unfinished_watch_forks(void);
/*
 * Inserts c as the newest connection of its source, which is the peer's IPv4 address or IPv6 /64. Any thread. Returns
 * false if out of memory.
 */
bool unfinished_insert(struct fabric_conn *c);
/* Removes c, if c is in the table. The owner of c calls this before the socket's reference on c is released. */
void unfinished_remove(struct fabric_conn *c);
/*
 * Removes a connection from the table, and returns it with a reference, which the owner of its shard must release.
 * Returns NULL if at most `limit` connections are in the table. Selects the source (the peer's address) that has the
 * most connections, and takes its oldest connection. If several sources have equally many, selects the source with the
 * oldest connection. Any thread.
 */
struct fabric_conn *unfinished_pop_victim(unsigned limit);
unsigned unfinished_count(void);

#endif
