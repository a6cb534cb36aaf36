/* SPDX-License-Identifier: MIT */
/*
 * Implements the iWARP fabric: its shards, its limits, and its table of functions. Invariant: iwarp_destroy can destroy
 * a fabric whose creation failed at any point.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "fabric/iwarp/adapter.h"
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/cq.h"
#include "fabric/iwarp/endpoint.h"
#include "fabric/iwarp/listener.h"
#include "fabric/iwarp/memory.h"
#include "fabric/iwarp/qp.h"
#include "fabric/iwarp/reason.h"
#include "fabric/iwarp/srq.h"

enum {
    MAX_DEFAULT_SHARDS = 4,
    MAX_SGE = 16,
    MAX_INLINE = 1024,
    MAX_DEPTH = 16384,
    MAX_CQ_DEPTH = 262144,
    MAX_FAST_PAGES = 1024, /* maximum number of pages of a fast registration, together 4 MiB */
    LARGE_REQUEST = 65536,
    MAX_PRIVATE = MPA_MAX_PRIVATE_DATA - MPA_LIMITS,
};

_Static_assert(MPA_RTR_ZERO_FPDU == 1 && MPA_RTR_WRITE == 2 && MPA_RTR_READ == 4, "fabric_iwarp_config.rtr");

/* The size of a process's address space. */
#define ADDRESSABLE (UINT64_C(1) << 47)

struct iwarp_shard *iwarp_pick_shard(struct iwarp_fabric *f, atomic_uint *turn)
{
    return &f->shards[atomic_fetch_add_explicit(turn, 1, memory_order_relaxed) % f->shard_count];
}

struct iwarp_shard *iwarp_home(struct iwarp_fabric *f, int affinity, atomic_uint *turn)
{
    return affinity >= 0 ? &f->shards[(unsigned)affinity % f->shard_count] : iwarp_pick_shard(f, turn);
}

enum fabric_reason iwarp_check_address(struct iwarp_fabric *f, const struct addr *a)
{
    int error = f->interfaces->owns(f->interfaces, f->if_index, a);

    /*
     * iwarp_reason_reserve would map EACCES and EPERM to PORT_FORBIDDEN, which would be wrong here, because nothing was
     * bound.
     */
    return error == EACCES || error == EPERM ? FABRIC_SYSTEM : iwarp_reason_reserve(error);
}

static struct shard *iwarp_get_home(struct fabric *base)
{
    return ((struct iwarp_fabric *)base)->shards[0].shard;
}

static uint64_t iwarp_now(struct fabric *base)
{
    struct executor *e = ((struct iwarp_fabric *)base)->executor;

    return e->ops->now(e);
}

static bool iwarp_wait(struct fabric *base, struct gate *g, uint64_t deadline)
{
    return executor_wait_until(((struct iwarp_fabric *)base)->executor, g, deadline);
}

static void iwarp_get_info(const struct fabric *base, struct fabric_info *info)
{
    const struct fabric_config *config = &((const struct iwarp_fabric *)base)->config;

    *info = (struct fabric_info){
        .technology = FABRIC_IWARP,
        .max_registration = ADDRESSABLE,
        .max_window = ADDRESSABLE,
        .fast_register_pages = MAX_FAST_PAGES,
        .read_local_invalidate = true,
        .max_transfer = UINT32_MAX,
        .max_initiator_sge = MAX_SGE,
        .max_receive_sge = MAX_SGE,
        .max_read_sge = MAX_SGE,
        .max_inline = MAX_INLINE,
        .max_receive_depth = MAX_DEPTH,
        .max_initiator_depth = MAX_DEPTH,
        .max_cq_depth = MAX_CQ_DEPTH,
        .max_inbound_reads = config->max_inbound_reads,
        .max_outbound_reads = config->max_outbound_reads,
        .max_caller_data = config->max_private,
        .max_callee_data = config->max_private,
        .large_request_threshold = LARGE_REQUEST,
        .max_srq_depth = MAX_DEPTH,
        .cq_moderation = true,
    };
}

/* ---- creation ---- */

static unsigned iwarp_count_shards(const struct fabric_config *config)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    if (config->shards)
        return config->shards < IWARP_MAX_SHARDS ? config->shards : IWARP_MAX_SHARDS;
    if (processors < 1)
        return 1;
    return processors < MAX_DEFAULT_SHARDS ? (unsigned)processors : MAX_DEFAULT_SHARDS;
}

static void iwarp_destroy(struct fabric *base)
{
    struct iwarp_fabric *f = (struct iwarp_fabric *)base;

    iwarp_interface_unwatch(f);
    for (unsigned i = 0; i < f->shard_count; i++) {
        struct iwarp_shard *s = &f->shards[i];
        if (s->shard)
            shard_destroy(s->shard);
        iw_scratch_destroy(s->scratch);
        free(s->sink);
    }
    free(f->shards);
    if (f->memory)
        mem_table_destroy(f->memory);
    free(f);
}

static int iwarp_create_shard(struct iwarp_fabric *f, struct iwarp_shard *s)
{
    struct shard_config config = { .spin_ns = f->config.spin_us * UINT64_C(1000), .cpu = -1 };

    s->scratch = iw_scratch_create();
    s->sink = malloc(IWARP_SINK_SIZE);
    if (!s->scratch || !s->sink)
        return ENOMEM;
    return shard_create(f->executor, f->net, &config, &s->shard);
}

static int iwarp_create_parts(struct iwarp_fabric *f)
{
    size_t size = f->shard_count * sizeof *f->shards;
    int error = 0;

    f->memory = mem_table_create(random_u64());
    f->shards = aligned_alloc(_Alignof(struct iwarp_shard), size);
    if (!f->shards)
        f->shard_count = 0;
    else
        memset(f->shards, 0, size);
    if (!f->memory || !f->shards)
        return ENOMEM;
    for (unsigned i = 0; i < f->shard_count && !error; i++)
        error = iwarp_create_shard(f, &f->shards[i]);
    return error;
}

static uint64_t iwarp_sum_count(const struct iwarp_fabric *f, enum iwarp_count_kind what)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < f->shard_count; i++)
        n += atomic_load_explicit(&f->shards[i].counts[what], memory_order_relaxed);
    return n;
}

static void iwarp_get_counters(const struct fabric *base, struct fabric_counters *c)
{
    const struct iwarp_fabric *f = (const struct iwarp_fabric *)base;

    *c = (struct fabric_counters){
        .connects = iwarp_sum_count(f, COUNT_CONNECTS),
        .accepts = iwarp_sum_count(f, COUNT_ACCEPTS),
        .failures = iwarp_sum_count(f, COUNT_FAILURES),
        .refused = iwarp_sum_count(f, COUNT_REFUSED),
        .dropped = iwarp_sum_count(f, COUNT_DROPPED),
        .active = iwarp_sum_count(f, COUNT_ACTIVE),
        .connection_errors = iwarp_sum_count(f, COUNT_CONNECTION_ERRORS),
        .cq_errors = iwarp_sum_count(f, COUNT_CQ_ERRORS),
        .in_bytes = iwarp_sum_count(f, COUNT_BYTES_RECEIVED),
        .out_bytes = iwarp_sum_count(f, COUNT_BYTES_SENT),
        .in_frames = iwarp_sum_count(f, COUNT_FPDUS_RECEIVED),
        .out_frames = iwarp_sum_count(f, COUNT_FPDUS_SENT),
    };
    for (int i = 0; i < RDMA_KINDS; i++)
        c->requests[i] = (struct rdma_counts){
            .succeeded = iwarp_sum_count(f, (enum iwarp_count_kind)(COUNT_REQUESTS + 3 * i)),
            .failed = iwarp_sum_count(f, (enum iwarp_count_kind)(COUNT_REQUESTS + 3 * i + 1)),
            .bytes = iwarp_sum_count(f, (enum iwarp_count_kind)(COUNT_REQUESTS + 3 * i + 2)),
        };
}

static void iwarp_observe(struct fabric *base, const struct fabric_observer *observer)
{
    ((struct iwarp_fabric *)base)->observer = *observer;
}

static const struct fabric_ops ops = {
    .observe = iwarp_observe,
    .counters = iwarp_get_counters,
    .destroy = iwarp_destroy,
    .info = iwarp_get_info,
    .home = iwarp_get_home,
    .call = shard_call,
    .now = iwarp_now,
    .wait = iwarp_wait,
    .cq_create = iwarp_cq_create,
    .cq_poll = iwarp_cq_poll,
    .cq_arm = iwarp_cq_arm,
    .cq_resize = iwarp_cq_resize,
    .cq_moderate = iwarp_cq_moderate,
    .cq_info = iwarp_cq_info,
    .cq_shard = iwarp_cq_shard,
    .cq_close = iwarp_cq_close,
    .qp_create = iwarp_qp_create,
    .qp_post = iwarp_qp_post,
    .qp_ring = iwarp_qp_ring,
    .qp_flush = iwarp_qp_flush,
    .qp_reason = iwarp_qp_reason,
    .qp_info = iwarp_qp_info,
    .qp_close = iwarp_qp_close,
    .mr_create = iwarp_mr_create,
    .mr_kill = iwarp_mr_kill,
    .mr_close = iwarp_mr_close,
    .mr_register = iwarp_mr_register,
    .mr_deregister = iwarp_mr_deregister,
    .mr_reserve = iwarp_mr_reserve,
    .mr_prepare_pages = iwarp_mr_prepare_pages,
    .mr_prepare_window = iwarp_mr_prepare_window,
    .mr_unprepare = iwarp_mr_unprepare,
    .mr_newest_token = iwarp_mr_newest_token,
    .mr_current_token = iwarp_mr_current_token,
    .mr_info = iwarp_mr_info,
    .lam_create = iwarp_lam_create,
    .lam_page = iwarp_lam_page,
    .lam_release = iwarp_lam_release,
    .srq_create = iwarp_srq_create,
    .srq_post = iwarp_srq_post,
    .srq_modify = iwarp_srq_modify,
    .srq_info = iwarp_srq_info,
    .srq_shard = iwarp_srq_shard,
    .srq_close = iwarp_srq_close,
    .conn_create = iwarp_conn_create,
    .conn_connect = iwarp_conn_connect,
    .conn_complete = iwarp_conn_complete,
    .conn_accept = iwarp_conn_accept,
    .conn_reject = iwarp_conn_reject,
    .conn_disconnect = iwarp_conn_disconnect,
    .conn_close = iwarp_conn_close,
    .listener_create = iwarp_listener_create,
    .listener_listen = iwarp_listener_listen,
    .listener_pause = iwarp_listener_pause,
    .listener_close = iwarp_listener_close,
    .listener_info = iwarp_listener_info,
    .listener_shard = iwarp_listener_shard,
    .endpoint_create = iwarp_endpoint_create,
    .endpoint_close = iwarp_endpoint_close,
};

static int iwarp_check_interface(struct interfaces *interfaces, uint32_t if_index)
{
    struct addr unused;
    int count = interfaces->addresses(interfaces, if_index, &unused, 1);

    if (count < 0)
        return -count;
    return count == 0 ? ENETDOWN : 0;
}

int iwarp_fabric_create(struct executor *e, struct net *net, struct interfaces *interfaces, uint32_t if_index,
                        const struct fabric_config *config, struct fabric **out)
{
    struct iwarp_fabric *f;
    int error = iwarp_check_interface(interfaces, if_index);

    if (error)
        return error;
    f = calloc(1, sizeof *f);
    if (!f)
        return ENOMEM;
    f->base.ops = &ops;
    f->executor = e;
    f->net = net;
    f->interfaces = interfaces;
    f->if_index = if_index;
    f->config = *config;
    f->liveness = (struct net_liveness){
        .idle_ms = config->keepalive_idle_ms,
        .interval_ms = config->keepalive_interval_ms,
        .unacked_ms = config->unacked_ms,
    };
    if (f->config.max_private > MAX_PRIVATE)
        f->config.max_private = MAX_PRIVATE;
    f->shard_count = iwarp_count_shards(config);
    error = iwarp_create_parts(f);
    if (!error)
        error = iwarp_interface_watch(f);
    if (error) {
        iwarp_destroy(&f->base);
        return error;
    }
    *out = &f->base;
    return 0;
}
