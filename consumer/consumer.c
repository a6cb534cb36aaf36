/* SPDX-License-Identifier: MIT */
/* A small NDK consumer that waits: see consumer.h. */
#include "consumer/consumer.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEPTH = 64, SGES = 2 };

static void event_init(struct event *e)
{
    pthread_condattr_t clock;

    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&e->change, &clock);
    pthread_condattr_destroy(&clock);
    e->count = 0;
}

static void event_set(struct event *e)
{
    pthread_mutex_lock(&e->lock);
    e->count++;
    pthread_cond_broadcast(&e->change);
    pthread_mutex_unlock(&e->lock);
}

/* Waits until the event has been set more than `seen` times; false after so many milliseconds (0: no limit). */
static bool event_wait_ms(struct event *e, unsigned seen, uint64_t ms)
{
    struct timespec until;
    bool came;
    int error = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&e->lock);
    while (e->count <= seen && error != ETIMEDOUT) {
        if (ms)
            error = pthread_cond_timedwait(&e->change, &e->lock, &until);
        else
            pthread_cond_wait(&e->change, &e->lock);
    }
    came = e->count > seen;
    pthread_mutex_unlock(&e->lock);
    return came;
}

static bool event_wait(struct event *e, unsigned seen, unsigned seconds)
{
    return event_wait_ms(e, seen, (uint64_t)seconds * 1000);
}

static unsigned event_count(struct event *e)
{
    unsigned count;

    pthread_mutex_lock(&e->lock);
    count = e->count;
    pthread_mutex_unlock(&e->lock);
    return count;
}

/* ---- completions: one request is outstanding at a time ---- */

static void request_done(void *context, NTSTATUS status)
{
    struct consumer *c = context;

    c->status = status;
    event_set(&c->done);
}

static void create_done(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    struct consumer *c = context;

    c->status = status;
    c->object = object;
    event_set(&c->done);
}

static void close_done(void *context)
{
    struct consumer *c = context;

    event_set(&c->done);
}

static NTSTATUS finish(struct consumer *c, unsigned before, NTSTATUS status)
{
    if (status != STATUS_PENDING)
        return status;
    event_wait(&c->done, before, 0);
    return c->status;
}

/* A create's object: in the out parameter, or handed over by the completion. */
static NTSTATUS finish_create(struct consumer *c, unsigned before, NTSTATUS status, void *out)
{
    if (status != STATUS_PENDING)
        return status;
    status = finish(c, before, status);
    if (NT_SUCCESS(status))
        memcpy(out, &c->object, sizeof c->object);
    return status;
}

static void close_object(struct consumer *c, NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_OBJECT close_it)
{
    unsigned before = event_count(&c->done);

    if (close_it(header, close_done, c) == STATUS_PENDING)
        event_wait(&c->done, before, 0);
}

/* ---- events ---- */

static void cq_notification(void *context, NTSTATUS status)
{
    (void)status; /* an overflow ends the queue pairs: the results that are there say so */
    event_set(((struct consumer *)context)->wake);
}

static void connect_event(void *context, NDK_CONNECTOR *connector)
{
    struct consumer *c = context;
    const unsigned room = sizeof c->requested / sizeof c->requested[0];

    pthread_mutex_lock(&c->requests.lock);
    if (c->asked - c->taken < room) {
        c->requested[c->asked++ % room] = connector;
        connector = NULL;
    }
    pthread_mutex_unlock(&c->requests.lock);
    if (connector) /* nobody takes it: closing refuses the peer */
        connector->Dispatch->NdkCloseConnector(&connector->Header, close_done, c);
    else
        event_set(&c->requests);
}

static void disconnect_event(void *context, ULONG reason)
{
    struct consumer *c = context;

    c->disconnect_reason = reason;
    event_set(&c->disconnected);
    event_set(c->wake); /* who waits for a result looks up */
}

/* ---- objects ---- */

static ULONG least(ULONG a, ULONG b)
{
    return a < b ? a : b;
}

static NTSTATUS make_cq(struct consumer *c, uint32_t depth)
{
    unsigned before = event_count(&c->done);

    return finish_create(c, before, c->adapter->Dispatch->NdkCreateCq(c->adapter, depth, cq_notification, c, NULL,
                                                                      create_done, c, &c->cq), &c->cq);
}

static NTSTATUS make_qp(struct consumer *c, NDK_CQ *cq, const struct consumer_queues *q)
{
    unsigned before = event_count(&c->done);

    return finish_create(c, before, c->pd->Dispatch->NdkCreateQp(c->pd, cq, cq, c, q->receives, q->requests,
                                                                 least(SGES, c->info.MaxReceiveRequestSge),
                                                                 least(SGES, c->info.MaxInitiatorRequestSge),
                                                                 q->inline_size, create_done, c, &c->qp), &c->qp);
}

/* As much as the adapter allows, where that is less than wanted. */
static NTSTATUS make_queues(struct consumer *c, const char **what)
{
    const struct consumer_queues queues = { least(DEPTH, c->info.MaxReceiveQueueDepth),
                                            least(DEPTH, c->info.MaxInitiatorQueueDepth), 0 };
    unsigned before;
    NTSTATUS status;

    *what = "NdkCreatePd";
    before = event_count(&c->done);
    status = finish_create(c, before, c->adapter->Dispatch->NdkCreatePd(c->adapter, create_done, c, &c->pd), &c->pd);
    if (!NT_SUCCESS(status))
        return status;
    *what = "NdkCreateCq";
    status = make_cq(c, least(2 * DEPTH, c->info.MaxCqDepth));
    if (!NT_SUCCESS(status))
        return status;
    *what = "NdkCreateQp";
    return make_qp(c, c->cq, &queues);
}

static void consumer_init(struct consumer *c)
{
    memset(c, 0, sizeof *c);
    event_init(&c->done);
    event_init(&c->requests);
    event_init(&c->notified);
    event_init(&c->disconnected);
    c->wake = &c->notified;
}

NTSTATUS consumer_open_beside(struct consumer *c, const struct consumer *other, const char **what)
{
    consumer_init(c);
    c->adapter = other->adapter;
    c->info = other->info;
    c->beside = true;
    return make_queues(c, what);
}

NTSTATUS consumer_open(struct consumer *c, uint32_t if_index, const char **what)
{
    ULONG size = sizeof c->info;
    NTSTATUS status;

    consumer_init(c);
    *what = "ondk_open_adapter";
    status = ondk_open_adapter((NDK_VERSION){ 2, 1 }, if_index, &c->adapter);
    if (!NT_SUCCESS(status)) {
        c->adapter = NULL;
        return status;
    }
    *what = "NdkQueryAdapterInfo";
    status = c->adapter->Dispatch->NdkQueryAdapterInfo(c->adapter, &c->info, &size);
    return NT_SUCCESS(status) ? make_queues(c, what) : status;
}

NTSTATUS consumer_join(struct consumer *c, struct consumer *first, struct consumer *cq_of, uint32_t cq_depth,
                       const struct consumer_queues *queues, const char **what)
{
    NTSTATUS status;

    consumer_init(c);
    c->wake = &first->notified;
    c->first = first;
    c->adapter = first->adapter;
    c->pd = first->pd;
    c->info = first->info;
    if (!cq_of) {
        *what = "NdkCreateCq";
        status = make_cq(c, cq_depth);
        if (!NT_SUCCESS(status))
            return status;
    }
    *what = "NdkCreateQp";
    return make_qp(c, cq_of ? cq_of->cq : c->cq, queues);
}

unsigned consumer_notified(struct consumer *c)
{
    return event_count(c->wake);
}

void consumer_wait(struct consumer *c, unsigned seen, unsigned ms)
{
    event_wait_ms(c->wake, seen, ms);
}

bool consumer_gone(struct consumer *c)
{
    return event_count(&c->disconnected) > 0;
}

void consumer_drop(struct consumer *c)
{
    if (c->connector)
        close_object(c, &c->connector->Header, c->connector->Dispatch->NdkCloseConnector);
    c->connector = NULL;
}

void consumer_close(struct consumer *c)
{
    consumer_drop(c);
    while (c->taken < c->asked) { /* who asked and was never answered */
        NDK_CONNECTOR *asked = c->requested[c->taken++ % (sizeof c->requested / sizeof c->requested[0])];
        close_object(c, &asked->Header, asked->Dispatch->NdkCloseConnector);
    }
    if (c->listener)
        close_object(c, &c->listener->Header, c->listener->Dispatch->NdkCloseListener);
    if (c->qp)
        close_object(c, &c->qp->Header, c->qp->Dispatch->NdkCloseQp);
    if (c->cq)
        close_object(c, &c->cq->Header, c->cq->Dispatch->NdkCloseCq);
    if (c->pd && !c->first)
        close_object(c, &c->pd->Header, c->pd->Dispatch->NdkClosePd);
    if (c->adapter && !c->beside && !c->first)
        ondk_close_adapter(c->adapter);
    c->listener = NULL;
    c->qp = NULL;
    c->cq = NULL;
    c->pd = NULL;
    c->adapter = NULL;
}

NTSTATUS consumer_region(struct consumer *c, struct region *r, uint32_t len)
{
    return consumer_region_with(c, r, len, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ |
                                               NDK_MR_FLAG_ALLOW_REMOTE_WRITE);
}

NTSTATUS consumer_region_with(struct consumer *c, struct region *r, uint32_t len, ULONG flags)
{
    unsigned before = event_count(&c->done);
    size_t pages = (len + PAGE_SIZE - 1) / PAGE_SIZE;
    NTSTATUS status;

    memset(r, 0, sizeof *r);
    r->memory = aligned_alloc(PAGE_SIZE, (pages ? pages : 1) * PAGE_SIZE);
    if (!r->memory)
        return STATUS_INSUFFICIENT_RESOURCES;
    memset(r->memory, 0, (pages ? pages : 1) * PAGE_SIZE);
    r->len = len;
    status = finish_create(c, before, c->pd->Dispatch->NdkCreateMr(c->pd, FALSE, create_done, c, &r->mr), &r->mr);
    if (NT_SUCCESS(status)) {
        ondk_mdl_init(&r->mdl, r->memory, len, NULL);
        before = event_count(&c->done);
        status = finish(c, before, r->mr->Dispatch->NdkRegisterMr(r->mr, &r->mdl, len, flags, request_done, c));
    }
    if (!NT_SUCCESS(status)) {
        consumer_region_close(c, r);
        return status;
    }
    r->local_token = r->mr->Dispatch->NdkGetLocalTokenFromMr(r->mr);
    r->remote_token = r->mr->Dispatch->NdkGetRemoteTokenFromMr(r->mr);
    return STATUS_SUCCESS;
}

void consumer_region_close(struct consumer *c, struct region *r)
{
    if (r->mr)
        close_object(c, &r->mr->Header, r->mr->Dispatch->NdkCloseMr);
    free(r->memory);
    memset(r, 0, sizeof *r);
}

/* ---- connections ---- */

static ULONG address_len(const struct sockaddr *a)
{
    return a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

NTSTATUS consumer_listen(struct consumer *c, const struct sockaddr *address)
{
    unsigned before = event_count(&c->done);
    NTSTATUS status = finish_create(c, before, c->adapter->Dispatch->NdkCreateListener(c->adapter, connect_event, c,
                                                                                       create_done, c, &c->listener),
                                    &c->listener);

    if (!NT_SUCCESS(status))
        return status;
    before = event_count(&c->done);
    return finish(c, before, c->listener->Dispatch->NdkListen(c->listener, (PSOCKADDR)address, address_len(address),
                                                              request_done, c));
}

bool consumer_listening(struct consumer *c, struct sockaddr_storage *address)
{
    ULONG len = sizeof *address;

    return NT_SUCCESS(c->listener->Dispatch->NdkGetLocalAddress(c->listener, (PSOCKADDR)address, &len));
}

NDK_CONNECTOR *consumer_request(struct consumer *c, unsigned seconds)
{
    NDK_CONNECTOR *connector = NULL;

    if (!event_wait(&c->requests, c->taken, seconds))
        return NULL;
    pthread_mutex_lock(&c->requests.lock);
    connector = c->requested[c->taken++ % (sizeof c->requested / sizeof c->requested[0])];
    pthread_mutex_unlock(&c->requests.lock);
    return connector;
}

NTSTATUS consumer_connect(struct consumer *c, const struct sockaddr *from, const struct sockaddr *to,
                          struct consumer_limits limits, const void *data, uint32_t len)
{
    unsigned before = event_count(&c->done);
    NTSTATUS status;

    if (!c->connector) {
        status = finish_create(c, before, c->adapter->Dispatch->NdkCreateConnector(c->adapter, create_done, c,
                                                                                   &c->connector), &c->connector);
        if (!NT_SUCCESS(status))
            return status;
        before = event_count(&c->done);
    }
    return finish(c, before, c->connector->Dispatch->NdkConnect(c->connector, c->qp, (PSOCKADDR)from, address_len(from),
                                                                (PSOCKADDR)to, address_len(to), limits.inbound,
                                                                limits.outbound, (PVOID)data, len, request_done, c));
}

NTSTATUS consumer_complete(struct consumer *c)
{
    unsigned before = event_count(&c->done);

    return finish(c, before, c->connector->Dispatch->NdkCompleteConnectEx(c->connector, disconnect_event, c,
                                                                          request_done, c));
}

NTSTATUS consumer_accept(struct consumer *c, struct consumer_limits limits, const void *data, uint32_t len)
{
    unsigned before = event_count(&c->done);

    return finish(c, before, c->connector->Dispatch->NdkAcceptEx(c->connector, c->qp, limits.inbound, limits.outbound,
                                                                 (PVOID)data, len, disconnect_event, c, request_done,
                                                                 c));
}

NTSTATUS consumer_disconnect(struct consumer *c)
{
    unsigned before = event_count(&c->done);

    return finish(c, before, c->connector->Dispatch->NdkDisconnect(c->connector, request_done, c));
}

bool consumer_wait_disconnect(struct consumer *c, unsigned seconds)
{
    return event_wait(&c->disconnected, 0, seconds);
}

/* ---- requests ---- */

bool consumer_result(struct consumer *c, NDK_RESULT_EX *result, unsigned seconds)
{
    for (;;) {
        unsigned before = event_count(c->wake);
        bool gone = consumer_gone(c);

        if (c->cq->Dispatch->NdkGetCqResultsEx(c->cq, result, 1))
            return true;
        if (gone)
            return false;
        c->cq->Dispatch->NdkArmCq(c->cq, NDK_CQ_NOTIFY_ANY);
        if (!event_wait(c->wake, before, seconds))
            return c->cq->Dispatch->NdkGetCqResultsEx(c->cq, result, 1) > 0;
    }
}

NDK_SGE consumer_sge(const struct region *r, uint32_t offset, uint32_t len)
{
    NDK_SGE sge;

    memset(&sge, 0, sizeof sge);
    sge.VirtualAddress = r->memory + offset;
    sge.Length = len;
    sge.MemoryRegionToken = r->local_token;
    return sge;
}
