/* SPDX-License-Identifier: MIT */
/*
 * Measures the data path of NDK, of bare TCP, or of iWARP's wire format alone (`floor`: see data_floor.c) between two
 * processes. Prints one line of JSON. drive.c describes the tests.
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

enum { DEPTH = LINK_RECEIVES + LINK_WINDOW, CQ_DEPTH = 4 * DEPTH, RESULTS = 64, MAX_READS = LINK_WINDOW };

struct end {
    struct link *link;
    struct ndk_side *side;
    struct ndk_conn *conn;
    struct load load; /* client: opens the connection */
    struct consumer_region region;
    bool in_notification; /* true: the CQ notification handles messages; false: the CQ notification posts `woken` */
    sem_t woken;          /* posted by the CQ notification, and by data_prepare in the server */
};

/* ---- requests ---- */

static NDK_SGE data_sge(struct end *e, uint8_t *at, size_t len)
{
    return (NDK_SGE){ .VirtualAddress = at, .Length = (ULONG)len, .MemoryRegionToken = e->region.local_token };
}

static void data_receive(struct link *l)
{
    struct end *e = l->own;
    NDK_QP *qp = e->conn->qp;
    NDK_SGE piece = data_sge(e, link_messages(l), l->message);
    NTSTATUS status = qp->Dispatch->NdkReceive(qp, e, &piece, 1);

    if (status != STATUS_SUCCESS)
        bench_die("NdkReceive: %s", ondk_status_name(status));
}

static void data_post(struct link *l, enum link_op op, bool more)
{
    struct end *e = l->own;
    NDK_QP *qp = e->conn->qp;
    NDK_SGE piece = data_sge(e, op == LINK_READ ? link_landing(l) : link_source(l),
                             op == LINK_SEND ? l->message : l->size);
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

static void data_poll(struct link *l)
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

static void data_arm(struct end *e)
{
    e->side->cq->Dispatch->NdkArmCq(e->side->cq, NDK_CQ_NOTIFY_SOLICITED);
}

static void data_handle_messages(struct end *e)
{
    struct link *l = e->link;
    uint64_t before;

    do {
        before = l->received;
        data_poll(l);
        link_handle(l);
    } while (l->received > before);
}

static void data_on_notify(PVOID context, NTSTATUS status)
{
    struct end *e = context;

    if (status != STATUS_SUCCESS)
        bench_die("the completion queue failed: %s", ondk_status_name(status));
    if (!e->in_notification) {
        sem_post(&e->woken);
        return;
    }
    data_arm(e);
    data_handle_messages(e);
}

static void data_notify(struct link *l)
{
    struct end *e = l->own;

    e->in_notification = true;
    data_arm(e);
}

static void data_wait(struct link *l)
{
    struct end *e = l->own;
    uint64_t before = l->received;

    for (data_poll(l); l->received == before; data_poll(l)) {
        data_arm(e);
        data_poll(l);
        if (l->received == before)
            while (sem_wait(&e->woken))
                continue;
    }
}

/* ---- both ends ---- */

static struct end *server_end; /* used by data_prepare, which has no other way to find the end */

static void data_prepare(struct ndk_conn *c)
{
    server_end->conn = c;
    sem_post(&server_end->woken);
}

static void data_accept(struct end *e, int control)
{
    uint16_t port;

    server_end = e;
    ndk_side_listen(e->side, &port);
    bench_send(control, &port, sizeof port);
    while (sem_wait(&e->woken))
        continue;
}

static void data_connect(struct end *e, int control)
{
    uint16_t port;

    if (!bench_receive(control, &port, sizeof port))
        bench_die("the second process does not listen");
    e->side->peer.sin_port = port;
    load_init(&e->load, &ndk_backend, e->side, 1, 1);
    e->side->load = &e->load;
    e->conn = &e->side->conns[0];
    load_open_all(&e->load);
    ndk_side_run(e->side, &e->load);
}

static void data_open(struct link *l, int control)
{
    struct end *e = bench_pages(sizeof *e);
    struct ndk_options o = { .depth = DEPTH,
                             .cq_depth = CQ_DEPTH,
                             .conns = 2,
                             .reads = MAX_READS,
                             .notify = data_on_notify,
                             .notify_context = e };

    o.prepare = l->client ? NULL : data_prepare;
    *e = (struct end){ .link = l };
    l->own = e;
    sem_init(&e->woken, 0, 0);
    e->side = ndk_side_open(&o);
    if (!NT_SUCCESS(consumer_region_register(&e->region, e->side->pd, l->memory, LINK_BYTES, CONSUMER_ALL_RIGHTS)))
        bench_die("NdkRegisterMr failed");
    (l->client ? data_connect : data_accept)(e, control);
    link_exchange(l, control, (struct link_target){ (uintptr_t)l->memory, e->region.remote_token });
}

static void data_close(struct link *l, int control)
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

static const struct link_ops ndk_ops = { .kind = "NDK",
                                         .open = data_open,
                                         .receive = data_receive,
                                         .post = data_post,
                                         .poll = data_poll,
                                         .wait = data_wait,
                                         .notify = data_notify,
                                         .close = data_close };

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
