/* SPDX-License-Identifier: MIT */
/*
 * Declares the process's table of unfinished connections. A connection is unfinished from accept until a consumer has
 * received its request. The table selects the connection that is dropped to make room for another connection: see
 * unfinished.c.
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

/*
 * Installs a fork handler, so that a child process begins with an empty table. Must be called before the first insert.
 * Any thread may call this function, even repeatedly.
 */
void unfinished_watch_forks(void);
/*
 * Inserts c as the newest connection of its source, which is the peer's IPv4 address or IPv6 /64. Returns false if out
 * of memory. Any thread may call this function.
 */
bool unfinished_insert(struct fabric_conn *c);
/*
 * Removes c from the table, if c is in the table. The owner of c calls this function before the socket's reference on c
 * is released.
 */
void unfinished_remove(struct fabric_conn *c);
/*
 * Removes the oldest connection of one source (a peer's address) from the table, and returns the connection with a
 * reference. The owner of the connection's shard must release this reference. The source is the one with the most
 * connections; among equals, the one with the oldest connection. Returns NULL if at most `limit` connections are in the
 * table. Any thread may call this function.
 */
struct fabric_conn *unfinished_pop_victim(unsigned limit);

#endif
