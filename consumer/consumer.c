/* SPDX-License-Identifier: MIT */
/* Implements one connection of a small NDK consumer: see consumer.h. */
#include "consumer/consumer.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "consumer/provider.h"
#include "consumer/sync.h"

enum { DEPTH = 64, SGES = 2, WAIT_STEP_MS = 200 };

/* ---- events ---- */

static void event_init(struct event *e)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&e->change, &attr);
    pthread_condattr_destroy(&attr);
    e->count = 0;
}

static void event_add(struct event *e)
{
    pthread_mutex_lock(&e->lock);
    e->count++;
    pthread_cond_broadcast(&e->change);
    pthread_mutex_unlock(&e->lock);
}

/*
 * Waits until e->count exceeds `seen`, and returns true. Returns false after `ms` milliseconds (0: no limit), or if `c`
 * is cancelled.
 */
static bool event_wait(struct consumer *c, struct event *e, unsigned seen, uint64_t ms)
{
    struct timespec until;
    bool is_above;
    int error = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&e->lock);
    while (e->count <= seen && error != ETIMEDOUT && !atomic_load(&c->is_cancelled)) {
        if (ms)
            error = pthread_cond_timedwait(&e->change, &e->lock, &until);
        else
            pthread_cond_wait(&e->change, &e->lock);
    }
    is_above = e->count > seen;
    pthread_mutex_unlock(&e->lock);
    return is_above;
}

static unsigned event_count(struct event *e)
{
    unsigned count;

    pthread_mutex_lock(&e->lock);
    count = e->count;
    pthread_mutex_unlock(&e->lock);
    return count;
}

/* ---- callbacks, on threads of the provider ---- */

static void consumer_on_notify(void *context, NTSTATUS status)
{
    struct consumer *c = context;

    (void)status; /* not needed: after a CQ overflow, the consumer gets failed results */
    event_add(c->wake);
}

static void consumer_on_disconnect(void *context, ULONG reason)
{
    struct consumer *c = context;

    c->disconnect_reason = reason;
    event_add(&c->disconnected);
    event_add(c->wake);
}

static void consumer_on_refused(void *context)
{
    (void)context;
}

static void consumer_on_request(void *context, NDK_CONNECTOR *connector)
{
    struct consumer *c = context;
    bool is_refused;

    pthread_mutex_lock(&c->requested.lock);
    is_refused = c->is_closing || c->requested.count - c->requests_popped == CONSUMER_MAX_REQUESTS;
    if (!is_refused) {
        c->requests[c->requested.count++ % CONSUMER_MAX_REQUESTS] = connector;
        pthread_cond_broadcast(&c->requested.change);
    }
    pthread_mutex_unlock(&c->requested.lock);
    if (is_refused) /* NdkCloseListener completes only after this close */
        connector->Dispatch->NdkCloseConnector(&connector->Header, consumer_on_refused, NULL);
}

/* ---- objects ---- */

static void consumer_init(struct consumer *c)
{
    memset(c, 0, sizeof *c);
    event_init(&c->notified);
    event_init(&c->disconnected);
    event_init(&c->requested);
    c->wake = &c->notified;
}

static ULONG min_ulong(ULONG a, ULONG b)
{
    return a < b ? a : b;
}

/* Creates the QP of `c`. If `cq` is NULL, also creates the CQ of `c`, with `cq_depth` entries. */
static NTSTATUS consumer_create_queues(struct consumer *c, NDK_CQ *cq, uint32_t cq_depth,
                                       const struct consumer_queues *queues, const char **step)
{
    struct sync_qp options = { .cq = cq,
                               .context = c,
                               .receives = queues->receives,
                               .requests = queues->requests,
                               .receive_sges = min_ulong(SGES, c->info.MaxReceiveRequestSge),
                               .request_sges = min_ulong(SGES, c->info.MaxInitiatorRequestSge),
                               .inline_size = queues->inline_size };
    NTSTATUS status;

    if (!cq) {
        *step = "NdkCreateCq";
        status = sync_create_cq(c->adapter, cq_depth, consumer_on_notify, c, &c->cq);
        if (!NT_SUCCESS(status))
            return status;
        options.cq = c->cq;
    }
    *step = "NdkCreateQp";
    return sync_create_qp(c->pd, &options, &c->qp);
}

/* Creates PD, CQ and QP. A queue has DEPTH entries, or fewer if the adapter's maximum is lower. */
static NTSTATUS consumer_create_objects(struct consumer *c, const char **step)
{
    const struct consumer_queues queues = { min_ulong(DEPTH, c->info.MaxReceiveQueueDepth),
                                            min_ulong(DEPTH, c->info.MaxInitiatorQueueDepth), 0 };
    NTSTATUS status;

    *step = "NdkCreatePd";
    c->owns_pd = true;
    status = sync_create_pd(c->adapter, &c->pd);
    if (!NT_SUCCESS(status))
        return status;
    return consumer_create_queues(c, NULL, min_ulong(2 * DEPTH, c->info.MaxCqDepth), &queues, step);
}

NTSTATUS consumer_open(struct consumer *c, uint32_t if_index, const char **step)
{
    ULONG size = sizeof c->info;
    NTSTATUS status;

    consumer_init(c);
    *step = consumer_open_adapter_name();
    status = consumer_open_adapter((NDK_VERSION){ 2, 1 }, if_index, &c->adapter);
    if (!NT_SUCCESS(status)) {
        c->adapter = NULL;
        return status;
    }
    c->owns_adapter = true;
    *step = "NdkQueryAdapterInfo";
    status = c->adapter->Dispatch->NdkQueryAdapterInfo(c->adapter, &c->info, &size);
    return NT_SUCCESS(status) ? consumer_create_objects(c, step) : status;
}

NTSTATUS consumer_open_on_adapter(struct consumer *c, const struct consumer *other, const char **step)
{
    consumer_init(c);
    c->adapter = other->adapter;
    c->info = other->info;
    return consumer_create_objects(c, step);
}

NTSTATUS consumer_open_on_pd(struct consumer *c, struct consumer *first, struct consumer *cq_owner, uint32_t cq_depth,
                             const struct consumer_queues *queues, const char **step)
{
    consumer_init(c);
    c->wake = &first->notified;
    c->adapter = first->adapter;
    c->pd = first->pd;
    c->info = first->info;
    return consumer_create_queues(c, cq_owner ? cq_owner->cq : NULL, cq_depth, queues, step);
}

void consumer_close_connector(struct consumer *c)
{
    if (c->connector)
        sync_close(c->connector);
    c->connector = NULL;
}

void consumer_close_qp(struct consumer *c)
{
    consumer_close_connector(c);
    if (c->qp)
        sync_close(c->qp);
    c->qp = NULL;
}

/*
 * Closes the connectors of requests that the consumer has not taken, and then the listener. The listener's close waits
 * for the closes of all its connectors.
 */
static void consumer_close_listener(struct consumer *c)
{
    if (!c->listener)
        return;
    pthread_mutex_lock(&c->requested.lock);
    c->is_closing = true;
    pthread_mutex_unlock(&c->requested.lock);
    while (c->requests_popped < c->requested.count)
        sync_close(c->requests[c->requests_popped++ % CONSUMER_MAX_REQUESTS]);
    sync_close(c->listener);
    c->listener = NULL;
}

void consumer_close(struct consumer *c)
{
    consumer_close_qp(c);
    consumer_close_listener(c);
    if (c->cq)
        sync_close(c->cq);
    if (c->pd && c->owns_pd)
        sync_close(c->pd);
    if (c->adapter && c->owns_adapter)
        consumer_close_adapter(c->adapter);
    c->cq = NULL;
    c->pd = NULL;
    c->adapter = NULL;
}

/* ---- connections ---- */

NTSTATUS consumer_listen(struct consumer *c, const struct sockaddr *address)
{
    NTSTATUS status = sync_create_listener(c->adapter, consumer_on_request, c, &c->listener);

    return NT_SUCCESS(status) ? sync_listen(c->listener, address) : status;
}

NTSTATUS consumer_listener_address(struct consumer *c, struct sockaddr_storage *address)
{
    ULONG len = sizeof *address;

    return c->listener->Dispatch->NdkGetLocalAddress(c->listener, (PSOCKADDR)address, &len);
}

NDK_CONNECTOR *consumer_next_request(struct consumer *c, unsigned seconds)
{
    return consumer_next_request_ms(c, (uint64_t)seconds * 1000);
}

NDK_CONNECTOR *consumer_next_request_ms(struct consumer *c, uint64_t ms)
{
    NDK_CONNECTOR *connector = NULL;

    if (!event_wait(c, &c->requested, c->requests_popped, ms))
        return NULL;
    pthread_mutex_lock(&c->requested.lock);
    connector = c->requests[c->requests_popped++ % CONSUMER_MAX_REQUESTS];
    pthread_mutex_unlock(&c->requested.lock);
    return connector;
}

/* Waits for a pending connect. Cancels the connect if is_interrupted returns true. */
static NTSTATUS consumer_wait_connect(struct consumer *c, struct sync *s, NTSTATUS status)
{
    if (status != STATUS_PENDING || !c->is_interrupted)
        return sync_wait(s, status);
    while (!sync_wait_ms(s, WAIT_STEP_MS))
        if (c->is_interrupted()) {
            consumer_close_connector(c);
            (void)sync_wait(s, status);
            return STATUS_CANCELLED;
        }
    return sync_wait(s, status);
}

/*
 * Stores the connection's read limits in c->effective. A client calls this function between NdkConnect and
 * NdkCompleteConnect. A server calls it after NdkAccept. NdkConnect or NdkAccept must have succeeded.
 */
static NTSTATUS consumer_read_limits(struct consumer *c)
{
    ULONG inbound = 0, outbound = 0;
    NTSTATUS status = c->connector->Dispatch->NdkGetConnectionData(c->connector, &inbound, &outbound, NULL, NULL);

    c->effective = (struct consumer_limits){ inbound, outbound };
    return status;
}

NTSTATUS consumer_connect(struct consumer *c, const struct sockaddr *from, const struct sockaddr *to,
                          struct consumer_limits limits, const void *data, uint32_t len)
{
    NTSTATUS status = c->connector ? STATUS_SUCCESS : sync_create_connector(c->adapter, &c->connector);
    NDK_CONNECTOR *k = c->connector;
    struct sync s;

    if (!NT_SUCCESS(status))
        return status;
    sync_init(&s);
    status = k->Dispatch->NdkConnect(k, c->qp, (PSOCKADDR)from, sync_address_len(from), (PSOCKADDR)to,
                                     sync_address_len(to), limits.inbound, limits.outbound, (PVOID)data, len,
                                     sync_on_request, &s);
    status = consumer_wait_connect(c, &s, status);
    sync_fini(&s);
    return NT_SUCCESS(status) ? consumer_read_limits(c) : status;
}

NTSTATUS consumer_complete_connect(struct consumer *c)
{
    NDK_CONNECTOR *k = c->connector;
    struct sync s;
    NTSTATUS status;

    sync_init(&s);
    status = sync_wait(&s, k->Dispatch->NdkCompleteConnectEx(k, consumer_on_disconnect, c, sync_on_request, &s));
    sync_fini(&s);
    return status;
}

NTSTATUS consumer_accept(struct consumer *c, struct consumer_limits limits, const void *data, uint32_t len)
{
    NDK_CONNECTOR *k = c->connector;
    struct sync s;
    NTSTATUS status;

    sync_init(&s);
    status = sync_wait(&s, k->Dispatch->NdkAcceptEx(k, c->qp, limits.inbound, limits.outbound, (PVOID)data, len,
                                                    consumer_on_disconnect, c, sync_on_request, &s));
    sync_fini(&s);
    return NT_SUCCESS(status) ? consumer_read_limits(c) : status;
}

NTSTATUS consumer_disconnect(struct consumer *c)
{
    NDK_CONNECTOR *k = c->connector;
    struct sync s;
    NTSTATUS status;

    sync_init(&s);
    status = sync_wait(&s, k->Dispatch->NdkDisconnect(k, sync_on_request, &s));
    sync_fini(&s);
    return status;
}

bool consumer_is_disconnected(struct consumer *c)
{
    return event_count(&c->disconnected) > 0;
}

bool consumer_wait_disconnect(struct consumer *c, unsigned seconds)
{
    return consumer_wait_disconnect_ms(c, (uint64_t)seconds * 1000);
}

bool consumer_wait_disconnect_ms(struct consumer *c, uint64_t ms)
{
    return event_wait(c, &c->disconnected, 0, ms);
}

/* ---- cancellation ---- */

static void event_wake(struct event *e)
{
    pthread_mutex_lock(&e->lock);
    pthread_cond_broadcast(&e->change);
    pthread_mutex_unlock(&e->lock);
}

void consumer_cancel(struct consumer *c)
{
    atomic_store(&c->is_cancelled, true);
    event_wake(c->wake);
    event_wake(&c->disconnected);
    event_wake(&c->requested);
}

bool consumer_is_cancelled(struct consumer *c)
{
    return atomic_load(&c->is_cancelled);
}

/* ---- results ---- */

bool consumer_next_result(struct consumer *c, NDK_RESULT_EX *result, unsigned seconds)
{
    return consumer_next_result_ms(c, result, (uint64_t)seconds * 1000);
}

bool consumer_next_result_ms(struct consumer *c, NDK_RESULT_EX *result, uint64_t ms)
{
    for (;;) {
        unsigned count = event_count(c->wake);
        bool is_disconnected = consumer_is_disconnected(c);

        if (c->cq->Dispatch->NdkGetCqResultsEx(c->cq, result, 1))
            return true;
        if (is_disconnected || consumer_is_cancelled(c))
            return false;
        c->cq->Dispatch->NdkArmCq(c->cq, NDK_CQ_NOTIFY_ANY);
        if (!event_wait(c, c->wake, count, ms))
            return c->cq->Dispatch->NdkGetCqResultsEx(c->cq, result, 1) > 0;
    }
}

unsigned consumer_wake_count(struct consumer *c)
{
    return event_count(c->wake);
}

void consumer_wait_wake(struct consumer *c, unsigned count, unsigned ms)
{
    event_wait(c, c->wake, count, ms);
}
