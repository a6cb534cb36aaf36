/* SPDX-License-Identifier: MIT */
/*
 * Each cause for which a connection is refused or not established, provoked for real: its entry in the list of failures
 * and its line in the log, on each side that OpenNDK is, with the right addresses, role, phase, status and reason.
 */
#include "contract/kit/net.h"
#include "contract/kit/raw.h"
#include "observe/outcome.h"
#include "openndk/config.h"
#include "openndk/log.h"

/* ---- peers that no consumer learns of ---- */

/* Connects, sends bytes or nothing, and waits for the end. The listener's side then has one more failure. */
static void refused_peer(struct kit_pair *p, const void *bytes, size_t len, struct outcome e, uint32_t total)
{
    int s = raw_connect(&p->listener.address);
    struct sockaddr_storage peer = outcome_socket_address(s);

    if (len)
        raw_send(s, bytes, len);
    while (!raw_wait_end(s))
        ; /* a reject */
    raw_close(s, false);
    e.local = &p->listener.address;
    e.foreign = &peer;
    outcome_wait(&p->passive, &e, total);
}

static void leaving_peer(struct kit_pair *p, bool reset, struct outcome e, uint32_t total)
{
    int s = raw_connect(&p->listener.address);
    struct sockaddr_storage peer = outcome_socket_address(s);

    raw_send(s, "MPA ID R", 8);
    raw_close(s, reset);
    e.local = &p->listener.address;
    e.foreign = &peer;
    outcome_wait(&p->passive, &e, total);
}

CASE(causes_before_a_request, KIT_FAMILIES)
{
    static struct kit_pair p;
    uint8_t request[] = "MPA ID Req Frame\0\1\0\0"; /* flags, revision, length */
    const size_t len = sizeof request - 1;

    log_collect();
    kit_pair_open_idle(&p);
    refused_peer(
        &p, "GET / HTTP/1.0\r\n\r\n  ", 20,
        (struct outcome){ ACCEPTED, "arriving", STATUS_CONNECTION_ABORTED, REASON(BAD_REQUEST), NULL, NULL, 0 }, 1);
    request[17] = 3;
    refused_peer(
        &p, request, len,
        (struct outcome){ ACCEPTED, "arriving", STATUS_CONNECTION_ABORTED, REASON(BAD_REVISION), NULL, NULL, 0 }, 2);
    leaving_peer(
        &p, false,
        (struct outcome){ ACCEPTED, "arriving", STATUS_CONNECTION_ABORTED, REASON(PEER_GAVE_UP), NULL, NULL, 0 }, 3);
    leaving_peer(&p, true,
                 (struct outcome){ ACCEPTED, "arriving", STATUS_CONNECTION_ABORTED, REASON(PEER_RESET), NULL, NULL, 0 },
                 4);
    CHECK_EQ(atomic_load(&p.listener.requests), 0);
    kit_pair_close(&p);
}

CASE(causes_no_request_in_time, KIT_FAMILIES)
{
    static struct kit_pair p;

    LIMIT(request_ms, 200);
    log_collect();
    kit_pair_open_idle(&p);
    refused_peer(&p, NULL, 0,
                 (struct outcome){ ACCEPTED, "arriving", STATUS_IO_TIMEOUT, REASON(REQUEST_TIMEOUT), NULL, NULL, 0 },
                 1);
    CHECK_EQ(atomic_load(&p.listener.requests), 0);
    kit_pair_close(&p);
}

/* The reason of a malformed request names its fault. */
CASE(causes_of_refused_requests, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct outcome e = {
        ACCEPTED | REFUSED, "arriving", STATUS_CONNECTION_REFUSED, REASON(UNSUPPORTED_REQUEST), NULL, NULL, 0
    };
    uint8_t markers[] = "MPA ID Req Frame\x80\1\0\0", no_limits[] = "MPA ID Req Frame\x50\2\0\0";
    uint8_t long_data[] = "MPA ID Req Frame\x40\1\0\5data?", zero_form[] = "MPA ID Req Frame\x50\2\0\4\xc0\1\0\1";
    ondk_config_t config;

    ondk_config_init(&config);
    config.max_private = 4;
    config.rtr = ONDK_RTR_WRITE;
    CHECK_STATUS(ondk_configure(&config), STATUS_SUCCESS);
    log_collect();
    kit_pair_open_idle(&p);
    refused_peer(&p, markers, sizeof markers - 1, e, 1);
    e.reason = REASON(REQUEST_NO_LIMITS);
    refused_peer(&p, no_limits, sizeof no_limits - 1, e, 2);
    e.reason = REASON(REQUEST_DATA);
    refused_peer(&p, long_data, sizeof long_data - 1, e, 3);
    e.reason = REASON(REQUEST_NO_FORM);
    refused_peer(&p, zero_form, sizeof zero_form - 1, e, 4);
    CHECK_EQ(atomic_load(&p.listener.requests), 0);
    kit_pair_close(&p);
}

/* The second request finds the backlog full. */
CASE(causes_a_full_backlog, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct raw_frame request = raw_enhanced(true, 1, 1);
    struct sockaddr_storage source = kit_host(0);

    LIMIT(backlog, 1);
    log_collect();
    kit_pair_open_idle(&p);
    int s = raw_connect(&p.listener.address);
    raw_send_frame(s, false, &request);
    kit_wait_count(&p.listener.requests, 1);
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_CONNECTION_REFUSED);
    ondk_failure_t a = outcome_wait(&p.active,
                                    &(struct outcome){ INITIATED, "requesting", STATUS_CONNECTION_REFUSED,
                                                       REASON(REJECTED), &source, &p.listener.address, 0 },
                                    1);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED | REFUSED, "arriving", STATUS_CONNECTION_REFUSED, REASON(BACKLOG_FULL),
                                    &p.listener.address, &a.local, 0 },
                 1);
    CHECK_STATUS(kit_close(kit_next_request(&p.listener)), STATUS_SUCCESS);
    raw_close(s, false);
    kit_pair_close(&p);
}

CASE(causes_of_a_listener, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct raw_frame request = raw_enhanced(true, 1, 1);
    struct outcome e = {
        ACCEPTED | REFUSED, "arriving", STATUS_CONNECTION_REFUSED, REASON(LISTENER_PAUSED), &p.listener.address, NULL, 0
    };

    log_collect();
    kit_pair_open_idle(&p);
    NDK_LISTENER *l = p.listener.listener;
    int late = raw_connect(&p.listener.address), s = raw_connect(&p.listener.address);
    struct sockaddr_storage peer = outcome_socket_address(late), second = outcome_socket_address(s);
    raw_send(s, "GET / HTTP/1.0\r\n\r\n  ", 20);
    CHECK(raw_wait_end(s)); /* so both have been accepted */
    raw_close(s, false);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED, "arriving", STATUS_CONNECTION_ABORTED, REASON(BAD_REQUEST),
                                    &p.listener.address, &second, 0 },
                 1);
    l->Dispatch->NdkControlConnectEvents(l, TRUE);
    raw_send_frame(late, false, &request);
    e.foreign = &peer;
    outcome_wait(&p.passive, &e, 2);
    raw_close(late, false);
    l->Dispatch->NdkControlConnectEvents(l, FALSE);
    late = raw_connect(&p.listener.address);
    peer = outcome_socket_address(late);
    s = raw_connect(&p.listener.address);
    raw_send(s, "GET / HTTP/1.0\r\n\r\n  ", 20);
    CHECK(raw_wait_end(s));
    raw_close(s, false);
    CHECK_STATUS(kit_close(l), STATUS_SUCCESS);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED, "arriving", STATUS_CANCELLED, REASON(LISTENER_CLOSED),
                                    &p.listener.address, &peer, 0 },
                 3);
    log_wait(ONDK_LOG_DEBUG, "listener started: local=", 1);
    log_wait(ONDK_LOG_DEBUG, "listener stopped: local=", 1);
    raw_close(late, false);
    kit_side_close(&p.active);
    kit_side_close(&p.passive);
}

CASE(causes_an_adapter_that_fails, 0)
{
    NDK_ADAPTER *adapter;

    log_collect();
    CHECK_STATUS(kit_open_status(2, 1, 0x7ffffffe, &adapter), STATUS_INVALID_PARAMETER);
    log_wait(ONDK_LOG_INFO, "adapter failed: interface=2147483646 status=STATUS_INVALID_PARAMETER: No interface ", 1);
}

CASE(causes_a_listener_that_fails, KIT_FAMILIES)
{
    struct sockaddr_storage taken = kit_host(0);
    static struct kit_listener l;
    NDK_ADAPTER *adapter = kit_open(2, 1);
    char line[128];
    int s = raw_listen(&taken);

    log_collect();
    kit_listener_create(&l, adapter);
    CHECK_STATUS(kit_listen_status(&l, &taken), STATUS_SHARING_VIOLATION);
    snprintf(line, sizeof line,
             ":%u status=STATUS_SHARING_VIOLATION reason=address-taken (0x00130000): ", kit_port(&taken));
    log_wait(ONDK_LOG_INFO, line, 1);
    log_wait(ONDK_LOG_INFO, "listener failed: local=", 1);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    kit_close_adapter(adapter);
    raw_close(s, false);
}

CASE(causes_too_many_peers_without_a_request, 0)
{
    static struct kit_pair p;

    LIMIT(max_unfinished, 1);
    log_collect();
    kit_pair_open_idle(&p);
    int first = raw_connect(&p.listener.address), second = raw_connect(&p.listener.address);
    struct sockaddr_storage peer = outcome_socket_address(first);
    CHECK(raw_wait_end(first));
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED, "arriving", STATUS_INSUFFICIENT_RESOURCES, REASON(CROWDED_OUT),
                                    &p.listener.address, &peer, 0 },
                 1);
    raw_close(first, false);
    raw_close(second, false);
    kit_pair_close(&p);
}

/* Without a descriptor for the peer, the process never learns the peer's address. */
CASE(causes_no_descriptor, 0)
{
    static struct kit_pair p;
    struct sockaddr_storage nobody = { 0 };

    log_collect();
    kit_pair_open_idle(&p);
    unsigned long long old = kit_limit_descriptors(1);
    int s = raw_connect(&p.listener.address);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED | REFUSED, "arriving", STATUS_INSUFFICIENT_RESOURCES, REASON(DESCRIPTORS),
                                    &p.listener.address, NULL, 0 },
                 1);
    kit_restore_descriptors(old);
    ondk_failure_t f;
    CHECK_EQ(ondk_adapter_failures(p.passive.adapter, &f, 1), 1);
    CHECK(!memcmp(&f.foreign, &nobody, sizeof nobody));
    raw_close(s, false);
    kit_pair_close(&p);
}

/* ---- requests that the consumer has ---- */

static void request_ends(struct kit_pair *p, bool reset, struct outcome e, uint32_t total)
{
    struct raw_frame request = raw_enhanced(true, 1, 1);
    int s = raw_connect(&p->listener.address);
    struct sockaddr_storage peer = outcome_socket_address(s);

    raw_send_frame(s, false, &request);
    NDK_CONNECTOR *c = kit_next_request(&p->listener);
    raw_close(s, reset);
    e.local = &p->listener.address;
    e.foreign = &peer;
    outcome_wait(&p->passive, &e, total);
    CHECK_STATUS(kit_close(c), STATUS_SUCCESS);
}

CASE(causes_of_requests, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call call = { 0 };

    log_collect();
    kit_pair_open_idle(&p);
    request_ends(
        &p, false,
        (struct outcome){ ACCEPTED, "requested", STATUS_CONNECTION_ABORTED, REASON(UNANSWERED), NULL, NULL, 1 }, 1);
    request_ends(
        &p, true,
        (struct outcome){ ACCEPTED, "requested", STATUS_CONNECTION_ABORTED, REASON(UNANSWERED), NULL, NULL, 2 }, 1);
    /* The consumer closes the connector without an answer. */
    NTSTATUS connecting = kit_connect_start(&p.active, &call, &source, &p.listener.address, NULL, 0);
    CHECK_STATUS(kit_close(kit_next_request(&p.listener)), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&call, connecting), STATUS_CONNECTION_REFUSED);
    ondk_failure_t a = outcome_wait(&p.active,
                                    &(struct outcome){ INITIATED, "requesting", STATUS_CONNECTION_REFUSED,
                                                       REASON(REJECTED), &source, &p.listener.address, 0 },
                                    1);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED | REFUSED, "requested", STATUS_CANCELLED, REASON(LOCAL_CLOSE),
                                    &p.listener.address, &a.local, 0 },
                 2);
    kit_pair_close(&p);
}

/* The consumer accepts only after the peer's time limit. Both sides name the side that was slow. */
CASE(causes_an_accept_that_comes_too_late, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);

    LIMIT(reply_ms, 200);
    log_collect();
    kit_pair_open_idle(&p);
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_IO_TIMEOUT);
    ondk_failure_t a = outcome_wait(&p.active,
                                    &(struct outcome){ INITIATED, "requesting", STATUS_IO_TIMEOUT,
                                                       REASON(REPLY_TIMEOUT), &source, &p.listener.address, 0 },
                                    1);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED, "requested", STATUS_CONNECTION_ABORTED, REASON(UNANSWERED),
                                    &p.listener.address, &a.local, 0 },
                 1);
    p.passive.connector = kit_next_request(&p.listener);
    CHECK_STATUS(kit_accept(&p.passive, NULL, 0), STATUS_CONNECTION_ABORTED);
    CHECK_EQ(ondk_connector_reason(p.passive.connector), REASON(UNANSWERED));
    kit_pair_close(&p);
}

/* ---- establishment ---- */

/* A pair whose NdkConnect has succeeded, and whose NdkAccept waits for NdkCompleteConnect. */
struct replied {
    struct kit_pair pair;
    struct kit_call accept;
    NTSTATUS accepting;
    struct sockaddr_storage near; /* the initiator's address */
};

static void replied_open(struct replied *r)
{
    struct kit_pair *p = &r->pair;
    struct kit_call connect = { 0 };
    struct sockaddr_storage source = kit_host(0);

    kit_pair_open_idle(p);
    NTSTATUS connecting = kit_connect_start(&p->active, &connect, &source, &p->listener.address, NULL, 0);
    p->passive.connector = kit_next_request(&p->listener);
    r->accepting = kit_accept_start(&p->passive, &r->accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    r->near = kit_local_address(p->active.connector);
}

/* Closes the pair after each side has found the end that is expected of it. */
static void replied_close(struct replied *r, struct outcome active, struct outcome passive)
{
    struct kit_pair *p = &r->pair;

    active.local = passive.foreign = &r->near;
    active.foreign = passive.local = &p->listener.address;
    outcome_wait(&p->active, &active, 1);
    outcome_wait(&p->passive, &passive, 1);
    kit_pair_close(p);
}

/* The initiator does not call NdkCompleteConnect. */
CASE(causes_no_ready_to_receive, KIT_FAMILIES)
{
    static struct replied r;

    LIMIT(establish_ms, 1000);
    log_collect();
    replied_open(&r);
    CHECK_STATUS(kit_final(&r.accept, r.accepting), STATUS_IO_TIMEOUT);
    replied_close(
        &r, (struct outcome){ INITIATED, "replied", STATUS_CONNECTION_ABORTED, REASON(PEER_RESET), NULL, NULL, 0 },
        (struct outcome){ ACCEPTED, "accepting", STATUS_IO_TIMEOUT, REASON(ESTABLISH_TIMEOUT), NULL, NULL, 0 });
}

/* The initiator's consumer rejects after NdkConnect has succeeded. */
CASE(causes_an_initiator_that_rejects, KIT_FAMILIES)
{
    static struct replied r;

    log_collect();
    replied_open(&r);
    NDK_CONNECTOR *c = r.pair.active.connector;
    CHECK_STATUS(c->Dispatch->NdkReject(c, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&r.accept, r.accepting), STATUS_CONNECTION_ABORTED);
    replied_close(
        &r, (struct outcome){ INITIATED, "replied", STATUS_CONNECTION_REFUSED, REASON(LOCAL_REJECT), NULL, NULL, 0 },
        (struct outcome){ ACCEPTED, "accepting", STATUS_CONNECTION_ABORTED, REASON(PEER_GAVE_UP), NULL, NULL, 0 });
}

/* Answers to a request: none in time, bytes that are no reply, and the consumer's own close while it waits. */
CASE(causes_of_bad_answers, KIT_FAMILIES)
{
    static struct kit_side s;
    struct sockaddr_storage source = kit_host(0), server = kit_host(0);
    struct outcome e = { INITIATED, "requesting", STATUS_IO_TIMEOUT, REASON(REPLY_TIMEOUT), &source, &server, 0 };
    struct raw_frame request;
    struct kit_call call = { 0 };
    int listener = raw_listen(&server), peer;

    LIMIT(reply_ms, 200);
    log_collect();
    kit_side_open(&s, NULL);
    CHECK_STATUS(kit_connect(&s, &source, &server, NULL, 0), STATUS_IO_TIMEOUT);
    outcome_wait(&s, &e, 1);
    raw_close(raw_accept(listener), false);
    kit_side_close(&s);
    LIMIT(reply_ms, 10000);
    kit_side_open(&s, NULL);
    NTSTATUS connecting = kit_connect_start(&s, &call, &source, &server, NULL, 0);
    peer = raw_accept(listener);
    CHECK(raw_recv_frame(peer, false, &request));
    raw_send(peer, "HTTP/1.0 400 Bad Request", 24);
    CHECK_STATUS(kit_final(&call, connecting), STATUS_CONNECTION_REFUSED);
    e.status = STATUS_CONNECTION_REFUSED;
    e.reason = REASON(BAD_REPLY);
    outcome_wait(&s, &e, 1);
    raw_close(peer, false);
    call = (struct kit_call){ 0 };
    connecting = kit_connect_start(&s, &call, &source, &server, NULL, 0);
    peer = raw_accept(listener);
    CHECK(raw_recv_frame(peer, false, &request));
    kit_close_connector(&s);
    CHECK_STATUS(kit_final(&call, connecting), STATUS_CANCELLED);
    e.status = STATUS_CANCELLED;
    e.reason = REASON(LOCAL_CLOSE);
    outcome_wait(&s, &e, 2);
    raw_close(peer, false);
    raw_close(listener, false);
    kit_side_close(&s);
}
