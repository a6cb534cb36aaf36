/* SPDX-License-Identifier: MIT */
/* See pairs.h. */
#include "pairs.h"

#include <arpa/inet.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "openndk/adapter.h"
#include "openndk/mdl.h"

enum { LOOPBACK = 1, CQ_SLACK = 64 };

struct pairs_wait {
    sem_t done;
    NTSTATUS status;
    NDK_OBJECT_HEADER *object;
};

struct pairs_wait *pairs_wait_new(void)
{
    struct pairs_wait *w = calloc(1, sizeof *w);

    if (!w)
        bench_die("no memory");
    sem_init(&w->done, 0, 0);
    return w;
}

void pairs_wait_free(struct pairs_wait *w)
{
    sem_destroy(&w->done);
    free(w);
}

void pairs_request_done(void *wait, NTSTATUS status)
{
    struct pairs_wait *w = wait;

    w->status = status;
    sem_post(&w->done);
}

void pairs_expect(struct pairs_wait *w, NTSTATUS status, const char *what)
{
    if (status == STATUS_PENDING) {
        sem_wait(&w->done);
        status = w->status;
    }
    pairs_require(status, what);
}

static void on_created(void *wait, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    ((struct pairs_wait *)wait)->object = object;
    pairs_request_done(wait, status);
}

static void on_closed(void *wait)
{
    pairs_request_done(wait, STATUS_SUCCESS);
}

void pairs_close_object(void *object)
{
    struct pairs_wait *w = pairs_wait_new();
    /* Every object begins like this one, and every table with its close. */
    NDK_QP *any = object;

    pairs_expect(w, any->Dispatch->NdkCloseQp(&any->Header, on_closed, w), "close");
    pairs_wait_free(w);
}

static void on_notified(void *end, NTSTATUS status)
{
    void (*notified)(struct pair_end *e) = atomic_load(&((struct pair_end *)end)->notified);

    if (notified && status == STATUS_SUCCESS)
        notified(end);
}

void pairs_require(NTSTATUS status, const char *what)
{
    if (status != STATUS_SUCCESS)
        bench_die("%s: %s", what, ondk_status_name(status));
}

static void register_memory(struct pair_end *e)
{
    struct pairs_wait *w = pairs_wait_new();
    MDL mdl;

    e->memory = aligned_alloc(4096, PAIRS_MEMORY);
    if (!e->memory)
        bench_die("no memory");
    memset(e->memory, 1, PAIRS_MEMORY);
    ondk_mdl_init(&mdl, e->memory, PAIRS_MEMORY, NULL);
    pairs_require(e->pd->Dispatch->NdkCreateMr(e->pd, FALSE, on_created, w, &e->mr), "NdkCreateMr");
    pairs_expect(w, e->mr->Dispatch->NdkRegisterMr(e->mr, &mdl, PAIRS_MEMORY,
                                                   NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE,
                                                   pairs_request_done, w), "NdkRegisterMr");
    e->token = e->mr->Dispatch->NdkGetLocalTokenFromMr(e->mr);
    e->remote_token = e->mr->Dispatch->NdkGetRemoteTokenFromMr(e->mr);
    pairs_wait_free(w);
}

static void open_end(struct pair_end *e, unsigned count, unsigned depth, unsigned srq_depth)
{
    struct pairs_wait *w = pairs_wait_new();

    e->qps = calloc(count, sizeof *e->qps);
    e->connectors = calloc(count, sizeof *e->connectors);
    pairs_require(ondk_open_adapter((NDK_VERSION){ 2, 1 }, LOOPBACK, &e->adapter), "ondk_open_adapter");
    pairs_require(e->adapter->Dispatch->NdkCreatePd(e->adapter, on_created, w, &e->pd), "NdkCreatePd");
    pairs_require(e->adapter->Dispatch->NdkCreateCq(e->adapter, 2 * count * depth + CQ_SLACK, on_notified, e, NULL,
                                                    on_created, w, &e->cq), "NdkCreateCq");
    register_memory(e);
    if (srq_depth)
        pairs_require(e->pd->Dispatch->NdkCreateSrq(e->pd, srq_depth, 1, 0, NULL, NULL, NULL, on_created, w, &e->srq),
                "NdkCreateSrq");
    for (unsigned i = 0; i < count; i++) {
        void *context = (void *)(uintptr_t)i;
        NTSTATUS status = e->srq ? e->pd->Dispatch->NdkCreateQpWithSrq(e->pd, e->cq, e->cq, e->srq, context, depth, 1,
                                                                       0, on_created, w, &e->qps[i])
                                 : e->pd->Dispatch->NdkCreateQp(e->pd, e->cq, e->cq, context, depth, depth, 1, 1, 0,
                                                                on_created, w, &e->qps[i]);
        pairs_require(status, "a queue pair");
        pairs_require(e->adapter->Dispatch->NdkCreateConnector(e->adapter, on_created, w, &e->connectors[i]),
                "NdkCreateConnector");
    }
    pairs_wait_free(w);
}

/* The next connector that asks. One connection is made at a time. */
static struct {
    sem_t asked;
    NDK_CONNECTOR *connector;
} arrival;

static void on_request(void *context, NDK_CONNECTOR *connector)
{
    (void)context;
    arrival.connector = connector;
    sem_post(&arrival.asked);
}

static void on_disconnect(void *context)
{
    (void)context;
}

static void connect_one(struct pairs *p, unsigned i, const struct sockaddr_in *to)
{
    struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct pairs_wait *active = pairs_wait_new(), *passive = pairs_wait_new();
    NDK_CONNECTOR *c = p->active.connectors[i];
    NTSTATUS asked, accepted;

    asked = c->Dispatch->NdkConnect(c, p->active.qps[i], (PSOCKADDR)&from, sizeof from, (PSOCKADDR)to, sizeof *to, 4, 4,
                                    NULL, 0, pairs_request_done, active);
    if (asked != STATUS_PENDING)
        bench_die("NdkConnect: %s", ondk_status_name(asked));
    sem_wait(&arrival.asked);
    pairs_close_object(p->passive.connectors[i]);
    p->passive.connectors[i] = arrival.connector;
    accepted = arrival.connector->Dispatch->NdkAccept(arrival.connector, p->passive.qps[i], 4, 4, NULL, 0, on_disconnect,
                                                      NULL, pairs_request_done, passive);
    pairs_expect(active, asked, "NdkConnect");
    pairs_expect(active, c->Dispatch->NdkCompleteConnect(c, on_disconnect, NULL, pairs_request_done, active),
                 "NdkCompleteConnect");
    pairs_expect(passive, accepted, "NdkAccept");
    pairs_wait_free(active);
    pairs_wait_free(passive);
}

void pairs_open(struct pairs *p, unsigned count, unsigned depth, unsigned srq_depth)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct pairs_wait *w = pairs_wait_new();
    ULONG len = sizeof at;

    *p = (struct pairs){ .count = count };
    sem_init(&arrival.asked, 0, 0);
    open_end(&p->active, count, depth, 0);
    open_end(&p->passive, count, depth, srq_depth);
    pairs_require(p->passive.adapter->Dispatch->NdkCreateListener(p->passive.adapter, on_request, NULL, on_created, w,
                                                                  &p->listener), "NdkCreateListener");
    pairs_expect(w, p->listener->Dispatch->NdkListen(p->listener, (PSOCKADDR)&at, sizeof at, pairs_request_done, w),
                 "NdkListen");
    pairs_require(p->listener->Dispatch->NdkGetLocalAddress(p->listener, (PSOCKADDR)&at, &len), "NdkGetLocalAddress");
    for (unsigned i = 0; i < count; i++)
        connect_one(p, i, &at);
    pairs_wait_free(w);
}

static void close_end(struct pair_end *e, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        pairs_close_object(e->connectors[i]);
        pairs_close_object(e->qps[i]);
    }
    if (e->srq)
        pairs_close_object(e->srq);
    pairs_close_object(e->mr);
    pairs_close_object(e->cq);
    pairs_close_object(e->pd);
    free(e->connectors);
    free(e->qps);
    free(e->memory);
}

void pairs_close(struct pairs *p)
{
    close_end(&p->active, p->count);
    close_end(&p->passive, p->count);
    pairs_close_object(p->listener);
    ondk_close_adapter(p->active.adapter);
    ondk_close_adapter(p->passive.adapter);
}
