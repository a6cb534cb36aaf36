/* SPDX-License-Identifier: MIT */
/*
 * Implements the connections of crowd.c over NDK. The request context of a receive is the receive's connection; the
 * request context of a send is NULL.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "consumer/region.h"
#include "crowd.h"
#include "ndk_side.h"

enum { DEPTH = 2, AT_A_TIME = 64, RESULTS = 64 };

struct carrier;

/* The context of a completion queue's notifications. */
struct queue {
    struct carrier *carrier;
    unsigned n;
};

struct carrier {
    struct ndk_side *side;
    struct consumer_region region;
    uint8_t memory[2 * CROWD_MESSAGE]; /* the first half for sends, the second for receives */
    struct crowd *crowd;               /* NULL at the server */
    struct load load;
    atomic_bool stop;
    struct queue queues[CROWD_QUEUES];
};

static struct carrier *server; /* used by carrier_prepare, which has no other way to find the carrier */

static void carrier_post(struct carrier *e, struct ndk_conn *conn, bool sends)
{
    NDK_SGE piece = consumer_region_sge(&e->region, sends ? 0 : CROWD_MESSAGE, CROWD_MESSAGE);
    NTSTATUS status = sends ? conn->qp->Dispatch->NdkSend(conn->qp, NULL, &piece, 1, 0)
                            : conn->qp->Dispatch->NdkReceive(conn->qp, conn, &piece, 1);

    if (status != STATUS_SUCCESS)
        bench_die("a request failed: %#x", (unsigned)status);
}

static void carrier_send(struct member *m)
{
    struct carrier *e = m->crowd->carrier;
    struct ndk_conn *conn = m->carrier;

    carrier_post(e, conn, false);
    carrier_post(e, conn, true);
}

static void carrier_handle_message(struct carrier *e, struct ndk_conn *conn)
{
    if (e->crowd) {
        crowd_answered(&e->crowd->members[conn->slot]);
    } else {
        carrier_post(e, conn, false);
        carrier_post(e, conn, true);
    }
}

/*
 * Handles the completions of cq. Ignores failed completions, because a disconnect flushes receives. Returns true if
 * there were any completions.
 */
static bool carrier_poll(struct carrier *e, NDK_CQ *cq)
{
    NDK_RESULT results[RESULTS];
    ULONG count = cq->Dispatch->NdkGetCqResults(cq, results, RESULTS);

    for (ULONG i = 0; i < count; i++)
        if (results[i].Status == STATUS_SUCCESS && results[i].RequestContext)
            carrier_handle_message(e, results[i].RequestContext);
    return count > 0;
}

static void carrier_on_notify(PVOID context, NTSTATUS status)
{
    struct queue *q = context;
    NDK_CQ *cq = q->carrier->side->cqs[q->n];

    if (status != STATUS_SUCCESS)
        bench_die("the completion queue failed: %#x", (unsigned)status);
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    while (carrier_poll(q->carrier, cq))
        continue;
}

static void *carrier_poll_until_over(void *context)
{
    struct carrier *e = context;

    while (e->crowd ? !crowd_is_over(e->crowd) : !atomic_load_explicit(&e->stop, memory_order_relaxed))
        (void)carrier_poll(e, e->side->cq);
    return NULL;
}

static struct carrier *carrier_open(unsigned connections, unsigned queues, bool notified,
                                    void (*carrier_prepare)(struct ndk_conn *c))
{
    struct carrier *e = bench_pages(sizeof *e);
    struct ndk_options o = { .depth = DEPTH,
                             .cq_depth = 2 * DEPTH * connections,
                             .cqs = queues,
                             .conns = connections + AT_A_TIME,
                             .prepare = carrier_prepare };

    for (unsigned i = 0; i < queues; i++)
        e->queues[i] = (struct queue){ e, i };
    if (notified) {
        o.notify = carrier_on_notify;
        o.notify_context = e->queues;
        o.notify_stride = sizeof e->queues[0];
    }
    e->side = ndk_side_open(&o);
    if (!NT_SUCCESS(
            consumer_region_register(&e->region, e->side->pd, e->memory, sizeof e->memory, CONSUMER_ALL_RIGHTS)))
        bench_die("NdkRegisterMr failed");
    return e;
}

/* Arms all completion queues. */
static void carrier_arm(struct carrier *e)
{
    for (unsigned i = 0; i < e->side->options.cqs; i++)
        e->side->cqs[i]->Dispatch->NdkArmCq(e->side->cqs[i], NDK_CQ_NOTIFY_ANY);
}

static void carrier_close(struct carrier *e)
{
    consumer_region_destroy(&e->region);
    ndk_side_close(e->side);
}

static void carrier_prepare(struct ndk_conn *c)
{
    carrier_post(server, c, false);
}

void crowd_serve_ndk(unsigned connections, unsigned queues, bool notified, int control)
{
    pthread_t thread;
    uint16_t port;

    server = carrier_open(connections, queues, notified, carrier_prepare);
    ndk_side_listen(server->side, &port);
    if (notified)
        carrier_arm(server);
    else if (pthread_create(&thread, NULL, carrier_poll_until_over, server))
        bench_die("no thread");
    bench_send(control, &port, sizeof port);
    ndk_side_serve(server->side, control);
    atomic_store(&server->stop, true);
    if (!notified)
        pthread_join(thread, NULL);
    carrier_close(server);
}

void crowd_open_ndk(struct crowd *c, int control)
{
    struct carrier *e = carrier_open(c->connections, c->queues, c->notified, NULL);
    uint16_t port;

    if (!bench_receive(control, &port, sizeof port))
        bench_die("the second process does not listen");
    c->carrier = e;
    c->send = carrier_send;
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
    if (!c->notified) {
        crowd_begin(c);
        carrier_poll_until_over(c->carrier);
        return;
    }
    crowd_begin(c);
    carrier_arm(c->carrier);
    while (!crowd_is_over(c))
        poll(NULL, 0, 1);
}

void crowd_close_ndk(struct crowd *c)
{
    struct carrier *e = c->carrier;

    load_close_all(&e->load);
    ndk_side_run(e->side, &e->load);
    carrier_close(e);
}
