/* SPDX-License-Identifier: MIT */
/* libfabric as the peer of this benchmark: provider tcp with connected endpoints (FI_EP_MSG). See peer.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

enum { CQ_DEPTH = 4096, ENTRIES = 64, EQ_DEPTH = 4096, EVENT_BYTES = 512, WAIT_MS = 100 };

struct side {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *eq;
    struct fid_cq *cq;
    struct fid_pep *listener;
    struct fid_ep **eps; /* many connections: the endpoint of each slot */
    struct peer_queue closed;
    struct fid_ep *ep; /* one connection: its endpoint */
    struct fid_mr *mr;
};

static const char PRIVATE[PEER_PRIVATE];

static void fabric_require(const char *what, ssize_t result)
{
    if (result < 0)
        bench_die("%s: %s", what, fi_strerror((int)-result));
}

/* ---- objects ---- */

static struct fi_info *fabric_get_info(const char *port, uint64_t flags)
{
    struct fi_info *hints = fi_allocinfo(), *info = NULL;

    if (!hints)
        bench_die("fi_allocinfo failed");
    hints->caps = FI_MSG | FI_RMA;
    hints->addr_format = FI_SOCKADDR_IN;
    hints->ep_attr->type = FI_EP_MSG;
    hints->fabric_attr->prov_name = strdup("tcp");
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    fabric_require("fi_getinfo", fi_getinfo(FI_VERSION(1, 14), "127.0.0.1", port, flags, hints, &info));
    fi_freeinfo(hints);
    return info;
}

static struct side *fabric_open(const char *port, uint64_t flags, bool sleeps)
{
    struct side *s = bench_pages(sizeof *s);
    struct fi_eq_attr eq = { .size = EQ_DEPTH, .wait_obj = FI_WAIT_UNSPEC };
    struct fi_cq_attr cq = { .size = CQ_DEPTH,
                             .format = FI_CQ_FORMAT_MSG,
                             .wait_obj = sleeps ? FI_WAIT_UNSPEC : FI_WAIT_NONE };

    s->info = fabric_get_info(port, flags);
    fabric_require("fi_fabric", fi_fabric(s->info->fabric_attr, &s->fabric, NULL));
    fabric_require("fi_eq_open", fi_eq_open(s->fabric, &eq, &s->eq, NULL));
    fabric_require("fi_domain", fi_domain(s->fabric, s->info, &s->domain, NULL));
    fabric_require("fi_cq_open", fi_cq_open(s->domain, &cq, &s->cq, NULL));
    return s;
}

static struct fid_ep *fabric_create_ep(struct side *s, struct fi_info *info, void *context)
{
    struct fid_ep *ep;

    fabric_require("fi_endpoint", fi_endpoint(s->domain, info, &ep, context));
    fabric_require("fi_ep_bind", fi_ep_bind(ep, &s->eq->fid, 0));
    fabric_require("fi_ep_bind", fi_ep_bind(ep, &s->cq->fid, FI_TRANSMIT | FI_RECV));
    fabric_require("fi_enable", fi_enable(ep));
    return ep;
}

static uint16_t fabric_listen(struct side *s)
{
    struct sockaddr_in at;
    size_t len = sizeof at;

    fabric_require("fi_passive_ep", fi_passive_ep(s->fabric, s->info, &s->listener, NULL));
    fabric_require("fi_pep_bind", fi_pep_bind(s->listener, &s->eq->fid, 0));
    fabric_require("fi_listen", fi_listen(s->listener));
    fabric_require("fi_getname", fi_getname(&s->listener->fid, &at, &len));
    return ntohs(at.sin_port);
}

/*
 * Waits for the next event and returns the event's number. Returns 0 if no event has happened after `ms` milliseconds.
 */
static uint32_t fabric_next_event(struct side *s, struct fi_eq_cm_entry *entry, int ms)
{
    char bytes[EVENT_BYTES] __attribute__((aligned(16)));
    struct fi_eq_err_entry error = { 0 };
    uint32_t event = 0;
    ssize_t n = fi_eq_sread(s->eq, &event, bytes, sizeof bytes, ms, 0);

    if (n == -FI_EAVAIL && fi_eq_readerr(s->eq, &error, 0) > 0)
        bench_die("event queue: %s", fi_strerror(error.err));
    if (n == -FI_EAGAIN || n == -FI_ETIMEDOUT || n == -FI_EINTR)
        return 0;
    fabric_require("fi_eq_sread", n);
    memcpy(entry, bytes, sizeof *entry);
    return event;
}

static uint32_t fabric_expect_event(struct side *s, struct fi_eq_cm_entry *entry, uint32_t which)
{
    uint32_t event;

    while (!(event = fabric_next_event(s, entry, WAIT_MS)))
        continue;
    if (event != which)
        bench_die("event %u instead of %u", event, which);
    return event;
}

/* ---- one connection ---- */

static void fabric_link_open(struct link *l, int control)
{
    struct fi_eq_cm_entry entry;
    struct side *s;
    char name[8];
    uint16_t port;

    if (l->client) {
        if (!bench_receive(control, &port, sizeof port))
            bench_die("the second process does not listen");
        snprintf(name, sizeof name, "%u", port);
        s = fabric_open(name, 0, l->sleeps);
        s->ep = fabric_create_ep(s, s->info, NULL);
        fabric_require("fi_connect", fi_connect(s->ep, s->info->dest_addr, NULL, 0));
    } else {
        s = fabric_open("0", FI_SOURCE, l->sleeps);
        port = fabric_listen(s);
        bench_send(control, &port, sizeof port);
        fabric_expect_event(s, &entry, FI_CONNREQ);
        s->ep = fabric_create_ep(s, entry.info, NULL);
        fabric_require("fi_accept", fi_accept(s->ep, NULL, 0));
        fi_freeinfo(entry.info);
    }
    fabric_expect_event(s, &entry, FI_CONNECTED);
    fabric_require("fi_mr_reg", fi_mr_reg(s->domain, l->memory, LINK_BYTES,
                                          FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                                          1, 0, &s->mr, NULL));
    l->own = s;
    link_exchange(l, control,
                  (struct link_target){ s->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)l->memory : 0,
                                        fi_mr_key(s->mr) });
}

static void fabric_count_completions(struct link *l, const struct fi_cq_msg_entry *entries, ssize_t n)
{
    struct side *s = l->own;
    struct fi_cq_err_entry error = { 0 };

    if (n == -FI_EAVAIL && fi_cq_readerr(s->cq, &error, 0) > 0 && atomic_load(&l->ending))
        return;
    if (n == -FI_EAVAIL)
        bench_die("a request failed: %s", fi_strerror(error.err));
    if (n == -FI_EAGAIN || n == -FI_EINTR)
        return;
    fabric_require("fi_cq_read", n);
    for (ssize_t i = 0; i < n; i++) {
        if (entries[i].flags & FI_RECV)
            l->received++;
        else
            l->completed++;
    }
}

static void fabric_link_poll(struct link *l)
{
    struct side *s = l->own;
    struct fi_cq_msg_entry entries[ENTRIES];

    fabric_count_completions(l, entries, fi_cq_read(s->cq, entries, ENTRIES));
}

static void fabric_link_wait(struct link *l)
{
    struct side *s = l->own;
    struct fi_cq_msg_entry entries[ENTRIES];
    uint64_t before = l->received;

    while (l->received == before)
        fabric_count_completions(l, entries, fi_cq_sread(s->cq, entries, ENTRIES, NULL, WAIT_MS));
}

static void fabric_link_receive(struct link *l)
{
    struct side *s = l->own;
    ssize_t result;

    while ((result = fi_recv(s->ep, link_messages(l), l->message, fi_mr_desc(s->mr), 0, NULL)) == -FI_EAGAIN)
        fabric_link_poll(l);
    fabric_require("fi_recv", result);
}

static ssize_t fabric_try_post(struct link *l, enum link_op op, uint64_t flags)
{
    struct side *s = l->own;
    void *desc = fi_mr_desc(s->mr);
    struct iovec piece = { op == LINK_READ ? link_landing(l) : link_source(l), op == LINK_SEND ? l->message : l->size };
    struct fi_rma_iov there = { .addr = l->peer.address + (op == LINK_READ ? 0 : LINK_AREA),
                                .len = piece.iov_len,
                                .key = l->peer.token };
    struct fi_msg message = { .msg_iov = &piece, .desc = &desc, .iov_count = 1 };
    struct fi_msg_rma rma = { .msg_iov = &piece, .desc = &desc, .iov_count = 1, .rma_iov = &there, .rma_iov_count = 1 };

    if (op == LINK_SEND)
        return fi_sendmsg(s->ep, &message, flags);
    return op == LINK_WRITE ? fi_writemsg(s->ep, &rma, flags) : fi_readmsg(s->ep, &rma, flags);
}

static void fabric_link_post(struct link *l, enum link_op op, bool more)
{
    ssize_t result;

    while ((result = fabric_try_post(l, op, FI_COMPLETION | (more ? FI_MORE : 0))) == -FI_EAGAIN)
        fabric_link_poll(l);
    fabric_require("a request", result);
}

/*
 * The client closes the control socket after it has received the last answer; the server polls until then. The objects
 * are closed only by the end of the process.
 */
static void fabric_link_close(struct link *l, int control)
{
    while (!l->client && !peer_is_over(control))
        fabric_link_poll(l);
}

static const struct link_ops fabric_link_ops = { .kind = "libfabric",
                                                 .open = fabric_link_open,
                                                 .receive = fabric_link_receive,
                                                 .post = fabric_link_post,
                                                 .poll = fabric_link_poll,
                                                 .wait = fabric_link_wait,
                                                 .close = fabric_link_close };

/* ---- many connections ---- */

static void fabric_client_open(struct load *l, unsigned slot)
{
    struct side *s = l->context;

    s->eps[slot] = fabric_create_ep(s, s->info, (void *)(uintptr_t)slot);
    fabric_require("fi_connect", fi_connect(s->eps[slot], s->info->dest_addr, PRIVATE, sizeof PRIVATE));
}

static void fabric_client_close(struct load *l, unsigned slot)
{
    struct side *s = l->context;

    fabric_require("fi_shutdown", fi_shutdown(s->eps[slot], 0));
    fabric_require("fi_close", fi_close(&s->eps[slot]->fid));
    peer_queue_push(&s->closed, slot);
}

static const struct load_backend fabric_backend = { .open = fabric_client_open, .close = fabric_client_close };

static void *fabric_client(unsigned conns, uint16_t port)
{
    struct side *s;
    char name[8];

    snprintf(name, sizeof name, "%u", port);
    s = fabric_open(name, 0, false);
    s->eps = bench_pages(conns * sizeof(struct fid_ep *));
    peer_queue_init(&s->closed, conns + 1);
    return s;
}

static void fabric_run(void *side, struct load *l)
{
    struct side *s = side;
    struct fi_eq_cm_entry entry;
    unsigned slot;

    while (!atomic_load(&l->over)) {
        uint32_t event = fabric_next_event(s, &entry, WAIT_MS);

        if (event == FI_CONNECTED)
            load_established(l, (unsigned)(uintptr_t)entry.fid->context);
        while (peer_queue_pop(&s->closed, &slot))
            load_closed(l, slot);
    }
    while (sem_wait(&l->end))
        continue;
}

static void fabric_serve(int control)
{
    struct side *s = fabric_open("0", FI_SOURCE, false);
    uint16_t port = fabric_listen(s);
    struct fi_eq_cm_entry entry;

    bench_send(control, &port, sizeof port);
    while (!peer_is_over(control)) {
        uint32_t event = fabric_next_event(s, &entry, WAIT_MS);

        if (event == FI_CONNREQ) {
            struct fid_ep *ep = fabric_create_ep(s, entry.info, NULL);

            fabric_require("fi_accept", fi_accept(ep, PRIVATE, sizeof PRIVATE));
            fi_freeinfo(entry.info);
        } else if (event == FI_SHUTDOWN) {
            fabric_require("fi_close", fi_close(entry.fid));
        }
    }
}

const struct peer peer = { .link = &fabric_link_ops,
                           .serve = fabric_serve,
                           .backend = &fabric_backend,
                           .open = fabric_client,
                           .run = fabric_run };
