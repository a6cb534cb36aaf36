/* SPDX-License-Identifier: MIT */
/* Implements an event-driven NDK consumer: see ndk_side.h. */
#include "ndk_side.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>

#include "consumer/sync.h"
#include "openndk/adapter.h"
#include "openndk/reason.h"

enum { JOBS = 1 << 16, MAX_FAILURES = 100 };

static const char PRIVATE[256];

static void ndk_side_require(NTSTATUS status, const char *step)
{
    if (status != STATUS_SUCCESS)
        bench_die("%s: %s", step, ondk_status_name(status));
}

/* ---- running steps ---- */

static void ndk_side_put_job(struct ndk_side *s, struct ndk_job job)
{
    pthread_mutex_lock(&s->lock);
    if (s->jobs_pushed - s->jobs_popped == JOBS)
        bench_die("more than %d events wait", JOBS);
    s->jobs[s->jobs_pushed++ % JOBS] = job;
    pthread_mutex_unlock(&s->lock);
    sem_post(&s->jobs_waiting);
}

static void ndk_side_run_job(struct ndk_side *s)
{
    struct ndk_job job;

    while (sem_wait(&s->jobs_waiting))
        continue;
    pthread_mutex_lock(&s->lock);
    job = s->jobs[s->jobs_popped++ % JOBS];
    pthread_mutex_unlock(&s->lock);
    if (job.run)
        job.run(job.conn, job.status);
}

static void ndk_conn_dispatch(struct ndk_conn *c, void (*run)(struct ndk_conn *c, NTSTATUS status), NTSTATUS status)
{
    if (c->side->options.waiting)
        ndk_side_put_job(c->side, (struct ndk_job){ run, c, status });
    else
        run(c, status);
}

static void ndk_conn_on_request(PVOID context, NTSTATUS status)
{
    struct ndk_conn *c = context;

    ndk_conn_dispatch(c, c->next, status);
}

static void ndk_conn_on_close(PVOID context)
{
    struct ndk_conn *c = context;

    ndk_conn_dispatch(c, c->next, STATUS_SUCCESS);
}

static void ndk_side_on_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context;
    (void)status;
    (void)object;
    bench_die("a create was pending: run without ONDK_PEND_CREATES");
}

/* Stores the name of the next step, and the function to call when that step has completed. */
static void ndk_conn_set_step(struct ndk_conn *c, const char *step, void (*next)(struct ndk_conn *c, NTSTATUS status))
{
    c->step = step;
    c->next = next;
}

/*
 * Begins the next step, unless `status` is STATUS_PENDING. `status` must be what the call of the current step returned.
 */
static void ndk_conn_handle_status(struct ndk_conn *c, NTSTATUS status)
{
    if (status != STATUS_PENDING)
        ndk_conn_dispatch(c, c->next, status);
}

/* ---- the end of a connection, both roles ---- */

static void ndk_side_release_conn(struct ndk_conn *c)
{
    struct ndk_side *s = c->side;

    pthread_mutex_lock(&s->lock);
    c->free_next = s->free_conns;
    s->free_conns = c;
    pthread_mutex_unlock(&s->lock);
    atomic_fetch_sub(&s->alive, 1);
}

static struct ndk_conn *ndk_side_acquire_conn(struct ndk_side *s)
{
    struct ndk_conn *c;

    pthread_mutex_lock(&s->lock);
    c = s->free_conns;
    if (c)
        s->free_conns = c->free_next;
    pthread_mutex_unlock(&s->lock);
    if (!c)
        bench_die("more connections than expected");
    atomic_fetch_add(&s->alive, 1);
    c->connector = NULL;
    c->qp = NULL;
    c->has_failed = false;
    return c;
}

static void ndk_conn_on_qp_closed(struct ndk_conn *c, NTSTATUS status)
{
    struct load *l = c->side->load;
    unsigned slot = c->slot;
    bool has_failed = c->has_failed;
    const char *step = c->step;

    (void)status;
    if (!l) {
        ndk_side_release_conn(c);
        return;
    }
    c->connector = NULL;
    c->qp = NULL;
    if (has_failed)
        load_failed(l, slot, step);
    else
        load_closed(l, slot);
}

static void ndk_conn_on_connector_closed(struct ndk_conn *c, NTSTATUS status)
{
    NDK_QP *qp = c->qp;

    (void)status;
    c->next = ndk_conn_on_qp_closed;
    ndk_conn_handle_status(c, qp->Dispatch->NdkCloseQp(&qp->Header, ndk_conn_on_close, c));
}

static void ndk_conn_close(struct ndk_conn *c)
{
    NDK_CONNECTOR *connector = c->connector;

    c->next = ndk_conn_on_connector_closed;
    ndk_conn_handle_status(c, connector->Dispatch->NdkCloseConnector(&connector->Header, ndk_conn_on_close, c));
}

static void ndk_conn_fail(struct ndk_conn *c, NTSTATUS status)
{
    if (atomic_fetch_add(&c->side->failures, 1) < 3)
        fprintf(stderr, "%s: %s, %s\n", c->step, ondk_status_name(status),
                ondk_reason_name(ondk_connector_reason(c->connector)));
    if (atomic_load(&c->side->failures) > MAX_FAILURES)
        bench_die("too many failures");
    c->has_failed = true;
    ndk_conn_close(c);
}

static void ndk_conn_on_disconnected(struct ndk_conn *c, NTSTATUS status)
{
    if (status == STATUS_SUCCESS)
        ndk_conn_close(c);
    else
        ndk_conn_fail(c, status);
}

static void ndk_conn_disconnect(struct ndk_conn *c)
{
    NDK_CONNECTOR *connector = c->connector;

    ndk_conn_set_step(c, "NdkDisconnect", ndk_conn_on_disconnected);
    ndk_conn_handle_status(c, connector->Dispatch->NdkDisconnect(connector, ndk_conn_on_request, c));
}

/* ---- client ---- */

static void ndk_conn_on_completed(struct ndk_conn *c, NTSTATUS status)
{
    if (status == STATUS_SUCCESS)
        load_established(c->side->load, c->slot);
    else
        ndk_conn_fail(c, status);
}

static void ndk_conn_on_connected(struct ndk_conn *c, NTSTATUS status)
{
    NDK_CONNECTOR *connector = c->connector;

    if (status != STATUS_SUCCESS) {
        ndk_conn_fail(c, status);
        return;
    }
    ndk_conn_set_step(c, "NdkCompleteConnect", ndk_conn_on_completed);
    ndk_conn_handle_status(c, connector->Dispatch->NdkCompleteConnect(connector, NULL, NULL, ndk_conn_on_request, c));
}

static void ndk_client_open(struct load *l, unsigned slot)
{
    struct ndk_side *s = l->context;
    struct ndk_conn *c = &s->conns[slot];
    struct sockaddr_in peer = s->peer;
    const struct ndk_options *o = &s->options;
    PVOID data = (PVOID)(uintptr_t)PRIVATE;
    NDK_CONNECTOR *connector;

    c->slot = slot;
    c->has_failed = false;
    c->qp = ndk_side_qp(s, c, s->options.depth);
    if (s->adapter->Dispatch->NdkCreateConnector(s->adapter, ndk_side_on_create, c, &c->connector) != STATUS_SUCCESS)
        bench_die("NdkCreateConnector failed");
    connector = c->connector;
    ndk_conn_set_step(c, "NdkConnect", ndk_conn_on_connected);
    if (s->endpoint) {
        peer.sin_port = s->ports[slot];
        ndk_conn_handle_status(c, connector->Dispatch->NdkConnectWithSharedEndpoint(
                                      connector, c->qp, s->endpoint, (PSOCKADDR)&peer, sizeof peer, o->reads, o->reads,
                                      data, o->private_len, ndk_conn_on_request, c));
    } else {
        ndk_conn_handle_status(c, connector->Dispatch->NdkConnect(
                                      connector, c->qp, (PSOCKADDR)&s->local, sizeof s->local, (PSOCKADDR)&peer,
                                      sizeof peer, o->reads, o->reads, data, o->private_len, ndk_conn_on_request, c));
    }
}

static void ndk_client_close(struct load *l, unsigned slot)
{
    struct ndk_side *s = l->context;

    ndk_conn_disconnect(&s->conns[slot]);
}

const struct load_backend ndk_backend = { .open = ndk_client_open, .close = ndk_client_close };

void ndk_side_run(struct ndk_side *s, struct load *l)
{
    if (s->options.waiting)
        while (!atomic_load(&l->over))
            ndk_side_run_job(s);
    while (sem_wait(&l->end))
        continue;
}

/* ---- server ---- */

static void ndk_conn_on_peer_disconnected(struct ndk_conn *c, NTSTATUS status)
{
    (void)status;
    ndk_conn_disconnect(c);
}

static void ndk_side_on_disconnect(PVOID context)
{
    ndk_conn_dispatch(context, ndk_conn_on_peer_disconnected, STATUS_SUCCESS);
}

static void ndk_conn_on_accepted(struct ndk_conn *c, NTSTATUS status)
{
    if (status != STATUS_SUCCESS)
        ndk_conn_fail(c, status);
}

static void ndk_conn_accept(struct ndk_conn *c, NTSTATUS status)
{
    struct ndk_side *s = c->side;
    NDK_CONNECTOR *connector = c->connector;

    (void)status;
    c->qp = ndk_side_qp(s, c, s->options.depth);
    if (s->options.prepare)
        s->options.prepare(c);
    ndk_conn_set_step(c, "NdkAccept", ndk_conn_on_accepted);
    ndk_conn_handle_status(c, connector->Dispatch->NdkAccept(connector, c->qp, s->options.reads, s->options.reads,
                                                             (PVOID)(uintptr_t)s->options.accept_data,
                                                             s->options.accept_len, ndk_side_on_disconnect, c,
                                                             ndk_conn_on_request, c));
}

static void ndk_side_on_connect(PVOID context, NDK_CONNECTOR *connector)
{
    struct ndk_conn *c = ndk_side_acquire_conn(context);

    c->connector = connector;
    ndk_conn_dispatch(c, ndk_conn_accept, STATUS_SUCCESS);
}

static uint16_t ndk_side_create_listener(struct ndk_side *s, NDK_LISTENER **out)
{
    struct sockaddr_in at = s->local;
    ULONG len = sizeof at;

    ndk_side_require(sync_create_listener(s->adapter, ndk_side_on_connect, s, out), "NdkCreateListener");
    ndk_side_require(sync_listen(*out, (struct sockaddr *)&at), "NdkListen");
    ndk_side_require((*out)->Dispatch->NdkGetLocalAddress(*out, (PSOCKADDR)&at, &len), "NdkGetLocalAddress");
    return at.sin_port;
}

void ndk_side_listen(struct ndk_side *s, uint16_t *ports)
{
    unsigned count = s->options.listeners ? s->options.listeners : 1;

    s->listeners = bench_pages(count * sizeof *s->listeners);
    for (; s->listener_count < count; s->listener_count++)
        ports[s->listener_count] = ndk_side_create_listener(s, &s->listeners[s->listener_count]);
}

static void *ndk_side_run_jobs(void *side)
{
    struct ndk_side *s = side;

    while (!atomic_load(&s->stop))
        ndk_side_run_job(s);
    return NULL;
}

void ndk_side_serve(struct ndk_side *s, int control)
{
    pthread_t thread;

    if (s->options.waiting && pthread_create(&thread, NULL, ndk_side_run_jobs, s))
        bench_die("no thread");
    bench_answer_usage(control);
    for (unsigned n = 0; atomic_load(&s->alive) && n < 10000; n++)
        poll(NULL, 0, 1);
    if (!s->options.waiting)
        return;
    atomic_store(&s->stop, true);
    ndk_side_put_job(s, (struct ndk_job){ .run = NULL });
    pthread_join(thread, NULL);
}

/* ---- objects ---- */

NDK_QP *ndk_side_qp(struct ndk_side *s, void *context, unsigned depth)
{
    NDK_QP *qp;
    NDK_CQ *cq = s->cqs[atomic_fetch_add(&s->next_cq, 1) % s->options.cqs];
    NTSTATUS status = s->pd->Dispatch->NdkCreateQp(s->pd, cq, cq, context, depth, depth, 1, 1, 0, ndk_side_on_create,
                                                   context, &qp);

    if (status != STATUS_SUCCESS)
        bench_die("NdkCreateQp: %s", ondk_status_name(status));
    return qp;
}

static void ndk_side_on_notify(PVOID context, NTSTATUS status)
{
    (void)context;
    (void)status;
}

static void ndk_side_create_objects(struct ndk_side *s)
{
    const struct ndk_options *o = &s->options;

    ndk_side_require(ondk_open_adapter((NDK_VERSION){ 2, 1 }, if_nametoindex("lo"), &s->adapter), "ondk_open_adapter");
    ndk_side_require(sync_create_pd(s->adapter, &s->pd), "NdkCreatePd");
    s->cqs = bench_pages(o->cqs * sizeof *s->cqs);
    for (unsigned i = 0; i < o->cqs; i++)
        ndk_side_require(sync_create_cq(s->adapter, o->cq_depth, o->notify ? o->notify : ndk_side_on_notify,
                                        (char *)o->notify_context + i * o->notify_stride, &s->cqs[i]),
                         "NdkCreateCq");
    s->cq = s->cqs[0];
    if (o->shared)
        ndk_side_require(sync_create_shared_endpoint(s->adapter, (struct sockaddr *)&s->local, &s->endpoint),
                         "NdkCreateSharedEndpoint");
}

struct ndk_side *ndk_side_open(const struct ndk_options *options)
{
    struct ndk_side *s = bench_pages(sizeof *s);

    s->options = *options;
    s->options.reads = options->reads ? options->reads : 1;
    s->options.cqs = options->cqs ? options->cqs : 1;
    s->local = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    s->peer = s->local;
    pthread_mutex_init(&s->lock, NULL);
    sem_init(&s->jobs_waiting, 0, 0);
    s->jobs = bench_pages(JOBS * sizeof *s->jobs);
    s->conns = bench_pages(options->conns * sizeof *s->conns);
    for (unsigned i = options->conns; i-- > 0;) {
        s->conns[i].side = s;
        s->conns[i].free_next = s->free_conns;
        s->free_conns = &s->conns[i];
    }
    ndk_side_create_objects(s);
    return s;
}

void ndk_side_close(struct ndk_side *s)
{
    for (unsigned i = 0; i < s->listener_count; i++)
        sync_close(s->listeners[i]);
    if (s->endpoint)
        sync_close(s->endpoint);
    for (unsigned i = 0; i < s->options.cqs; i++)
        sync_close(s->cqs[i]);
    sync_close(s->pd);
    ondk_close_adapter(s->adapter);
}
