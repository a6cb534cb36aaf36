/* SPDX-License-Identifier: MIT */
/* CON: NdkConnect: private data, read limits and addresses, and inline failures. */
#include "contract/kit/kit.h"
#include "contract/kit/raw.h"

enum { MOST_DATA = 512 }; /* bytes; more private data than fits beside the read limits */

static NTSTATUS connect_with(struct kit_side *s, struct kit_call *call, const struct sockaddr_storage *to,
                             ULONG inbound, ULONG outbound)
{
    struct sockaddr_storage source = kit_host(0);

    if (!s->connector)
        s->connector = kit_connector(s->adapter);
    return s->connector->Dispatch->NdkConnect(s->connector, s->qp, (PSOCKADDR)&source, kit_address_len(&source),
                                              (PSOCKADDR)to, kit_address_len(to), inbound, outbound, NULL, 0,
                                              kit_request_done, call);
}

static NTSTATUS accept_with(struct kit_side *s, struct kit_call *call, ULONG inbound, ULONG outbound)
{
    return s->connector->Dispatch->NdkAccept(s->connector, s->qp, inbound, outbound, NULL, 0, kit_on_disconnect, s,
                                             kit_request_done, call);
}

static void check_limits(NDK_CONNECTOR *c, ULONG inbound, ULONG outbound)
{
    ULONG in = 9999, out = 9999;

    CHECK_STATUS(c->Dispatch->NdkGetConnectionData(c, &in, &out, NULL, NULL), STATUS_SUCCESS);
    CHECK_EQ(in, inbound);
    CHECK_EQ(out, outbound);
}

static void check_data(NDK_CONNECTOR *c, ULONG len, unsigned seed)
{
    uint8_t data[512];
    ULONG have = sizeof data;

    CHECK_STATUS(c->Dispatch->NdkGetConnectionData(c, NULL, NULL, data, &have), STATUS_SUCCESS);
    CHECK_EQ(have, len);
    CHECK(kit_pattern_is(data, len, seed));
}

static void reject(struct kit_side *s, const void *data, ULONG len)
{
    CHECK_STATUS(s->connector->Dispatch->NdkReject(s->connector, (PVOID)data, len), STATUS_SUCCESS);
    kit_close_connector(s);
}

/* covers: CON-01 */
CASE(con_01_private_data_of_any_length_arrives, KIT_FAMILIES)
{
    const ULONG most = kit_info()->MaxCallerData, lengths[] = { 0, 1, 2, 3, most / 2, most - 1, most };
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    uint8_t data[MOST_DATA];

    KIT_NEED(most >= 4, "private data");
    CHECK(most <= MOST_DATA);
    kit_pair_open_idle(&p);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct kit_call call = { 0 };
        NTSTATUS status;

        kit_pattern(data, sizeof data, (unsigned)i);
        status = kit_connect_start(&p.active, &call, &source, &p.listener.address, data, lengths[i]);
        memset(data, 0xdd, sizeof data); /* it belongs to the consumer again */
        p.passive.connector = kit_next_request(&p.listener);
        check_data(p.passive.connector, lengths[i], (unsigned)i);
        reject(&p.passive, NULL, 0);
        CHECK_STATUS(kit_final(&call, status), STATUS_CONNECTION_REFUSED);
    }
    kit_pair_close(&p);
}

/* covers: CON-01 */
CASE(con_01_more_than_the_adapter_carries_is_refused_inline, 0)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    uint8_t data[MOST_DATA + 1] = { 0 };
    ULONG most = kit_info()->MaxCallerData;
    struct kit_call call = { 0 };

    CHECK(most <= MOST_DATA);
    kit_pair_open_idle(&p);
    CHECK_STATUS(kit_connect_start(&p.active, &call, &source, &p.listener.address, data, most + 1),
                 STATUS_INVALID_PARAMETER);
    CHECK_STATUS(kit_connect_start(&p.active, &call, &source, &p.listener.address, data, 0x80000000u),
                 STATUS_INVALID_PARAMETER);
    kit_pause();
    CHECK_EQ(atomic_load(&call.calls), 0);
    CHECK_EQ(atomic_load(&p.listener.requests), 0);
    kit_pair_close(&p);
}

/* covers: CON-02 */
CASE(con_02_limits_above_the_adapters_are_capped, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call connect = { 0 }, accept = { 0 };
    NTSTATUS connecting, accepting;
    ULONG in = kit_info()->MaxInboundReadLimit, out = kit_info()->MaxOutboundReadLimit, most = in < out ? in : out;

    kit_pair_open_idle(&p);
    connecting = connect_with(&p.active, &connect, &p.listener.address, 0xffffffffu, out + 1);
    p.passive.connector = kit_next_request(&p.listener);
    check_limits(p.passive.connector, most, most);
    accepting = accept_with(&p.passive, &accept, in + 1, 0xffffffffu);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    check_limits(p.active.connector, most, most);
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    check_limits(p.passive.connector, most, most);
    kit_pair_close(&p);
}

/* The request on the wire has the capped limits. */
/* covers: CON-02 */
CASE(con_02_the_peer_is_offered_the_capped_limits, KIT_FAMILIES)
{
    static struct kit_side s;
    struct sockaddr_storage at = kit_host(0);
    struct kit_call call = { 0 };
    struct raw_frame f;
    int listener = raw_listen(&at), peer;
    NTSTATUS status;

    kit_side_open(&s, NULL);
    status = connect_with(&s, &call, &at, 1000, 0xffffffffu);
    peer = raw_accept(listener);
    CHECK(raw_recv_frame(peer, false, &f));
    CHECK_EQ(f.ird & 0x3fff, kit_info()->MaxInboundReadLimit);
    CHECK_EQ(f.ord & 0x3fff, kit_info()->MaxOutboundReadLimit);
    raw_close(peer, true);
    CHECK_STATUS(kit_final(&call, status), STATUS_CONNECTION_REFUSED);
    kit_side_close(&s);
    raw_close(listener, false);
}

struct pair_of_limits {
    ULONG in, out;
};

static void effective(struct kit_pair *p, struct pair_of_limits active, struct pair_of_limits passive,
                      struct pair_of_limits expected)
{
    struct kit_call connect = { 0 }, accept = { 0 };
    NTSTATUS connecting, accepting;

    connecting = connect_with(&p->active, &connect, &p->listener.address, active.in, active.out);
    p->passive.connector = kit_next_request(&p->listener);
    /* The peer's outbound limit is this end's inbound limit, and vice versa. */
    check_limits(p->passive.connector, active.out, active.in);
    accepting = accept_with(&p->passive, &accept, passive.in, passive.out);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    check_limits(p->active.connector, expected.in, expected.out);
    CHECK_STATUS(kit_complete_connect(&p->active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    check_limits(p->passive.connector, expected.out, expected.in);
    kit_close_connector(&p->active);
    kit_close_connector(&p->passive);
    CHECK_STATUS(kit_close(p->active.qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(p->passive.qp), STATUS_SUCCESS);
    p->active.qp = kit_qp(&p->active, KIT_DEPTH);
    p->passive.qp = kit_qp(&p->passive, KIT_DEPTH);
}

/* covers: CON-03 */
CASE(con_03_both_sides_see_the_lower_of_two_limits, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_need_reads(11);
    kit_pair_open_idle(&p);
    effective(&p, (struct pair_of_limits){ 3, 5 }, (struct pair_of_limits){ 7, 2 }, (struct pair_of_limits){ 2, 5 });
    effective(&p, (struct pair_of_limits){ 9, 1 }, (struct pair_of_limits){ 4, 11 }, (struct pair_of_limits){ 9, 1 });
    effective(&p, (struct pair_of_limits){ 6, 8 }, (struct pair_of_limits){ 3, 20 }, (struct pair_of_limits){ 6, 3 });
    effective(&p, (struct pair_of_limits){ 0, 8 }, (struct pair_of_limits){ 3, 0 }, (struct pair_of_limits){ 0, 3 });
    kit_pair_close(&p);
}

/* Returns a raw peer's reply that accepts. If `limits` is false, the reply has no read limits. */
static struct raw_frame reply_of(bool limits, uint8_t revision, uint16_t ird, uint16_t ord)
{
    struct raw_frame f = raw_enhanced(true, ird, ord);

    f.revision = revision;
    if (!limits)
        f.flags &= (uint8_t)~RAW_S;
    return f;
}

static void answered_with(const struct raw_frame *answer, uint32_t our_revision)
{
    static struct kit_side s;
    struct sockaddr_storage at = kit_host(0);
    struct kit_call call = { 0 };
    struct raw_frame f;
    int listener = raw_listen(&at), peer;
    struct kit_config config = kit_config();
    NTSTATUS status;

    kit_need_reads(5);
    config.mpa_revision = our_revision;
    kit_configure(&config);
    kit_side_open(&s, NULL);
    status = connect_with(&s, &call, &at, 3, 5);
    peer = raw_accept(listener);
    CHECK(raw_recv_frame(peer, false, &f));
    raw_send_frame(peer, true, answer);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    check_limits(s.connector, 3, 5);
    kit_side_close(&s);
    raw_close(peer, false);
    raw_close(listener, false);
}

/* covers: CON-03 */
CASE(con_03_an_accept_without_limits_leaves_our_own, 0)
{
    struct raw_frame answer = reply_of(false, 1, 0, 0);

    answered_with(&answer, 1);
    answer = reply_of(false, 2, 0, 0);
    answered_with(&answer, 2);
    answer = reply_of(true, 2, 0x3fff, 0x3fff);
    answered_with(&answer, 2);
}

static void asked_with(struct kit_side *s, struct kit_listener *l, const struct raw_frame *request)
{
    int peer = raw_connect(&l->address);

    raw_send_frame(peer, false, request);
    s->connector = kit_next_request(l);
    check_limits(s->connector, kit_info()->MaxInboundReadLimit, kit_info()->MaxOutboundReadLimit);
    reject(s, NULL, 0);
    raw_close(peer, false);
}

/* covers: CON-03 */
CASE(con_03_a_request_without_limits_leaves_our_own, 0)
{
    static struct kit_side s;
    static struct kit_listener l;
    struct raw_frame request = reply_of(false, 1, 0, 0);

    kit_side_open(&s, NULL);
    kit_listen(&l, s.adapter);
    asked_with(&s, &l, &request);
    request = reply_of(false, 2, 0, 0);
    asked_with(&s, &l, &request);
    request = reply_of(true, 2, 0x3fff, 0x3fff);
    asked_with(&s, &l, &request);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    kit_side_close(&s);
}

enum { READS = 6, READ_BYTES = 64 };

/* Receives a read request, which must have the message number msn. Stores the token and the address of its sink. */
static void next_read(int peer, uint32_t msn, uint32_t *sink, uint64_t *sink_to)
{
    uint8_t ulpdu[200];
    int len = raw_recv_fpdu(peer, ulpdu, sizeof ulpdu, true);

    CHECK_EQ(len, 18 + 28);
    CHECK_EQ(ulpdu[1] & 15, 1); /* RDMA read request */
    CHECK_EQ(ulpdu[13], msn);
    *sink = (uint32_t)ulpdu[18] << 24 | (uint32_t)ulpdu[19] << 16 | (uint32_t)ulpdu[20] << 8 | ulpdu[21];
    *sink_to = 0;
    for (int i = 22; i < 30; i++)
        *sink_to = *sink_to << 8 | ulpdu[i];
}

static void answer_read(int peer, uint32_t sink, uint64_t sink_to, unsigned seed)
{
    uint8_t data[READ_BYTES], ulpdu[READ_BYTES + 14];

    kit_pattern(data, sizeof data, seed);
    raw_send_fpdu(peer, ulpdu, raw_tagged(ulpdu, 2, sink, sink_to, true, data, sizeof data), true);
}

static void check_silent(int peer)
{
    uint8_t byte;

    kit_pause();
    CHECK(recv(peer, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0);
}

/*
 * The peer permits two reads at a time. The provider sends the third read only after the peer has answered the first.
 */
/* covers: CON-03 */
CASE(con_03_no_more_reads_in_flight_than_agreed, KIT_FAMILIES)
{
    static struct kit_side s, far;
    struct sockaddr_storage at = kit_host(0);
    struct kit_call call = { 0 };
    struct raw_frame f, answer = raw_enhanced(true, RAW_A | 2, RAW_WRITE);
    uint8_t ulpdu[32];
    uint32_t sinks[READS];
    uint64_t tos[READS];
    int listener = raw_listen(&at), peer;
    struct kit_config config = kit_config();
    NTSTATUS status;

    kit_need_reads(5);
    config.nudge_ms = 0; /* nothing must arrive */
    kit_configure(&config);
    kit_side_open(&s, NULL);
    far.memory = s.memory;
    far.remote_token = 0x1234500;
    status = connect_with(&s, &call, &at, 0, 5);
    peer = raw_accept(listener);
    CHECK(raw_recv_frame(peer, false, &f));
    raw_send_frame(peer, true, &answer);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    check_limits(s.connector, 0, 2);
    CHECK_STATUS(kit_complete_connect(&s), STATUS_SUCCESS);
    CHECK_EQ(raw_recv_fpdu(peer, ulpdu, sizeof ulpdu, true), 14); /* ready to receive: an empty write */
    for (unsigned i = 0; i < READS; i++)
        CHECK_STATUS(kit_post_read(&s, i, i * READ_BYTES, READ_BYTES, &far, 0), STATUS_SUCCESS);
    next_read(peer, 1, &sinks[0], &tos[0]);
    next_read(peer, 2, &sinks[1], &tos[1]);
    for (unsigned i = 0; i < READS; i++) {
        check_silent(peer);
        answer_read(peer, sinks[i], tos[i], i);
        if (i + 2 < READS)
            next_read(peer, i + 3, &sinks[i + 2], &tos[i + 2]);
    }
    for (unsigned i = 0; i < READS; i++) {
        NDK_RESULT_EX r = kit_result(&s);
        CHECK_STATUS(r.Status, STATUS_SUCCESS);
        CHECK_EQ((uintptr_t)r.RequestContext, i);
        CHECK(kit_pattern_is(s.memory + i * READ_BYTES, READ_BYTES, i));
    }
    raw_close(peer, true);
    kit_side_close(&s);
    raw_close(listener, false);
}

/* covers: CON-04 */
CASE(con_04_succeeds_when_the_peer_accepts_and_not_before, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call connect = { 0 }, accept = { 0 };
    uint8_t data[50];
    NTSTATUS accepting;

    kit_pattern(data, sizeof data, 9);
    kit_pair_open_idle(&p);
    CHECK_STATUS(kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0), STATUS_PENDING);
    p.passive.connector = kit_next_request(&p.listener);
    kit_pause();
    CHECK_EQ(atomic_load(&connect.calls), 0);
    accepting = kit_accept_start(&p.passive, &accept, data, sizeof data);
    CHECK_STATUS(kit_final(&connect, STATUS_PENDING), STATUS_SUCCESS);
    check_data(p.active.connector, sizeof data, 9);
    CHECK_STATUS(kit_post_send(&p.active, 1, 0, 10), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    kit_exchange(&p.active, &p.passive);
    kit_exchange(&p.passive, &p.active);
    CHECK_EQ(atomic_load(&connect.calls), 1);
    kit_pair_close(&p);
}

/* ---- wrong arguments, wrong state ---- */

struct arguments {
    NDK_QP *qp;
    const struct sockaddr_storage *source, *destination;
    ULONG source_len, destination_len;
    const void *data;
    ULONG data_len;
    NDK_FN_REQUEST_COMPLETION done;
};

static NTSTATUS connect_arguments(struct kit_side *s, struct kit_call *call, const struct arguments *a)
{
    return s->connector->Dispatch->NdkConnect(s->connector, a->qp, (PSOCKADDR)a->source, a->source_len,
                                              (PSOCKADDR)a->destination, a->destination_len, 8, 8, (PVOID)a->data,
                                              a->data_len, a->done, call);
}

#define REFUSED_WITH(field, value)                                                                                     \
    do {                                                                                                               \
        struct arguments wrong = right;                                                                                \
        wrong.field = (value);                                                                                         \
        CHECK_STATUS(connect_arguments(&p.active, &call, &wrong), STATUS_INVALID_PARAMETER);                           \
    } while (0)

/* covers: CON-18 */
CASE(con_18_malformed_arguments, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0), unknown = kit_host(0);
    struct sockaddr_storage other = kit_address(kit_family() == AF_INET ? "::1" : "127.0.0.1", 0);
    struct arguments right;
    struct kit_call call = { 0 };

    kit_pair_open_idle(&p);
    p.active.connector = kit_connector(p.active.adapter);
    right = (struct arguments){ .qp = p.active.qp,
                                .source = &source,
                                .destination = &p.listener.address,
                                .source_len = kit_address_len(&source),
                                .destination_len = kit_address_len(&source),
                                .done = kit_request_done };
    unknown.ss_family = 77;
    REFUSED_WITH(qp, NULL);
    REFUSED_WITH(done, NULL);
    REFUSED_WITH(source, NULL);
    REFUSED_WITH(destination, NULL);
    REFUSED_WITH(source, &unknown);
    REFUSED_WITH(destination, &unknown);
    REFUSED_WITH(source_len, right.source_len - 1);
    REFUSED_WITH(destination_len, right.destination_len - 1);
    REFUSED_WITH(source_len, 0);
    REFUSED_WITH(data_len, 5); /* and no data */
    right.source = &other;
    right.source_len = kit_address_len(&other);
    CHECK_STATUS(connect_arguments(&p.active, &call, &right), STATUS_INVALID_PARAMETER); /* two families */
    kit_pause();
    CHECK_EQ(atomic_load(&call.calls), 0);
    CHECK_EQ(atomic_load(&p.listener.requests), 0);
    kit_establish(&p.active, &p.passive, &p.listener); /* the refused calls had no effect */
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
}

static void check_connect_refused(struct kit_side *s, const struct sockaddr_storage *to)
{
    struct sockaddr_storage source = kit_host(0);
    struct kit_call call = { 0 };

    CHECK_STATUS(kit_connect_start(s, &call, &source, to, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    CHECK_EQ(atomic_load(&call.calls), 0);
}

/* Each is refused: a used connector with a new QP, and a new connector with a used QP. */
static void check_both_refused(struct kit_side *s, const struct sockaddr_storage *to)
{
    NDK_QP *used_qp = s->qp;
    NDK_CONNECTOR *used_connector = s->connector;

    check_connect_refused(s, to);
    s->qp = kit_qp(s, 4);
    check_connect_refused(s, to);
    CHECK_STATUS(kit_close(s->qp), STATUS_SUCCESS);
    s->qp = used_qp;
    s->connector = kit_connector(s->adapter);
    check_connect_refused(s, to);
    CHECK_STATUS(kit_close(s->connector), STATUS_SUCCESS);
    s->connector = used_connector;
}

/* covers: CON-18 */
CASE(con_18_connecting_connected_or_spent, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call connect = { 0 }, accept = { 0 };
    NTSTATUS connecting, accepting;

    kit_pair_open_idle(&p);
    connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    check_both_refused(&p.active, &p.listener.address);
    p.passive.connector = kit_next_request(&p.listener);
    check_connect_refused(&p.passive, &p.listener.address); /* it accepts */
    accepting = kit_accept_start(&p.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    check_both_refused(&p.active, &p.listener.address);
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    check_both_refused(&p.active, &p.listener.address);
    check_both_refused(&p.passive, &p.listener.address);
    kit_pair_disconnect(&p);
    check_both_refused(&p.active, &p.listener.address);
    kit_pause();
    CHECK_EQ(atomic_load(&p.listener.requests), 1);
    kit_pair_close(&p);
}
