/* SPDX-License-Identifier: MIT */
/* Makes rows of what drivers have done and left: see summary.h. Only reads numbers that other files have counted. */
#include "wdk/summary/summary.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "openndk/adapter.h"
#include "openndk/netstat.h"
#include "openndk/reason.h"
#include "openndk/verify.h"
#include "wdk/common/kernel_names.h"
#include "wdk/common/live.h"
#include "wdk/common/tally.h"
#include "wdk/mm/pool.h"
#include "wdk/ndk/activity.h"

enum { MAX_FAILURES = 64, MAX_RULES = 512 };

struct summary {
    summary_callback *visit;
    void *context;
};

const char *summary_section_name(enum summary_section section)
{
    static const char *const names[SUMMARY_SECTIONS] = {
        [SUMMARY_CONNECTIONS] = "connections",
        [SUMMARY_FAILURE] = "failure",
        [SUMMARY_REQUEST] = "request",
        [SUMMARY_SOCKET] = "socket",
        [SUMMARY_IRP] = "irp",
        [SUMMARY_SCSI] = "scsi",
        [SUMMARY_RULE] = "rule",
        [SUMMARY_LEFT] = "left",
    };

    return names[section];
}

static void row_add(struct summary_row *row, const char *name, uint64_t value)
{
    row->numbers[row->count++] = (struct summary_number){ name, value };
}

static void row_report(const struct summary *s, const struct summary_row *row)
{
    s->visit(s->context, row);
}

/* ---- NDK -------------------------------------------------------------------------------------------------------- */

static void summary_connections(const struct summary *s, const struct activity *a)
{
    struct summary_row row = { .section = SUMMARY_CONNECTIONS };

    if (!(a->initiated + a->accepted + a->failed + a->refused + a->dropped + a->lost))
        return;
    row_add(&row, "initiated", a->initiated);
    row_add(&row, "accepted", a->accepted);
    row_add(&row, "failed", a->failed);
    row_add(&row, "refused", a->refused + a->dropped);
    row_add(&row, "lost", a->lost);
    row_add(&row, "cq-overflows", a->cq_overflows);
    row_add(&row, "bytes-out", a->out_bytes);
    row_add(&row, "bytes-in", a->in_bytes);
    row_report(s, &row);
}

static void summary_address(char *text, size_t room, const struct sockaddr_storage *address)
{
    char host[INET6_ADDRSTRLEN] = "";
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    memcpy(&v4, address, sizeof v4);
    memcpy(&v6, address, sizeof v6);
    if (address->ss_family == AF_INET && inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host))
        snprintf(text, room, "%s:%u", host, (unsigned)ntohs(v4.sin_port));
    else if (address->ss_family == AF_INET6 && inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host))
        snprintf(text, room, "[%s]:%u", host, (unsigned)ntohs(v6.sin6_port));
    else
        snprintf(text, room, "unknown");
}

static void summary_failure(const struct summary *s, const ondk_failure_t *f)
{
    struct summary_row row = { .section = SUMMARY_FAILURE, .name = f->refused ? "refused" : "failed" };
    char local[INET6_ADDRSTRLEN + 16], foreign[INET6_ADDRSTRLEN + 16];

    row.status = ondk_status_name(f->status);
    row_add(&row, "count", f->count);
    summary_address(local, sizeof local, &f->local);
    summary_address(foreign, sizeof foreign, &f->foreign);
    snprintf(row.text, sizeof row.text, "role=%s phase=%s local=%s foreign=%s reason=%s: %s",
             f->initiated ? "initiated" : "accepted", f->phase, local, foreign, ondk_reason_name(f->reason),
             ondk_reason_text(f->reason));
    row_report(s, &row);
}

static void summary_failures(const struct summary *s)
{
    static ondk_failure_t all[MAX_FAILURES];
    uint32_t count = ondk_adapter_failures(NULL, all, MAX_FAILURES);

    for (uint32_t i = 0; i < count && i < MAX_FAILURES; i++)
        summary_failure(s, &all[i]);
}

static void summary_requests(const struct summary *s, const struct activity *a)
{
    static const struct {
        int kind;
        const char *name;
    } kinds[RDMA_KINDS] = {
        { RDMA_OP_SEND, "send" },
        { RDMA_KIND_SEND_AND_INVALIDATE, "send-and-invalidate" },
        { RDMA_OP_RECEIVE, "receive" },
        { RDMA_OP_RECEIVE_AND_INVALIDATE, "receive-and-invalidate" },
        { RDMA_OP_READ, "read" },
        { RDMA_OP_WRITE, "write" },
        { RDMA_OP_FAST_REGISTER, "fast-register" },
        { RDMA_OP_BIND, "bind" },
        { RDMA_OP_INVALIDATE, "invalidate" },
    };

    for (int i = 0; i < RDMA_KINDS; i++) {
        struct summary_row row = { .section = SUMMARY_REQUEST, .name = kinds[i].name };
        const struct rdma_counts *c = &a->requests[kinds[i].kind];

        if (!(c->succeeded + c->failed))
            continue;
        row_add(&row, "succeeded", c->succeeded);
        row_add(&row, "failed", c->failed);
        row_add(&row, "bytes", c->bytes);
        row_report(s, &row);
    }
}

static void summary_ndk(const struct summary *s, bool crashed)
{
    static const struct summary_row uncounted = { .section = SUMMARY_CONNECTIONS,
                                                  .text = "not counted, because the provider is not OpenNDK" };
    struct activity activity = { 0 };

    if (!adapters_add_activity(&activity, crashed)) {
        row_report(s, &uncounted);
        return;
    }
    summary_connections(s, &activity);
    if (!crashed)
        summary_failures(s);
    summary_requests(s, &activity);
}

/* ---- The kernel ------------------------------------------------------------------------------------------------- */

static const char *summary_tally_name(const struct tally *t)
{
    static const char *const sockets[] = {
        [TALLY_WSK_CONNECT] = "connect",
        [TALLY_WSK_ACCEPT] = "accept",
        [TALLY_WSK_SEND] = "send",
        [TALLY_WSK_RECEIVE] = "receive",
    };
    static const char *const commands[] = {
        [TALLY_SCSI_READ] = "read",
        [TALLY_SCSI_WRITE] = "write",
        [TALLY_SCSI_OTHER] = "other",
    };

    switch (t->group) {
    case TALLY_IRP:
        return kernel_irp_major_name(t->code) ? kernel_irp_major_name(t->code) : "unknown";
    case TALLY_WSK:
        return sockets[t->code];
    default:
        return commands[t->code];
    }
}

static void summary_tally(const struct summary *s, const struct tally *t)
{
    static const enum summary_section sections[] = {
        [TALLY_IRP] = SUMMARY_IRP, [TALLY_WSK] = SUMMARY_SOCKET, [TALLY_SCSI] = SUMMARY_SCSI
    };
    struct summary_row row = { .section = sections[t->group], .name = summary_tally_name(t) };
    const char *name = t->group == TALLY_SCSI ? kernel_srb_status_name((uint8_t)t->status)
                                              : kernel_status_name(t->status);
    bool is_transfer = t->group == TALLY_WSK && (t->code == TALLY_WSK_SEND || t->code == TALLY_WSK_RECEIVE);
    bool has_status = t->group != TALLY_WSK || t->code == TALLY_WSK_CONNECT;
    char number[16];

    snprintf(number, sizeof number, "0x%" PRIX32, t->status);
    row.status = !has_status ? NULL : name ? name : number;
    if (!is_transfer) /* t->count of a transfer is the number of system calls, not of sends or receives */
        row_add(&row, "count", t->count);
    if (t->group == TALLY_SCSI || is_transfer)
        row_add(&row, "bytes", t->bytes);
    row_report(s, &row);
}

static void summary_tallies(const struct summary *s)
{
    static const enum tally_group order[] = { TALLY_WSK, TALLY_IRP, TALLY_SCSI };
    struct tally all[TALLY_MAX_ENTRIES];
    unsigned count = tally_copy(all);

    for (size_t g = 0; g < sizeof order / sizeof order[0]; g++)
        for (unsigned i = 0; i < count; i++)
            if (all[i].group == order[g])
                summary_tally(s, &all[i]);
}

static void summary_rules(const struct summary *s)
{
    static ondk_verify_rule_t rules[MAX_RULES];
    uint32_t count = ondk_verify_rules(rules, MAX_RULES);

    for (uint32_t i = 0; i < count && i < MAX_RULES; i++) {
        struct summary_row row = { .section = SUMMARY_RULE, .name = rules[i].name };

        if (!rules[i].reports)
            continue;
        row_add(&row, "reports", rules[i].reports);
        row_report(s, &row);
    }
}

static void summary_left(const struct summary *s)
{
    uint32_t counts[LIVE_KINDS];
    uint64_t blocks = pool_block_count();
    struct summary_row row = { .section = SUMMARY_LEFT };

    if (blocks) {
        row.name = "pool-block";
        row_add(&row, "count", blocks);
        row_report(s, &row);
    }
    live_count_kinds(counts);
    for (int kind = 0; kind < LIVE_KINDS; kind++) {
        if (!counts[kind])
            continue;
        row = (struct summary_row){ .section = SUMMARY_LEFT, .name = live_kind_word((enum live_kind)kind) };
        row_add(&row, "count", counts[kind]);
        row_report(s, &row);
    }
}

void summary_walk(bool crashed, summary_callback *visit, void *context)
{
    const struct summary s = { visit, context };

    summary_ndk(&s, crashed);
    summary_tallies(&s);
    if (crashed)
        return;
    summary_rules(&s);
    summary_left(&s);
}
