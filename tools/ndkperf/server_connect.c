/* SPDX-License-Identifier: MIT */
/* Opens the server's connections: see connect.h. */
#include <stdlib.h>

#include "address.h"
#include "connect.h"
#include "consumer/provider.h"
#include "interrupt.h"
#include "local_address.h"
#include "monotonic.h"
#include "print.h"
#include "report.h"
#include "terminal.h"

enum { STEP_MS = 200, LANE_MS = 30000 };

static bool server_get_hello(struct consumer *c, struct hello *h)
{
    uint8_t bytes[512];
    ULONG len = sizeof bytes;

    return NT_SUCCESS(c->connector->Dispatch->NdkGetConnectionData(c->connector, NULL, NULL, bytes, &len)) &&
           hello_get(h, bytes, len);
}

static void server_reject(const struct session *s, struct consumer *c, enum answer_code code, uint32_t value)
{
    struct answer a = { .version = s->options->version, .code = code, .value = value };
    uint8_t bytes[WIRE_PRIVATE];

    answer_put(&a, bytes);
    (void)c->connector->Dispatch->NdkReject(c->connector, bytes, sizeof bytes);
    consumer_close_connector(c);
}

static bool server_accept_qp(struct session *s, struct consumer *c, const struct answer *a)
{
    const struct consumer_limits limits = { s->options->ird, s->options->ord };
    uint8_t bytes[WIRE_PRIVATE];
    NTSTATUS status;

    answer_put(a, bytes);
    status = consumer_accept(c, limits, bytes, sizeof bytes);
    return NT_SUCCESS(status) || session_fail(s, "NdkAccept", status, consumer_connector_reason(c->connector));
}

/*
 * Compares a client's hello with the limits of the adapter and of the server. If the limits permit the session, sets
 * the session's layout and returns ANSWER_YES. Otherwise returns the code of the answer. Sets *value to the exceeded
 * limit, or for ANSWER_VERSION to this end's version.
 */
static enum answer_code server_check_hello(struct session *s, const struct hello *h, uint32_t *value)
{
    const NDK_ADAPTER_INFO *info = &s->control.info;
    const struct session_needs needs = { h->window, h->qps, h->size, h->flags & HELLO_CHECK, h->flags & HELLO_BOTH };

    if (h->version != s->options->version || h->version != WIRE_VERSION) {
        *value = s->options->version;
        return ANSWER_VERSION;
    }
    if (h->index)
        return ANSWER_SESSION;
    *value = MAX_QPS;
    if (!h->qps || h->qps > MAX_QPS)
        return ANSWER_QPS;
    *value = (uint32_t)(session_max_size(info, needs.both) < MAX_SIZE ? session_max_size(info, needs.both) : MAX_SIZE);
    if (!h->size || h->size > *value)
        return ANSWER_TRANSFER;
    s->window = session_window(info, &needs);
    *value = info->MaxCqDepth;
    if (!s->window)
        return ANSWER_QPS;
    s->qps = h->qps;
    s->max_size = h->size;
    s->check = needs.check;
    s->both = needs.both;
    if (s->both)
        s->inline_size = h->inline_size < info->MaxInlineDataSize ? h->inline_size : info->MaxInlineDataSize;
    session_layout(s);
    *value = s->options->memory_mib;
    return session_memory(s) <= (uint64_t)s->options->memory_mib << 20 ? ANSWER_YES : ANSWER_TOTAL;
}

/*
 * Waits for the next connection request. If `until` is not 0, the wait ends when monotonic_ms() reaches `until`.
 * Returns NULL if no request arrives in time, after an interrupt, or after the accepted client has disconnected.
 */
static NDK_CONNECTOR *server_next_request(struct session *s, int64_t until)
{
    NDK_CONNECTOR *k = NULL;

    progress_begin("waiting for a client");
    while (!k && !interrupt_received() && !consumer_is_disconnected(&s->control)) {
        int64_t left = until ? until - monotonic_ms() : STEP_MS;
        if (left <= 0)
            break;
        k = consumer_next_request_ms(&s->control, left < STEP_MS ? (uint64_t)left : STEP_MS);
    }
    progress_end();
    return k;
}

/*
 * Waits for a client whose requirements can be met, and accepts it. Rejects other clients with a reason. Sets *number
 * to the number of the client's session, which the client's further connections contain.
 */
static bool server_accept_client(struct session *s, uint32_t *number)
{
    double seconds = s->options->wait_seconds;
    int64_t until = seconds > 0 ? monotonic_ms() + (int64_t)(seconds * 1000) + 1 : 0;

    while ((s->control.connector = server_next_request(s, until))) {
        struct answer a = { .version = s->options->version };
        struct hello h;
        uint32_t value = 0;
        enum answer_code code;

        if (!server_get_hello(&s->control, &h)) {
            print_line("refused a peer that is not ndkperf");
            server_reject(s, &s->control, ANSWER_SESSION, 0);
            continue;
        }
        code = server_check_hello(s, &h, &value);
        if (code != ANSWER_YES) {
            print_line("refused a client: %s", report_refusal(s, code, value, h.version));
            server_reject(s, &s->control, code, value);
            continue;
        }
        *number = h.session;
        a.window = s->window;
        s->phase = PHASE_CONNECT;
        return server_accept_qp(s, &s->control, &a);
    }
    if (interrupt_received())
        return session_set_failed(s, NDKPERF_INTERRUPTED);
    return session_refuse(s, NDKPERF_NOBODY, "nobody connected within %g seconds", seconds);
}

static bool server_accept_lane(struct session *s, uint32_t number)
{
    struct lane *l = &s->lanes[s->lane_count];
    struct answer a = { .version = WIRE_VERSION };
    struct consumer *c = &l->c;
    /* The wait has a fixed end, which requests of other clients do not extend. */
    int64_t until = monotonic_ms() + LANE_MS;
    struct hello h;

    if (!session_add_lane(s))
        return false;
    for (;;) {
        c->connector = server_next_request(s, until);
        if (!c->connector && interrupt_received())
            return session_set_failed(s, NDKPERF_INTERRUPTED);
        if (!c->connector && consumer_is_disconnected(&s->control))
            return session_fail(s, "waiting for the client's queue pairs", STATUS_CONNECTION_ABORTED,
                                s->control.disconnect_reason);
        if (!c->connector)
            return session_fail(s, "waiting for the client's queue pairs", STATUS_IO_TIMEOUT, 0);
        if (server_get_hello(c, &h) && h.version == WIRE_VERSION && h.session == number && h.index == l->index)
            break;
        server_reject(s, c, h.version && h.version != WIRE_VERSION ? ANSWER_VERSION : ANSWER_BUSY, 0);
    }
    l->peer_token = h.token;
    l->peer_address = h.address;
    a.token = l->memory.remote_token;
    a.address = (uintptr_t)l->memory.memory;
    a.window = s->window;
    return server_accept_qp(s, c, &a);
}

static bool server_listen(struct session *s)
{
    struct sockaddr_storage at = s->server_address;
    char text[128], why[512];
    NTSTATUS status = consumer_listen(&s->control, (const struct sockaddr *)&s->server_address);

    if (!NT_SUCCESS(status)) {
        (void)session_fail(s, "NdkListen", status, 0);
        if (local_address_explain(status, &s->server_address, s->options->server_if, why, sizeof why))
            print_line("  %s", why);
        return false;
    }
    (void)consumer_listener_address(&s->control, &at);
    address_text(&at, text, sizeof text);
    print_line("listening on %s", text);
    return true;
}

static bool server_accept_lanes(struct session *s, uint32_t number)
{
    s->lanes = calloc(s->qps, sizeof *s->lanes);
    if (!s->lanes)
        return session_fail(s, "queue pairs", STATUS_INSUFFICIENT_RESOURCES, 0);
    while (s->lane_count < s->qps)
        if (!server_accept_lane(s, number))
            return false;
    return true;
}

bool server_connect(struct session *s)
{
    uint32_t number = 0;

    s->phase = PHASE_LISTEN;
    if (!server_listen(s) || !control_receive(s))
        return false;
    s->phase = PHASE_WAIT;
    return server_accept_client(s, &number) && server_accept_lanes(s, number);
}
