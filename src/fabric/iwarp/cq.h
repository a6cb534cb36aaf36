/* SPDX-License-Identifier: MIT */
/* Completion queues. */
#ifndef FABRIC_IWARP_CQ_H
#define FABRIC_IWARP_CQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/spin.h"
#include "fabric/fabric.h"
#include "fabric/iwarp/adapter.h"
#include "fabric/iwarp/delivery.h"

struct fabric_cq {
    _Atomic(struct iwarp_shard *) home; /* NULL until it is decided, see iwarp_cq_settle; written under lock */
    struct fabric_cq_config config;
    atomic_bool dead;              /* overflowed; written under lock */
    atomic_uint left;              /* requests wait: after so many polls at most one drives the shard */
    atomic_uint empty_polls;       /* that drove the shard and found nothing all the same */
    atomic_uint count;             /* results to be read; written under lock */
    struct spin lock;              /* guards everything below */
    struct rdma_completion *ring;
    uint32_t depth, head;
    enum fabric_arm armed;
    /* Completions are numbered from 1. The newest: pushed, popped, pushed when a notification began, and so on. */
    uint64_t pushed, popped, told, solicited, failed;
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

/* A queue pair's membership in one queue. */
struct cq_user {
    LIST_ENTRY(cq_user) link;
    struct fabric_qp *qp;
};

int iwarp_cq_create(struct fabric *f, const struct fabric_cq_config *c, struct fabric_cq **out);
int iwarp_cq_poll(struct fabric_cq *cq, struct rdma_completion *out, int max);
void iwarp_cq_arm(struct fabric_cq *cq, enum fabric_arm type);
int iwarp_cq_resize(struct fabric_cq *cq, uint32_t depth);
void iwarp_cq_moderate(struct fabric_cq *cq, uint32_t interval_us, uint32_t count);
struct shard *iwarp_cq_shard(struct fabric_cq *cq);
/*
 * The first queue pair that uses a queue without an affinity decides where that is at home: at `home`, or where it is
 * its turn for NULL. Returns where it is at home.
 */
struct iwarp_shard *iwarp_cq_settle(struct iwarp_fabric *f, struct fabric_cq *cq, struct iwarp_shard *home);
void iwarp_cq_close(struct fabric_cq *cq, void (*done)(void *owner));
void iwarp_cq_add(struct fabric_cq *cq, struct cq_user *user);
void iwarp_cq_remove(struct fabric_cq *cq, struct cq_user *user);
/* Queues completions. Any owner. Those for which there is no room are dropped, and the queue has overflowed. */
void iwarp_cq_push(struct fabric_cq *cq, const struct rdma_completion *c, unsigned n);

#endif
