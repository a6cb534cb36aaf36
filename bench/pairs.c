/* SPDX-License-Identifier: MIT */
/* See pairs.h. */
#include "pairs.h"

#include <arpa/inet.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "consumer/sync.h"
#include "openndk/adapter.h"

enum { LOOPBACK = 1, CQ_SLACK = 64, READS = 4 };

static void pair_end_on_notify(void *end, NTSTATUS status)
{
    void (*notified)(struct pair_end * e) = atomic_load(&((struct pair_end *)end)->notified);

    if (notified && status == STATUS_SUCCESS)
        notified(end);
}

void pairs_require(NTSTATUS status, const char *what)
{
    if (status != STATUS_SUCCESS)
        bench_die("%s: %s", what, ondk_status_name(status));
}

static void pair_end_create_qp(struct pair_end *e, unsigned i, unsigned depth)
{
    const struct sync_qp options = { .cq = e->cq,
                                     .srq = e->srq,
                                     .context = (void *)(uintptr_t)i,
                                     .receives = depth,
                                     .requests = depth,
                                     .receive_sges = 1,
                                     .request_sges = 1 };

    pairs_require(sync_create_qp(e->pd, &options, &e->qps[i]), "NdkCreateQp");
}

static void pair_end_open(struct pair_end *e, unsigned count, unsigned depth, unsigned srq_depth)
{
    e->qps = calloc(count, sizeof *e->qps);
    e->connectors = calloc(count, sizeof *e->connectors);
    if (!e->qps || !e->connectors)
        bench_die("no memory");
    pairs_require(ondk_open_adapter((NDK_VERSION){ 2, 1 }, LOOPBACK, &e->adapter), "ondk_open_adapter");
    pairs_require(sync_create_pd(e->adapter, &e->pd), "NdkCreatePd");
    pairs_require(sync_create_cq(e->adapter, 2 * count * depth + CQ_SLACK, pair_end_on_notify, e, &e->cq),
                  "NdkCreateCq");
    pairs_require(consumer_region_create(&e->region, e->pd, PAIRS_MEMORY, CONSUMER_ALL_RIGHTS), "NdkRegisterMr");
    memset(e->region.memory, 1, PAIRS_MEMORY);
    if (srq_depth)
        pairs_require(sync_create_srq(e->pd, srq_depth, 1, &e->srq), "NdkCreateSrq");
    for (unsigned i = 0; i < count; i++)
        pair_end_create_qp(e, i, depth);
}

/* The connector of the latest connect request. Connections are established one at a time. */
static struct {
    sem_t arrived;
    NDK_CONNECTOR *connector;
} request;

static void pairs_on_request(void *context, NDK_CONNECTOR *connector)
{
    (void)context;
    request.connector = connector;
    sem_post(&request.arrived);
}

static void pairs_on_disconnect(void *context)
{
    (void)context;
}

static void pairs_connect(struct pairs *p, unsigned i, const struct sockaddr_in *to)
{
    struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    NDK_CONNECTOR *a, *c;
    struct sync active, passive;
    NTSTATUS connecting, accepting;

    sync_init(&active);
    sync_init(&passive);
    pairs_require(sync_create_connector(p->active.adapter, &p->active.connectors[i]), "NdkCreateConnector");
    a = p->active.connectors[i];
    connecting = a->Dispatch->NdkConnect(a, p->active.qps[i], (PSOCKADDR)&from, sizeof from, (PSOCKADDR)to, sizeof *to,
                                         READS, READS, NULL, 0, sync_on_request, &active);
    if (connecting != STATUS_PENDING)
        bench_die("NdkConnect: %s", ondk_status_name(connecting));
    while (sem_wait(&request.arrived))
        continue;
    c = p->passive.connectors[i] = request.connector;
    accepting = c->Dispatch->NdkAccept(c, p->passive.qps[i], READS, READS, NULL, 0, pairs_on_disconnect, NULL,
                                       sync_on_request, &passive);
    pairs_require(sync_wait(&active, connecting), "NdkConnect");
    pairs_require(
        sync_wait(&active, a->Dispatch->NdkCompleteConnect(a, pairs_on_disconnect, NULL, sync_on_request, &active)),
        "NdkCompleteConnect");
    pairs_require(sync_wait(&passive, accepting), "NdkAccept");
    sync_fini(&active);
    sync_fini(&passive);
}

void pairs_open(struct pairs *p, unsigned count, unsigned depth, unsigned srq_depth)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    ULONG len = sizeof at;

    *p = (struct pairs){ .count = count };
    sem_init(&request.arrived, 0, 0);
    pair_end_open(&p->active, count, depth, 0);
    pair_end_open(&p->passive, count, depth, srq_depth);
    pairs_require(sync_create_listener(p->passive.adapter, pairs_on_request, NULL, &p->listener), "NdkCreateListener");
    pairs_require(sync_listen(p->listener, (struct sockaddr *)&at), "NdkListen");
    pairs_require(p->listener->Dispatch->NdkGetLocalAddress(p->listener, (PSOCKADDR)&at, &len), "NdkGetLocalAddress");
    for (unsigned i = 0; i < count; i++)
        pairs_connect(p, i, &at);
}

static void pair_end_close(struct pair_end *e, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        sync_close(e->connectors[i]);
        sync_close(e->qps[i]);
    }
    if (e->srq)
        sync_close(e->srq);
    consumer_region_destroy(&e->region);
    sync_close(e->cq);
    sync_close(e->pd);
    free(e->connectors);
    free(e->qps);
}

void pairs_close(struct pairs *p)
{
    pair_end_close(&p->active, p->count);
    pair_end_close(&p->passive, p->count);
    sync_close(p->listener);
    ondk_close_adapter(p->active.adapter);
    ondk_close_adapter(p->passive.adapter);
}
