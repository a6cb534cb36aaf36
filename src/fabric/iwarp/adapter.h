/* SPDX-License-Identifier: MIT */
/*
 * Declares one open adapter: its shards, and the data that the connections and queues of a shard share. In the headers
 * of this folder, a comment states what guards a member. "Owner" is the thread that has the token of the object's home
 * shard. "Lock" is the object's own spin lock. A thread that holds a lock takes no other lock. Exception:
 * iwarp_cq_set_home takes the lock of the CQ's delivery while it holds the CQ's lock.
 */
#ifndef FABRIC_IWARP_ADAPTER_H
#define FABRIC_IWARP_ADAPTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "engine/net.h"
#include "engine/shard.h"
#include "fabric/fabric.h"
#include "fabric/iwarp/iwarp_fabric.h"

struct iw_scratch;
struct mem_table;

enum {
    IWARP_MAX_SHARDS = 64,
    IWARP_SINK_SIZE = 16384, /* one read discards at most this many bytes */
};

/*
 * The kinds of a shard's counters. Only the shard's owner adds to a counter. Exception: any thread may add to
 * COUNT_CQ_ERRORS. Any thread may read the counters.
 */
enum iwarp_count_kind {
    COUNT_CONNECTS,
    COUNT_ACCEPTS,
    COUNT_FAILURES,
    COUNT_REFUSED,
    COUNT_DROPPED,
    COUNT_ACTIVE,
    COUNT_CONNECTION_ERRORS,
    COUNT_CQ_ERRORS,
    COUNT_FPDUS_SENT,
    COUNT_FPDUS_RECEIVED,
    COUNT_BYTES_SENT,
    COUNT_BYTES_RECEIVED,
    /*
     * The first counter of requests. Each kind of request has 3 counters, the members of struct rdma_counts. Only the
     * requests of closed queue pairs are counted here.
     */
    COUNT_REQUESTS,
    SHARD_COUNTS = COUNT_REQUESTS + 3 * RDMA_KINDS
};

TAILQ_HEAD(conn_list, fabric_conn);

struct iwarp_shard {
    struct shard *shard;
    struct conn_list conns; /* connections with a socket; only the shard's owner uses the list */
    struct task interface_removed;
    struct iw_scratch *scratch; /* only the shard's owner uses it */
    uint8_t *sink;              /* IWARP_SINK_SIZE bytes for discarded input; only the shard's owner uses them */
    _Alignas(64) _Atomic uint64_t counts[SHARD_COUNTS];
};

/* Adds n to a counter of the shard. enum iwarp_count_kind states which threads may call this. */
static inline void iwarp_count(struct iwarp_shard *s, enum iwarp_count_kind what, uint64_t n)
{
    atomic_fetch_add_explicit(&s->counts[what], n, memory_order_relaxed);
}

struct iwarp_fabric {
    struct fabric base;
    struct executor *executor;
    struct net *net;
    struct interfaces *interfaces;
    uint32_t if_index;
    struct fabric_config config;
    struct net_liveness liveness; /* from config */
    struct fabric_observer observer;
    struct mem_table *memory;
    unsigned shard_count;
    struct iwarp_shard *shards;
    /* Round-robin counters. Each kind of object has its own, so that the first object of each kind is on shard 0. */
    atomic_uint next_cq, next_srq, next_listener;
    struct net_socket interface; /* reports the removal of the adapter's interface; used by the first shard's owner */
    bool watches;                /* `interface` is open */
};

/* Returns the next shard, round-robin. */
struct iwarp_shard *iwarp_pick_shard(struct iwarp_fabric *f, atomic_uint *turn);
/* Returns the shard for the preferred processor `affinity`. If `affinity` is -1, returns the next shard. */
struct iwarp_shard *iwarp_home(struct iwarp_fabric *f, int affinity, atomic_uint *turn);
/*
 * Checks whether the address belongs to the adapter. Returns OK if it does, ADDRESS_FOREIGN if it does not, and
 * RESOURCES or SYSTEM if the check failed.
 */
enum fabric_reason iwarp_check_address(struct iwarp_fabric *f, const struct addr *a);

/*
 * These two functions start and stop watching the adapter's interface (interface.c). If the interface is removed, all
 * connections end. Both functions may block. iwarp_interface_watch returns 0 or errno.
 */
int iwarp_interface_watch(struct iwarp_fabric *f);
void iwarp_interface_unwatch(struct iwarp_fabric *f);

#endif
