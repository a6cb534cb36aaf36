/* SPDX-License-Identifier: MIT */
/*
 * The data path of NDK, of bare TCP and of the floor between two processes. One line of JSON; the tests are in drive.c.
 *   data ndk|tcp|floor <test> <size> <window> <burst> <seconds>
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/region.h"
#include "link.h"
#include "ndk_side.h"
#include "openndk/adapter.h"
#include "openndk/reason.h"

enum { DEPTH = LINK_RECEIVES + LINK_WINDOW, CQ_DEPTH = 4 * DEPTH, RESULTS = 64, MOST_READS = LINK_WINDOW };

struct end {
    struct link *link;
    struct ndk_side *side;
    struct ndk_conn *conn;
    struct load load;      /* client: how the connection is made */
    struct consumer_region region;
    bool tells;            /* messages are handled inside the notification */
    sem_t woken;           /* a notification, or (server) a connection */
};

/* ---- requests ---- */

static NDK_SGE sge(struct end *e, uint8_t *at, size_t len)
{
    return (NDK_SGE){ .VirtualAddress = at, .Length = (ULONG)len, .MemoryRegionToken = e->region.local_token };
}

static void receive(struct link *l)
{
    struct end *e = l->own;
    NDK_QP *qp = e->conn->qp;
    NDK_SGE piece = sge(e, link_messages(l), l->message);
    NTSTATUS status = qp->Dispatch->NdkReceive(qp, e, &piece, 1);

    if (status != STATUS_SUCCESS)
        bench_die("NdkReceive: %s", ondk_status_name(status));
}

static void post(struct link *l, enum link_op op, bool more)
{
    struct end *e = l->own;
    NDK_QP *qp = e->conn->qp;
    NDK_SGE piece = sge(e, op == LINK_READ ? link_landing(l) : link_source(l), op == LINK_SEND ? l->message : l->size);
    ULONG flags = more ? NDK_OP_FLAG_DEFER : 0;
    uint64_t there = l->peer.address;
    uint32_t token = (uint32_t)l->peer.token;
    NTSTATUS status;

    if (op == LINK_SEND)
        status = qp->Dispatch->NdkSend(qp, NULL, &piece, 1, flags | NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT);
    else if (op == LINK_WRITE)
        status = qp->Dispatch->NdkWrite(qp, NULL, &piece, 1, there + LINK_AREA, token, flags);
    else
        status = qp->Dispatch->NdkRead(qp, NULL, &piece, 1, there, token, flags);
    if (status != STATUS_SUCCESS)
        bench_die("request %d: %s", (int)op, ondk_status_name(status));
}

static void poll_cq(struct link *l)
{
    struct end *e = l->own;
    NDK_CQ *cq = e->side->cq;
    NDK_RESULT results[RESULTS];
    ULONG n = cq->Dispatch->NdkGetCqResults(cq, results, RESULTS);

    for (ULONG i = 0; i < n; i++) {
        if (results[i].Status != STATUS_SUCCESS) {
            if (!atomic_load(&l->ending))
                bench_die("a request failed: %s, %s", ondk_status_name(results[i].Status),
                          ondk_reason_name(ondk_connector_reason(e->conn->connector)));
        } else if (results[i].RequestContext == e) {
            l->received++;
        } else {
            l->completed++;
        }
    }
}

static void arm(struct end *e)
{
    e->side->cq->Dispatch->NdkArmCq(e->side->cq, NDK_CQ_NOTIFY_SOLICITED);
}

static void handle(struct end *e)
{
    struct link *l = e->link;
    uint64_t before;

    do {
        before = l->received;
        poll_cq(l);
        link_handle(l);
    } while (l->received > before);
}

static void notified(PVOID context, NTSTATUS status)
{
    struct end *e = context;

    if (status != STATUS_SUCCESS)
        bench_die("the completion queue failed: %s", ondk_status_name(status));
    if (!e->tells) {
        sem_post(&e->woken);
        return;
    }
    arm(e);
    handle(e);
}

static void notify(struct link *l)
{
    struct end *e = l->own;

    e->tells = true;
    arm(e);
}

static void wait_cq(struct link *l)
{
    struct end *e = l->own;
    uint64_t before = l->received;

    for (poll_cq(l); l->received == before; poll_cq(l)) {
        arm(e);
        poll_cq(l);
        if (l->received == before)
            while (sem_wait(&e->woken))
                continue;
    }
}

/* ---- making both ends ---- */

static struct end *server_end; /* there is one connection */

static void prepare(struct ndk_conn *c)
{
    server_end->conn = c;
    sem_post(&server_end->woken);
}

static void accept_one(struct end *e, int control)
{
    uint16_t port;

    server_end = e;
    ndk_side_listen(e->side, &port);
    bench_tell(control, &port, sizeof port);
    while (sem_wait(&e->woken))
        continue;
}

static void connect_one(struct end *e, int control)
{
    uint16_t port;

    if (!bench_hear(control, &port, sizeof port))
        bench_die("the second process does not serve");
    e->side->peer.sin_port = port;
    load_init(&e->load, &ndk_backend, e->side, 1, 1);
    e->side->load = &e->load;
    e->conn = &e->side->conns[0];
    load_open_all(&e->load);
    ndk_side_run(e->side, &e->load);
}

static void open_end(struct link *l, int control)
{
    struct end *e = bench_pages(sizeof *e);
    struct ndk_options o = { .depth = DEPTH, .cq_depth = CQ_DEPTH, .conns = 2, .reads = MOST_READS,
                             .notify = notified, .notify_context = e };

    o.prepare = l->client ? NULL : prepare;
    *e = (struct end){ .link = l };
    l->own = e;
    sem_init(&e->woken, 0, 0);
    e->side = ndk_side_open(&o);
    if (!NT_SUCCESS(consumer_region_register(&e->region, e->side->pd, l->memory, LINK_BYTES, CONSUMER_ALL_RIGHTS)))
        bench_die("NdkRegisterMr failed");
    (l->client ? connect_one : accept_one)(e, control);
    link_exchange(l, control, (struct link_target){ (uintptr_t)l->memory, e->region.remote_token });
}

static void close_end(struct link *l, int control)
{
    struct end *e = l->own;

    if (l->client) {
        load_close_all(&e->load);
        ndk_side_run(e->side, &e->load);
    } else {
        ndk_side_serve(e->side, control);
    }
    consumer_region_destroy(&e->region);
    ndk_side_close(e->side);
}

static const struct link_ops ndk_ops = { .kind = "NDK", .open = open_end, .receive = receive, .post = post,
                                         .poll = poll_cq, .wait = wait_cq, .notify = notify, .close = close_end };

int main(int argc, char **argv)
{
    struct job j = job_parse(argc, argv);

    if (!strcmp(j.kind, "tcp"))
        return drive_tcp(&j);
    if (strcmp(j.kind, "floor") != 0)
        return drive(&j, &ndk_ops);
    if (!strcmp(j.test, "wait") || !strcmp(j.test, "sleep") || !strcmp(j.test, "passive"))
        bench_die("the floor has no %s", j.test);
    return drive(&j, &floor_ops);
}
