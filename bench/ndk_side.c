/* SPDX-License-Identifier: MIT */
/* An event-driven NDK consumer: see ndk_side.h. */
#include "ndk_side.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>

#include "consumer/sync.h"
#include "openndk/adapter.h"
#include "openndk/reason.h"

enum { JOBS = 1 << 16, MOST_FAILURES = 100 };

static const char PRIVATE[256];

static void ndk_side_require(NTSTATUS status, const char *step)
{
    if (status != STATUS_SUCCESS)
        bench_die("%s: %s", step, ondk_status_name(status));
}

/* ---- where steps run ---- */

static void put_job(struct ndk_side *s, struct ndk_job job)
{
    pthread_mutex_lock(&s->lock);
    if (s->jobs_put - s->jobs_taken == JOBS)
        bench_die("more than %d events wait", JOBS);
    s->jobs[s->jobs_put++ % JOBS] = job;
    pthread_mutex_unlock(&s->lock);
    sem_post(&s->jobs_waiting);
}

static void run_job(struct ndk_side *s)
{
    struct ndk_job job;

    while (sem_wait(&s->jobs_waiting))
        continue;
    pthread_mutex_lock(&s->lock);
    job = s->jobs[s->jobs_taken++ % JOBS];
    pthread_mutex_unlock(&s->lock);
    if (job.run)
        job.run(job.conn, job.status);
}

static void dispatch(struct ndk_conn *c, void (*run)(struct ndk_conn *c, NTSTATUS status), NTSTATUS status)
{
    if (c->side->options.waiting)
        put_job(c->side, (struct ndk_job){ run, c, status });
    else
        run(c, status);
}

static void request_done(PVOID context, NTSTATUS status)
{
    struct ndk_conn *c = context;

    dispatch(c, c->next, status);
}

static void close_done(PVOID context)
{
    struct ndk_conn *c = context;

    dispatch(c, c->next, STATUS_SUCCESS);
}

static void create_done(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context;
    (void)status;
    (void)object;
    bench_die("a create was pending: run without ONDK_PEND_CREATES");
}

/* Begins a step: c->next follows it, at once where the call has answered by itself. */
static void expect(struct ndk_conn *c, const char *step, void (*next)(struct ndk_conn *c, NTSTATUS status))
{
    c->step = step;
    c->next = next;
}

static void answered(struct ndk_conn *c, NTSTATUS status)
{
    if (status != STATUS_PENDING)
        dispatch(c, c->next, status);
}

/* ---- the end of a connection, both roles ---- */

static void put_conn(struct ndk_conn *c)
{
    struct ndk_side *s = c->side;

    pthread_mutex_lock(&s->lock);
    c->free_next = s->free_conns;
    s->free_conns = c;
    pthread_mutex_unlock(&s->lock);
    atomic_fetch_sub(&s->alive, 1);
}

static struct ndk_conn *get_conn(struct ndk_side *s)
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
    c->refused = false;
    return c;
}

static void qp_closed(struct ndk_conn *c, NTSTATUS status)
{
    struct load *l = c->side->load;
    unsigned slot = c->slot;
    bool refused = c->refused;
    const char *step = c->step;

    (void)status;
    if (!l) {
        put_conn(c);
        return;
    }
    c->connector = NULL;
    c->qp = NULL;
    if (refused)
        load_failed(l, slot, step);
    else
        load_closed(l, slot);
}

static void connector_closed(struct ndk_conn *c, NTSTATUS status)
{
    NDK_QP *qp = c->qp;

    (void)status;
    c->next = qp_closed;
    answered(c, qp->Dispatch->NdkCloseQp(&qp->Header, close_done, c));
}

static void close_both(struct ndk_conn *c)
{
    NDK_CONNECTOR *connector = c->connector;

    c->next = connector_closed;
    answered(c, connector->Dispatch->NdkCloseConnector(&connector->Header, close_done, c));
}

static void fail(struct ndk_conn *c, NTSTATUS status)
{
    if (atomic_fetch_add(&c->side->failures, 1) < 3)
        fprintf(stderr, "%s: %s, %s\n", c->step, ondk_status_name(status),
                ondk_reason_name(ondk_connector_reason(c->connector)));
    if (atomic_load(&c->side->failures) > MOST_FAILURES)
        bench_die("given up");
    c->refused = true;
    close_both(c);
}

static void disconnected(struct ndk_conn *c, NTSTATUS status)
{
    if (status == STATUS_SUCCESS)
        close_both(c);
    else
        fail(c, status);
}

static void disconnect(struct ndk_conn *c)
{
    NDK_CONNECTOR *connector = c->connector;

    expect(c, "NdkDisconnect", disconnected);
    answered(c, connector->Dispatch->NdkDisconnect(connector, request_done, c));
}

/* ---- client ---- */

static void completed(struct ndk_conn *c, NTSTATUS status)
{
    if (status == STATUS_SUCCESS)
        load_established(c->side->load, c->slot);
    else
        fail(c, status);
}

static void connected(struct ndk_conn *c, NTSTATUS status)
{
    NDK_CONNECTOR *connector = c->connector;

    if (status != STATUS_SUCCESS) {
        fail(c, status);
        return;
    }
    expect(c, "NdkCompleteConnect", completed);
    answered(c, connector->Dispatch->NdkCompleteConnect(connector, NULL, NULL, request_done, c));
}

static void client_open(struct load *l, unsigned slot)
{
    struct ndk_side *s = l->context;
    struct ndk_conn *c = &s->conns[slot];
    struct sockaddr_in peer = s->peer;
    const struct ndk_options *o = &s->options;
    PVOID data = (PVOID)(uintptr_t)PRIVATE;
    NDK_CONNECTOR *connector;

    c->slot = slot;
    c->refused = false;
    c->qp = ndk_side_qp(s, c, s->options.depth);
    if (s->adapter->Dispatch->NdkCreateConnector(s->adapter, create_done, c, &c->connector) != STATUS_SUCCESS)
        bench_die("NdkCreateConnector failed");
    connector = c->connector;
    expect(c, "NdkConnect", connected);
    if (s->endpoint) {
        peer.sin_port = s->ports[slot];
        answered(c, connector->Dispatch->NdkConnectWithSharedEndpoint(connector, c->qp, s->endpoint, (PSOCKADDR)&peer,
                                                                      sizeof peer, o->reads, o->reads, data,
                                                                      o->private_len, request_done, c));
    } else {
        answered(c, connector->Dispatch->NdkConnect(connector, c->qp, (PSOCKADDR)&s->local, sizeof s->local,
                                                    (PSOCKADDR)&peer, sizeof peer, o->reads, o->reads, data,
                                                    o->private_len, request_done, c));
    }
}

static void client_close(struct load *l, unsigned slot)
{
    struct ndk_side *s = l->context;

    disconnect(&s->conns[slot]);
}

const struct load_backend ndk_backend = { .open = client_open, .close = client_close };

void ndk_side_run(struct ndk_side *s, struct load *l)
{
    if (s->options.waiting)
        while (!atomic_load(&l->over))
            run_job(s);
    while (sem_wait(&l->end))
        continue;
}

/* ---- server ---- */

static void peer_gone(struct ndk_conn *c, NTSTATUS status)
{
    (void)status;
    disconnect(c);
}

static void disconnect_event(PVOID context)
{
    dispatch(context, peer_gone, STATUS_SUCCESS);
}

static void accepted(struct ndk_conn *c, NTSTATUS status)
{
    if (status != STATUS_SUCCESS)
        fail(c, status);
}

static void accept_request(struct ndk_conn *c, NTSTATUS status)
{
    struct ndk_side *s = c->side;
    NDK_CONNECTOR *connector = c->connector;

    (void)status;
    c->qp = ndk_side_qp(s, c, s->options.depth);
    if (s->options.prepare)
        s->options.prepare(c);
    expect(c, "NdkAccept", accepted);
    answered(c, connector->Dispatch->NdkAccept(connector, c->qp, s->options.reads, s->options.reads,
                                               (PVOID)(uintptr_t)s->options.accept_data, s->options.accept_len,
                                               disconnect_event, c, request_done, c));
}

static void connect_event(PVOID context, NDK_CONNECTOR *connector)
{
    struct ndk_conn *c = get_conn(context);

    c->connector = connector;
    dispatch(c, accept_request, STATUS_SUCCESS);
}

static uint16_t listen_once(struct ndk_side *s, NDK_LISTENER **out)
{
    struct sockaddr_in at = s->local;
    ULONG len = sizeof at;

    ndk_side_require(sync_create_listener(s->adapter, connect_event, s, out), "NdkCreateListener");
    ndk_side_require(sync_listen(*out, (struct sockaddr *)&at), "NdkListen");
    ndk_side_require((*out)->Dispatch->NdkGetLocalAddress(*out, (PSOCKADDR)&at, &len), "NdkGetLocalAddress");
    return at.sin_port;
}

void ndk_side_listen(struct ndk_side *s, uint16_t *ports)
{
    unsigned count = s->options.listeners ? s->options.listeners : 1;

    s->listeners = bench_pages(count * sizeof *s->listeners);
    for (; s->listener_count < count; s->listener_count++)
        ports[s->listener_count] = listen_once(s, &s->listeners[s->listener_count]);
}

static void *run_jobs(void *side)
{
    struct ndk_side *s = side;

    while (!atomic_load(&s->stop))
        run_job(s);
    return NULL;
}

void ndk_side_serve(struct ndk_side *s, int control)
{
    pthread_t thread;

    if (s->options.waiting && pthread_create(&thread, NULL, run_jobs, s))
        bench_die("no thread");
    bench_answer(control);
    for (unsigned n = 0; atomic_load(&s->alive) && n < 10000; n++)
        poll(NULL, 0, 1);
    if (!s->options.waiting)
        return;
    atomic_store(&s->stop, true);
    put_job(s, (struct ndk_job){ .run = NULL });
    pthread_join(thread, NULL);
}

/* ---- objects ---- */

NDK_QP *ndk_side_qp(struct ndk_side *s, void *context, unsigned depth)
{
    NDK_QP *qp;
    NDK_CQ *cq = s->cqs[atomic_fetch_add(&s->next_cq, 1) % s->options.cqs];
    NTSTATUS status = s->pd->Dispatch->NdkCreateQp(s->pd, cq, cq, context, depth, depth, 1, 1, 0, create_done,
                                                   context, &qp);

    if (status != STATUS_SUCCESS)
        bench_die("NdkCreateQp: %s", ondk_status_name(status));
    return qp;
}

static void notified(PVOID context, NTSTATUS status)
{
    (void)context;
    (void)status;
}

static void make_objects(struct ndk_side *s)
{
    const struct ndk_options *o = &s->options;

    ndk_side_require(ondk_open_adapter((NDK_VERSION){ 2, 1 }, if_nametoindex("lo"), &s->adapter), "ondk_open_adapter");
    ndk_side_require(sync_create_pd(s->adapter, &s->pd), "NdkCreatePd");
    s->cqs = bench_pages(o->cqs * sizeof *s->cqs);
    for (unsigned i = 0; i < o->cqs; i++)
        ndk_side_require(sync_create_cq(s->adapter, o->cq_depth, o->notify ? o->notify : notified,
                                        (char *)o->notify_context + i * o->notify_stride, &s->cqs[i]), "NdkCreateCq");
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
    make_objects(s);
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
