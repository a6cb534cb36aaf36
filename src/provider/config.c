/* SPDX-License-Identifier: MIT */
/*
 * Stores the configuration, with its defaults, environment variables and range checks. The invariant: one table has the
 * default, the environment variable and the range of every field of ondk_config_t except `size`.
 */
#include <openndk/config.h>

#include <stdlib.h>

#include "base/fork.h"
#include "base/sized.h"
#include "base/spin.h"
#include "ndk/nt.h"
#include "provider/config.h"
#include "provider/environment.h"

/* clang-format off */
static const struct config_field {
    struct environment_number variable;
    size_t offset;
    uint32_t value;
} config_fields[] = {
#define FIELD(name, variable, value, min, max) {{variable, min, max}, offsetof(ondk_config_t, name), value}
    FIELD(connect_ms, "ONDK_CONNECT_MS", 10000, 1, 3600000),
    FIELD(request_ms, "ONDK_REQUEST_MS", 5000, 1, 3600000),
    FIELD(reply_ms, "ONDK_REPLY_MS", 10000, 1, 3600000),
    FIELD(establish_ms, "ONDK_ESTABLISH_MS", 10000, 1, 3600000),
    FIELD(disconnect_ms, "ONDK_DISCONNECT_MS", 10000, 1, 3600000),
    FIELD(backlog, "ONDK_BACKLOG", 1024, 1, 1u << 20),
    FIELD(max_unfinished, "ONDK_MAX_UNFINISHED", 0, 0, 1u << 20),
    FIELD(max_private, "ONDK_MAX_PRIVATE", 252, 0, 508),
    FIELD(max_inbound_reads, "ONDK_MAX_INBOUND_READS", 64, 0, 0x3ffe),
    FIELD(max_outbound_reads, "ONDK_MAX_OUTBOUND_READS", 64, 0, 0x3ffe),
    FIELD(max_initiator_sge, "ONDK_MAX_INITIATOR_SGE", ONDK_UNLIMITED, 1, UINT32_MAX),
    FIELD(max_receive_sge, "ONDK_MAX_RECEIVE_SGE", ONDK_UNLIMITED, 1, UINT32_MAX),
    FIELD(max_read_sge, "ONDK_MAX_READ_SGE", ONDK_UNLIMITED, 1, UINT32_MAX),
    FIELD(max_inline, "ONDK_MAX_INLINE", ONDK_UNLIMITED, 0, UINT32_MAX),
    FIELD(max_initiator_depth, "ONDK_MAX_INITIATOR_DEPTH", ONDK_UNLIMITED, 1, UINT32_MAX),
    FIELD(max_receive_depth, "ONDK_MAX_RECEIVE_DEPTH", ONDK_UNLIMITED, 1, UINT32_MAX),
    FIELD(max_cq_depth, "ONDK_MAX_CQ_DEPTH", ONDK_UNLIMITED, 1, UINT32_MAX),
    FIELD(max_srq_depth, "ONDK_MAX_SRQ_DEPTH", ONDK_UNLIMITED, 0, UINT32_MAX),
    FIELD(fast_register_pages, "ONDK_FAST_REGISTER_PAGES", ONDK_UNLIMITED, 0, UINT32_MAX),
    FIELD(max_window_kib, "ONDK_MAX_WINDOW_KIB", ONDK_UNLIMITED, 0, UINT32_MAX),
    FIELD(max_registration_kib, "ONDK_MAX_REGISTRATION_KIB", ONDK_UNLIMITED, 1, UINT32_MAX),
    FIELD(max_transfer, "ONDK_MAX_TRANSFER", ONDK_UNLIMITED, 1, UINT32_MAX),
    FIELD(cq_resize, "ONDK_CQ_RESIZE", 1, 0, 1),
    FIELD(cq_moderation, "ONDK_CQ_MODERATION", 1, 0, 1),
    FIELD(read_local_invalidate, "ONDK_READ_LOCAL_INVALIDATE", 1, 0, 1),
    FIELD(mpa_revision, "ONDK_MPA_REVISION", 2, 0, 2),
    FIELD(crc, "ONDK_CRC", 1, 0, 1),
    FIELD(rtr, "ONDK_RTR", ONDK_RTR_ZERO_FPDU | ONDK_RTR_WRITE | ONDK_RTR_READ, 0, 7),
    FIELD(max_fpdu, "ONDK_MAX_FPDU", 0, 0, 65535),
    FIELD(nudge_ms, "ONDK_NUDGE_MS", 25, 0, 10000),
    FIELD(shards, "ONDK_SHARDS", 0, 0, 256),
    FIELD(spin_us, "ONDK_SPIN_US", 20, 0, 1000000),
    FIELD(notify_us, "ONDK_NOTIFY_US", 0, 0, 1000000),
    FIELD(stat, "ONDK_STAT", 1, 0, 1),
    FIELD(pend_creates, "ONDK_PEND_CREATES", 0, 0, 1),
    FIELD(keepalive_idle_ms, "ONDK_KEEPALIVE_IDLE_MS", 15000, 0, 3600000),
    FIELD(keepalive_interval_ms, "ONDK_KEEPALIVE_INTERVAL_MS", 5000, 1000, 3600000),
    FIELD(unacked_ms, "ONDK_UNACKED_MS", 30000, 0, 3600000),
    FIELD(stall_ms, "ONDK_STALL_MS", 30000, 0, 3600000),
    FIELD(srq_share_percent, "ONDK_SRQ_SHARE_PERCENT", 50, 1, 100),
    FIELD(srq_stall_ms, "ONDK_SRQ_STALL_MS", 500, 1, 3600000),
    FIELD(close_report_ms, "ONDK_CLOSE_REPORT_MS", 3000, 0, 3600000),
    FIELD(close_abort_ms, "ONDK_CLOSE_ABORT_MS", 0, 0, 3600000),
#undef FIELD
};
/* clang-format on */
enum { N_FIELDS = sizeof(config_fields) / sizeof(config_fields[0]) };
static_assert(sizeof(ondk_config_t) == (N_FIELDS + 1) * sizeof(uint32_t), "a field without a row");

static struct spin config_lock;
static bool config_is_set; /* config_set is valid; config_lock guards both */
static ondk_config_t config_set;

static uint32_t *config_get_field(ondk_config_t *config, const struct config_field *f)
{
    return (uint32_t *)((char *)config + f->offset);
}

static bool config_field_allows(const struct config_field *f, uint64_t value)
{
    return value >= f->variable.min && value <= f->variable.max;
}

uint32_t ondk_config_check_environment(void)
{
    struct environment_number numbers[N_FIELDS];

    for (uint32_t i = 0; i < N_FIELDS; i++)
        numbers[i] = config_fields[i].variable;
    return environment_check(numbers, N_FIELDS);
}

void ondk_config_init_sized(ondk_config_t *config, size_t size)
{
    const char *profile = getenv("ONDK_PROFILE");
    ondk_config_t ours = { .size = sizeof(ours) };

    (void)ondk_config_check_environment();
    for (const struct config_field *f = config_fields; f < config_fields + N_FIELDS; f++)
        *config_get_field(&ours, f) = f->value;
    if (profile)
        (void)ondk_config_profile(&ours, profile);
    for (const struct config_field *f = config_fields; f < config_fields + N_FIELDS; f++)
        (void)environment_number(&f->variable, config_get_field(&ours, f));
    ours.size = (uint32_t)size;
    sized_write(config, size, &ours, sizeof(ours));
}

bool config_size_is_valid(const ondk_config_t *config)
{
    return config->size >= CONFIG_MIN_SIZE && config->size <= CONFIG_MAX_SIZE && config->size % sizeof(uint32_t) == 0;
}

static bool config_values_are_valid(ondk_config_t *config)
{
    for (const struct config_field *f = config_fields; f < config_fields + N_FIELDS; f++) {
        if (!config_field_allows(f, *config_get_field(config, f)))
            return false;
    }
    return true;
}

bool config_read(ondk_config_t *ours, const ondk_config_t *theirs)
{
    if (!config_size_is_valid(theirs))
        return false;
    ondk_config_init(ours);
    if (!sized_read(ours, sizeof(*ours), theirs, theirs->size))
        return false;
    ours->size = sizeof(*ours);
    return config_values_are_valid(ours);
}

int32_t ondk_configure(const ondk_config_t *config)
{
    ondk_config_t ours;

    if (config && !config_read(&ours, config))
        return STATUS_INVALID_PARAMETER;
    fork_guard(&config_lock);
    spin_lock(&config_lock);
    config_is_set = config;
    if (config)
        config_set = ours;
    spin_unlock(&config_lock);
    return STATUS_SUCCESS;
}

void config_current(ondk_config_t *config)
{
    ondk_config_init(config);
    fork_guard(&config_lock);
    spin_lock(&config_lock);
    if (config_is_set)
        *config = config_set;
    spin_unlock(&config_lock);
}

void config_for_fabric(const ondk_config_t *c, struct fabric_config *out)
{
    *out = (struct fabric_config){
        .connect_ms = c->connect_ms,
        .request_ms = c->request_ms,
        .reply_ms = c->reply_ms,
        .establish_ms = c->establish_ms,
        .disconnect_ms = c->disconnect_ms,
        .stall_ms = c->stall_ms,
        .keepalive_idle_ms = c->keepalive_idle_ms,
        .keepalive_interval_ms = c->keepalive_interval_ms,
        .unacked_ms = c->unacked_ms,
        .backlog = c->backlog,
        .max_unfinished = c->max_unfinished,
        .max_private = (uint16_t)c->max_private,
        .max_inbound_reads = (uint16_t)c->max_inbound_reads,
        .max_outbound_reads = (uint16_t)c->max_outbound_reads,
        .srq_share_percent = c->srq_share_percent,
        .srq_stall_ms = c->srq_stall_ms,
        .shards = c->shards,
        .spin_us = c->spin_us,
        .notify_us = c->notify_us,
        .iwarp.mpa_revision = (uint8_t)c->mpa_revision,
        .iwarp.crc = c->crc != 0,
        .iwarp.rtr = c->rtr,
        .iwarp.max_fpdu = c->max_fpdu,
        .iwarp.nudge_ms = c->nudge_ms,
    };
}
