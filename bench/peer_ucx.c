/* SPDX-License-Identifier: MIT */
/*
 * UCX's protocols (UCP) over its transport tcp, through its public interface: see peer.h. Messages are tagged ones.
 * Its connections bear no private data.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "peer.h"

enum { TAG = 7, SPARE = 4096, MOST_KEY = 1024 };

struct slot {
    struct side *side;
    ucp_ep_h ep;
    unsigned n;
};

struct side {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_listener_h listener;
    struct sockaddr_in peer;
    /* one */
    ucp_ep_h ep;
    ucp_mem_h memory;
    ucp_rkey_h key;
    ucp_conn_request_h request;
    /* many */
    struct slot *slots;
    struct peer_queue established, closed;
    ucp_conn_request_h *requests; /* server */
    ucp_ep_h *broken;             /* server: closed by the peer */
    unsigned request_count, broken_count;
};

static void must(const char *what, ucs_status_t status)
{
    if (status < 0)
        bench_die("%s: %s", what, ucs_status_string(status));
}

/* ---- objects ---- */

static struct side *make_side(void)
{
    struct side *s = bench_pages(sizeof *s);
    ucp_params_t params = { .field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA };
    ucp_worker_params_t worker = { .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                   .thread_mode = UCS_THREAD_MODE_SINGLE };
    ucp_config_t *config;

    setenv("UCX_TLS", "tcp,self", 1);
    setenv("UCX_NET_DEVICES", "lo", 1);
    must("ucp_config_read", ucp_config_read(NULL, NULL, &config));
    must("ucp_init", ucp_init(&params, config, &s->context));
    ucp_config_release(config);
    must("ucp_worker_create", ucp_worker_create(s->context, &worker, &s->worker));
    s->peer = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    return s;
}

static uint16_t listen_at(struct side *s, ucp_listener_conn_callback_t callback)
{
    ucp_listener_params_t params = { .field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
                                                   UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                                     .sockaddr = { (struct sockaddr *)&s->peer, sizeof s->peer },
                                     .conn_handler = { callback, s } };
    ucp_listener_attr_t attributes = { .field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR };

    must("ucp_listener_create", ucp_listener_create(s->worker, &params, &s->listener));
    must("ucp_listener_query", ucp_listener_query(s->listener, &attributes));
    return ((struct sockaddr_in *)&attributes.sockaddr)->sin_port;
}

/* To the peer, or where there is a request, from it. */
static ucp_ep_h make_ep(struct side *s, ucp_conn_request_h request, ucp_err_handler_cb_t failed, void *context)
{
    ucp_ep_params_t params = { .field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                               .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler = { failed, context } };
    ucp_ep_h ep;

    if (request) {
        params.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
        params.conn_request = request;
    } else {
        params.field_mask |= UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
        params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
        params.sockaddr = (ucs_sock_addr_t){ (struct sockaddr *)&s->peer, sizeof s->peer };
    }
    must("ucp_ep_create", ucp_ep_create(s->worker, &params, &ep));
    return ep;
}

static void nothing_done(void *request, ucs_status_t status, void *context)
{
    (void)context;
    must("a request", status);
    ucp_request_free(request);
}

/* ---- one connection ---- */

static void on_request(ucp_conn_request_h request, void *context)
{
    struct side *s = context;

    s->request = request;
}

static void ignore(void *context, ucp_ep_h ep, ucs_status_t status)
{
    (void)context;
    (void)ep;
    (void)status;
}

static void finish(struct side *s, ucs_status_ptr_t request)
{
    if (UCS_PTR_IS_ERR(request))
        must("a request", UCS_PTR_STATUS(request));
    if (!request)
        return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
        ucp_worker_progress(s->worker);
    must("a request", ucp_request_check_status(request));
    ucp_request_free(request);
}

static void connect_ends(struct link *l, int control)
{
    struct side *s = l->own;

    if (l->client) {
        if (!bench_hear(control, &s->peer.sin_port, sizeof s->peer.sin_port))
            bench_die("the second process does not serve");
        s->ep = make_ep(s, NULL, ignore, NULL);
    } else {
        uint16_t port = listen_at(s, on_request);

        bench_tell(control, &port, sizeof port);
        while (!s->request)
            ucp_worker_progress(s->worker);
        s->ep = make_ep(s, s->request, ignore, NULL);
    }
}

/* The first message of each, which makes the connection; what a sender needs goes with it. */
static void greet(struct link *l)
{
    struct side *s = l->own;
    ucp_request_param_t none = { 0 };
    struct link_target ours = { (uintptr_t)l->memory, 0 };
    struct { struct link_target at; size_t len; char key[MOST_KEY]; } out = { .at = ours }, in;
    ucs_status_ptr_t coming = ucp_tag_recv_nbx(s->worker, &in, sizeof in, TAG + 1, (ucp_tag_t)-1, &none);
    void *key;

    must("ucp_rkey_pack", ucp_rkey_pack(s->context, s->memory, &key, &out.len));
    if (out.len > sizeof out.key)
        bench_die("a key of %zu bytes", out.len);
    memcpy(out.key, key, out.len);
    ucp_rkey_buffer_release(key);
    finish(s, ucp_tag_send_nbx(s->ep, &out, sizeof out, TAG + 1, &none));
    finish(s, coming);
    l->peer = in.at;
    must("ucp_ep_rkey_unpack", ucp_ep_rkey_unpack(s->ep, in.key, &s->key));
    finish(s, ucp_ep_flush_nbx(s->ep, &none));
}

static void open_link(struct link *l, int control)
{
    struct side *s = l->own = make_side();
    ucp_mem_map_params_t params = { .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                    .address = l->memory, .length = LINK_BYTES };

    must("ucp_mem_map", ucp_mem_map(s->context, &params, &s->memory));
    connect_ends(l, control);
    greet(l);
}

static void sent(void *request, ucs_status_t status, void *context)
{
    struct link *l = context;

    if (!atomic_load(&l->ending))
        must("a request", status);
    l->completed++;
    ucp_request_free(request);
}

static void received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *context)
{
    struct link *l = context;

    (void)info;
    if (status == UCS_OK)
        l->received++;
    if (request)
        ucp_request_free(request);
}

static void poll_worker(struct link *l)
{
    struct side *s = l->own;

    ucp_worker_progress(s->worker);
}

static void receive(struct link *l)
{
    struct side *s = l->own;
    ucp_request_param_t param = { .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                  .cb.recv = received, .user_data = l };
    ucs_status_ptr_t request = ucp_tag_recv_nbx(s->worker, link_messages(l), l->message, TAG, (ucp_tag_t)-1, &param);

    if (UCS_PTR_IS_ERR(request))
        must("ucp_tag_recv_nbx", UCS_PTR_STATUS(request));
    l->received += !request;
}

static void post(struct link *l, enum link_op op, bool more)
{
    struct side *s = l->own;
    ucp_request_param_t param = { .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                  .cb.send = sent, .user_data = l };
    uint64_t there = l->peer.address;
    ucs_status_ptr_t request;

    (void)more;
    if (op == LINK_SEND)
        request = ucp_tag_send_nbx(s->ep, link_source(l), l->message, TAG, &param);
    else if (op == LINK_WRITE)
        request = ucp_put_nbx(s->ep, link_source(l), l->size, there + LINK_AREA, s->key, &param);
    else
        request = ucp_get_nbx(s->ep, link_landing(l), l->size, there, s->key, &param);
    if (UCS_PTR_IS_ERR(request))
        must("a request", UCS_PTR_STATUS(request));
    l->completed += !request;
}

/* The process ends with the measurement: what is left is the kernel's. But the last answer must have gone out. */
static void close_link(struct link *l, int control)
{
    while (!l->client && !peer_over(control))
        poll_worker(l);
}

static const struct link_ops one = { .kind = "UCX", .open = open_link, .receive = receive, .post = post,
                                     .poll = poll_worker, .close = close_link };

/* ---- many connections ---- */

static void broken_off(void *context, ucp_ep_h ep, ucs_status_t status)
{
    (void)ep;
    bench_die("connection %u: %s", ((struct slot *)context)->n, ucs_status_string(status));
}

static void established(void *request, ucs_status_t status, void *context)
{
    struct slot *slot = context;

    must("ucp_ep_flush_nbx", status);
    ucp_request_free(request);
    peer_queue_put(&slot->side->established, slot->n);
}

static void client_open(struct load *l, unsigned n)
{
    struct side *s = l->context;
    struct slot *slot = &s->slots[n];
    ucp_request_param_t param = { .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                  .cb.send = established, .user_data = slot };
    ucs_status_ptr_t request;

    slot->ep = make_ep(s, NULL, broken_off, slot);
    request = ucp_ep_flush_nbx(slot->ep, &param);
    if (UCS_PTR_IS_ERR(request))
        must("ucp_ep_flush_nbx", UCS_PTR_STATUS(request));
    if (!request)
        peer_queue_put(&s->established, n);
}

static void closed(void *request, ucs_status_t status, void *context)
{
    struct slot *slot = context;

    must("ucp_ep_close_nbx", status == UCS_ERR_CONNECTION_RESET ? UCS_OK : status);
    ucp_request_free(request);
    peer_queue_put(&slot->side->closed, slot->n);
}

static void client_close(struct load *l, unsigned n)
{
    struct side *s = l->context;
    struct slot *slot = &s->slots[n];
    ucp_request_param_t param = { .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                  .cb.send = closed, .user_data = slot };
    ucs_status_ptr_t request = ucp_ep_close_nbx(slot->ep, &param);

    if (UCS_PTR_IS_ERR(request))
        must("ucp_ep_close_nbx", UCS_PTR_STATUS(request));
    if (!request)
        peer_queue_put(&s->closed, n);
}

static const struct load_backend backend = { .open = client_open, .close = client_close };

static void *client_side(unsigned conns, uint16_t port)
{
    struct side *s = make_side();

    s->peer.sin_port = port;
    s->slots = bench_pages(conns * sizeof *s->slots);
    for (unsigned n = 0; n < conns; n++)
        s->slots[n] = (struct slot){ .side = s, .n = n };
    peer_queue_init(&s->established, conns + 1);
    peer_queue_init(&s->closed, conns + 1);
    return s;
}

static void run(void *side, struct load *l)
{
    struct side *s = side;
    unsigned n;

    while (!atomic_load(&l->over)) {
        ucp_worker_progress(s->worker);
        while (peer_queue_take(&s->established, &n))
            load_established(l, n);
        while (peer_queue_take(&s->closed, &n))
            load_closed(l, n);
    }
    while (sem_wait(&l->end))
        continue;
}

static void on_requests(ucp_conn_request_h request, void *context)
{
    struct side *s = context;

    if (s->request_count == SPARE)
        bench_die("more connections than expected");
    s->requests[s->request_count++] = request;
}

static void peer_closed(void *context, ucp_ep_h ep, ucs_status_t status)
{
    struct side *s = context;

    (void)status;
    if (s->broken_count == SPARE)
        bench_die("more connections than expected");
    s->broken[s->broken_count++] = ep;
}

static void serve(int control)
{
    static const ucp_request_param_t force = { .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK,
                                               .flags = UCP_EP_CLOSE_FLAG_FORCE, .cb.send = nothing_done };
    struct side *s = make_side();
    uint16_t port;

    s->requests = bench_pages(SPARE * sizeof *s->requests);
    s->broken = bench_pages(SPARE * sizeof *s->broken);
    port = listen_at(s, on_requests);
    bench_tell(control, &port, sizeof port);
    while (!peer_over(control)) {
        ucp_worker_progress(s->worker);
        while (s->request_count)
            (void)make_ep(s, s->requests[--s->request_count], peer_closed, s);
        while (s->broken_count)
            (void)ucp_ep_close_nbx(s->broken[--s->broken_count], &force);
    }
}

const struct peer peer = { .link = &one, .serve = serve, .backend = &backend, .open = client_side, .run = run };
