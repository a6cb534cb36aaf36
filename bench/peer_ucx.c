/* SPDX-License-Identifier: MIT */
/*
 * UCX as the peer of this benchmark: UCP over the transport tcp. Messages are tagged. The connections have no private
 * data. See peer.h.
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

enum { TAG = 7, SPARE = 4096, MAX_KEY = 1024 };

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
    /* one connection */
    ucp_ep_h ep;
    ucp_mem_h memory;
    ucp_rkey_h key;
    ucp_conn_request_h request;
    /* many connections */
    struct slot *slots;
    struct peer_queue established, closed;
    ucp_conn_request_h *requests; /* server */
    ucp_ep_h *broken;             /* server: endpoints that the peer has closed */
    unsigned request_count, broken_count;
};

static void ucx_require(const char *what, ucs_status_t status)
{
    if (status < 0)
        bench_die("%s: %s", what, ucs_status_string(status));
}

/* ---- objects ---- */

static struct side *ucx_open(void)
{
    struct side *s = bench_pages(sizeof *s);
    ucp_params_t params = { .field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA };
    ucp_worker_params_t worker = { .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                   .thread_mode = UCS_THREAD_MODE_SINGLE };
    ucp_config_t *config;

    setenv("UCX_TLS", "tcp,self", 1);
    setenv("UCX_NET_DEVICES", "lo", 1);
    ucx_require("ucp_config_read", ucp_config_read(NULL, NULL, &config));
    ucx_require("ucp_init", ucp_init(&params, config, &s->context));
    ucp_config_release(config);
    ucx_require("ucp_worker_create", ucp_worker_create(s->context, &worker, &s->worker));
    s->peer = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    return s;
}

static uint16_t ucx_listen(struct side *s, ucp_listener_conn_callback_t callback)
{
    ucp_listener_params_t params = { .field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
                                                   UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                                     .sockaddr = { (struct sockaddr *)&s->peer, sizeof s->peer },
                                     .conn_handler = { callback, s } };
    ucp_listener_attr_t attributes = { .field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR };

    ucx_require("ucp_listener_create", ucp_listener_create(s->worker, &params, &s->listener));
    ucx_require("ucp_listener_query", ucp_listener_query(s->listener, &attributes));
    return ((struct sockaddr_in *)&attributes.sockaddr)->sin_port;
}

/* Creates the endpoint that accepts `request`. If `request` is NULL, creates an endpoint that connects to s->peer. */
static ucp_ep_h ucx_create_ep(struct side *s, ucp_conn_request_h request, ucp_err_handler_cb_t failed, void *context)
{
    ucp_ep_params_t params = { .field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                               .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                               .err_handler = { failed, context } };
    ucp_ep_h ep;

    if (request) {
        params.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
        params.conn_request = request;
    } else {
        params.field_mask |= UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
        params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
        params.sockaddr = (ucs_sock_addr_t){ (struct sockaddr *)&s->peer, sizeof s->peer };
    }
    ucx_require("ucp_ep_create", ucp_ep_create(s->worker, &params, &ep));
    return ep;
}

static void ucx_on_forced_close(void *request, ucs_status_t status, void *context)
{
    (void)context;
    ucx_require("a request", status);
    ucp_request_free(request);
}

/* ---- one connection ---- */

static void ucx_on_request(ucp_conn_request_h request, void *context)
{
    struct side *s = context;

    s->request = request;
}

static void ucx_ignore_error(void *context, ucp_ep_h ep, ucs_status_t status)
{
    (void)context;
    (void)ep;
    (void)status;
}

static void ucx_wait(struct side *s, ucs_status_ptr_t request)
{
    if (UCS_PTR_IS_ERR(request))
        ucx_require("a request", UCS_PTR_STATUS(request));
    if (!request)
        return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
        ucp_worker_progress(s->worker);
    ucx_require("a request", ucp_request_check_status(request));
    ucp_request_free(request);
}

static void ucx_connect(struct link *l, int control)
{
    struct side *s = l->own;

    if (l->client) {
        if (!bench_receive(control, &s->peer.sin_port, sizeof s->peer.sin_port))
            bench_die("the second process does not listen");
        s->ep = ucx_create_ep(s, NULL, ucx_ignore_error, NULL);
    } else {
        uint16_t port = ucx_listen(s, ucx_on_request);

        bench_send(control, &port, sizeof port);
        while (!s->request)
            ucp_worker_progress(s->worker);
        s->ep = ucx_create_ep(s, s->request, ucx_ignore_error, NULL);
    }
}

/* Exchanges the first messages, which establish the connection. They contain the address and key of the memory. */
static void ucx_exchange(struct link *l)
{
    struct side *s = l->own;
    ucp_request_param_t none = { 0 };
    struct link_target ours = { (uintptr_t)l->memory, 0 };
    struct {
        struct link_target at;
        size_t len;
        char key[MAX_KEY];
    } out = { .at = ours }, in;
    ucs_status_ptr_t coming = ucp_tag_recv_nbx(s->worker, &in, sizeof in, TAG + 1, (ucp_tag_t)-1, &none);
    void *key;

    ucx_require("ucp_rkey_pack", ucp_rkey_pack(s->context, s->memory, &key, &out.len));
    if (out.len > sizeof out.key)
        bench_die("a key of %zu bytes", out.len);
    memcpy(out.key, key, out.len);
    ucp_rkey_buffer_release(key);
    ucx_wait(s, ucp_tag_send_nbx(s->ep, &out, sizeof out, TAG + 1, &none));
    ucx_wait(s, coming);
    l->peer = in.at;
    ucx_require("ucp_ep_rkey_unpack", ucp_ep_rkey_unpack(s->ep, in.key, &s->key));
    ucx_wait(s, ucp_ep_flush_nbx(s->ep, &none));
}

static void ucx_link_open(struct link *l, int control)
{
    struct side *s = l->own = ucx_open();
    ucp_mem_map_params_t params = { .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                    .address = l->memory,
                                    .length = LINK_BYTES };

    ucx_require("ucp_mem_map", ucp_mem_map(s->context, &params, &s->memory));
    ucx_connect(l, control);
    ucx_exchange(l);
}

static void ucx_on_sent(void *request, ucs_status_t status, void *context)
{
    struct link *l = context;

    if (!atomic_load(&l->ending))
        ucx_require("a request", status);
    l->completed++;
    ucp_request_free(request);
}

static void ucx_on_received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *context)
{
    struct link *l = context;

    (void)info;
    if (status == UCS_OK)
        l->received++;
    if (request)
        ucp_request_free(request);
}

static void ucx_link_poll(struct link *l)
{
    struct side *s = l->own;

    ucp_worker_progress(s->worker);
}

static void ucx_link_receive(struct link *l)
{
    struct side *s = l->own;
    ucp_request_param_t param = { .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                  .cb.recv = ucx_on_received,
                                  .user_data = l };
    ucs_status_ptr_t request = ucp_tag_recv_nbx(s->worker, link_messages(l), l->message, TAG, (ucp_tag_t)-1, &param);

    if (UCS_PTR_IS_ERR(request))
        ucx_require("ucp_tag_recv_nbx", UCS_PTR_STATUS(request));
    l->received += !request;
}

static void ucx_link_post(struct link *l, enum link_op op, bool more)
{
    struct side *s = l->own;
    ucp_request_param_t param = { .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                  .cb.send = ucx_on_sent,
                                  .user_data = l };
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
        ucx_require("a request", UCS_PTR_STATUS(request));
    l->completed += !request;
}

/*
 * The client closes the control socket after it has received the last answer; the server polls until then. The objects
 * are closed only by the end of the process.
 */
static void ucx_link_close(struct link *l, int control)
{
    while (!l->client && !peer_is_over(control))
        ucx_link_poll(l);
}

static const struct link_ops ucx_link_ops = { .kind = "UCX",
                                              .open = ucx_link_open,
                                              .receive = ucx_link_receive,
                                              .post = ucx_link_post,
                                              .poll = ucx_link_poll,
                                              .close = ucx_link_close };

/* ---- many connections ---- */

static void ucx_on_broken(void *context, ucp_ep_h ep, ucs_status_t status)
{
    (void)ep;
    bench_die("connection %u: %s", ((struct slot *)context)->n, ucs_status_string(status));
}

static void ucx_on_established(void *request, ucs_status_t status, void *context)
{
    struct slot *slot = context;

    ucx_require("ucp_ep_flush_nbx", status);
    ucp_request_free(request);
    peer_queue_push(&slot->side->established, slot->n);
}

static void ucx_client_open(struct load *l, unsigned n)
{
    struct side *s = l->context;
    struct slot *slot = &s->slots[n];
    ucp_request_param_t param = { .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                  .cb.send = ucx_on_established,
                                  .user_data = slot };
    ucs_status_ptr_t request;

    slot->ep = ucx_create_ep(s, NULL, ucx_on_broken, slot);
    request = ucp_ep_flush_nbx(slot->ep, &param);
    if (UCS_PTR_IS_ERR(request))
        ucx_require("ucp_ep_flush_nbx", UCS_PTR_STATUS(request));
    if (!request)
        peer_queue_push(&s->established, n);
}

static void ucx_on_closed(void *request, ucs_status_t status, void *context)
{
    struct slot *slot = context;

    ucx_require("ucp_ep_close_nbx", status == UCS_ERR_CONNECTION_RESET ? UCS_OK : status);
    ucp_request_free(request);
    peer_queue_push(&slot->side->closed, slot->n);
}

static void ucx_client_close(struct load *l, unsigned n)
{
    struct side *s = l->context;
    struct slot *slot = &s->slots[n];
    ucp_request_param_t param = { .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                  .cb.send = ucx_on_closed,
                                  .user_data = slot };
    ucs_status_ptr_t request = ucp_ep_close_nbx(slot->ep, &param);

    if (UCS_PTR_IS_ERR(request))
        ucx_require("ucp_ep_close_nbx", UCS_PTR_STATUS(request));
    if (!request)
        peer_queue_push(&s->closed, n);
}

static const struct load_backend ucx_backend = { .open = ucx_client_open, .close = ucx_client_close };

static void *ucx_client(unsigned conns, uint16_t port)
{
    struct side *s = ucx_open();

    s->peer.sin_port = port;
    s->slots = bench_pages(conns * sizeof *s->slots);
    for (unsigned n = 0; n < conns; n++)
        s->slots[n] = (struct slot){ .side = s, .n = n };
    peer_queue_init(&s->established, conns + 1);
    peer_queue_init(&s->closed, conns + 1);
    return s;
}

static void ucx_run(void *side, struct load *l)
{
    struct side *s = side;
    unsigned n;

    while (!atomic_load(&l->over)) {
        ucp_worker_progress(s->worker);
        while (peer_queue_pop(&s->established, &n))
            load_established(l, n);
        while (peer_queue_pop(&s->closed, &n))
            load_closed(l, n);
    }
    while (sem_wait(&l->end))
        continue;
}

static void ucx_on_connect_request(ucp_conn_request_h request, void *context)
{
    struct side *s = context;

    if (s->request_count == SPARE)
        bench_die("more connections than expected");
    s->requests[s->request_count++] = request;
}

static void ucx_on_peer_closed(void *context, ucp_ep_h ep, ucs_status_t status)
{
    struct side *s = context;

    (void)status;
    if (s->broken_count == SPARE)
        bench_die("more connections than expected");
    s->broken[s->broken_count++] = ep;
}

static void ucx_serve(int control)
{
    static const ucp_request_param_t force = { .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK,
                                               .flags = UCP_EP_CLOSE_FLAG_FORCE,
                                               .cb.send = ucx_on_forced_close };
    struct side *s = ucx_open();
    uint16_t port;

    s->requests = bench_pages(SPARE * sizeof *s->requests);
    s->broken = bench_pages(SPARE * sizeof *s->broken);
    port = ucx_listen(s, ucx_on_connect_request);
    bench_send(control, &port, sizeof port);
    while (!peer_is_over(control)) {
        ucp_worker_progress(s->worker);
        while (s->request_count)
            (void)ucx_create_ep(s, s->requests[--s->request_count], ucx_on_peer_closed, s);
        while (s->broken_count)
            (void)ucp_ep_close_nbx(s->broken[--s->broken_count], &force);
    }
}

const struct peer peer = {
    .link = &ucx_link_ops, .serve = ucx_serve, .backend = &ucx_backend, .open = ucx_client, .run = ucx_run
};
