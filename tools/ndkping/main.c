/* SPDX-License-Identifier: MIT */
/* ndkping: tests an NDK connection, as server or client. options.c has the command line. */
#include <stdio.h>

#include "address.h"
#include "openndk/adapter.h"
#include "openndk/counters.h"
#include "openndk/reason.h"
#include "options.h"
#include "rping.h"
#include "print.h"

enum { STEP_SECONDS = 30 };

static int ndkping_failed(const char *step, NTSTATUS status)
{
    print_failed(step, status);
    return NDKPING_FAILED;
}

static int ndkping_step_failed(const struct consumer *c, const char *step, NTSTATUS status)
{
    print_step_failed(c, step, status);
    return NDKPING_FAILED;
}

/* Prints the addresses, read limits and private data of the connection. */
static void ndkping_print_peer(struct consumer *c)
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
    }
    if (!NT_SUCCESS(k->Dispatch->NdkGetConnectionData(k, &ird, &ord, bytes, &len)))
        return;
    for (ULONG i = 0; i < len; i++)
        snprintf(data + 2 * i, 3, "%02x", bytes[i]);
    print_line("read-limits inbound=%u outbound=%u", (unsigned)ird, (unsigned)ord);
    print_line("private-data=%s", data);
}

/* Prints the limits in effect. On the accepting side NdkGetConnectionData returns them only after the accept. */
static void ndkping_print_limits(struct consumer *c)
{
    NDK_CONNECTOR *k = c->connector;
    ULONG ird = 0, ord = 0;

    if (NT_SUCCESS(k->Dispatch->NdkGetConnectionData(k, &ird, &ord, NULL, NULL)))
        print_line("read-limits inbound=%u outbound=%u", (unsigned)ird, (unsigned)ord);
}

static void ndkping_print_counters(struct consumer *c)
{
    ondk_counters_t n;

    ondk_adapter_counters(c->adapter, &n);
    print_line("fpdus-sent=%llu", (unsigned long long)n.rdma_out_frames);
    print_line("fpdus-received=%llu", (unsigned long long)n.rdma_in_frames);
}

/* Prints the result, and returns the exit code. client_bytes: the size of a client's pings; 0 for a server. */
static int ndkping_print_end(struct rping *r, enum rping_end end, uint32_t client_bytes)
{
    if (end == RPING_DIFFERENT) {
        print_line("ping %u: the returned data differs from the sent data", r->pings);
        return NDKPING_DATA;
    }
    if (end == RPING_FAILED) {
        print_failed_for(r->step, r->status, r->reason);
        if (client_bytes && !r->pings && ONDK_REASON_CAUSE(r->reason) == ONDK_CAUSE_PEER_CLOSED)
            print_line("  A server disconnects if a ping is larger than the server's --size: this one has %u bytes "
                       "(--size)",
                       (unsigned)client_bytes);
        return NDKPING_FAILED;
    }
    print_line("%u ping%s, %llu bytes read and written by RDMA", r->pings, r->pings == 1 ? "" : "s",
               (unsigned long long)r->bytes);
    return NDKPING_OK;
}

static int ndkping_run_client(const struct options *o, struct consumer *c, struct rping *r)
{
    struct consumer_limits limits = { o->ird, o->ord };
    struct sockaddr_storage from = o->client_address;
    enum rping_end end;
    NTSTATUS status = rping_prepare_client(r, o->size);
    int code;

    if (!NT_SUCCESS(status))
        return ndkping_failed("preparing buffers", status);
    status = consumer_connect(c, (struct sockaddr *)&from, (const struct sockaddr *)&o->server_address, limits,
                              o->private_data, o->private_len);
    if (!NT_SUCCESS(status)) {
        code = ndkping_step_failed(c, "NdkConnect", status);
        print_address_holder(status, &o->client_address);
        if (status == STATUS_CONNECTION_REFUSED)
            ndkping_print_peer(c); /* a reject may contain private data */
        return code;
    }
    ndkping_print_peer(c);
    status = consumer_complete_connect(c);
    if (!NT_SUCCESS(status))
        return ndkping_step_failed(c, "NdkCompleteConnect", status);
    end = rping_client(r, o->count, o->size);
    code = ndkping_print_end(r, end, o->size);
    status = consumer_disconnect(c);
    if (code == NDKPING_OK && !NT_SUCCESS(status))
        return ndkping_step_failed(c, "NdkDisconnect", status);
    return code;
}

/* Returns the largest ping that a server accepts, which must fit into one read and one write. */
static uint32_t ndkping_max_ping(const struct options *o, const NDK_ADAPTER_INFO *info)
{
    uint32_t size = o->size;

    if (size > info->MaxTransferLength)
        size = info->MaxTransferLength;
    return size > info->MaxRegistrationSize ? (uint32_t)info->MaxRegistrationSize : size;
}

static int ndkping_run_server(const struct options *o, struct consumer *c, struct rping *r)
{
    struct consumer_limits limits = { o->ird, o->ord };
    NTSTATUS status = rping_prepare_server(r, ndkping_max_ping(o, &c->info));
    struct sockaddr_storage at = o->server_address;
    char text[128];
    int code;

    if (!NT_SUCCESS(status))
        return ndkping_failed("preparing buffers", status);
    status = consumer_listen(c, (const struct sockaddr *)&o->server_address);
    if (!NT_SUCCESS(status)) {
        print_failed("NdkListen", status);
        print_address_holder(status, &o->server_address);
        return NDKPING_FAILED;
    }
    (void)consumer_listener_address(c, &at);
    address_text(&at, text, sizeof text);
    print_line("listening on %s", text);
    c->connector = consumer_next_request(c, o->wait_seconds);
    if (!c->connector) {
        print_line("nobody connected within %u seconds", o->wait_seconds);
        return NDKPING_NOBODY;
    }
    ndkping_print_peer(c);
    if (o->reject) {
        status = c->connector->Dispatch->NdkReject(c->connector, (PVOID)o->private_data, o->private_len);
        if (!NT_SUCCESS(status))
            return ndkping_step_failed(c, "NdkReject", status);
        print_line("rejected");
        return NDKPING_OK;
    }
    status = consumer_accept(c, limits, o->private_data, o->private_len);
    if (!NT_SUCCESS(status))
        return ndkping_step_failed(c, "NdkAccept", status);
    ndkping_print_limits(c);
    code = ndkping_print_end(r, rping_server(r), 0);
    status = consumer_disconnect(c);
    if (code == NDKPING_OK && !NT_SUCCESS(status) && status != STATUS_CONNECTION_INVALID)
        return ndkping_step_failed(c, "NdkDisconnect", status);
    return code;
}

static int ndkping_run(struct options *o)
{
    static struct consumer c;
    struct rping r = { .consumer = &c, .seconds = STEP_SECONDS, .verbose = o->verbose, .print = print_line };
    const char *step = "opening";
    uint32_t index = o->server ? o->server_if : o->client_if;
    NTSTATUS status;
    int code;

    if (!o->server && !o->has_client_address && !address_own(&o->server_address, &o->client_address)) {
        print_line("no route to the server: specify -ClientAddr, or check the server's address");
        return NDKPING_FAILED;
    }
    if (!index)
        index = address_interface(o->server ? &o->server_address : &o->client_address);
    if (!index) {
        print_line("no interface of this machine has the %s address", o->server ? "server's" : "client's");
        return NDKPING_FAILED;
    }
    status = consumer_open(&c, index, &step);
    if (!NT_SUCCESS(status))
        code = ndkping_failed(step, status);
    else
        code = o->server ? ndkping_run_server(o, &c, &r) : ndkping_run_client(o, &c, &r);
    if (c.adapter)
        ndkping_print_counters(&c);
    rping_close(&r);
    consumer_close(&c);
    return code;
}

int main(int argc, char **argv)
{
    struct options o;
    bool done;
    int code = options_parse(&o, argc, argv, &done);
    NTSTATUS status;

    if (done)
        return code == NDKPING_OK && !print_close() ? NDKPING_LOST : code;
    if (o.log_file && !print_open_log(o.log_file, o.append))
        return NDKPING_USAGE;
    status = ondk_configure(&o.config);
    code = NT_SUCCESS(status) ? ndkping_run(&o) : ndkping_failed("ondk_configure", status);
    if (code == NDKPING_OK)
        print_line("ndkping %s completes", o.server ? "server" : "client");
    if (!print_close() && code == NDKPING_OK)
        code = NDKPING_LOST;
    return code;
}
