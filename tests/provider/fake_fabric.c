/* SPDX-License-Identifier: MIT */
/* The scripted fabric of the provider's tests, see fake_fabric.h. */
#include "provider/fake_fabric_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/spin.h"
#include "engine/net.h"
#include "provider/adapter.h"

enum { RING = 64 };

struct fabric_cq {
    struct shard *shard;
    struct fabric_cq_config config;
    struct spin lock;
    struct rdma_completion ring[RING];
    int count;
};

struct fabric_srq {
    struct shard *shard;
    struct fabric_srq_config config;
};

struct fabric_qp {
    struct fabric_qp_config config;
};

struct fake fake;

static struct spin deferred_lock;
static struct fake_deferred deferred[FAKE_MAX_DEFERRED];
static int deferred_count;
static int fake_shard_index;

int fake_pop_error(void)
{
    int error = fake.error;

    fake.error = 0;
    return error;
}

bool fake_defer_end(void (*done)(void *), void *context)
{
    bool waits = atomic_load(&fake.defers_ends);

    spin_lock(&deferred_lock);
    if (waits) {
        assert(deferred_count < FAKE_MAX_DEFERRED);
        deferred[deferred_count++] = (struct fake_deferred){ done, context };
    }
    spin_unlock(&deferred_lock);
    return waits;
}

int fake_deferred_count(void)
{
    spin_lock(&deferred_lock);
    int count = deferred_count;
    spin_unlock(&deferred_lock);
    return count;
}

int fake_run_deferred(void)
{
    struct fake_deferred all[FAKE_MAX_DEFERRED];

    spin_lock(&deferred_lock);
    int count = deferred_count;
    memcpy(all, deferred, sizeof(all));
    deferred_count = 0;
    spin_unlock(&deferred_lock);
    for (int i = 0; i < count; i++)
        all[i].done(all[i].context);
    return count;
}

void fake_next_shard(int index)
{
    fake_shard_index = index;
}

static void fake_destroy(struct fabric *f)
{
    (void)f;
    for (int i = 0; i < FAKE_SHARDS; i++)
        shard_destroy(fake.shards[i]);
}

static void fake_info(const struct fabric *f, struct fabric_info *info)
{
    (void)f;
    *info = fake.info;
}

static struct shard *fake_home(struct fabric *f)
{
    (void)f;
    return fake.shards[0];
}

static int fake_cq_create(struct fabric *f, const struct fabric_cq_config *c, struct fabric_cq **out)
{
    int error = fake_pop_error();

    (void)f;
    if (error)
        return error;
    struct fabric_cq *cq = calloc(1, sizeof(*cq));
    if (!cq)
        return ENOMEM;
    cq->shard = fake.shards[fake_shard_index];
    cq->config = *c;
    fake.cq_config = *c;
    atomic_fetch_add(&fake.cqs, 1);
    *out = cq;
    return 0;
}

static int fake_cq_poll(struct fabric_cq *cq, struct rdma_completion *out, int max)
{
    spin_lock(&cq->lock);
    int n = cq->count < max ? cq->count : max;
    memcpy(out, cq->ring, (size_t)n * sizeof(*out));
    cq->count -= n;
    memmove(cq->ring, cq->ring + n, (size_t)cq->count * sizeof(*out));
    spin_unlock(&cq->lock);
    return n;
}

static void fake_cq_arm(struct fabric_cq *cq, enum fabric_arm type)
{
    (void)cq;
    fake.armed = type;
}

static int fake_cq_resize(struct fabric_cq *cq, uint32_t depth)
{
    int error = fake_pop_error();

    if (!error && depth < (uint32_t)cq->count)
        error = EINVAL;
    if (!error)
        cq->config.depth = depth;
    return error;
}

static void fake_cq_moderate(struct fabric_cq *cq, uint32_t interval_us, uint32_t count)
{
    (void)cq;
    fake.interval_us = interval_us;
    fake.count = count;
}

static void fake_cq_info(struct fabric_cq *cq, struct fabric_cq_info *info)
{
    *info = (struct fabric_cq_info){ .depth = cq->config.depth };
}

static struct shard *fake_cq_shard(struct fabric_cq *cq)
{
    return cq->shard;
}

static void fake_cq_close(struct fabric_cq *cq, void (*done)(void *owner))
{
    void *owner = cq->config.owner;

    free(cq);
    atomic_fetch_sub(&fake.cqs, 1);
    if (!fake_defer_end(done, owner))
        done(owner);
}

static int fake_qp_create(struct fabric *f, const struct fabric_qp_config *c, struct fabric_qp **out)
{
    int error = fake_pop_error();

    (void)f;
    if (error)
        return error;
    struct fabric_qp *qp = calloc(1, sizeof(*qp));
    if (!qp)
        return ENOMEM;
    qp->config = *c;
    fake.qp_config = *c;
    atomic_fetch_add(&fake.qps, 1);
    *out = qp;
    return 0;
}

/* Returns EINVAL if the request's SGEs have more than max bytes together. */
static int fake_copy_inline(const struct rdma_request *r, size_t max)
{
    fake.inline_length = 0;
    for (uint32_t i = 0; i < r->sge_count; i++) {
        if (r->sges[i].length > max - fake.inline_length)
            return EINVAL;
        memcpy(fake.inline_data + fake.inline_length, (void *)(uintptr_t)r->sges[i].address, r->sges[i].length);
        fake.inline_length += r->sges[i].length;
    }
    return 0;
}

static int fake_record_post(const struct rdma_request *r, size_t inline_size)
{
    void (*inside)(void) = fake.inside_post;
    int error = fake_pop_error();

    fake.inside_post = NULL;
    if (inside)
        inside();
    if (error)
        return error;
    if (r->flags & RDMA_FLAG_INLINE) {
        error = fake_copy_inline(r, inline_size);
    } else {
        assert(r->sge_count <= FAKE_MAX_SGES);
        if (r->sge_count)
            memcpy(fake.sges, r->sges, r->sge_count * sizeof(*r->sges));
    }
    if (error)
        return error;
    fake.request = *r;
    fake.request.sges = NULL; /* valid only during the call */
    return 0;
}

static int fake_qp_post(struct fabric_qp *qp, const struct rdma_request *r)
{
    return fake_record_post(r, qp->config.inline_size);
}

static void fake_qp_ring(struct fabric_qp *qp)
{
    (void)qp; /* nothing is deferred here */
}

static void fake_qp_flush(struct fabric_qp *qp)
{
    (void)qp;
    atomic_fetch_add(&fake.flushes, 1);
}

static void fake_qp_info(struct fabric_qp *qp, struct fabric_qp_info *info)
{
    (void)qp;
    *info = (struct fabric_qp_info){ .receives = 0 };
}

static enum fabric_reason fake_qp_reason(struct fabric_qp *qp, uint16_t *terminate)
{
    (void)qp;
    *terminate = FABRIC_NO_TERMINATE;
    return FABRIC_OK;
}

static void fake_qp_close(struct fabric_qp *qp, void (*done)(void *context), void *context)
{
    free(qp);
    atomic_fetch_sub(&fake.qps, 1);
    if (!fake_defer_end(done, context))
        done(context);
}

static int fake_srq_create(struct fabric *f, const struct fabric_srq_config *c, struct fabric_srq **out)
{
    int error = fake_pop_error();

    (void)f;
    if (error)
        return error;
    struct fabric_srq *srq = calloc(1, sizeof(*srq));
    if (!srq)
        return ENOMEM;
    srq->shard = fake.shards[fake_shard_index];
    srq->config = *c;
    fake.srq_config = *c;
    atomic_fetch_add(&fake.srqs, 1);
    *out = srq;
    return 0;
}

static int fake_srq_post(struct fabric_srq *srq, const struct rdma_request *r)
{
    (void)srq;
    return fake_record_post(r, 0);
}

static int fake_srq_modify(struct fabric_srq *srq, uint32_t depth, uint32_t threshold)
{
    (void)srq;
    fake.srq_depth = depth;
    fake.srq_threshold = threshold;
    return fake_pop_error();
}

static void fake_srq_info(struct fabric_srq *srq, struct fabric_srq_info *info)
{
    *info = (struct fabric_srq_info){ .depth = srq->config.depth };
}

static struct shard *fake_srq_shard(struct fabric_srq *srq)
{
    return srq->shard;
}

static void fake_srq_close(struct fabric_srq *srq, void (*done)(void *owner))
{
    void *owner = srq->config.owner;

    free(srq);
    atomic_fetch_sub(&fake.srqs, 1);
    if (!fake_defer_end(done, owner))
        done(owner);
}

static uint64_t fake_now(struct fabric *f)
{
    (void)f;
    return executor_threads()->ops->now(executor_threads());
}

static bool fake_wait_for(struct fabric *f, struct gate *g, uint64_t deadline)
{
    (void)f;
    return gate_wait(g, deadline);
}

static void fake_observe(struct fabric *f, const struct fabric_observer *observer)
{
    (void)f;
    (void)observer; /* no connection exists */
}

static void fake_counters(const struct fabric *f, struct fabric_counters *c)
{
    (void)f;
    *c = (struct fabric_counters){ .connects = 0 };
}

static const struct fabric_ops fake_ops = {
    .observe = fake_observe,
    .counters = fake_counters,
    .destroy = fake_destroy,
    .info = fake_info,
    .home = fake_home,
    .call = shard_call,
    .now = fake_now,
    .wait = fake_wait_for,
    .cq_create = fake_cq_create,
    .cq_poll = fake_cq_poll,
    .cq_arm = fake_cq_arm,
    .cq_resize = fake_cq_resize,
    .cq_moderate = fake_cq_moderate,
    .cq_info = fake_cq_info,
    .cq_shard = fake_cq_shard,
    .cq_close = fake_cq_close,
    .qp_create = fake_qp_create,
    .qp_post = fake_qp_post,
    .qp_ring = fake_qp_ring,
    .qp_flush = fake_qp_flush,
    .qp_info = fake_qp_info,
    .qp_reason = fake_qp_reason,
    .qp_close = fake_qp_close,
    .mr_create = fake_mr_create,
    .mr_kill = fake_mr_kill,
    .mr_close = fake_mr_close,
    .mr_register = fake_mr_register,
    .mr_deregister = fake_mr_deregister,
    .srq_create = fake_srq_create,
    .srq_post = fake_srq_post,
    .srq_modify = fake_srq_modify,
    .srq_info = fake_srq_info,
    .srq_shard = fake_srq_shard,
    .srq_close = fake_srq_close,
    .mr_reserve = fake_mr_reserve,
    .mr_prepare_pages = fake_mr_prepare_pages,
    .mr_prepare_window = fake_mr_prepare_window,
    .mr_unprepare = fake_mr_unprepare,
    .mr_newest_token = fake_mr_newest_token,
    .mr_current_token = fake_mr_newest_token,
    .mr_info = fake_mr_info,
    .lam_create = fake_lam_create,
    .lam_page = fake_lam_page,
    .lam_release = fake_lam_release,
};

NDK_ADAPTER *fake_open(NDK_VERSION version, const ondk_config_t *config)
{
    ondk_config_t defaults;
    NDK_ADAPTER *adapter = NULL;

    memset(&fake, 0, sizeof(fake));
    fake_shard_index = 0;
    fake.pub.ops = &fake_ops;
    fake.info = (struct fabric_info){
        .max_registration = 1u << 30,
        .max_transfer = UINT64_MAX,
        .max_initiator_sge = 8,
        .max_receive_sge = 8,
        .max_read_sge = 4,
        .max_inline = 256,
        .max_receive_depth = 1000,
        .max_initiator_depth = 2000,
        .max_cq_depth = 5000,
        .max_inbound_reads = 16,
        .max_outbound_reads = 32,
        .max_caller_data = 252,
        .max_callee_data = 252,
        .large_request_threshold = 4096,
    };
    for (int i = 0; i < FAKE_SHARDS; i++) {
        struct shard_config shard = { .cpu = -1 };
        if (shard_create(executor_threads(), net_kernel(), &shard, &fake.shards[i]))
            abort();
    }
    ondk_config_init(&defaults);
    if (adapter_open(version, &fake.pub, config ? config : &defaults, &adapter) != STATUS_SUCCESS) {
        fake_destroy(&fake.pub);
        return NULL;
    }
    return adapter;
}

void fake_complete(struct fabric_cq *cq, const struct rdma_completion *c)
{
    spin_lock(&cq->lock);
    assert(cq->count < RING);
    cq->ring[cq->count++] = *c;
    spin_unlock(&cq->lock);
}

struct notification {
    struct task task;
    struct fabric_cq_config config;
    bool overflow;
};

static void fake_run_notification(struct task *task)
{
    struct notification *n = (struct notification *)task;

    n->config.notify(n->config.owner, n->overflow);
    free(n);
}

void fake_notify(struct fabric_cq *cq, bool overflow)
{
    struct notification *n = calloc(1, sizeof(*n));

    if (!n)
        abort();
    n->task.run = fake_run_notification;
    n->config = cq->config;
    n->overflow = overflow;
    shard_call(cq->shard, &n->task);
}

struct low {
    struct task task;
    struct fabric_srq_config config;
};

static void fake_run_low_notification(struct task *task)
{
    struct low *low = (struct low *)task;

    low->config.notify(low->config.owner);
    free(low);
}

void fake_notify_low(struct fabric_srq *srq)
{
    struct low *low = calloc(1, sizeof(*low));

    if (!low)
        abort();
    low->task.run = fake_run_low_notification;
    low->config = srq->config;
    shard_call(srq->shard, &low->task);
}

void fake_wait(struct gate *gate)
{
    executor_wait(executor_threads(), gate);
}

struct mark {
    struct task task;
    struct gate gate;
};

static void fake_run_drain_mark(struct task *task)
{
    gate_open(&((struct mark *)task)->gate);
}

void fake_drain_shard(int shard)
{
    struct mark mark = { .task = { .run = fake_run_drain_mark } };

    shard_call(fake.shards[shard], &mark.task);
    fake_wait(&mark.gate);
}

void fake_drain(void)
{
    /* Twice, because callbacks on the second shard may have queued others on the first. */
    for (int i = 0; i < 2 * FAKE_SHARDS; i++)
        fake_drain_shard(i % FAKE_SHARDS);
}
