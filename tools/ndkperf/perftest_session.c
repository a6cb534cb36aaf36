/* SPDX-License-Identifier: MIT */
/*
 * Opens the two connections of a perftest test, and exchanges the messages of the control connection: see perftest.h
 * and tests/interop/README.md. On the control connection the client sends a message, and the server answers with a
 * message of the same length. One receive is posted at a time.
 */
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "consumer/provider.h"
#include "interrupt.h"
#include "local_address.h"
#include "monotonic.h"
#include "perftest.h"
#include "print.h"
#include "terminal.h"

enum {
    ADDRESS_SIZE = 56,
    OWN_SPREAD = 4096, /* size in bytes of the area for small messages that this end reports: a page, as in perftest */
    /* Maximum number of attempts to connect the data connection. A server may refuse the first attempts. */
    CONNECT_TRIES = 50,
    TRY_MS = 100,
    SLEEP_MS = 200, /* maximum time of a sleep between two checks for Ctrl-C */
    READ_LIMIT = 16,
};
static const uint64_t LONG_WAIT_NS = 10000000000; /* waits that take longer are reported */

/*
 * A mark that follows the text of the version, and shows the peer that this end is ndkperf. perftest's tools ignore it.
 */
#define OWN_MARK "OpenNDK"

/* clang-format off */
static const struct perftest_test tests[] = {
    { .name = "send_bw", .verb = PERFTEST_SEND, .addresses_before = 4, .addresses_after = true },
    { .name = "send_lat", .verb = PERFTEST_SEND, .latency = true, .addresses_before = 4, .addresses_after = true },
    { .name = "write_bw", .verb = PERFTEST_WRITE, .addresses_before = 3, .addresses_after = true,
      .reports_after = true },
    { .name = "write_lat", .verb = PERFTEST_WRITE, .latency = true, .addresses_before = 4 },
    { .name = "read_bw", .verb = PERFTEST_READ, .addresses_before = 3, .addresses_after = true,
      .reports_after = true },
    { .name = "read_lat", .verb = PERFTEST_READ, .latency = true, .addresses_before = 4, .addresses_after = true },
};
/* clang-format on */

const struct perftest_test *perftest_test(uint32_t index)
{
    return index < sizeof tests / sizeof tests[0] ? &tests[index] : NULL;
}

/* ---- failures ---- */

bool perftest_refuse(struct perftest *p, enum ndkperf_exit code, const char *format, ...)
{
    va_list args;

    if (p->failed)
        return false;
    va_start(args, format);
    vsnprintf(p->error, sizeof p->error, format, args);
    va_end(args);
    progress_clear();
    print_error("%s", p->error);
    p->failed = code;
    return false;
}

bool perftest_check(struct perftest *p, struct perftest_link *l, const char *step, NTSTATUS status)
{
    if (NT_SUCCESS(status))
        return true;
    if (p->failed)
        return false;
    progress_clear();
    print_step_failed(&l->c, step, status);
    snprintf(p->error, sizeof p->error, "%s failed: %s", step, ondk_status_name(status));
    p->failed = NDKPERF_FAILED;
    return false;
}

bool perftest_is_over(struct perftest_link *l)
{
    return interrupt_received() || consumer_is_disconnected(&l->c);
}

bool perftest_refuse_end(struct perftest *p)
{
    if (interrupt_received())
        return perftest_refuse(p, NDKPERF_INTERRUPTED, "interrupted");
    return perftest_refuse(p, NDKPERF_PEER, "the peer ended the connection early");
}

void perftest_advise(struct perftest *p)
{
    if (p->has_advised)
        return;
    p->has_advised = true;
    print_line("  Both ends need the same test, -s, -n and -r. perftest needs -R and must not have -a, -b, -D or -q.");
    if (!p->is_peer_openndk)
        print_line(
            "  Terminates of Linux siw have the code in another order: openndk-reasons(7), peer-terminate/other.");
}

void perftest_report_wait(struct perftest *p, uint64_t since)
{
    if (p->has_advised || monotonic_ns() - since < LONG_WAIT_NS)
        return;
    print_line("the peer has been silent for %d s; Ctrl-C ends this side", (int)(LONG_WAIT_NS / 1000000000));
    perftest_advise(p);
}

/* ---- requests ---- */

/* Returns true if the last received message has the expected length. Otherwise prints an error and returns false. */
static bool session_check_length(struct perftest *p, const struct perftest_link *l, uint32_t expected)
{
    return l->received_length == expected || perftest_refuse(p, NDKPERF_PEER, "the peer sent %u bytes instead of %u",
                                                             (unsigned)l->received_length, (unsigned)expected);
}

/* Counts a result. If the request has failed, or a message has the wrong length, prints an error and returns false. */
static bool link_count(struct perftest *p, struct perftest_link *l, const NDK_RESULT_EX *result)
{
    enum perftest_request which = (enum perftest_request)(uintptr_t)result->RequestContext;

    if (!perftest_check(p, l, which == PERFTEST_RECEIVED ? "a receive" : "a request", result->Status))
        return false;
    l->ready[which]++;
    if (which == PERFTEST_RECEIVED)
        l->received_length = result->BytesTransferred;
    return which != PERFTEST_RECEIVED || !l->length || session_check_length(p, l, l->length);
}

bool perftest_poll(struct perftest *p, struct perftest_link *l)
{
    NDK_RESULT_EX result;

    while (l->c.cq->Dispatch->NdkGetCqResultsEx(l->c.cq, &result, 1))
        if (!link_count(p, l, &result))
            return false;
    return true;
}

bool perftest_wait(struct perftest *p, struct perftest_link *l, enum perftest_request which)
{
    uint64_t since = 0; /* time of the first sleep; 0: no sleep yet */

    for (unsigned polls = 0; !l->ready[which]; polls++) {
        unsigned wakes = consumer_wake_count(&l->c);
        bool is_over = perftest_is_over(l), may_sleep = polls >= PERFTEST_POLLS;

        if (may_sleep)
            l->c.cq->Dispatch->NdkArmCq(l->c.cq, NDK_CQ_NOTIFY_ANY);
        if (!perftest_poll(p, l))
            return false;
        if (is_over && !l->ready[which])
            return perftest_refuse_end(p);
        if (may_sleep && !l->ready[which]) {
            since = since ? since : monotonic_ns();
            consumer_wait_wake(&l->c, wakes, SLEEP_MS);
            perftest_report_wait(p, since);
            polls = 0;
        }
    }
    l->ready[which]--;
    return true;
}

bool perftest_post_receive(struct perftest *p, struct perftest_link *l, uint32_t size)
{
    NDK_SGE sge = consumer_region_sge(&l->region, 0, size);

    return perftest_check(p, l, "NdkReceive",
                          l->c.qp->Dispatch->NdkReceive(l->c.qp, (PVOID)PERFTEST_RECEIVED, &sge, 1));
}

/* ---- the control connection ---- */

static bool control_send(struct perftest *p, const void *message, uint32_t size)
{
    struct perftest_link *l = &p->control;
    NDK_SGE sge = consumer_region_sge(&l->region, PERFTEST_CONTROL, size);

    memcpy(l->region.memory + PERFTEST_CONTROL, message, size);
    return perftest_check(p, l, "NdkSend", l->c.qp->Dispatch->NdkSend(l->c.qp, (PVOID)PERFTEST_POSTED, &sge, 1, 0)) &&
           perftest_wait(p, l, PERFTEST_POSTED);
}

static bool control_receive(struct perftest *p, void *message, uint32_t size)
{
    if (!perftest_wait(p, &p->control, PERFTEST_RECEIVED) || !session_check_length(p, &p->control, size))
        return false;
    memcpy(message, p->control.region.memory, size);
    return perftest_post_receive(p, &p->control, PERFTEST_CONTROL);
}

static bool control_exchange(struct perftest *p, const void *mine, void *theirs, uint32_t size)
{
    if (p->options->server)
        return control_receive(p, theirs, size) && control_send(p, mine, size);
    return control_send(p, mine, size) && control_receive(p, theirs, size);
}

/*
 * Exchanges the version, the size of the area in which an end places small messages, the cache line size and the MTU.
 * The MTU is sent as text; iWARP does not use it.
 */
static bool session_exchange_settings(struct perftest *p)
{
    char mine[16] = "5.96\0" OWN_MARK, theirs[16], mtu[2];
    uint32_t word = htobe32(OWN_SPREAD), other;

    if (!control_exchange(p, mine, theirs, sizeof mine))
        return false;
    memcpy(p->peer_version, theirs, sizeof theirs);
    p->is_peer_openndk = memcmp(mine, theirs, sizeof mine) == 0;
    if (!control_exchange(p, &word, &other, sizeof word))
        return false;
    if (be32toh(other) > PERFTEST_SPREAD)
        return perftest_refuse(p, NDKPERF_PEER,
                               "the peer places messages in an area of %u bytes; at most %u are supported",
                               (unsigned)be32toh(other), (unsigned)PERFTEST_SPREAD);
    word = htobe32(64);
    return control_exchange(p, &word, &other, sizeof word) && control_exchange(p, "3", mtu, sizeof mtu);
}

/*
 * Exchanges the address and the token of the memory that the peer accesses. iWARP does not use the message's other
 * fields.
 */
static bool session_exchange_addresses(struct perftest *p)
{
    bool has_credit = p->test->verb == PERFTEST_SEND && !p->test->latency;
    const struct consumer_region *r = has_credit ? &p->credit : &p->data.region;
    uint8_t mine[ADDRESS_SIZE] = { 0 }, theirs[ADDRESS_SIZE];
    uint32_t token = htobe32(r->remote_token);
    uint64_t address = htobe64((uint64_t)(uintptr_t)r->memory);

    memcpy(mine + 16, &token, sizeof token);
    memcpy(mine + 24, &address, sizeof address);
    if (!control_exchange(p, mine, theirs, sizeof mine))
        return false;
    memcpy(&token, theirs + 16, sizeof token);
    memcpy(&address, theirs + 24, sizeof address);
    p->remote_token = be32toh(token);
    p->remote_address = be64toh(address);
    return true;
}

static uint64_t report_encode(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return htobe64(bits);
}

static double report_decode(uint64_t wire)
{
    double value;

    wire = be64toh(wire);
    memcpy(&value, &wire, sizeof value);
    return value;
}

/*
 * Exchanges reports of five 8-byte fields: size, iterations, peak and average in MiB/s, millions of messages per
 * second.
 */
static bool session_exchange_reports(struct perftest *p)
{
    const struct perftest_options *o = p->options;
    double rate = o->client && p->seconds > 0 ? o->iterations / p->seconds : 0;
    uint64_t mine[5] = { htobe64(o->size), htobe64(o->iterations), 0, 0, 0 }, theirs[5];

    mine[3] = report_encode(rate * o->size / 1048576);
    mine[4] = report_encode(rate / 1e6);
    for (int i = 0; i < 5; i++)
        if (!control_exchange(p, &mine[i], &theirs[i], sizeof mine[i]))
            return false;
    if (o->client)
        return true;
    if (be64toh(theirs[0]) != o->size || be64toh(theirs[1]) != o->iterations)
        return perftest_refuse(p, NDKPERF_PEER, "the client measured %llu messages of %llu bytes",
                               (unsigned long long)be64toh(theirs[1]), (unsigned long long)be64toh(theirs[0]));
    p->peer = (struct perftest_report){ true, report_decode(theirs[3]), report_decode(theirs[4]) };
    return true;
}

/* ---- the connections ---- */

static bool session_register(struct perftest *p, struct consumer_region *r, uint32_t size)
{
    return perftest_check(p, &p->control, "registering memory",
                          consumer_region_create(r, p->control.c.pd, size, CONSUMER_ALL_RIGHTS));
}

/* Creates the data queue pair. The CQ needs space for all receives, and for the requests and credits in flight. */
static bool session_open_data(struct perftest *p)
{
    const NDK_ADAPTER_INFO *info = &p->control.c.info;
    const struct consumer_queues queues = { p->receives, 2 * PERFTEST_WINDOW, 0 };
    const char *step;
    NTSTATUS status;

    if (p->receives > info->MaxReceiveQueueDepth || queues.requests > info->MaxInitiatorQueueDepth)
        return perftest_refuse(p, NDKPERF_PEER,
                               "the adapter's queues have room for %u receives and %u requests; %u and %u "
                               "are needed (-r)",
                               (unsigned)info->MaxReceiveQueueDepth, (unsigned)info->MaxInitiatorQueueDepth,
                               (unsigned)p->receives, (unsigned)queues.requests);
    status = consumer_open_on_pd(&p->data.c, &p->control.c, NULL, p->receives + queues.requests, &queues, &step);
    return perftest_check(p, &p->data, step, status);
}

static bool session_listen(struct perftest *p, uint32_t if_index)
{
    NTSTATUS status = consumer_listen(&p->control.c, (const struct sockaddr *)&p->server_address);
    char why[512];

    if (perftest_check(p, &p->control, "NdkListen", status))
        return true;
    if (local_address_explain(status, &p->server_address, if_index, why, sizeof why))
        print_line("  %s", why);
    return false;
}

/*
 * Returns true if the adapter's read limits permit the test in this role. Otherwise prints a message and returns false.
 */
static bool session_check_read_limits(struct perftest *p)
{
    const NDK_ADAPTER_INFO *info = &p->control.c.info;

    if (p->test->verb != PERFTEST_READ)
        return true;
    if (p->options->server && info->MaxInboundReadLimit == 0)
        return perftest_refuse(p, NDKPERF_PEER, "this adapter permits no reads of a peer%s",
                               consumer_foreign_provider() ? "" : " (ONDK_MAX_INBOUND_READS=0)");
    if (p->options->client && info->MaxOutboundReadLimit == 0)
        return perftest_refuse(p, NDKPERF_PEER, "this adapter permits no reads%s",
                               consumer_foreign_provider() ? "" : " (ONDK_MAX_OUTBOUND_READS=0)");
    return true;
}

bool perftest_open(struct perftest *p, uint32_t if_index)
{
    const struct perftest_options *o = p->options;
    const char *step;
    NTSTATUS status = consumer_open(&p->control.c, if_index, &step);

    p->control.c.is_interrupted = interrupt_received;
    if (!perftest_check(p, &p->control, step, status))
        return false;
    p->receives = o->receives < o->iterations ? o->receives : o->iterations;
    p->receives = p->receives < 3 ? 3 : p->receives;
    p->area = o->size < PERFTEST_SPREAD ? PERFTEST_SPREAD : o->size;
    p->data.length = o->size;
    if (!session_check_read_limits(p) || !session_open_data(p) ||
        !session_register(p, &p->control.region, 2 * PERFTEST_CONTROL) ||
        !session_register(p, &p->data.region, 2 * p->area) || !session_register(p, &p->credit, 2 * sizeof(uint32_t)) ||
        !perftest_post_receive(p, &p->control, PERFTEST_CONTROL))
        return false;
    for (uint32_t i = 0; p->test->verb == PERFTEST_SEND && i < p->receives; i++)
        if (!perftest_post_receive(p, &p->data, o->size))
            return false;
    if (o->client)
        return true;
    return session_listen(p, if_index);
}

static bool session_complete_connect(struct perftest *p, struct perftest_link *l)
{
    return perftest_check(p, l, "NdkCompleteConnect", consumer_complete_connect(&l->c));
}

static NTSTATUS session_try_connect(struct perftest *p, struct perftest_link *l)
{
    l->c.is_interrupted = interrupt_received;
    return consumer_connect(&l->c, (struct sockaddr *)&p->client_address, (struct sockaddr *)&p->server_address,
                            (struct consumer_limits){ READ_LIMIT, READ_LIMIT }, NULL, 0);
}

static bool session_connect_data(struct perftest *p)
{
    NTSTATUS status = session_try_connect(p, &p->data);

    for (int i = 1; i < CONNECT_TRIES && status == STATUS_CONNECTION_REFUSED; i++) {
        if (!interrupt_sleep(TRY_MS / 1e3))
            return perftest_refuse_end(p);
        status = session_try_connect(p, &p->data);
    }
    return perftest_check(p, &p->data, "NdkConnect", status) && session_complete_connect(p, &p->data);
}

static bool session_accept(struct perftest *p, struct perftest_link *l, NDK_CONNECTOR *request)
{
    l->c.connector = request;
    return perftest_check(p, l, "NdkAccept",
                          consumer_accept(&l->c, (struct consumer_limits){ READ_LIMIT, READ_LIMIT }, NULL, 0));
}

/* Waits for the client's first connection, at most for the time of --wait. */
static bool session_accept_control(struct perftest *p)
{
    double waited = 0, limit = p->options->wait_seconds;
    NDK_CONNECTOR *request = NULL;

    while (!request && !interrupt_received() && (limit == 0 || waited < limit)) {
        request = consumer_next_request_ms(&p->control.c, SLEEP_MS);
        waited += SLEEP_MS / 1e3;
    }
    if (request)
        return session_accept(p, &p->control, request);
    return interrupt_received() ? perftest_refuse_end(p)
                                : perftest_refuse(p, NDKPERF_NOBODY, "nobody connected in time");
}

static bool session_accept_data(struct perftest *p)
{
    NDK_CONNECTOR *request = NULL;

    while (!request && !perftest_is_over(&p->control))
        request = consumer_next_request_ms(&p->control.c, SLEEP_MS);
    return request ? session_accept(p, &p->data, request) : perftest_refuse_end(p);
}

bool perftest_connect_control(struct perftest *p)
{
    if (p->options->server)
        return session_accept_control(p);
    return perftest_check(p, &p->control, "NdkConnect", session_try_connect(p, &p->control)) &&
           session_complete_connect(p, &p->control);
}

/*
 * Disconnects. First waits for the peer's disconnect: a perftest tool fails if the connection ends while it waits for
 * its last completion. If the peer is ndkperf, the client does not wait.
 */
static void session_disconnect(struct perftest *p, struct perftest_link *l)
{
    bool must_wait = p->options->server || !p->is_peer_openndk;

    while (must_wait && !interrupt_received() && !consumer_wait_disconnect_ms(&l->c, SLEEP_MS))
        ;
    (void)consumer_disconnect(&l->c); /* the result is ignored, because a perftest tool may reset the connection */
}

bool perftest_prepare(struct perftest *p)
{
    if (!session_exchange_settings(p) || !session_exchange_addresses(p))
        return false;
    if (!(p->options->server ? session_accept_data(p) : session_connect_data(p)))
        return false;
    for (unsigned i = 0; i < 1 + p->test->addresses_before; i++)
        if (!session_exchange_addresses(p))
            return false;
    return true;
}

bool perftest_finish(struct perftest *p)
{
    if (p->test->reports_after && (!session_exchange_addresses(p) || !session_exchange_reports(p)))
        return false;
    if (p->test->addresses_after && !session_exchange_addresses(p))
        return false;
    session_disconnect(p, &p->data);
    session_disconnect(p, &p->control);
    return true;
}

void perftest_close(struct perftest *p)
{
    consumer_close_qp(&p->data.c);
    consumer_close_qp(&p->control.c);
    if (p->data.c.adapter) {
        consumer_region_destroy(&p->credit);
        consumer_region_destroy(&p->data.region);
        consumer_close(&p->data.c);
    }
    if (p->control.c.adapter)
        consumer_region_destroy(&p->control.region);
    consumer_close(&p->control.c);
}
