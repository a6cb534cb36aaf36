/* SPDX-License-Identifier: MIT */
/*
 * Declares completion queues. The provider may call these functions from any thread. The invariant: a queue pair is a
 * user of a completion queue for as long as it can complete requests into that queue.
 */
#ifndef FABRIC_IWARP_CQ_H
#define FABRIC_IWARP_CQ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "fabric/fabric.h"
#include "fabric/iwarp/adapter.h"

/*
 * A queue pair that completes into the queue. The caller of iwarp_cq_add owns the struct and sets all members except
 * link.
 */
struct cq_user {
    LIST_ENTRY(cq_user) link;
    void *owner;
    /*
     * Claims the user for the report of an overflow. Returns false if the user has already received such a report.
     * Otherwise acquires a reference for `overflowed` and returns true. Must take no lock, because it is called with
     * the queue's lock held.
     */
    bool (*claim_overflow)(void *owner);
    /*
     * Reports that the queue has overflowed and is unusable. Called without the lock, after claim_overflow returned
     * true.
     */
    void (*overflowed)(void *owner);
};

int iwarp_cq_create(struct fabric *f, const struct fabric_cq_config *c, struct fabric_cq **out);
int iwarp_cq_poll(struct fabric_cq *cq, struct rdma_completion *out, int max);
void iwarp_cq_arm(struct fabric_cq *cq, enum fabric_arm type);
int iwarp_cq_resize(struct fabric_cq *cq, uint32_t depth);
void iwarp_cq_moderate(struct fabric_cq *cq, uint32_t interval_us, uint32_t count);
void iwarp_cq_info(struct fabric_cq *cq, struct fabric_cq_info *info);
struct shard *iwarp_cq_shard(struct fabric_cq *cq);
/*
 * Returns the queue's home shard. If the queue has none yet, its home shard becomes `home`, or the fabric's next shard
 * if `home` is NULL. A queue that was created with an affinity has a home shard from the beginning.
 */
struct iwarp_shard *iwarp_cq_set_home(struct iwarp_fabric *f, struct fabric_cq *cq, struct iwarp_shard *home);
void iwarp_cq_close(struct fabric_cq *cq, void (*done)(void *owner));
void iwarp_cq_add(struct fabric_cq *cq, struct cq_user *user);
void iwarp_cq_remove(struct fabric_cq *cq, struct cq_user *user);
/* Queues completions. If some do not fit, they are lost, and the CQ overflows. The owner of any shard may call this. */
void iwarp_cq_push(struct fabric_cq *cq, const struct rdma_completion *c, unsigned n);

/* Any thread may call the following three functions. The results may be a moment old. */
bool iwarp_cq_has_overflowed(const struct fabric_cq *cq);
uint32_t iwarp_cq_unread(const struct fabric_cq *cq);      /* completions not polled yet */
unsigned iwarp_cq_empty_polls(const struct fabric_cq *cq); /* polls that drove the shard and found nothing */
/*
 * Makes a later poll drive the home shard, which then transmits the waiting requests. That poll is the first one that
 * finds the queue empty, or the poll number max_polls if all polls before it find completions. Does nothing if an
 * earlier call still waits for its poll.
 */
void iwarp_cq_defer_to_poll(struct fabric_cq *cq, unsigned max_polls);

#endif
