/* SPDX-License-Identifier: MIT */
/*
 * The service that is attacked: see service.h.
 *
 *   a connection   WAITING -> ACCEPTING -> OPEN -> DISCONNECTING, and then closed by the service's thread
 *
 * Callbacks add a note to a connection, queue it, and access nothing else of it. Only the service's thread, which
 * handles the notes, uses connections, slots and queues. A slot of memory is either posted as a receive or sent as the
 * answer; the completion of one starts the other.
 */
#include "hostile/service.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "address.h"
#include "consumer/sync.h"
#include "hostile/fenced.h"
#include "interface.h"
#include "openndk/adapter.h"
#include "openndk/counters.h"
#include "openndk/reason.h"

enum { RESULTS_AT_ONCE = 32, READ_LIMIT = 8, REPLY_DATA = 28, REGION_SIZE = 65536 };
enum note { NOTE_ACCEPTED = 1, NOTE_GONE = 2, NOTE_RESULTS = 4, NOTE_DISCONNECTED = 8 };
enum state { WAITING, ACCEPTING, OPEN, DISCONNECTING };

struct conn {
    TAILQ_ENTRY(conn) link;
    TAILQ_ENTRY(conn) noted;
    bool is_noted;     /* lock */
    unsigned notes;    /* lock */
    NTSTATUS accepted; /* lock */
    uint32_t reason;   /* lock */
    uint64_t answer_at_ms;
    enum state state;
    bool is_gone;
    NDK_CONNECTOR *connector;
    NDK_CQ *cq;
    NDK_QP *qp;
    uint32_t place; /* index of the connection's slots if there is no shared receive queue */
};
TAILQ_HEAD(conns, conn);

static struct {
    struct service_options options;
    NDK_ADAPTER *adapter;
    NDK_PD *pd;
    NDK_SRQ *srq;
    NDK_LISTENER *listeners[SERVICE_MAX_LISTENERS];
    uint16_t ports[SERVICE_MAX_LISTENERS];
    struct fenced messages, open, fixed;
    uint32_t *places, place_count;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct conns all, noted, arrived; /* lock */
    bool stopping, delays_answers;    /* lock */
    struct {
        char name[SERVICE_REASON_NAME];
        uint32_t count;
    } reasons[SERVICE_MAX_REASONS]; /* lock */
    uint32_t reasons_count;         /* lock */
    atomic_uint requests, rejects, opened, now;
    atomic_ullong messages_echoed;
} s;

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void count_reason(const char *name)
{
    uint32_t i = 0;

    pthread_mutex_lock(&s.lock);
    while (i < s.reasons_count && strcmp(s.reasons[i].name, name) != 0)
        i++;
    if (i == s.reasons_count && i < SERVICE_MAX_REASONS) {
        snprintf(s.reasons[i].name, SERVICE_REASON_NAME, "%s", name);
        s.reasons_count++;
    }
    if (i < SERVICE_MAX_REASONS)
        s.reasons[i].count++;
    pthread_mutex_unlock(&s.lock);
}

/* ---- callbacks, on threads of the provider ---- */

static void note(struct conn *c, unsigned what, NTSTATUS status, uint32_t reason)
{
    pthread_mutex_lock(&s.lock);
    c->notes |= what;
    if (what == NOTE_ACCEPTED)
        c->accepted = status;
    if (what == NOTE_GONE)
        c->reason = reason;
    if (!c->is_noted)
        TAILQ_INSERT_TAIL(&s.noted, c, noted);
    c->is_noted = true;
    pthread_cond_signal(&s.change);
    pthread_mutex_unlock(&s.lock);
}

static void on_results(void *context, NTSTATUS status)
{
    note(context, NOTE_RESULTS, status, 0);
}

static void on_accepted(void *context, NTSTATUS status)
{
    note(context, NOTE_ACCEPTED, status, 0);
}

static void on_disconnected(void *context, NTSTATUS status)
{
    note(context, NOTE_DISCONNECTED, status, 0);
}

static void conn_on_disconnect(void *context, ULONG reason)
{
    note(context, NOTE_GONE, STATUS_SUCCESS, reason);
}

static void on_refused(void *context)
{
    (void)context; /* ondk_close_adapter waits for the connector */
}

static void refuse(NDK_CONNECTOR *connector)
{
    atomic_fetch_add(&s.rejects, 1);
    connector->Dispatch->NdkReject(connector, NULL, 0);
    connector->Dispatch->NdkCloseConnector(&connector->Header, on_refused, NULL);
}

static void on_request(void *context, NDK_CONNECTOR *connector)
{
    struct conn *c = calloc(1, sizeof *c);

    (void)context;
    atomic_fetch_add(&s.requests, 1);
    if (!c) {
        refuse(connector);
        return;
    }
    c->connector = connector;
    c->answer_at_ms = now_ms() + s.options.answer_ms;
    pthread_mutex_lock(&s.lock);
    TAILQ_INSERT_TAIL(&s.arrived, c, noted);
    pthread_cond_signal(&s.change);
    pthread_mutex_unlock(&s.lock);
}

/* ---- slots ---- */

/* Without a shared receive queue a post fails only if the connection has ended. */
static void slot_post(struct conn *c, uint32_t slot)
{
    NDK_SGE sge = consumer_region_sge(&s.messages.region, slot * s.options.receive_size, s.options.receive_size);
    void *context = (void *)(uintptr_t)(slot + 1);

    if (!s.srq)
        (void)c->qp->Dispatch->NdkReceive(c->qp, context, &sge, 1);
    else if (!NT_SUCCESS(s.srq->Dispatch->NdkSrqReceive(s.srq, context, &sge, 1)))
        count_reason("a shared receive was not posted");
}

static void slot_answer(struct conn *c, uint32_t slot, uint32_t len)
{
    NDK_SGE sge = consumer_region_sge(&s.messages.region, slot * s.options.receive_size, len);

    if (NT_SUCCESS(c->qp->Dispatch->NdkSend(c->qp, (void *)(uintptr_t)(slot + 1), &sge, 1, 0)))
        atomic_fetch_add(&s.messages_echoed, 1);
    else
        slot_post(c, slot);
}

/* Handles all results. With `closed`, the queue pair is closed: releases the slots and answers nothing. */
static void conn_results(struct conn *c, bool closed)
{
    NDK_RESULT_EX results[RESULTS_AT_ONCE];
    ULONG n;

    while ((n = c->cq->Dispatch->NdkGetCqResultsEx(c->cq, results, RESULTS_AT_ONCE)) > 0) {
        for (ULONG i = 0; i < n; i++) {
            uint32_t slot = (uint32_t)((uintptr_t)results[i].RequestContext - 1);

            if (!closed && NT_SUCCESS(results[i].Status) && results[i].Type == NdkOperationTypeReceive)
                slot_answer(c, slot, results[i].BytesTransferred);
            else if (s.srq || (!closed && NT_SUCCESS(results[i].Status)))
                slot_post(c, slot);
        }
    }
}

/* ---- the life of a connection ---- */

static void conn_add(struct conn *c)
{
    pthread_mutex_lock(&s.lock);
    TAILQ_INSERT_TAIL(&s.all, c, link);
    pthread_mutex_unlock(&s.lock);
    atomic_fetch_add(&s.now, 1);
}

static void conn_close(struct conn *c)
{
    sync_close(c->connector);
    if (c->qp) {
        sync_close(c->qp);
        conn_results(c, true);
    }
    if (c->cq) {
        sync_close(c->cq);
        s.places[s.place_count++] = c->place;
    }
    pthread_mutex_lock(&s.lock);
    if (c->is_noted)
        TAILQ_REMOVE(&s.noted, c, noted);
    TAILQ_REMOVE(&s.all, c, link);
    pthread_mutex_unlock(&s.lock);
    atomic_fetch_sub(&s.now, 1);
    free(c);
}

static NTSTATUS conn_make_queues(struct conn *c)
{
    uint32_t depth = s.options.srq ? s.options.srq : s.options.receives;
    struct sync_qp options = {
        .srq = s.srq, .context = c, .receives = depth, .requests = depth, .receive_sges = 1, .request_sges = 1
    };
    NTSTATUS status = sync_create_cq(s.adapter, 2 * depth, on_results, c, &c->cq);

    if (!NT_SUCCESS(status))
        return status;
    c->place = s.places[--s.place_count];
    options.cq = c->cq;
    return sync_create_qp(s.pd, &options, &c->qp);
}

static uint8_t *put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--)
        *at++ = (uint8_t)(value >> (8 * i));
    return at;
}

/* Encodes the addresses and tokens of the writable and of the read-only region. */
static void describe_regions(uint8_t data[REPLY_DATA])
{
    uint8_t *at = put(data, (uintptr_t)s.open.region.memory, 8);

    at = put(put(at, s.open.region.remote_token, 4), s.open.region.len, 4);
    (void)put(put(at, (uintptr_t)s.fixed.region.memory, 8), s.fixed.region.remote_token, 4);
}

static void conn_accept(struct conn *c)
{
    uint8_t data[REPLY_DATA];
    NTSTATUS status = conn_make_queues(c);

    if (!NT_SUCCESS(status)) {
        count_reason(ondk_status_name(status));
        (void)c->connector->Dispatch->NdkReject(c->connector, NULL, 0);
        conn_close(c);
        return;
    }
    for (uint32_t i = 0; !s.srq && i < s.options.receives; i++)
        slot_post(c, c->place * s.options.receives + i);
    c->cq->Dispatch->NdkArmCq(c->cq, NDK_CQ_NOTIFY_ANY);
    describe_regions(data);
    c->state = ACCEPTING;
    status = c->connector->Dispatch->NdkAcceptEx(c->connector, c->qp, READ_LIMIT, READ_LIMIT, data, sizeof data,
                                                 conn_on_disconnect, c, on_accepted, c);
    if (status != STATUS_PENDING)
        on_accepted(c, status);
}

static bool is_stopping(void)
{
    pthread_mutex_lock(&s.lock);
    bool stopping = s.stopping;
    pthread_mutex_unlock(&s.lock);
    return stopping;
}

static void conn_answer(struct conn *c)
{
    if (s.place_count > 0 && !is_stopping()) {
        conn_accept(c);
        return;
    }
    atomic_fetch_add(&s.rejects, 1);
    (void)c->connector->Dispatch->NdkReject(c->connector, NULL, 0);
    conn_close(c);
}

/* Returns false if the connection was closed. */
static bool conn_accepted(struct conn *c, NTSTATUS status)
{
    if (NT_SUCCESS(status)) {
        c->state = OPEN;
        atomic_fetch_add(&s.opened, 1);
        return true;
    }
    count_reason(ondk_status_name(status));
    conn_close(c);
    return false;
}

static void conn_disconnect(struct conn *c)
{
    c->state = DISCONNECTING;
    if (c->connector->Dispatch->NdkDisconnect(c->connector, on_disconnected, c) != STATUS_PENDING)
        on_disconnected(c, STATUS_SUCCESS);
}

static void conn_handle(struct conn *c)
{
    bool stopping = is_stopping();

    pthread_mutex_lock(&s.lock);
    unsigned notes = c->notes;
    NTSTATUS accepted = c->accepted;
    uint32_t reason = c->reason;
    c->notes = 0;
    pthread_mutex_unlock(&s.lock);
    if (notes & NOTE_ACCEPTED && !conn_accepted(c, accepted))
        return;
    if (notes & NOTE_RESULTS && c->cq) {
        conn_results(c, false);
        c->cq->Dispatch->NdkArmCq(c->cq, NDK_CQ_NOTIFY_ANY);
    }
    if (notes & NOTE_GONE)
        count_reason(ondk_reason_name(reason));
    if (c->state == OPEN && (notes & NOTE_GONE || stopping))
        conn_disconnect(c);
    if (notes & NOTE_DISCONNECTED)
        conn_close(c);
}

/* ---- the thread ---- */

/* Stores the time of the next answer. Returns false if none waits. */
static bool next_answer(struct timespec *until)
{
    struct conn *c = TAILQ_FIRST(&s.arrived);
    uint64_t ms;

    if (!c || s.delays_answers)
        return false;
    ms = c->answer_at_ms;
    until->tv_sec = (time_t)(ms / 1000);
    until->tv_nsec = (long)(ms % 1000) * 1000000;
    return true;
}

/*
 * Waits for a connection whose request is due for an answer, or which has notes, and removes it from its queue. Returns
 * NULL after the last connection has ended.
 */
static struct conn *next_conn(bool *arrived)
{
    struct conn *c;
    struct timespec until;

    pthread_mutex_lock(&s.lock);
    for (;;) {
        *arrived = false;
        if ((c = TAILQ_FIRST(&s.noted))) {
            TAILQ_REMOVE(&s.noted, c, noted);
            c->is_noted = false;
            break;
        }
        c = TAILQ_FIRST(&s.arrived);
        *arrived = c && (s.stopping || (!s.delays_answers && c->answer_at_ms <= now_ms()));
        if (*arrived) {
            TAILQ_REMOVE(&s.arrived, c, noted);
            break;
        }
        c = NULL;
        if (s.stopping && TAILQ_EMPTY(&s.all))
            break;
        if (next_answer(&until))
            pthread_cond_timedwait(&s.change, &s.lock, &until);
        else
            pthread_cond_wait(&s.change, &s.lock);
    }
    pthread_mutex_unlock(&s.lock);
    return c;
}

static void *serve(void *unused)
{
    struct conn *c;
    bool arrived;

    (void)unused;
    while ((c = next_conn(&arrived))) {
        if (arrived) {
            conn_add(c);
            conn_answer(c);
        } else {
            conn_handle(c);
        }
    }
    return NULL;
}

/* ---- start and stop ---- */

static NTSTATUS make_memory(const char **step)
{
    const struct service_options *o = &s.options;
    uint32_t slots = o->srq ? o->srq : o->receives * o->connections;
    NTSTATUS status;

    *step = "regions";
    status = fenced_create(&s.messages, s.pd, slots * o->receive_size, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
    if (NT_SUCCESS(status))
        status = fenced_create(&s.open, s.pd, REGION_SIZE, CONSUMER_ALL_RIGHTS);
    if (NT_SUCCESS(status))
        status = fenced_create(&s.fixed, s.pd, REGION_SIZE, NDK_MR_FLAG_ALLOW_REMOTE_READ);
    s.places = calloc(o->connections, sizeof *s.places);
    if (!s.places)
        return STATUS_INSUFFICIENT_RESOURCES;
    while (s.place_count < o->connections) {
        s.places[s.place_count] = s.place_count;
        s.place_count++;
    }
    return status;
}

static NTSTATUS make_srq(const char **step)
{
    NTSTATUS status;

    if (!s.options.srq)
        return STATUS_SUCCESS;
    *step = "NdkCreateSrq";
    status = sync_create_srq(s.pd, s.options.srq, 1, &s.srq);
    for (uint32_t i = 0; NT_SUCCESS(status) && i < s.options.srq; i++)
        slot_post(NULL, i);
    return status;
}

static NTSTATUS listen_at(uint32_t i, struct sockaddr_storage *address)
{
    struct sockaddr *sa = (struct sockaddr *)address;
    ULONG len = sync_address_len(sa);
    NTSTATUS status = sync_create_listener(s.adapter, on_request, NULL, &s.listeners[i]);

    if (NT_SUCCESS(status))
        status = sync_listen(s.listeners[i], sa);
    if (NT_SUCCESS(status))
        status = s.listeners[i]->Dispatch->NdkGetLocalAddress(s.listeners[i], sa, &len);
    s.ports[i] = ntohs(((struct sockaddr_in *)address)->sin_port); /* at the same offset in an IPv6 address */
    ((struct sockaddr_in *)address)->sin_port = 0;
    return status;
}

NTSTATUS service_start(const struct service_options *options, const char **step)
{
    struct sockaddr_storage address = options->address;
    pthread_condattr_t clock;
    NTSTATUS status;

    s.options = *options;
    s.delays_answers = options->delays_answers;
    TAILQ_INIT(&s.all);
    TAILQ_INIT(&s.noted);
    TAILQ_INIT(&s.arrived);
    pthread_mutex_init(&s.lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&s.change, &clock);
    pthread_condattr_destroy(&clock);
    *step = "ondk_open_adapter";
    status = ondk_open_adapter((NDK_VERSION){ 2, 1 }, interface_of_address(&address), &s.adapter);
    if (!NT_SUCCESS(status))
        return status;
    *step = "NdkCreatePd";
    status = sync_create_pd(s.adapter, &s.pd);
    if (NT_SUCCESS(status))
        status = make_memory(step);
    if (NT_SUCCESS(status))
        status = make_srq(step);
    if (NT_SUCCESS(status) && pthread_create(&s.thread, NULL, serve, NULL))
        status = STATUS_INSUFFICIENT_RESOURCES;
    for (uint32_t i = 0; NT_SUCCESS(status) && i < options->listeners; i++) {
        *step = "NdkListen";
        status = listen_at(i, &address);
    }
    return status;
}

uint16_t service_port(uint32_t listener)
{
    return s.ports[listener];
}

/* Adds a note to each open connection, so that the thread disconnects it. */
static void note_all(void)
{
    struct conn *c;

    TAILQ_FOREACH (c, &s.all, link) {
        if (!c->is_noted)
            TAILQ_INSERT_TAIL(&s.noted, c, noted);
        c->is_noted = true;
    }
}

void service_answer(void)
{
    pthread_mutex_lock(&s.lock);
    s.delays_answers = false;
    pthread_cond_signal(&s.change);
    pthread_mutex_unlock(&s.lock);
}

bool service_stop(void)
{
    bool whole;

    for (uint32_t i = 0; i < s.options.listeners; i++)
        s.listeners[i]->Dispatch->NdkControlConnectEvents(s.listeners[i], TRUE);
    pthread_mutex_lock(&s.lock);
    s.stopping = true;
    note_all();
    pthread_cond_signal(&s.change);
    pthread_mutex_unlock(&s.lock);
    pthread_join(s.thread, NULL);
    whole = fenced_is_whole(&s.messages, false) && fenced_is_whole(&s.open, false) && fenced_is_whole(&s.fixed, true);
    for (uint32_t i = 0; i < s.options.listeners; i++)
        sync_close(s.listeners[i]);
    if (s.srq)
        sync_close(s.srq);
    fenced_destroy(&s.fixed);
    fenced_destroy(&s.open);
    fenced_destroy(&s.messages);
    sync_close(s.pd);
    ondk_close_adapter(s.adapter);
    s.adapter = NULL;
    free(s.places);
    return whole;
}

/* Prints the adapter's counters, while it is open. */
static void print_counters(FILE *to)
{
    ondk_counters_t counters;

    if (!s.adapter)
        return;
    ondk_adapter_counters(s.adapter, &counters);
    fprintf(to, "\"refused_requests\": %llu, \"dropped_peers\": %llu, \"in_frames\": %llu, ",
            (unsigned long long)counters.refused_requests, (unsigned long long)counters.dropped_peers,
            (unsigned long long)counters.rdma_in_frames);
}

void service_print(FILE *to)
{
    print_counters(to);
    fprintf(to, "\"requests\": %u, \"rejects\": %u, \"opened\": %u, \"now\": %u, \"messages\": %llu, \"reasons\": {",
            atomic_load(&s.requests), atomic_load(&s.rejects), atomic_load(&s.opened), atomic_load(&s.now),
            (unsigned long long)atomic_load(&s.messages_echoed));
    pthread_mutex_lock(&s.lock);
    for (uint32_t i = 0; i < s.reasons_count; i++)
        fprintf(to, "%s\"%s\": %u", i ? ", " : "", s.reasons[i].name, s.reasons[i].count);
    pthread_mutex_unlock(&s.lock);
    fputs("}", to);
}
