/* SPDX-License-Identifier: MIT */
/* Causes each counted event, and checks the exact counters before and after it. */
#include "contract/kit/kit.h"
#include "contract/kit/raw.h"
#include "openndk/counters.h"

static ondk_counters_t counters(const struct kit_side *s)
{
    ondk_counters_t c;

    ondk_adapter_counters(s->adapter, &c);
    return c;
}

/* The expected counts of connections and queues. */
struct expected {
    uint64_t initiated, accepted, failed, active, errors, cq_errors, refused, dropped;
};

static void check(const struct kit_side *s, struct expected e)
{
    ondk_counters_t c = counters(s);

    CHECK_EQ(c.initiated_connections, e.initiated);
    CHECK_EQ(c.accepted_connections, e.accepted);
    CHECK_EQ(c.failed_connection_attempts, e.failed);
    CHECK_EQ(c.active_connections, e.active);
    CHECK_EQ(c.connection_errors, e.errors);
    CHECK_EQ(c.completion_queue_errors, e.cq_errors);
    CHECK_EQ(c.refused_requests, e.refused);
    CHECK_EQ(c.dropped_peers, e.dropped);
}

static void new_connection(struct kit_pair *p)
{
    struct kit_side *sides[] = { &p->active, &p->passive };

    for (int i = 0; i < 2; i++) {
        kit_close_connector(sides[i]);
        CHECK_STATUS(kit_close(sides[i]->qp), STATUS_SUCCESS);
        sides[i]->qp = kit_qp(sides[i], KIT_DEPTH);
    }
    kit_establish(&p->active, &p->passive, &p->listener);
}

CASE(counters_of_connections, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open_idle(&p);
    check(&p.active, (struct expected){ 0 });
    check(&p.passive, (struct expected){ 0 });
    kit_establish(&p.active, &p.passive, &p.listener);
    check(&p.active, (struct expected){ .initiated = 1, .active = 1 });
    check(&p.passive, (struct expected){ .accepted = 1, .active = 1 });
    kit_pair_disconnect(&p);
    check(&p.active, (struct expected){ .initiated = 1 });
    check(&p.passive, (struct expected){ .accepted = 1 });
    new_connection(&p);
    check(&p.active, (struct expected){ .initiated = 2, .active = 1 });
    check(&p.passive, (struct expected){ .accepted = 2, .active = 1 });
    kit_close_connector(&p.active);
    check(&p.active, (struct expected){ .initiated = 2 });
    kit_pair_close(&p);
}

CASE(counters_of_failures, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call call = { 0 };
    struct sockaddr_storage source = kit_host(0), nobody = kit_free_address();

    kit_pair_open_idle(&p);
    CHECK_STATUS(kit_connect(&p.active, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
    check(&p.active, (struct expected){ .failed = 1 });
    NTSTATUS connecting = kit_connect_start(&p.active, &call, &source, &p.listener.address, NULL, 0);
    NDK_CONNECTOR *asking = kit_next_request(&p.listener);
    CHECK_STATUS(asking->Dispatch->NdkReject(asking, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&call, connecting), STATUS_CONNECTION_REFUSED);
    CHECK_STATUS(kit_close(asking), STATUS_SUCCESS);
    check(&p.active, (struct expected){ .failed = 2 });
    check(&p.passive, (struct expected){ 0 });
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 5), STATUS_INVALID_PARAMETER);
    check(&p.active, (struct expected){ .failed = 2 }); /* refused inline, which does not count as an attempt */
    kit_pair_close(&p);
}

/* The peer sends its request, is accepted, and disconnects before its ready-to-receive message. */
CASE(counters_of_a_failed_accept, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call accept = { 0 };
    struct raw_frame request = raw_enhanced(true, 1, 1), reply;

    kit_pair_open_idle(&p);
    request.ird |= RAW_A | RAW_B; /* peer-to-peer: an empty FPDU must follow */
    int s = raw_connect(&p.listener.address);
    raw_send_frame(s, false, &request);
    p.passive.connector = kit_next_request(&p.listener);
    NTSTATUS accepting = kit_accept_start(&p.passive, &accept, NULL, 0);
    CHECK(raw_recv_frame(s, true, &reply));
    raw_close(s, false);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_CONNECTION_ABORTED);
    check(&p.passive, (struct expected){ .failed = 1 });
    kit_pair_close(&p);
}

CASE(counters_of_peers_that_nobody_saw, 0)
{
    static struct kit_pair p;
    struct kit_config config = kit_config();
    uint8_t garbage[64] = { 'G', 'E', 'T', ' ', '/' };

    config.request_ms = 100;
    kit_configure(&config);
    kit_pair_open_idle(&p);
    int s = raw_connect(&p.listener.address);
    raw_send(s, garbage, sizeof garbage);
    CHECK(raw_wait_end(s));
    raw_close(s, false);
    check(&p.passive, (struct expected){ .refused = 1 });
    s = raw_connect(&p.listener.address);
    CHECK(raw_wait_end(s)); /* the peer sends nothing: the time limit expires */
    raw_close(s, false);
    check(&p.passive, (struct expected){ .refused = 1, .dropped = 1 });
    kit_pair_close(&p);
}

/* A peer that closes without a notice is an error at this end, but not at the end that closed. */
CASE(counters_of_an_abrupt_end, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    kit_close_connector(&p.passive);
    kit_wait_count(&p.active.disconnected, 1);
    check(&p.active, (struct expected){ .initiated = 1, .errors = 1 });
    check(&p.passive, (struct expected){ .accepted = 1 });
    kit_close_connector(&p.active);
    check(&p.active, (struct expected){ .initiated = 1, .errors = 1 });
    kit_pair_close(&p);
}

/* A disconnect by notice is no error, however this end answers it. */
CASE(counters_of_a_notice, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call call = { 0 };

    kit_pair_open(&p);
    NDK_CONNECTOR *c = p.active.connector;
    NTSTATUS ending = c->Dispatch->NdkDisconnect(c, kit_request_done, &call);
    kit_wait_count(&p.passive.disconnected, 1);
    check(&p.passive, (struct expected){ .accepted = 1, .active = 1 });
    CHECK_STATUS(kit_disconnect(&p.passive), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&call, ending), STATUS_SUCCESS);
    check(&p.active, (struct expected){ .initiated = 1 });
    check(&p.passive, (struct expected){ .accepted = 1 });
    kit_pair_close(&p);
}

/*
 * A message that does not fit its receive ends the connection by Terminate, which counts as an error at both ends.
 */
CASE(counters_of_a_fault, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 8), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p.active, 2, 0, 100), STATUS_SUCCESS);
    kit_wait_count(&p.active.disconnected, 1);
    kit_wait_count(&p.passive.disconnected, 1);
    check(&p.active, (struct expected){ .initiated = 1, .errors = 1 });
    check(&p.passive, (struct expected){ .accepted = 1, .errors = 1 });
    kit_close_connector(&p.active);
    kit_close_connector(&p.passive);
    ondk_counters_t a = counters(&p.active), b = counters(&p.passive);
    CHECK_EQ(a.rdma_out_frames, 2); /* ready-to-receive, the message */
    CHECK_EQ(b.rdma_in_frames, 1);  /* the message was invalid */
    CHECK_EQ(b.rdma_out_frames, 1); /* the Terminate */
    CHECK_EQ(a.rdma_in_frames, 1);
    CHECK_EQ(a.rdma_out_octets, b.rdma_in_octets);
    CHECK_EQ(b.rdma_out_octets, a.rdma_in_octets);
    kit_pair_close(&p);
}

CASE(counters_of_an_overflow, 0)
{
    static struct kit_side s;

    s.depth = KIT_DEPTH;
    kit_side_open(&s, NULL);
    struct kit_call call = { 0 };
    NDK_QP *qp;
    NDK_CQ *cq;
    NTSTATUS status = s.adapter->Dispatch->NdkCreateCq(s.adapter, 2, kit_on_notify, &s, NULL, kit_create_done, &call,
                                                       &cq);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    call = (struct kit_call){ 0 };
    status = s.pd->Dispatch->NdkCreateQp(s.pd, cq, cq, NULL, 4, 1, 1, 1, 0, kit_create_done, &call, &qp);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    for (uintptr_t i = 0; i < 2; i++)
        CHECK_STATUS(qp->Dispatch->NdkReceive(qp, NULL, NULL, 0), STATUS_SUCCESS);
    qp->Dispatch->NdkFlush(qp);
    for (int got = 0; got < 2;) {
        NDK_RESULT r;
        got += (int)cq->Dispatch->NdkGetCqResults(cq, &r, 1);
    }
    check(&s, (struct expected){ 0 }); /* full, then emptied: no overflow */
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ERRORS);
    for (uintptr_t i = 0; i < 4; i++)
        CHECK_STATUS(qp->Dispatch->NdkReceive(qp, NULL, NULL, 0), STATUS_SUCCESS);
    qp->Dispatch->NdkFlush(qp);
    kit_wait_count(&s.notified, 1);
    CHECK_STATUS(s.cq_status, STATUS_BUFFER_OVERFLOW);
    check(&s, (struct expected){ .cq_errors = 1 });
    CHECK_STATUS(kit_close(qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(cq), STATUS_SUCCESS);
    check(&s, (struct expected){ .cq_errors = 1 });
    kit_side_close(&s);
}

/* FPDUs byte by byte: 2 length, DDP and RDMAP header (14 tagged, 18 untagged), payload, padding to 4, 4 CRC. */
CASE(counters_of_traffic, KIT_FAMILIES)
{
    enum { READY = 8, SEND_10 = 36, WRITE_1000 = 1020, READ_REQUEST = 52, READ_100 = 120 };
    static struct kit_pair p;

    kit_pair_open(&p);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 100), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p.active, 2, 0, 10), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_write(&p.active, 3, 0, 1000, &p.passive, 4096), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_read(&p.active, 4, 8192, 100, &p.passive, 4096), STATUS_SUCCESS);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
    kit_pair_disconnect(&p);
    ondk_counters_t a = counters(&p.active), b = counters(&p.passive);
    CHECK_EQ(a.rdma_out_frames, 4);
    CHECK_EQ(a.rdma_out_octets, READY + SEND_10 + WRITE_1000 + READ_REQUEST);
    CHECK_EQ(a.rdma_in_frames, 1);
    CHECK_EQ(a.rdma_in_octets, READ_100);
    CHECK_EQ(b.rdma_in_frames, 4);
    CHECK_EQ(b.rdma_in_octets, READY + SEND_10 + WRITE_1000 + READ_REQUEST);
    CHECK_EQ(b.rdma_out_frames, 1);
    CHECK_EQ(b.rdma_out_octets, READ_100);
    kit_pair_close(&p);
}
