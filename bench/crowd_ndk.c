/* SPDX-License-Identifier: MIT */
/* Abstract: the connections of crowd.c over NDK. A result's context is the connection of a receive, NULL of a send. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "consumer/region.h"
#include "crowd.h"
#include "ndk_side.h"

enum { DEPTH = 2, AT_A_TIME = 64, RESULTS = 64 };

struct carrier;

/* What the notification of a completion queue is given. */
struct queue {
    struct carrier *carrier;
    unsigned n;
};

struct carrier {
    struct ndk_side *side;
    struct consumer_region region;
    uint8_t memory[2 * CROWD_MESSAGE]; /* what is sent; where what comes goes */
    struct crowd *crowd;               /* the client's */
    struct load load;
    atomic_bool stop;
    struct queue queues[CROWD_QUEUES];
};

static struct carrier *server; /* prepare is told of a connection alone */

static void request(struct carrier *e, struct ndk_conn *conn, bool sends)
{
    NDK_SGE piece = consumer_region_sge(&e->region, sends ? 0 : CROWD_MESSAGE, CROWD_MESSAGE);
    NTSTATUS status = sends ? conn->qp->Dispatch->NdkSend(conn->qp, NULL, &piece, 1, 0)
                            : conn->qp->Dispatch->NdkReceive(conn->qp, conn, &piece, 1);

    if (status != STATUS_SUCCESS)
        bench_die("a request failed: %#x", (unsigned)status);
}

static void client_send(struct member *m)
{
    struct carrier *e = m->crowd->carrier;
    struct ndk_conn *conn = m->carrier;

    request(e, conn, false);
    request(e, conn, true);
}

static void came(struct carrier *e, struct ndk_conn *conn)
{
    if (e->crowd) {
        crowd_answered(&e->crowd->members[conn->slot]);
    } else {
        request(e, conn, false);
        request(e, conn, true);
    }
}

/* Flushed at the end is no failure. True: something had come. */
static bool poll_once(struct carrier *e, NDK_CQ *cq)
{
    NDK_RESULT results[RESULTS];
    ULONG count = cq->Dispatch->NdkGetCqResults(cq, results, RESULTS);

    for (ULONG i = 0; i < count; i++)
        if (results[i].Status == STATUS_SUCCESS && results[i].RequestContext)
            came(e, results[i].RequestContext);
    return count > 0;
}

static void notified(PVOID context, NTSTATUS status)
{
    struct queue *q = context;
    NDK_CQ *cq = q->carrier->side->cqs[q->n];

    if (status != STATUS_SUCCESS)
        bench_die("the completion queue failed: %#x", (unsigned)status);
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    while (poll_once(q->carrier, cq))
        continue;
}

static void *look_on(void *context)
{
    struct carrier *e = context;

    while (e->crowd ? !crowd_is_over(e->crowd) : !atomic_load_explicit(&e->stop, memory_order_relaxed))
        (void)poll_once(e, e->side->cq);
    return NULL;
}

static struct carrier *open_carrier(unsigned connections, unsigned queues, bool told,
                                    void (*prepare)(struct ndk_conn *c))
{
    struct carrier *e = bench_pages(sizeof *e);
    struct ndk_options o = { .depth = DEPTH, .cq_depth = 2 * DEPTH * connections, .cqs = queues,
                             .conns = connections + AT_A_TIME, .prepare = prepare };

    for (unsigned i = 0; i < queues; i++)
        e->queues[i] = (struct queue){ e, i };
    if (told) {
        o.notify = notified;
        o.notify_context = e->queues;
        o.notify_stride = sizeof e->queues[0];
    }
    e->side = ndk_side_open(&o);
    if (!NT_SUCCESS(consumer_region_register(&e->region, e->side->pd, e->memory, sizeof e->memory, CONSUMER_ALL_RIGHTS)))
        bench_die("NdkRegisterMr failed");
    return e;
}

/* From here on the queues tell of what comes. */
static void arm(struct carrier *e)
{
    for (unsigned i = 0; i < e->side->options.cqs; i++)
        e->side->cqs[i]->Dispatch->NdkArmCq(e->side->cqs[i], NDK_CQ_NOTIFY_ANY);
}

static void close_carrier(struct carrier *e)
{
    consumer_region_destroy(&e->region);
    ndk_side_close(e->side);
}

static void prepare(struct ndk_conn *c)
{
    request(server, c, false);
}

void crowd_serve_ndk(unsigned connections, unsigned queues, bool told, int control)
{
    pthread_t thread;
    uint16_t port;

    server = open_carrier(connections, queues, told, prepare);
    ndk_side_listen(server->side, &port);
    if (told)
        arm(server);
    else if (pthread_create(&thread, NULL, look_on, server))
        bench_die("no thread");
    bench_tell(control, &port, sizeof port);
    ndk_side_serve(server->side, control);
    atomic_store(&server->stop, true);
    if (!told)
        pthread_join(thread, NULL);
    close_carrier(server);
}

void crowd_open_ndk(struct crowd *c, int control)
{
    struct carrier *e = open_carrier(c->connections, c->queues, c->told, NULL);
    uint16_t port;

    if (!bench_hear(control, &port, sizeof port))
        bench_die("the second process does not serve");
    c->carrier = e;
    c->send = client_send;
    e->crowd = c;
    e->side->peer.sin_port = port;
    load_init(&e->load, &ndk_backend, e->side, c->connections, AT_A_TIME);
    e->side->load = &e->load;
    load_open_all(&e->load);
    ndk_side_run(e->side, &e->load);
    for (unsigned i = 0; i < c->connections; i++)
        c->members[i].carrier = &e->side->conns[i];
}

void crowd_run_ndk(struct crowd *c)
{
    if (!c->told) {
        crowd_begin(c);
        look_on(c->carrier);
        return;
    }
    crowd_begin(c);
    arm(c->carrier);
    while (!crowd_is_over(c))
        poll(NULL, 0, 1);
}

void crowd_close_ndk(struct crowd *c)
{
    struct carrier *e = c->carrier;

    load_close_all(&e->load);
    ndk_side_run(e->side, &e->load);
    close_carrier(e);
}
