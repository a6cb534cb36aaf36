/* SPDX-License-Identifier: MIT */
/*
 * Sums the counters of adapters: see activity.h. The invariant: the sum of closed adapters is one array of atomic
 * numbers. So it needs no lock, and a child of fork can always use it.
 */
#include "provider/activity.h"

#include <stdatomic.h>

#include "provider/adapter.h"
#include "provider/provider.h"

enum { ACTIVITY_NUMBERS = sizeof(struct activity) / sizeof(uint64_t) };
_Static_assert(sizeof(struct activity) == ACTIVITY_NUMBERS * sizeof(uint64_t), "struct activity has numbers only");

union activity_numbers {
    struct activity activity;
    uint64_t all[ACTIVITY_NUMBERS];
};

static _Atomic uint64_t closed[ACTIVITY_NUMBERS];

static void activity_add_requests(struct activity *sum, const struct rdma_counts requests[RDMA_KINDS])
{
    for (int i = 0; i < RDMA_KINDS; i++) {
        sum->requests[i].succeeded += requests[i].succeeded;
        sum->requests[i].failed += requests[i].failed;
        sum->requests[i].bytes += requests[i].bytes;
    }
}

/* Adds the counters of the adapter's fabric, which include those of closed queue pairs. */
static void activity_add_fabric(struct activity *sum, struct adapter *a)
{
    struct fabric_counters c;

    a->fabric->ops->counters(a->fabric, &c);
    sum->initiated += c.connects;
    sum->accepted += c.accepts;
    sum->failed += c.failures;
    sum->refused += c.refused;
    sum->dropped += c.dropped;
    sum->lost += c.connection_errors;
    sum->cq_overflows += c.cq_errors;
    sum->in_bytes += c.in_bytes;
    sum->out_bytes += c.out_bytes;
    sum->in_frames += c.in_frames;
    sum->out_frames += c.out_frames;
    activity_add_requests(sum, c.requests);
}

void activity_add_closed(struct adapter *a)
{
    union activity_numbers sum = { .all = { 0 } };

    activity_add_fabric(&sum.activity, a);
    for (int i = 0; i < ACTIVITY_NUMBERS; i++)
        atomic_fetch_add_explicit(&closed[i], sum.all[i], memory_order_relaxed);
}

void provider_add_closed_activity(struct activity *sum)
{
    union activity_numbers *to = (union activity_numbers *)sum;

    for (int i = 0; i < ACTIVITY_NUMBERS; i++)
        to->all[i] += atomic_load_explicit(&closed[i], memory_order_relaxed);
}

/*
 * Adds the counts of an open queue pair. If the queue pair is ending, adds nothing, because the fabric's counters then
 * include those of the queue pair.
 */
static void activity_add_qp(struct object *o, void *context)
{
    struct qp *qp = (struct qp *)((char *)o - offsetof(struct qp, obj));
    struct fabric_qp_info info;

    if (o->live_hidden || o->live_retiring)
        return;
    qp->obj.adapter->fabric->ops->qp_info(qp->fabric, &info);
    activity_add_requests(context, info.requests);
}

void provider_add_activity(NDK_ADAPTER *adapter, struct activity *sum, bool crashed)
{
    struct adapter *a = adapter_of(adapter);

    activity_add_fabric(sum, a);
    if (!crashed)
        live_list_walk(&a->live, NdkObjectTypeQp, activity_add_qp, sum);
}
