/* SPDX-License-Identifier: MIT */
/*
 * Each cause for which a connection fails or is refused, provoked for real: its entry in the list of failures and its
 * line in the log, on each side that OpenNDK is, with the right addresses, role, phase, status and reason.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/net.h"
#include "contract/kit/peer.h"
#include "contract/kit/raw.h"
#include "observe/outcome.h"
#include "openndk/config.h"
#include "openndk/log.h"

/* Sets time limits of later adapters. */
static void limit(size_t field, uint32_t value)
{
    ondk_config_t config;

    ondk_config_init(&config);
    memcpy((char *)&config + field, &value, sizeof value);
    CHECK_STATUS(ondk_configure(&config), STATUS_SUCCESS);
}
#define LIMIT(field, value) limit(offsetof(ondk_config_t, field), (value))

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

    LIMIT(request_ms, 200);
    log_collect();
    kit_pair_open_idle(&p);
    refused_peer(
        &p, "GET / HTTP/1.0\r\n\r\n  ", 20,
        (struct outcome){ ACCEPTED, "arriving", STATUS_CONNECTION_ABORTED, REASON(BAD_REQUEST), NULL, NULL, 0 }, 1);
    request[17] = 3;
    refused_peer(
        &p, request, len,
        (struct outcome){ ACCEPTED, "arriving", STATUS_CONNECTION_ABORTED, REASON(BAD_REVISION), NULL, NULL, 0 }, 2);
    refused_peer(&p, NULL, 0,
                 (struct outcome){ ACCEPTED, "arriving", STATUS_IO_TIMEOUT, REASON(REQUEST_TIMEOUT), NULL, NULL, 0 },
                 3);
    leaving_peer(
        &p, false,
        (struct outcome){ ACCEPTED, "arriving", STATUS_CONNECTION_ABORTED, REASON(PEER_GAVE_UP), NULL, NULL, 0 }, 4);
    leaving_peer(&p, true,
                 (struct outcome){ ACCEPTED, "arriving", STATUS_CONNECTION_ABORTED, REASON(PEER_RESET), NULL, NULL, 0 },
                 5);
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

/* The process has no descriptor for the peer, which it therefore does not know. */
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

/* The initiator does not call NdkCompleteConnect. */
CASE(causes_no_ready_to_receive, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call connect = { 0 }, accept = { 0 };
    struct sockaddr_storage source = kit_host(0);

    LIMIT(establish_ms, 200);
    log_collect();
    kit_pair_open_idle(&p);
    NTSTATUS connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    p.passive.connector = kit_next_request(&p.listener);
    NTSTATUS accepting = kit_accept_start(&p.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    struct sockaddr_storage near = kit_local_address(p.active.connector);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_IO_TIMEOUT);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED, "accepting", STATUS_IO_TIMEOUT, REASON(ESTABLISH_TIMEOUT),
                                    &p.listener.address, &near, 0 },
                 1);
    outcome_wait(&p.active,
                 &(struct outcome){ INITIATED, "replied", STATUS_CONNECTION_ABORTED, REASON(PEER_RESET), &near,
                                    &p.listener.address, 0 },
                 1);
    kit_pair_close(&p);
}

/* The initiator's consumer rejects after NdkConnect has succeeded. */
CASE(causes_an_initiator_that_rejects, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call connect = { 0 }, accept = { 0 };
    struct sockaddr_storage source = kit_host(0);

    log_collect();
    kit_pair_open_idle(&p);
    NTSTATUS connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    p.passive.connector = kit_next_request(&p.listener);
    NTSTATUS accepting = kit_accept_start(&p.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    struct sockaddr_storage near = kit_local_address(p.active.connector);
    NDK_CONNECTOR *c = p.active.connector;
    CHECK_STATUS(c->Dispatch->NdkReject(c, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_CONNECTION_ABORTED);
    outcome_wait(&p.active,
                 &(struct outcome){ INITIATED, "replied", STATUS_CONNECTION_REFUSED, REASON(LOCAL_REJECT), &near,
                                    &p.listener.address, 0 },
                 1);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED, "accepting", STATUS_CONNECTION_ABORTED, REASON(PEER_GAVE_UP),
                                    &p.listener.address, &near, 0 },
                 1);
    kit_pair_close(&p);
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

/* ---- established connections ---- */

CASE(causes_a_peer_that_resets, KIT_FAMILIES)
{
    static struct kit_pair p;

    log_collect();
    kit_pair_open(&p);
    struct sockaddr_storage near = kit_local_address(p.active.connector);
    log_wait(ONDK_LOG_DEBUG, "connection established: local=", 2);
    log_wait(ONDK_LOG_DEBUG, " mpa-revision=2 crc=on", 2);
    kit_close_connector(&p.active);
    kit_wait_count(&p.passive.disconnected, 1);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED, "established", STATUS_CONNECTION_ABORTED, REASON(PEER_RESET),
                                    &p.listener.address, &near, 0 },
                 1);
    outcome_wait(&p.active,
                 &(struct outcome){ INITIATED, "established", STATUS_CANCELLED, REASON(LOCAL_CLOSE), &near,
                                    &p.listener.address, 0 },
                 1);
    kit_pair_close(&p);
}

/* This side disconnects only after the peer has given up waiting for it. Its NdkDisconnect succeeds nevertheless. */
CASE(causes_a_disconnect_that_comes_too_late, KIT_FAMILIES)
{
    static struct kit_pair p;

    LIMIT(disconnect_ms, 200);
    log_collect();
    kit_pair_open(&p);
    struct sockaddr_storage near = kit_local_address(p.active.connector);
    CHECK_STATUS(kit_disconnect(&p.active), STATUS_IO_TIMEOUT);
    outcome_wait(&p.active,
                 &(struct outcome){ INITIATED, "disconnecting", STATUS_IO_TIMEOUT, REASON(DISCONNECT_TIMEOUT), &near,
                                    &p.listener.address, 0 },
                 1);
    kit_wait_count(&p.passive.disconnected, 1);
    CHECK_STATUS(kit_disconnect(&p.passive), STATUS_SUCCESS);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED, "peer-gone", STATUS_CONNECTION_ABORTED, REASON(PEER_RESET),
                                    &p.listener.address, &near, 0 },
                 1);
    CHECK_EQ(log_count(ONDK_LOG_DEBUG, "connection ended"), 0);
    kit_pair_close(&p);
}

/* The peer resets after its notice. This side finds out when it sends. */
CASE(causes_a_send_to_a_peer_that_has_left, KIT_FAMILIES)
{
    static struct peer_initiator p;

    log_collect();
    peer_initiator_connect(&p, PEER_WRITE);
    struct sockaddr_storage peer = outcome_socket_address(p.s);
    CHECK_EQ(shutdown(p.s, SHUT_WR), 0);
    kit_wait_count(&p.side.disconnected, 1);
    raw_close(p.s, true);
    CHECK_STATUS(kit_post_send(&p.side, 1, 0, 64), STATUS_SUCCESS);
    outcome_wait(&p.side,
                 &(struct outcome){ ACCEPTED, "peer-gone", STATUS_CONNECTION_ABORTED, REASON(PEER_RESET),
                                    &p.listener.address, &peer, 0 },
                 1);
    CHECK_STATUS(kit_disconnect(&p.side), STATUS_SUCCESS);
    p.s = -1;
    peer_initiator_close(&p);
}

/* The peer has disconnected, and this side closes without a disconnect, which the peer finds as a reset. */
CASE(causes_a_close_in_place_of_a_disconnect, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call call = { 0 };

    log_collect();
    kit_pair_open(&p);
    NDK_CONNECTOR *a = p.active.connector;
    struct sockaddr_storage near = kit_local_address(a);
    NTSTATUS disconnecting = a->Dispatch->NdkDisconnect(a, kit_request_done, &call);
    kit_wait_count(&p.passive.disconnected, 1);
    kit_close_connector(&p.passive);
    CHECK_STATUS(kit_final(&call, disconnecting), STATUS_CONNECTION_ABORTED);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED, "peer-gone", STATUS_CANCELLED, REASON(LOCAL_CLOSE), &p.listener.address,
                                    &near, 0 },
                 1);
    outcome_wait(&p.active,
                 &(struct outcome){ INITIATED, "disconnecting", STATUS_CONNECTION_ABORTED, REASON(PEER_RESET), &near,
                                    &p.listener.address, 0 },
                 1);
    kit_pair_close(&p);
}

CASE(causes_normal_ends, KIT_FAMILIES)
{
    static struct kit_pair p;

    log_collect();
    kit_pair_open(&p);
    kit_pair_disconnect(&p);
    log_wait(ONDK_LOG_DEBUG, "connection ended: local=", 2);
    log_wait(ONDK_LOG_DEBUG, "role=initiated reason=local-disconnect (0x00430000)", 1);
    log_wait(ONDK_LOG_DEBUG, "role=accepted reason=peer-closed (0x00240000)", 1);
    CHECK_EQ(log_count(ONDK_LOG_INFO, ""), 0);
    CHECK_EQ(ondk_adapter_failures(NULL, NULL, 0), 0);
    kit_pair_close(&p);
}

/* Errors of one side that the other finds: a Terminate with the same code on both sides. */
static void fault(uint16_t code, void (*cause)(struct kit_pair *p))
{
    static struct kit_pair p;

    kit_pair_open(&p);
    struct sockaddr_storage near = kit_local_address(p.active.connector);
    cause(&p);
    kit_wait_count(&p.active.disconnected, 1);
    kit_wait_count(&p.passive.disconnected, 1);
    outcome_wait(&p.active,
                 &(struct outcome){ INITIATED, "established", STATUS_CONNECTION_ABORTED, 0x02260000u | code, &near,
                                    &p.listener.address, 0 },
                 1);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED, "established", STATUS_CONNECTION_ABORTED, 0x01310000u | code,
                                    &p.listener.address, &near, 0 },
                 1);
    kit_pair_close(&p);
}

static void send_too_much(struct kit_pair *p)
{
    CHECK_STATUS(kit_post_receive(&p->passive, 1, 0, 8), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p->active, 2, 0, 100), STATUS_SUCCESS);
}

static void send_without_receive(struct kit_pair *p)
{
    CHECK_STATUS(kit_post_send(&p->active, 2, 0, 100), STATUS_SUCCESS);
}

static void write_with_a_wrong_token(struct kit_pair *p)
{
    struct kit_side wrong = { .memory = p->passive.memory, .remote_token = p->passive.remote_token ^ 0xff00u };

    CHECK_STATUS(kit_post_write(&p->active, 2, 0, 100, &wrong, 0), STATUS_SUCCESS);
}

static void write_beyond_the_region(struct kit_pair *p)
{
    CHECK_STATUS(kit_post_write(&p->active, 2, 0, 100, &p->passive, KIT_MEMORY - 50), STATUS_SUCCESS);
}

CASE(causes_of_terminates, KIT_FAMILIES)
{
    log_collect();
    fault(0x1205, send_too_much);
    fault(0x1202, send_without_receive);
    fault(0x1100, write_with_a_wrong_token);
    fault(0x1101, write_beyond_the_region);
}

CASE(causes_an_overflow, 0)
{
    static struct kit_pair p;
    NDK_QP *qp;
    NDK_CQ *cq;
    struct kit_call call = { 0 };

    log_collect();
    kit_pair_open_idle(&p);
    struct kit_side *a = &p.active;
    CHECK_STATUS(kit_close(a->qp), STATUS_SUCCESS);
    NTSTATUS status = a->adapter->Dispatch->NdkCreateCq(a->adapter, 2, kit_on_notify, a, NULL, kit_create_done, &call,
                                                        &cq);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    call = (struct kit_call){ 0 };
    status = a->pd->Dispatch->NdkCreateQp(a->pd, cq, cq, NULL, 8, 8, 1, 1, 0, kit_create_done, &call, &qp);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    a->qp = qp;
    kit_establish(&p.active, &p.passive, &p.listener);
    struct sockaddr_storage near = kit_local_address(p.active.connector);
    for (uintptr_t i = 0; i < 4; i++)
        (void)kit_post_write(a, i, 0, 8, &p.passive, 0); /* the last may find the queue overflowed */
    kit_wait_count(&a->disconnected, 1);
    outcome_wait(a,
                 &(struct outcome){ INITIATED, "established", STATUS_CONNECTION_ABORTED, REASON(CQ_OVERFLOW), &near,
                                    &p.listener.address, 0 },
                 1);
    kit_close_connector(a);
    CHECK_STATUS(kit_close(a->qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(cq), STATUS_SUCCESS);
    a->qp = kit_qp(a, KIT_DEPTH);
    kit_pair_close(&p);
}

/* The peer does not disconnect. */
CASE(causes_a_disconnect_without_an_answer, KIT_FAMILIES)
{
    static struct peer_initiator p;

    LIMIT(disconnect_ms, 200);
    log_collect();
    peer_initiator_connect(&p, PEER_WRITE);
    struct sockaddr_storage peer = outcome_socket_address(p.s);
    CHECK_STATUS(kit_disconnect(&p.side), STATUS_IO_TIMEOUT);
    outcome_wait(&p.side,
                 &(struct outcome){ ACCEPTED, "disconnecting", STATUS_IO_TIMEOUT, REASON(DISCONNECT_TIMEOUT),
                                    &p.listener.address, &peer, 0 },
                 1);
    peer_initiator_close(&p);
}

/* ---- other processes and the network ---- */

/* A server in a process of its own. Sends its address, accepts one connection, and waits to be killed. */
static void run_victim(int wire)
{
    static struct kit_side s;
    static struct kit_listener l;

    kit_side_open(&s, NULL);
    kit_listen(&l, s.adapter);
    kit_wire_send(wire, &l.address, sizeof l.address);
    s.connector = kit_next_request(&l);
    CHECK_STATUS(kit_accept(&s, NULL, 0), STATUS_SUCCESS);
    kit_wire_send(wire, "", 1);
    pause();
}

CASE(causes_a_killed_peer, KIT_FAMILIES)
{
    static struct kit_side s;
    struct sockaddr_storage source = kit_host(0), server;
    struct kit_child child;
    char accepted;

    kit_fork(&child, run_victim, false);
    kit_wire_receive(child.wire, &server, sizeof server);
    log_collect();
    kit_side_open(&s, NULL);
    CHECK_STATUS(kit_connect(&s, &source, &server, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&s), STATUS_SUCCESS);
    struct sockaddr_storage near = kit_local_address(s.connector);
    kit_wire_receive(child.wire, &accepted, 1);
    /* Input that the peer has not read makes its kernel send a reset. Without input it would send a disconnect. */
    CHECK_EQ(kill(child.pid, SIGSTOP), 0);
    CHECK_STATUS(kit_post_write(&s, 1, 0, 0, &s, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&s).Status, STATUS_SUCCESS);
    CHECK_EQ(kill(child.pid, SIGKILL), 0);
    kit_wait_count(&s.disconnected, 1);
    outcome_wait(
        &s,
        &(struct outcome){ INITIATED, "established", STATUS_CONNECTION_ABORTED, REASON(PEER_RESET), &near, &server, 0 },
        1);
    kit_side_close(&s);
}

/* A firewall drops the first packet, and later those of an established connection. */
CASE(causes_a_firewall, KIT_NETNS)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    ondk_config_t config;

    ondk_config_init(&config);
    config.connect_ms = 300;
    config.unacked_ms = 300;
    config.keepalive_idle_ms = 1000;
    config.keepalive_interval_ms = 1000;
    CHECK_STATUS(ondk_configure(&config), STATUS_SUCCESS);
    log_collect();
    kit_nft("add table ip wall");
    kit_pair_open(&p);
    struct sockaddr_storage near = kit_local_address(p.active.connector);
    kit_nft("add chain ip wall drops { type filter hook input priority 0 ; policy drop ; }");
    CHECK_STATUS(kit_post_send(&p.active, 2, 0, 64), STATUS_SUCCESS);
    kit_wait_count(&p.active.disconnected, 1);
    outcome_wait(&p.active,
                 &(struct outcome){ INITIATED, "established", STATUS_CONNECTION_ABORTED, REASON(PEER_SILENT), &near,
                                    &p.listener.address, 0 },
                 1);
    kit_wait_count(&p.passive.disconnected, 1); /* by keepalive */
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED, "established", STATUS_CONNECTION_ABORTED, REASON(PEER_SILENT),
                                    &p.listener.address, &near, 0 },
                 1);
    kit_close_connector(&p.active);
    CHECK_STATUS(kit_close(p.active.qp), STATUS_SUCCESS);
    p.active.qp = kit_qp(&p.active, KIT_DEPTH);
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_IO_TIMEOUT);
    outcome_wait(&p.active,
                 &(struct outcome){ INITIATED, "connecting", STATUS_IO_TIMEOUT, REASON(CONNECT_TIMEOUT), &source,
                                    &p.listener.address, 0 },
                 2);
    kit_nft("delete table ip wall");
    kit_pair_close(&p);
}

CASE(causes_an_interface_that_is_deleted, KIT_NETNS)
{
    static struct kit_pair p;
    struct sockaddr_storage at = kit_cable_host(1, 0);
    struct kit_child other;

    kit_fork(&other, kit_wait_join, true);
    kit_cable(&other);
    log_collect();
    kit_side_open(&p.active, kit_open_interface("near"));
    kit_side_open(&p.passive, kit_open_interface("near"));
    p.active.owns_adapter = p.passive.owns_adapter = true;
    kit_listen_at(&p.listener, p.passive.adapter, &at);
    kit_establish_from(&p.active, &p.passive, &p.listener, &at);
    struct sockaddr_storage near = kit_local_address(p.active.connector);
    kit_ip("link delete near");
    outcome_wait(&p.active,
                 &(struct outcome){ INITIATED, "established", STATUS_CONNECTION_ABORTED, REASON(INTERFACE_GONE), &near,
                                    &p.listener.address, 0 },
                 1);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED, "established", STATUS_CONNECTION_ABORTED, REASON(INTERFACE_GONE),
                                    &p.listener.address, &near, 0 },
                 1);
    kit_pair_close(&p);
    kit_join(&other);
}
