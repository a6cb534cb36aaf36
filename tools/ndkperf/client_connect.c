/* SPDX-License-Identifier: MIT */
/* The client's connections: see connect.h. */
#include <stdlib.h>
#include <unistd.h>

#include "connect.h"
#include "print.h"
#include "report.h"

static bool client_get_answer(struct consumer *k, struct answer *a)
{
    uint8_t bytes[512];
    ULONG len = sizeof bytes;

    return NT_SUCCESS(k->connector->Dispatch->NdkGetConnectionData(k->connector, NULL, NULL, bytes, &len)) &&
           answer_get(a, bytes, len);
}

static bool client_handle_refusal(struct session *s, const struct answer *a)
{
    print_line("the server refused: %s", report_refusal(a->code, a->value, a->version));
    return session_set_failed(s, NDKPERF_PEER);
}

/* Connects a queue pair with a hello, and receives the server's answer. */
static bool client_connect_qp(struct session *s, struct consumer *k, const struct sockaddr_storage *from,
                              const struct hello *h, struct answer *a)
{
    const struct consumer_limits limits = { s->options->ird, s->options->ord };
    struct sockaddr_storage own = *from;
    uint8_t bytes[WIRE_PRIVATE];
    NTSTATUS status;

    hello_put(h, bytes);
    status = consumer_connect(k, (struct sockaddr *)&own, (const struct sockaddr *)&s->options->server_address, limits,
                              bytes, sizeof bytes);
    if (status == STATUS_CONNECTION_REFUSED && client_get_answer(k, a) && a->code != ANSWER_YES)
        return client_handle_refusal(s, a);
    if (NT_SUCCESS(status) && (!client_get_answer(k, a) || a->version != WIRE_VERSION)) {
        (void)k->connector->Dispatch->NdkReject(k->connector, NULL, 0);
        print_line("the peer is not ndkperf: its answer has another format");
        return session_set_failed(s, NDKPERF_PEER);
    }
    if (NT_SUCCESS(status)) {
        status = consumer_complete_connect(k);
        if (NT_SUCCESS(status))
            return true;
        print_step_failed(k, "NdkCompleteConnect", status);
    } else {
        print_step_failed(k, "NdkConnect", status);
    }
    return session_set_failed(s, NDKPERF_FAILED);
}

static bool client_connect_lane(struct session *s, const struct sockaddr_storage *from, struct hello h)
{
    struct lane *l = &s->lanes[s->lane_count];
    struct answer a;

    if (!session_add_lane(s))
        return false;
    h.index = l->index;
    h.token = l->memory.remote_token;
    h.address = (uintptr_t)l->memory.memory;
    if (!client_connect_qp(s, &l->c, from, &h, &a))
        return false;
    l->peer_token = a.token;
    l->peer_address = a.address;
    return true;
}

/* Computes window, sizes and limits from the options and this adapter's limits. */
static bool client_plan(struct session *s)
{
    const struct options *o = s->options;
    const NDK_ADAPTER_INFO *info = &s->control.info;
    uint64_t most = info->MaxTransferLength;

    if (info->MaxRegistrationSize / 4 < most)
        most = info->MaxRegistrationSize / 4;
    s->max_size = o->all ? o->limit : o->size;
    if (o->all && s->max_size > most)
        s->max_size = (uint32_t)most;
    if (s->max_size > most) {
        print_line("messages of %u bytes: this adapter transfers at most %llu bytes", (unsigned)s->max_size,
                   (unsigned long long)most);
        return session_set_failed(s, NDKPERF_PEER);
    }
    s->qps = o->qps;
    s->check = o->check;
    s->inline_size = o->inline_size < info->MaxInlineDataSize ? o->inline_size : info->MaxInlineDataSize;
    s->window = session_window(info, o->window, o->qps, s->max_size, o->check);
    if (s->window)
        return true;
    print_line("%u queue pairs on one completion queue: this adapter's queues hold at most %u results",
               (unsigned)o->qps, (unsigned)info->MaxCqDepth);
    return session_set_failed(s, NDKPERF_PEER);
}

static bool client_connect_all(struct session *s, const struct sockaddr_storage *from)
{
    struct hello h = { .version = s->options->version,
                       .qps = s->qps,
                       .size = s->max_size,
                       .window = s->window,
                       .check = s->check,
                       .session = (uint32_t)(session_now() / 1000) ^ (uint32_t)getpid() << 16 };
    struct answer a;

    if (!client_connect_qp(s, &s->control, from, &h, &a))
        return false;
    if (a.window && a.window < s->window)
        s->window = a.window;
    session_layout(s);
    s->lanes = calloc(s->qps, sizeof *s->lanes);
    if (!s->lanes)
        return session_fail(s, "queue pairs", STATUS_INSUFFICIENT_RESOURCES, 0);
    h.window = s->window;
    while (s->lane_count < s->qps)
        if (session_interrupted || !client_connect_lane(s, from, h))
            return false;
    return true;
}

bool client_connect(struct session *s, const struct sockaddr_storage *from)
{
    return client_plan(s) && client_connect_all(s, from);
}
