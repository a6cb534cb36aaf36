/* SPDX-License-Identifier: MIT */
/* ndkping: tests an NDK connection, as server or as client. See options.c for how it is called. */
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openndk/counters.h"
#include "openndk/reason.h"
#include "options.h"
#include "rping.h"

enum { STEP_SECONDS = 30, SERVER_BUFFER = 1 << 20 };

static FILE *log_stream;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    FILE *streams[2] = { stdout, log_stream };

    for (int i = 0; i < 2 && streams[i]; i++) {
        va_list args;
        va_start(args, format);
        vfprintf(streams[i], format, args);
        va_end(args);
        fputc('\n', streams[i]);
        fflush(streams[i]);
    }
}

static int failed(const char *step, NTSTATUS status)
{
    say("%s failed: %s (0x%08X)", step, ondk_status_name(status), (unsigned)status);
    say("  %s", ondk_status_advice(status));
    return NDKPING_FAILED;
}

/* The same for a step of the connection, or for a request: the provider knows more than the status says. */
static int failed_for(const char *step, NTSTATUS status, uint32_t reason)
{
    failed(step, status);
    if (reason) {
        say("  reason 0x%08X %s: %s", (unsigned)reason, ondk_reason_name(reason), ondk_reason_text(reason));
        say("  %s", ondk_reason_advice(reason));
    }
    return NDKPING_FAILED;
}

static int step_failed(struct consumer *c, const char *step, NTSTATUS status)
{
    return failed_for(step, status, c->connector ? ondk_connector_reason(c->connector) : 0);
}

static void address_text(const struct sockaddr_storage *a, char *text, size_t size)
{
    char host[NI_MAXHOST], port[NI_MAXSERV];
    socklen_t len = a->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

    if (getnameinfo((const struct sockaddr *)a, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        snprintf(text, size, "(unknown)");
    else
        snprintf(text, size, a->ss_family == AF_INET ? "%s:%s" : "[%s]:%s", host, port);
}

/* The address that the route to the server starts from. Nothing is sent: a datagram socket only looks up the route. */
static bool own_address(const struct sockaddr_storage *server, struct sockaddr_storage *own)
{
    socklen_t len = server->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    socklen_t own_len = sizeof *own;
    int s = socket(server->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found = s >= 0 && connect(s, (const struct sockaddr *)server, len) == 0 &&
                 getsockname(s, (struct sockaddr *)own, &own_len) == 0;

    if (s >= 0)
        close(s);
    if (found && own->ss_family == AF_INET)
        ((struct sockaddr_in *)own)->sin_port = 0;
    else if (found)
        ((struct sockaddr_in6 *)own)->sin6_port = 0;
    return found;
}

static bool same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr == ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &((const struct sockaddr_in6 *)b)->sin6_addr, 16) == 0;
}

/* The interface that owns an address; 0 where none does. All of 127.0.0.0/8 is the loopback's. */
static uint32_t interface_of(const struct sockaddr_storage *a)
{
    ondk_adapter_entry_t entries[64];
    uint32_t count = ondk_enumerate_adapters(entries, 64);
    bool loopback = a->ss_family == AF_INET && ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;

    for (uint32_t i = 0; i < count && i < 64; i++) {
        if (loopback && entries[i].loopback)
            return entries[i].if_index;
        for (uint32_t k = 0; k < entries[i].address_count; k++)
            if (same_host(a, &entries[i].addresses[k]))
                return entries[i].if_index;
    }
    return 0;
}

/* What is known of the other end by now: addresses, read limits, private data. */
static void say_peer(struct consumer *c)
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
        say("local %s, peer %s", local_text, peer_text);
    }
    if (!NT_SUCCESS(k->Dispatch->NdkGetConnectionData(k, &ird, &ord, bytes, &len)))
        return;
    for (ULONG i = 0; i < len; i++)
        snprintf(data + 2 * i, 3, "%02x", bytes[i]);
    say("read-limits inbound=%u outbound=%u", (unsigned)ird, (unsigned)ord);
    say("private-data=%s", data);
}

/* The pair in effect: on the accepting side it is the peer's offer until the accept. */
static void say_limits(struct consumer *c)
{
    NDK_CONNECTOR *k = c->connector;
    ULONG ird = 0, ord = 0;

    if (NT_SUCCESS(k->Dispatch->NdkGetConnectionData(k, &ird, &ord, NULL, NULL)))
        say("read-limits inbound=%u outbound=%u", (unsigned)ird, (unsigned)ord);
}

static void say_counters(struct consumer *c)
{
    ondk_counters_t n;

    ondk_adapter_counters(c->adapter, &n);
    say("fpdus-sent=%llu", (unsigned long long)n.rdma_out_frames);
    say("fpdus-received=%llu", (unsigned long long)n.rdma_in_frames);
}

static int say_end(struct rping *r, enum rping_end end)
{
    if (end == RPING_DIFFERENT) {
        say("ping %u: the data that came back differs from what was sent", r->pings);
        return NDKPING_DATA;
    }
    if (end == RPING_FAILED)
        return failed_for(r->step, r->status, r->reason);
    say("%u ping%s, %llu bytes read and written by RDMA", r->pings, r->pings == 1 ? "" : "s",
        (unsigned long long)r->bytes);
    return NDKPING_OK;
}

static int run_client(const struct options *o, struct consumer *c, struct rping *r)
{
    struct consumer_limits limits = { o->ird, o->ord };
    struct sockaddr_storage from = o->client_address;
    enum rping_end end;
    NTSTATUS status = rping_prepare(r, o->size);
    int code;

    if (!NT_SUCCESS(status))
        return failed("preparing buffers", status);
    status = consumer_connect(c, (struct sockaddr *)&from, (const struct sockaddr *)&o->server_address, limits,
                              o->private_data, o->private_len);
    if (!NT_SUCCESS(status)) {
        code = step_failed(c, "NdkConnect", status);
        if (status == STATUS_CONNECTION_REFUSED)
            say_peer(c); /* a reject may have brought private data */
        return code;
    }
    say_peer(c);
    status = consumer_complete(c);
    if (!NT_SUCCESS(status))
        return step_failed(c, "NdkCompleteConnect", status);
    end = rping_client(r, o->count, o->size);
    code = say_end(r, end);
    status = consumer_disconnect(c);
    if (code == NDKPING_OK && !NT_SUCCESS(status))
        return step_failed(c, "NdkDisconnect", status);
    return code;
}

static int run_server(const struct options *o, struct consumer *c, struct rping *r)
{
    struct consumer_limits limits = { o->ird, o->ord };
    NTSTATUS status = rping_prepare(r, o->size > SERVER_BUFFER ? o->size : SERVER_BUFFER);
    char text[128];
    int code;

    if (!NT_SUCCESS(status))
        return failed("preparing buffers", status);
    status = consumer_listen(c, (const struct sockaddr *)&o->server_address);
    if (!NT_SUCCESS(status))
        return failed("NdkListen", status);
    address_text(&o->server_address, text, sizeof text);
    say("listening on %s", text);
    c->connector = consumer_request(c, o->wait_seconds);
    if (!c->connector) {
        say("nobody connected within %u seconds", o->wait_seconds);
        return NDKPING_NOBODY;
    }
    say_peer(c);
    if (o->reject) {
        status = c->connector->Dispatch->NdkReject(c->connector, (PVOID)o->private_data, o->private_len);
        if (!NT_SUCCESS(status))
            return step_failed(c, "NdkReject", status);
        say("rejected");
        return NDKPING_OK;
    }
    status = consumer_accept(c, limits, o->private_data, o->private_len);
    if (!NT_SUCCESS(status))
        return step_failed(c, "NdkAccept", status);
    say_limits(c);
    code = say_end(r, rping_server(r));
    status = consumer_disconnect(c);
    if (code == NDKPING_OK && !NT_SUCCESS(status) && status != STATUS_CONNECTION_INVALID)
        return step_failed(c, "NdkDisconnect", status);
    return code;
}

static int run(struct options *o)
{
    static struct consumer c;
    struct rping r = { .consumer = &c, .seconds = STEP_SECONDS, .verbose = o->verbose, .say = say };
    const char *step = "opening";
    uint32_t index = o->server ? o->server_if : o->client_if;
    NTSTATUS status;
    int code;

    if (!o->server && !o->has_client_address && !own_address(&o->server_address, &o->client_address)) {
        say("no route to the server: say -ClientAddr, or check the server's address");
        return NDKPING_FAILED;
    }
    if (!index)
        index = interface_of(o->server ? &o->server_address : &o->client_address);
    if (!index) {
        say("no interface of this machine has the %s address", o->server ? "server's" : "client's");
        return NDKPING_FAILED;
    }
    status = consumer_open(&c, index, &step);
    code = NT_SUCCESS(status) ? (o->server ? run_server(o, &c, &r) : run_client(o, &c, &r)) : failed(step, status);
    if (c.adapter)
        say_counters(&c);
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
        return code;
    if (o.log_file) {
        log_stream = fopen(o.log_file, o.append ? "a" : "w");
        if (!log_stream) {
            perror(o.log_file);
            return NDKPING_USAGE;
        }
    }
    status = ondk_configure(&o.config);
    code = NT_SUCCESS(status) ? run(&o) : failed("ondk_configure", status);
    if (code == NDKPING_OK)
        say("ndkping %s completes", o.server ? "server" : "client");
    if (log_stream)
        fclose(log_stream);
    return code;
}
