/* SPDX-License-Identifier: MIT */
/* Prints the output that client and server share: see roles.h. */
#include "roles.h"

#include <stdio.h>
#include <string.h>

#include "address.h"
#include "connection_entry.h"
#include "consumer/provider.h"
#include "json_output.h"
#include "openndk/reason.h"
#include "print.h"
#include "read_limits.h"

void roles_report_peer(struct consumer *c, json_t *result)
{
    struct sockaddr_storage local, peer;
    char local_text[128], peer_text[128], data[2 * 512 + 1] = "";
    uint8_t bytes[512];
    ULONG local_len = sizeof local, peer_len = sizeof peer, ird = 0, ord = 0, len = sizeof bytes;
    NDK_CONNECTOR *k = c->connector;

    if (NT_SUCCESS(k->Dispatch->NdkGetLocalAddress(k, (PSOCKADDR)&local, &local_len)) &&
        NT_SUCCESS(k->Dispatch->NdkGetPeerAddress(k, (PSOCKADDR)&peer, &peer_len))) {
        address_text(&local, local_text, sizeof local_text);
        address_text(&peer, peer_text, sizeof peer_text);
        print_line("local %s, peer %s", local_text, peer_text);
        json_object_set_new(result, "local", json_output_text(local_text));
        json_object_set_new(result, "peer", json_output_text(peer_text));
    }
    if (!NT_SUCCESS(k->Dispatch->NdkGetConnectionData(k, &ird, &ord, bytes, &len)))
        return;
    for (ULONG i = 0; i < len; i++)
        snprintf(data + 2 * i, 3, "%02x", bytes[i]);
    print_line("read-limits inbound=%u outbound=%u", (unsigned)ird, (unsigned)ord);
    print_line("private-data=%s", data);
    json_object_set_new(result, "inbound_reads", json_integer(ird));
    json_object_set_new(result, "outbound_reads", json_integer(ord));
    json_object_set_new(result, "private_data", json_string(data));
}

void roles_print_limits(const struct consumer *c)
{
    print_line("read-limits inbound=%u outbound=%u", (unsigned)c->effective.inbound, (unsigned)c->effective.outbound);
}

void roles_report_agreement(struct consumer *c, json_t *result)
{
    ondk_connection_t entry;

    if (!connection_entry_find(c, &entry))
        return;
    print_line("mpa-revision=%u crc=%s", (unsigned)entry.mpa_revision, entry.crc ? "on" : "off");
    json_object_set_new(result, "mpa_revision", json_integer(entry.mpa_revision));
    json_object_set_new(result, "crc", json_boolean(entry.crc));
}

int roles_check_limits(const struct options *o, const struct consumer *c, json_t *result)
{
    const char *problem = read_limits_check(c->effective, o->server, o->client);

    if (!problem)
        return NDKPING_OK;
    return roles_report_problem("read limits", problem, result);
}

void roles_print_counters(struct consumer *c)
{
    ondk_counters_t n;

    if (!consumer_read_counters(c->adapter, &n))
        return;
    print_line("fpdus-sent=%llu", (unsigned long long)n.rdma_out_frames);
    print_line("fpdus-received=%llu", (unsigned long long)n.rdma_in_frames);
}

int roles_report_failed(const char *step, NTSTATUS status, uint32_t reason, json_t *result)
{
    json_t *error = json_object();

    print_failed_for(step, status, reason);
    json_object_set_new(error, "step", json_string(step));
    json_object_set_new(error, "status", json_string(ondk_status_name(status)));
    if (consumer_reason_is_openndk(reason)) {
        json_object_set_new(error, "reason", json_string(ondk_reason_name(reason)));
        json_object_set_new(error, "reason_text", json_string(ondk_reason_text(reason)));
    }
    if (reason)
        json_object_set_new(error, "reason_code", json_integer(reason));
    json_object_set_new(result, "error", error);
    return NDKPING_FAILED;
}

int roles_report_failed_text(const char *step, NTSTATUS status, const char *text, json_t *result)
{
    json_t *error = json_pack("{s:s,s:s,s:o}", "step", step, "status", ondk_status_name(status), "reason_text",
                              json_output_text(text));

    print_failed_advice(step, status, text);
    json_object_set_new(result, "error", error);
    return NDKPING_FAILED;
}

int roles_report_problem(const char *step, const char *text, json_t *result)
{
    print_error("%s", text);
    json_object_set_new(result, "error", json_pack("{s:s,s:o}", "step", step, "reason_text", json_output_text(text)));
    return NDKPING_FAILED;
}

/*
 * Reports that an answer did not arrive within step_ms, although the connection still exists. TCP ends a connection
 * whose data is not acknowledged for unacked_ms. So if unacked_ms is shorter than step_ms, the peer's host has
 * acknowledged the ping, but its program has not answered.
 */
static int roles_report_gave_up(const struct options *o, const struct rping *r, json_t *result)
{
    const char *peer = o->server ? "client" : "server";
    bool is_acked = o->config.unacked_ms && r->step_ms > o->config.unacked_ms;
    char text[256];

    snprintf(text, sizeof text,
             "the %s did not answer a ping for %g s%s: is its process stopped? (ndkstat or ps at "
             "the %s)",
             peer, (double)r->step_ms / 1000, is_acked ? "; its host acknowledged it" : "", peer);
    return roles_report_failed_text(r->step, r->status, text, result);
}

int roles_report_end(const struct options *o, const struct rping *r, enum rping_end end, json_t *result)
{
    json_object_set_new(result, "pings", json_integer(r->pings));
    json_object_set_new(result, "bytes", json_integer((json_int_t)r->bytes));
    if (end == RPING_DIFFERENT) {
        print_error("ping %u: the returned data differs from the sent data", r->pings);
        json_object_set_new(result, "error", json_pack("{s:s}", "step", "the data differed"));
        return NDKPING_DATA;
    }
    if (end == RPING_FAILED && r->gave_up)
        return roles_report_gave_up(o, r, result);
    if (end == RPING_FAILED)
        return roles_report_failed(r->step, r->status, r->reason, result);
    print_line("%u ping%s, %llu bytes read and written by RDMA%s", r->pings, r->pings == 1 ? "" : "s",
               (unsigned long long)r->bytes, end == RPING_CANCELLED ? " until the interrupt" : "");
    return NDKPING_OK;
}
