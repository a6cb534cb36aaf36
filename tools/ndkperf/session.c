/* SPDX-License-Identifier: MIT */
/* Implements the functions that both ends of a measurement share: see session.h. */
#include "session.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "consumer/provider.h"
#include "openndk/reason.h"
#include "flow.h"
#include "monotonic.h"
#include "pattern.h"
#include "print.h"

enum {
    MAX_RESULTS = 16,
    TIMEOUT_S = 30,         /* maximum time without progress */
    EVENT_MS = 200,         /* maximum time of a wait for a notification with --events */
    IDLE_MS = 5,            /* maximum time of a wait for a notification while there is no traffic */
    POLLS_PER_CONTROL = 64, /* number of polls of the measured CQ for each poll of the control connection */
    POLLS_PER_CHECK = 4096, /* number of idle polls between two checks of the peer */
    ID_BITS = 4
};
static const uint64_t MAX_CHECK_BYTES = 256 << 20; /* maximum size of all queue pairs' memory, with --check */
static const uint64_t IDLE_NS = 100000000;         /* after this time without traffic, this end is idle */
/* Estimate of the provider's memory for one request and its result. */
static const uint64_t REQUEST_BYTES = 256;
/* Estimate of the provider's memory for a connection's partial frames. */
static const uint64_t CONNECTION_BYTES = 128 << 10;

uint64_t session_cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* ---- failures ---- */

bool session_set_failed(struct session *s, enum ndkperf_exit code)
{
    if (s->failed == NDKPERF_OK)
        s->failed = code;
    return false;
}

bool session_fail(struct session *s, const char *step, NTSTATUS status, uint32_t reason)
{
    struct failure *f = &s->failure;

    if (s->failed != NDKPERF_OK)
        return false;
    *f = (struct failure){ s->phase, step, true, status, reason, "" };
    snprintf(f->text, sizeof f->text, "%s failed: %s", step,
             consumer_reason_is_openndk(reason) ? ondk_reason_text(reason) : ondk_status_name(status));
    print_failed_for(step, status, reason);
    return session_set_failed(s, NDKPERF_FAILED);
}

bool session_refuse(struct session *s, enum ndkperf_exit code, const char *format, ...)
{
    struct failure *f = &s->failure;
    va_list args;

    if (s->failed != NDKPERF_OK)
        return false;
    *f = (struct failure){ .phase = s->phase };
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    print_error("%s", f->text);
    return session_set_failed(s, code);
}

/*
 * Fails with the connector's reason. If the connection was lost, first waits for the disconnect event, after which the
 * reason is available.
 */
static bool session_post_failed(struct session *s, struct consumer *c, const char *step, NTSTATUS status)
{
    if (status == STATUS_CONNECTION_INVALID)
        (void)consumer_wait_disconnect(c, 5);
    return session_fail(s, step, status, consumer_connector_reason(c->connector));
}

void session_print_difference(struct session *s, uint32_t lane, uint64_t message, uint32_t offset, const char *where)
{
    struct failure *f = &s->failure;

    *f = (struct failure){ .phase = s->phase };
    snprintf(f->text, sizeof f->text, "the data of message %llu on queue pair %u differs at byte %u, found by the %s",
             (unsigned long long)message, (unsigned)lane, (unsigned)offset, where);
    print_error("%s", f->text);
}

bool session_differs(struct session *s, uint32_t lane, uint64_t message, uint32_t offset, const char *where)
{
    if (s->failed == NDKPERF_OK)
        session_print_difference(s, lane, message, offset, where);
    return session_set_failed(s, NDKPERF_DATA);
}

/* ---- memory ---- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/*
 * The maximum number of credits in flight, for any window. It is reached with a window of 7, where a credit permits 7 /
 * 4 = 1 message. With a larger window a credit permits more messages, so fewer credits are in flight.
 */
enum { MAX_CREDITS = 7 };

/*
 * Returns the number of receives that a queue pair needs for empty messages, in addition to the window: one for a
 * flush, and with --bidirectional (`both`) one for each credit in flight.
 */
static uint32_t session_spare(uint32_t window, bool both)
{
    return both ? 1 + (window < MAX_CREDITS ? window : MAX_CREDITS) : 1;
}

uint64_t session_max_size(const NDK_ADAPTER_INFO *info, bool both)
{
    /*
     * With a window of 1 and --check, a queue pair needs memory for 1 + `spare` messages in AREA_RECEIVE, and for one
     * message in each of the other two areas.
     */
    uint32_t messages = 1 + session_spare(1, both) + 2;

    return min_u64(info->MaxTransferLength, info->MaxRegistrationSize / messages);
}

uint32_t session_window(const NDK_ADAPTER_INFO *info, const struct session_needs *needs)
{
    uint64_t most = min_u64(info->MaxReceiveQueueDepth, info->MaxInitiatorQueueDepth), memory;
    uint32_t spare = session_spare(needs->window, needs->both);

    most = min_u64(most, info->MaxCqDepth / (2 * needs->qps));
    most = most > spare ? most - spare : 0;
    if (needs->check) {
        /*
         * AREA_RECEIVE needs memory for `window` + `spare` messages. The other two areas need memory for `window`
         * messages each.
         */
        memory = min_u64(MAX_CHECK_BYTES / needs->qps, info->MaxRegistrationSize) / needs->size;
        most = min_u64(most, memory > 3 + spare ? (memory - spare) / 3 : 1);
    }
    return (uint32_t)min_u64(needs->window, most);
}

void session_layout(struct session *s)
{
    s->spare = session_spare(s->window, s->both);
    s->stride = (s->max_size + 63) / 64 * 64;
    s->slots = s->check ? s->window : 1;
}

static uint32_t session_receive_slots(const struct session *s)
{
    return s->check ? s->window + s->spare : 1;
}

uint64_t session_memory(const struct session *s)
{
    uint64_t data = (session_receive_slots(s) + 2 * (uint64_t)s->slots) * s->stride;

    return s->qps * (data + 2 * (s->window + (uint64_t)s->spare) * REQUEST_BYTES + CONNECTION_BYTES);
}

static uint64_t session_offset(const struct session *s, enum area area, uint32_t slot)
{
    uint64_t first[] = { [AREA_RECEIVE] = 0,
                         [AREA_TARGET] = session_receive_slots(s),
                         [AREA_SOURCE] = session_receive_slots(s) + s->slots };

    return (first[area] + slot % (area == AREA_RECEIVE ? session_receive_slots(s) : s->slots)) * s->stride;
}

uint8_t *lane_memory(const struct session *s, const struct lane *l, enum area area, uint32_t slot)
{
    return l->memory.memory + session_offset(s, area, slot);
}

/* ---- requests ---- */

static PVOID session_request_context(enum id id, uint32_t slot)
{
    return (PVOID)((uintptr_t)slot << ID_BITS | id);
}

static enum id session_request_id(const NDK_RESULT_EX *r)
{
    return (enum id)((uintptr_t)r->RequestContext & ((1 << ID_BITS) - 1));
}

bool lane_receive(struct session *s, struct lane *l, uint32_t slot)
{
    NDK_SGE sge = consumer_region_sge(&l->memory, (uint32_t)session_offset(s, AREA_RECEIVE, slot), s->max_size);
    NTSTATUS status = l->c.qp->Dispatch->NdkReceive(l->c.qp, session_request_context(ID_RECEIVE, slot), &sge, 1);

    return NT_SUCCESS(status) || session_fail(s, "NdkReceive", status, 0);
}

bool lane_post(struct session *s, struct lane *l, enum id id, uint32_t slot, uint32_t len, uint32_t flags)
{
    enum area area = id == ID_READ ? AREA_TARGET : AREA_SOURCE;
    NDK_SGE sge = consumer_region_sge(&l->memory, (uint32_t)session_offset(s, area, slot), len);
    PVOID context = session_request_context(id, slot);
    NDK_QP *qp = l->c.qp;
    NTSTATUS status;

    if (id != ID_READ && len && len <= s->inline_size)
        flags |= NDK_OP_FLAG_INLINE;
    if (id == ID_READ)
        status = qp->Dispatch->NdkRead(qp, context, &sge, 1, l->peer_address + session_offset(s, AREA_SOURCE, slot),
                                       l->peer_token, flags);
    else if (id == ID_WRITE)
        status = qp->Dispatch->NdkWrite(qp, context, &sge, 1, l->peer_address + session_offset(s, AREA_TARGET, slot),
                                        l->peer_token, flags);
    else
        status = qp->Dispatch->NdkSend(qp, context, &sge, len ? 1 : 0, flags);
    s->unpolled += NT_SUCCESS(status);
    return NT_SUCCESS(status) || session_post_failed(s, &l->c,
                                                     id == ID_READ    ? "NdkRead"
                                                     : id == ID_WRITE ? "NdkWrite"
                                                                      : "NdkSend",
                                                     status);
}

bool control_receive(struct session *s)
{
    NDK_SGE sge = consumer_region_sge(&s->orders, WIRE_ORDER, WIRE_ORDER);
    NTSTATUS status = s->control.qp->Dispatch->NdkReceive(s->control.qp, session_request_context(ID_RECEIVE, 0), &sge,
                                                          1);

    return NT_SUCCESS(status) || session_fail(s, "NdkReceive", status, 0);
}

bool control_send(struct session *s, const uint8_t bytes[WIRE_ORDER])
{
    NDK_SGE sge = consumer_region_sge(&s->orders, 0, WIRE_ORDER);
    NTSTATUS status;

    while (s->order_sending) /* the provider owns the memory until the send has completed */
        if (!session_poll(s))
            return false;
    memcpy(s->orders.memory, bytes, WIRE_ORDER);
    s->order_sending = true;
    status = s->control.qp->Dispatch->NdkSend(s->control.qp, session_request_context(ID_SEND, 0), &sge, 1, 0);
    s->unpolled += NT_SUCCESS(status);
    return NT_SUCCESS(status) || session_post_failed(s, &s->control, "NdkSend", status);
}

const uint8_t *control_received(const struct session *s)
{
    return s->orders.memory + WIRE_ORDER;
}

/* ---- lanes ---- */

static bool session_moderate(struct session *s, struct consumer *c)
{
    NTSTATUS status = STATUS_NOT_SUPPORTED;

    if (!s->options->moderation)
        return true;
    if (c->info.AdapterFlags & NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED)
        status = c->cq->Dispatch->NdkControlCqInterruptModeration(c->cq, s->options->moderation_us,
                                                                  s->options->moderation_count);
    return NT_SUCCESS(status) || session_fail(s, "NdkControlCqInterruptModeration", status, 0);
}

bool session_add_lane(struct session *s)
{
    struct lane *l = &s->lanes[s->lane_count];
    uint32_t depth = s->window + s->spare;
    const struct consumer_queues queues = { depth, depth, s->inline_size };
    const char *what = "";
    bool first = s->lane_count == 0;
    NTSTATUS status = consumer_open_on_pd(&l->c, &s->control, first ? NULL : &s->lanes[0].c, s->qps * 2 * depth,
                                          &queues, &what);

    l->index = ++s->lane_count;
    if (!NT_SUCCESS(status))
        return session_fail(s, what, status, 0);
    if (first && !session_moderate(s, &l->c))
        return false;
    status = consumer_region_create(&l->memory, l->c.pd, (session_receive_slots(s) + 2 * s->slots) * s->stride,
                                    CONSUMER_ALL_RIGHTS);
    if (!NT_SUCCESS(status))
        return session_fail(s, "registering memory", status, 0);
    pattern_fill(lane_memory(s, l, AREA_SOURCE, 0), s->max_size, l->index, 0);
    for (uint32_t slot = 0; slot < depth; slot++)
        if (!lane_receive(s, l, slot))
            return false;
    return true;
}

/* Returns the completion queue that all measured queue pairs share, or NULL if it has not been created yet. */
static NDK_CQ *session_lanes_cq(const struct session *s)
{
    return s->lane_count ? s->lanes[0].c.cq : NULL;
}

/*
 * Polls up to `most` results of `cq`, which may be NULL. Subtracts the results of sends, writes and reads from
 * s->unpolled. Returns the number of results.
 */
static ULONG session_get_results(struct session *s, NDK_CQ *cq, NDK_RESULT_EX *results, ULONG most)
{
    ULONG n = cq ? cq->Dispatch->NdkGetCqResultsEx(cq, results, most) : 0;

    for (ULONG i = 0; i < n; i++)
        s->unpolled -= session_request_id(&results[i]) != ID_RECEIVE;
    return n;
}

/*
 * Waits until the results of all requests have been polled, at most TIMEOUT_S seconds. Ignores the results: they belong
 * to answers and flushes, whose connections the peer may already have closed.
 */
static void session_drop_results(struct session *s)
{
    uint64_t until = monotonic_ns() + TIMEOUT_S * (uint64_t)1000000000;
    NDK_RESULT_EX results[MAX_RESULTS];

    while (s->unpolled && monotonic_ns() < until) {
        ULONG n = session_get_results(s, s->control.cq, results, MAX_RESULTS);

        n += session_get_results(s, session_lanes_cq(s), results, MAX_RESULTS);
        if (!n)
            sched_yield();
    }
}

void session_disconnect(struct session *s)
{
    session_drop_results(s); /* before the disconnect, because NdkDisconnect may make unpolled requests fail */
    for (uint32_t i = 0; i < s->lane_count; i++)
        (void)consumer_disconnect(&s->lanes[i].c);
    (void)consumer_disconnect(&s->control);
}

void session_close(struct session *s)
{
    for (uint32_t i = 0; i < s->lane_count; i++)
        consumer_close_qp(&s->lanes[i].c);
    consumer_close_qp(&s->control);
    for (uint32_t i = s->lane_count; i-- > 0;) { /* the first lane is closed last, because it owns the lanes' CQ */
        consumer_region_destroy(&s->lanes[i].memory);
        consumer_close(&s->lanes[i].c);
    }
    consumer_region_destroy(&s->orders);
    consumer_close(&s->control);
    free(s->lanes);
    s->lanes = NULL;
    s->lane_count = 0;
}

/* ---- completions ---- */

static bool session_handle_result(struct session *s, const NDK_RESULT_EX *r)
{
    struct lane *l = r->QPContext;
    enum id id = session_request_id(r);
    uint32_t slot = (uint32_t)((uintptr_t)r->RequestContext >> ID_BITS);
    static const char *const steps[] = { [ID_RECEIVE] = "NdkReceive", [ID_SEND] = "NdkSend",  [ID_WRITE] = "NdkWrite",
                                         [ID_READ] = "NdkRead",       [ID_FLUSH] = "NdkSend", [ID_ANSWER] = "NdkSend" };

    if (!NT_SUCCESS(r->Status))
        return session_fail(s, steps[id], r->Status, r->ProviderErrorCode);
    if (id == ID_RECEIVE)
        return flow_on_receive(s, l, slot, r->BytesTransferred);
    return id == ID_FLUSH || flow_on_completed(s, l, id, slot);
}

/* Polls and handles results of the completion queue that all measured queue pairs share. Returns their number. */
static unsigned session_poll_lanes(struct session *s)
{
    NDK_RESULT_EX results[MAX_RESULTS];
    ULONG n = session_get_results(s, session_lanes_cq(s), results, MAX_RESULTS);

    /* A failure does not end the loop: a client that has found wrong data must still end the session properly. */
    for (ULONG i = 0; i < n; i++)
        (void)session_handle_result(s, &results[i]);
    return n;
}

static unsigned session_poll_control(struct session *s)
{
    NDK_RESULT_EX result;

    if (!session_get_results(s, s->control.cq, &result, 1))
        return 0;
    if (!NT_SUCCESS(result.Status))
        session_fail(s, "the control connection", result.Status, result.ProviderErrorCode);
    else if (result.RequestContext == session_request_context(ID_RECEIVE, 0))
        s->order_received = true;
    else
        s->order_sending = false;
    return 1;
}

/*
 * Returns true if the adapter has transferred bytes in the last tenth of a second. The caller then continues to poll.
 * The peer's reads and writes have no completions at this end, but they are faster while this end polls. Returns false
 * if the provider is not OpenNDK.
 */
static bool session_has_traffic(struct session *s, uint64_t now)
{
    ondk_counters_t n;

    if (!consumer_read_counters(s->control.adapter, &n))
        return false;
    if (s->traffic != n.rdma_in_octets + n.rdma_out_octets) {
        s->traffic = n.rdma_in_octets + n.rdma_out_octets;
        s->traffic_at = now;
    }
    return now - s->traffic_at <= IDLE_NS;
}

/*
 * Fails if the peer has disconnected, or if the time limit has expired. Called after each sleep of session_poll, and
 * after POLLS_PER_CHECK idle polls.
 */
static bool session_check_peer(struct session *s)
{
    struct consumer *lost = consumer_is_disconnected(&s->control) ? &s->control : NULL;
    uint64_t now;

    for (uint32_t i = 0; i < s->lane_count && !lost && !s->is_ending; i++)
        if (consumer_is_disconnected(&s->lanes[i].c))
            lost = &s->lanes[i].c;
    if (lost && !session_poll_control(s)) /* handles a last message of the peer that arrived before the disconnect */
        return session_fail(s, "waiting for the peer", STATUS_CONNECTION_ABORTED, lost->disconnect_reason);
    now = monotonic_ns();
    if (!s->idle_since)
        s->idle_since = now;
    s->is_idle = !session_has_traffic(s, now) && now - s->idle_since > IDLE_NS;
    if (s->has_timeout && now - s->idle_since > TIMEOUT_S * (uint64_t)1000000000)
        return session_fail(s, "waiting for the peer", STATUS_IO_TIMEOUT, 0);
    return true;
}

bool session_poll(struct session *s)
{
    /* The peer's writes cause no notification, so this end polls for them even with --events. */
    bool written = s->run.test == TEST_WRITE && s->run.flags & ORDER_LATENCY;
    bool sleeps = s->is_idle || (s->options->events && !written);
    unsigned before = sleeps ? consumer_wake_count(&s->control) : 0;

    unsigned results = session_poll_lanes(s);

    if (sleeps || (results ? ++s->busy : s->idle) % POLLS_PER_CONTROL == 0)
        results += session_poll_control(s);
    if (results) {
        s->idle = s->idle_since = 0;
        s->is_idle = false;
        return s->failed == NDKPERF_OK;
    }
    s->idle++;
    if (sleeps) {
        if (s->lane_count)
            s->lanes[0].c.cq->Dispatch->NdkArmCq(s->lanes[0].c.cq, NDK_CQ_NOTIFY_ANY);
        s->control.cq->Dispatch->NdkArmCq(s->control.cq, NDK_CQ_NOTIFY_ANY);
        consumer_wait_wake(&s->control, before, s->options->events && !written ? EVENT_MS : IDLE_MS);
        return session_check_peer(s);
    }
    if (s->idle % POLLS_PER_CONTROL == 0)
        sched_yield(); /* helps if there are fewer processors than polling threads */
    return s->idle % POLLS_PER_CHECK || session_check_peer(s);
}
