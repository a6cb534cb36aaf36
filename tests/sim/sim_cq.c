/* SPDX-License-Identifier: MIT */
/* Completion queues: see sim_traffic.h. */
#include "openndk/adapter.h"
#include "sim/sim.h"
#include "sim/sim_consumer.h"
#include "sim/sim_executor.h"
#include "sim/sim_traffic_internal.h"

enum { CQ_DEPTH = 200, MAX_RESULTS = 8, LAST_TURNS = 200 };

/* *failed: one of them has failed */
static unsigned results_of(struct cq *cq, unsigned most, bool *failed)
{
    NDK_RESULT_EX ex[MAX_RESULTS];
    NDK_RESULT plain[MAX_RESULTS];
    NDK_CQ *n = cq->o.ndk.cq;
    bool use_ex = sim_chance(500);
    ULONG got;

    cq->polling = true;
    cq->o.calls++;
    got = use_ex ? n->Dispatch->NdkGetCqResultsEx(n, ex, most) : n->Dispatch->NdkGetCqResults(n, plain, most);
    cq->o.calls--;
    cq->polling = false;
    sim_check(got <= most, "%s: %u results, room for %u", obj_name(&cq->o), got, most);
    for (ULONG i = 0; i < got; i++) {
        if (!use_ex)
            ex[i] = (NDK_RESULT_EX){ .Status = plain[i].Status,
                                     .BytesTransferred = plain[i].BytesTransferred,
                                     .QPContext = plain[i].QPContext,
                                     .RequestContext = plain[i].RequestContext };
        *failed = *failed || ex[i].Status != STATUS_SUCCESS;
        traffic_complete(cq, &ex[i], use_ex);
    }
    return got;
}

static unsigned results(struct cq *cq, unsigned most)
{
    bool failed = false;

    return results_of(cq, most, &failed);
}

void cq_poll(struct cq *cq)
{
    if (obj_is_open(&cq->o) && !cq->polling)
        (void)results(cq, 1 + (unsigned)sim_below(MAX_RESULTS));
}

void cq_drain(struct cq *cq)
{
    while (obj_is_open(&cq->o) && !cq->polling && results(cq, MAX_RESULTS) > 0)
        ;
}

static VOID notified(PVOID context, NTSTATUS status)
{
    struct cq *cq = context;

    obj_enter(&cq->o, "notified");
    sim_check(status == STATUS_SUCCESS, "%s: notified of %s", obj_name(&cq->o), ondk_status_name(status));
    sim_check(cq->armed, "%s: notified, but not armed", obj_name(&cq->o));
    sim_check(!cq->notifying, "%s: notified while it is being notified", obj_name(&cq->o));
    cq->armed--;
    cq->notified++;
    cq->drained = false;
    cq->notifying = true;
    if (cq->o.life == OPEN && sim_chance(700))
        cq_drain(cq);
    if (cq->o.life == OPEN && sim_chance(700))
        cq_arm(cq);
    obj_exit(&cq->o);
    cq->notifying = false;
}

struct cq *cq_any(unsigned host, unsigned room)
{
    struct cq *cq = obj_pick(CQ, host, NULL);

    return cq && cq->depth >= cq->expected + room ? cq : NULL;
}

struct cq *cq_new(unsigned host)
{
    struct cq *cq = obj_new(CQ, host, sizeof *cq);
    NDK_CQ *out = (NDK_CQ *)&obj_unwritten;
    struct obj *adapter = consumer_adapter(host);
    GROUP_AFFINITY affinity = { .Mask = (KAFFINITY)1 << sim_below(4) };

    if (!cq)
        return NULL;
    cq->depth = CQ_DEPTH;
    obj_parent(&cq->o, adapter);
    obj_created(&cq->o,
                adapter->ndk.adapter->Dispatch->NdkCreateCq(adapter->ndk.adapter, cq->depth, notified, cq,
                                                            sim_chance(300) ? &affinity : NULL, obj_create_done, cq,
                                                            &out),
                &out);
    return cq;
}

void cq_arm(struct cq *cq)
{
    ULONG type = sim_chance(700) ? NDK_CQ_NOTIFY_ANY : (ULONG)sim_below(3);
    bool pending = cq->armed > 0;

    if (!obj_is_open(&cq->o) || cq->polling)
        return;
    sim_trace("%s: arm %u", obj_name(&cq->o), type);
    cq->arm = pending && cq->arm == NDK_CQ_NOTIFY_ANY ? NDK_CQ_NOTIFY_ANY : type;
    if (cq->armed < 2)
        cq->armed++;
    cq->drained = pending && cq->drained;
    cq->o.calls++;
    cq->polling = true;
    cq->o.ndk.cq->Dispatch->NdkArmCq(cq->o.ndk.cq, type);
    cq->polling = false;
    cq->o.calls--;
    /* The queue is empty after arming, so every later completion must be notified. */
    if (!pending && !cq->notifying && results(cq, 1) == 0)
        cq->drained = cq->armed == 1 && cq->o.life == OPEN;
}

void cq_resize(struct cq *cq)
{
    static const NTSTATUS allowed[] = { STATUS_SUCCESS, STATUS_INVALID_PARAMETER, STATUS_INSUFFICIENT_RESOURCES,
                                        STATUS_PENDING };
    ULONG depth = CQ_DEPTH / 2 + (ULONG)sim_below(CQ_DEPTH);
    struct req *q;
    NTSTATUS status;

    if (!obj_is_open(&cq->o) || cq->polling || depth < cq->expected)
        return;
    q = req_new(&cq->o, "resize", allowed, SIM_SECOND, NULL);
    cq->polling = true;
    status = cq->o.ndk.cq->Dispatch->NdkResizeCq(cq->o.ndk.cq, depth, req_done, q);
    cq->polling = false;
    if (status == STATUS_SUCCESS)
        cq->depth = depth;
    req_returned(q, status);
}

/* ---- moderation ---- */

static bool is_moderated(const struct cq *cq)
{
    return cq->interval && cq->count > 1;
}

/* The latest setting applies to a waiting notification, too. */
void cq_moderate(struct cq *cq)
{
    static const ULONG intervals[] = { 0, 1, 100, 20000, MAXULONG };
    ULONG interval = intervals[sim_below(5)], count = sim_chance(200) ? MAXULONG : (ULONG)sim_below(6);
    bool nonsense = interval == MAXULONG && count == MAXULONG;
    NTSTATUS status;

    if (!obj_is_open(&cq->o) || cq->polling)
        return;
    if (!nonsense) {
        cq->drained = cq->drained && !is_moderated(cq);
        cq->interval = interval;
        cq->count = count;
    }
    cq->o.calls++;
    cq->polling = true;
    status = cq->o.ndk.cq->Dispatch->NdkControlCqInterruptModeration(cq->o.ndk.cq, interval, count);
    cq->polling = false;
    cq->o.calls--;
    sim_trace("%s: moderate by %u us, %u: %s", obj_name(&cq->o), interval, count, ondk_status_name(status));
    sim_check(status == (nonsense ? STATUS_INVALID_PARAMETER_MIX : STATUS_SUCCESS), "%s: moderate: %s",
              obj_name(&cq->o), ondk_status_name(status));
    if (cq->due_by && !nonsense)
        cq->due_by = cq->interval == MAXULONG ? 0 : sim_clock + cq->interval * UINT64_C(1000) + SIM_MS;
}

/* ---- nothing is running ---- */

/* Polling drives the shard, so a completion may arrive in it; the shards' next turns notify of it. */
static void check_notified(struct cq *cq)
{
    unsigned notified = cq->notified, got;
    bool failed = false;

    if ((got = results_of(cq, MAX_RESULTS, &failed)) == 0)
        return;
    for (int n = 0; n < LAST_TURNS && cq->notified == notified; n++)
        sim_overlap();
    if (cq->notified != notified || cq->o.life != OPEN)
        return;
    sim_check(is_moderated(cq) && !failed && got < cq->count,
              "%s: armed for completions, of which %u came, and nobody was told", obj_name(&cq->o), got);
    cq->drained = false; /* completions were polled, so the start of the next interval is unknown */
    cq->due_notified = notified;
    if (cq->interval != MAXULONG)
        cq->due_by = sim_clock + cq->interval * UINT64_C(1000) + SIM_MS;
}

static void check_owed(struct cq *cq)
{
    if (cq->notified != cq->due_notified || cq->o.life != OPEN)
        cq->due_by = 0;
    sim_check(!cq->due_by || sim_clock <= cq->due_by, "%s: the interval is over, and nobody was told",
              obj_name(&cq->o));
}

void cq_check_idle(void)
{
    for (unsigned i = 0; i < object_count; i++) {
        struct cq *cq = (struct cq *)objects[i];

        if (cq->o.kind != CQ || cq->o.life != OPEN || cq->polling)
            continue;
        if (cq->due_by)
            check_owed(cq);
        else if (cq->armed && cq->drained && cq->arm == NDK_CQ_NOTIFY_ANY)
            check_notified(cq);
    }
}
