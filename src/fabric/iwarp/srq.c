/* SPDX-License-Identifier: MIT */
/* Abstract: shared receive queues are the protocol core's; a home shard delivers that one runs low. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/mutant.h"
#include "fabric/iwarp/internal.h"

static struct fabric_srq *srq_of(struct delivery *d)
{
    return (struct fabric_srq *)((char *)d - offsetof(struct fabric_srq, delivery));
}

/* A poster's thread, or the owner of the shard of a queue pair that took one. */
static void low(void *owner)
{
    struct fabric_srq *srq = owner;

    delivery_add(&srq->delivery, 1);
}

static void deliver(struct delivery *d, unsigned due)
{
    struct fabric_srq *srq = srq_of(d);

    (void)due;
    srq->config.notify(srq->config.owner);
    if (MUTANT(srq_02_notifies_twice))
        srq->config.notify(srq->config.owner);
}

static void finish(struct delivery *d)
{
    struct fabric_srq *srq = srq_of(d);
    void (*closed)(void *owner) = srq->closed;
    void *owner = srq->config.owner;

    iw_srq_destroy(srq->iw);
    free(srq);
    closed(owner);
}

int iwarp_srq_create(struct fabric *base, const struct fabric_srq_config *c, struct fabric_srq **out)
{
    struct iwarp_fabric *f = (struct iwarp_fabric *)base;
    struct fabric_srq *srq = calloc(1, sizeof *srq);
    struct iw_srq_config core = {
        .depth = c->depth,
        .sges = c->sges,
        .threshold = c->threshold,
        .memory = f->memory,
        .domain = c->domain,
        .low = low,
        .owner = srq,
    };

    if (!srq)
        return ENOMEM;
    srq->iw = iw_srq_create(&core);
    if (!srq->iw) {
        free(srq);
        return ENOMEM;
    }
    srq->config = *c;
    delivery_init(&srq->delivery, iwarp_home(f, c->affinity, &f->next_srq), deliver, finish);
    *out = srq;
    return 0;
}

int iwarp_srq_post(struct fabric_srq *srq, const struct fabric_request *r)
{
    struct iw_request request = {
        .opcode = IW_RECEIVE,
        .context = r->context,
        .sges = (const void *)r->sges, /* laid out alike: qp.c */
        .sge_count = r->sge_count,
    };

    return iw_srq_post(srq->iw, &request);
}

int iwarp_srq_modify(struct fabric_srq *srq, uint32_t depth, uint32_t threshold)
{
    return iw_srq_modify(srq->iw, depth, threshold);
}

struct shard *iwarp_srq_shard(struct fabric_srq *srq)
{
    return srq->delivery.home->shard;
}

void iwarp_srq_close(struct fabric_srq *srq, void (*done)(void *owner))
{
    srq->closed = done;
    delivery_close(&srq->delivery);
}
