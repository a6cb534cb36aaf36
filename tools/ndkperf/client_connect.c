/* SPDX-License-Identifier: MIT */
/* Opens the client's connections: see connect.h. */
#include <stdlib.h>
#include <unistd.h>

#include "address.h"
#include "connect.h"
#include "consumer/provider.h"
#include "interrupt.h"
#include "monotonic.h"
#include "read_limits.h"
#include "report.h"
#include "terminal.h"

static bool client_get_answer(struct consumer *k, struct answer *a)
{
    uint8_t bytes[512];
    ULONG len = sizeof bytes;

    return NT_SUCCESS(k->connector->Dispatch->NdkGetConnectionData(k->connector, NULL, NULL, bytes, &len)) &&
           answer_get(a, bytes, len);
}

static bool client_handle_refusal(struct session *s, const struct answer *a)
{
    return session_refuse(s, NDKPERF_PEER, "the server refused: %s", report_refusal(s, a->code, a->value, a->version));
}

/*
 * Connects a queue pair with *h as private data. Stores the private data of the server's reply in *a. Returns false
 * after a failure.
 */
static bool client_connect_qp(struct session *s, struct consumer *k, const struct hello *h, struct answer *a)
{
    const struct consumer_limits limits = { s->options->ird, s->options->ord };
    struct sockaddr_storage own = s->client_address;
    uint8_t bytes[WIRE_PRIVATE];
    NTSTATUS status;

    hello_put(h, bytes);
    k->is_interrupted = interrupt_received;
    status = consumer_connect(k, (struct sockaddr *)&own, (const struct sockaddr *)&s->server_address, limits, bytes,
                              sizeof bytes);
    if (status == STATUS_CONNECTION_REFUSED && client_get_answer(k, a) && a->code != ANSWER_YES)
        return client_handle_refusal(s, a);
    if (NT_SUCCESS(status) && (!client_get_answer(k, a) || a->version != WIRE_VERSION)) {
        (void)k->connector->Dispatch->NdkReject(k->connector, NULL, 0);
        return session_refuse(s, NDKPERF_PEER, "the peer is not ndkperf: its answer has another format");
    }
    if (status == STATUS_CANCELLED && interrupt_received())
        return session_set_failed(s, NDKPERF_INTERRUPTED);
    if (!NT_SUCCESS(status))
        return session_fail(s, "NdkConnect", status, consumer_connector_reason(k->connector));
    status = consumer_complete_connect(k);
    return NT_SUCCESS(status) || session_fail(s, "NdkCompleteConnect", status, consumer_connector_reason(k->connector));
}

/*
 * Checks the read limits of a measured connection. If requests go in both directions, the server must be able to read,
 * too.
 */
static bool client_check_reads(struct session *s, const struct lane *l)
{
    bool reads = s->options->test == TEST_READ || s->options->test == TEST_MIXED;
    const char *problem = read_limits_check(l->c.effective, reads, reads && s->both);

    return !problem || session_refuse(s, NDKPERF_PEER, "%s", problem);
}

static bool client_connect_lane(struct session *s, struct hello h)
{
    struct lane *l = &s->lanes[s->lane_count];
    struct answer a;

    if (!session_add_lane(s))
        return false;
    h.index = l->index;
    h.token = l->memory.remote_token;
    h.address = (uintptr_t)l->memory.memory;
    if (!client_connect_qp(s, &l->c, &h, &a) || !client_check_reads(s, l))
        return false;
    l->peer_token = a.token;
    l->peer_address = a.address;
    return true;
}

/* Computes window, sizes and limits from the options and from this adapter's limits. */
static bool client_plan(struct session *s)
{
    const struct options *o = s->options;
    const NDK_ADAPTER_INFO *info = &s->control.info;
    const struct session_needs needs = { o->window, o->qps, o->all ? o->limit : o->size, o->check, o->both };
    uint64_t most = session_max_size(info, o->both);

    s->max_size = needs.size;
    if (o->all && s->max_size > most)
        s->max_size = (uint32_t)most;
    if (s->max_size > most)
        return session_refuse(s, NDKPERF_PEER, "messages of %u bytes: this adapter transfers at most %llu bytes",
                              (unsigned)s->max_size, (unsigned long long)most);
    s->qps = o->qps;
    s->check = o->check;
    s->both = o->both;
    s->inline_size = o->inline_size < info->MaxInlineDataSize ? o->inline_size : info->MaxInlineDataSize;
    s->window = session_window(info, &needs);
    return s->window || session_refuse(s, NDKPERF_PEER,
                                       "%u queue pairs on one completion queue: this adapter's queues hold at most %u "
                                       "results",
                                       (unsigned)o->qps, (unsigned)info->MaxCqDepth);
}

static bool client_connect_all(struct session *s)
{
    struct hello h = { .version = s->options->version,
                       .qps = s->qps,
                       .size = s->max_size,
                       .window = s->window,
                       .flags = (s->check ? HELLO_CHECK : 0) | (s->both ? HELLO_BOTH : 0),
                       .inline_size = s->inline_size,
                       .session = (uint32_t)(monotonic_ns() / 1000) ^ (uint32_t)getpid() << 16 };
    struct answer a;

    if (!client_connect_qp(s, &s->control, &h, &a))
        return false;
    if (a.window && a.window < s->window)
        s->window = a.window;
    session_layout(s);
    s->lanes = calloc(s->qps, sizeof *s->lanes);
    if (!s->lanes)
        return session_fail(s, "queue pairs", STATUS_INSUFFICIENT_RESOURCES, 0);
    h.window = s->window;
    while (s->lane_count < s->qps)
        if (interrupt_received() || !client_connect_lane(s, h))
            return false;
    return true;
}

bool client_connect(struct session *s)
{
    char text[128];
    bool connected;

    if (!client_plan(s))
        return false;
    s->phase = PHASE_CONNECT;
    address_text(&s->server_address, text, sizeof text);
    progress_begin("connecting to %s", text);
    connected = client_connect_all(s);
    progress_end();
    return connected;
}
