/* SPDX-License-Identifier: MIT */
/* QPR: attacks of a raw peer, which is a socket here. */
#include <unistd.h>

#include "contract/kit/data.h"
#include "contract/kit/peer.h"

/* ---- not connected ---- */

/* The peer has announced a ready-to-receive message. This end is not connected before that message has arrived. */
/* covers: QPR-03 */
CASE(qpr_03_the_accepting_side_waits_for_ready, KIT_FAMILIES)
{
    static const enum peer_form forms[] = { PEER_FPDU, PEER_WRITE, PEER_READ };
    static struct peer_initiator p;

    for (int i = 0; i < 3; i++) {
        struct raw_frame request = peer_frame(forms[i]);

        peer_initiator_open(&p, &request);
        peer_initiator_accept(&p);
        CHECK_STATUS(kit_post_send(&p.side, 1, 0, 8), STATUS_CONNECTION_INVALID);
        CHECK_STATUS(kit_post_receive(&p.side, 2, 0, 8), STATUS_SUCCESS);
        peer_initiator_ready(&p, forms[i]);
        CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
        CHECK_STATUS(kit_post_send(&p.side, 3, 0, 8), STATUS_SUCCESS);
        CHECK_STATUS(kit_result(&p.side).Status, STATUS_SUCCESS);
        peer_initiator_close(&p);
    }
}

/* ---- messages that do not fit ---- */

/* covers: QPR-05 */
CASE(qpr_05_as_the_transport_prescribes, KIT_FAMILIES)
{
    static struct peer_initiator p;
    uint8_t ulpdu[128], bytes[101] = { 0 };
    int len;

    for (int posted = 0; posted < 2; posted++) {
        peer_initiator_connect(&p, PEER_WRITE);
        if (posted)
            CHECK_STATUS(kit_post_receive(&p.side, 1, 0, sizeof bytes - 1), STATUS_SUCCESS);
        raw_send_message(p.s, 1, bytes, sizeof bytes);
        CHECK_EQ(raw_recv_terminate(p.s, true, ulpdu, &len), posted ? 0x1205 : 0x1202);
        data_check_ended(&p.side);
        if (posted)
            CHECK(kit_result(&p.side).Status < 0);
        peer_initiator_close(&p);
    }
}

/* ---- a region is closed while a request that uses it waits ---- */

/*
 * The peer has no ready-to-receive, so requests wait for its first message. If a request has an invalid piece, its
 * earlier valid pieces must not be sent either, even if they fill several segments.
 */
static void went_before_the_send(ULONG good)
{
    static struct peer_initiator p;
    struct data_region r;
    uint8_t ulpdu[128];
    NDK_SGE sges[2];

    peer_initiator_connect(&p, PEER_NONE);
    data_region_open(&r, p.side.pd, 0, 50, DATA_ALL);
    sges[0] = kit_sge(&p.side, 0, good);
    sges[1] = data_sge(&r, 0, 50);
    CHECK_STATUS(p.side.qp->Dispatch->NdkSend(p.side.qp, (PVOID)7, sges, 2, 0), STATUS_SUCCESS);
    CHECK_STATUS(data_deregister(r.mr), STATUS_SUCCESS);
    data_protect(&r);
    raw_send_fpdu(p.s, ulpdu, raw_tagged(ulpdu, 0, 0, 0, true, NULL, 0), true);
    CHECK_STATUS(kit_result(&p.side).Status, STATUS_ACCESS_VIOLATION);
    CHECK_STATUS(kit_post_send(&p.side, 8, 0, 8), STATUS_SUCCESS); /* only that request failed */
    CHECK_STATUS(kit_result(&p.side).Status, STATUS_SUCCESS);
    CHECK_EQ(raw_recv_fpdu(p.s, ulpdu, sizeof ulpdu, true), 18 + 8);
    CHECK_EQ(ulpdu[13], 1); /* the first MSN: no part of the failed request was sent */
    data_region_close(&r);
    peer_initiator_close(&p);
}

/* covers: QPR-18 */
CASE(qpr_18_a_region_that_went_before_the_send_left, KIT_FAMILIES)
{
    went_before_the_send(0);
    went_before_the_send(100);
    went_before_the_send(300000);
}

/* ---- a peer that exceeds or reaches the inbound read limit ---- */

/*
 * The peer sends all read requests, but reads no answers. So all reads stay outstanding, except the few whose answers
 * fit into the socket buffers.
 */
/* covers: QPR-11 */
CASE(qpr_11_a_peer_beyond_the_inbound_limit_is_cut_off, KIT_FAMILIES)
{
    enum { BUFFERED = 4, REQUEST = 56 };
    static struct peer_initiator p;
    uint8_t ulpdu[128], all[(PEER_READS + 1 + BUFFERED) * REQUEST + 16];
    size_t size = 0;
    int len;

    peer_initiator_connect(&p, PEER_WRITE);
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 8), STATUS_SUCCESS);
    for (uint32_t i = 1; i <= PEER_READS + 1 + BUFFERED; i++)
        size += raw_fpdu(all + size, ulpdu,
                         raw_read_request(ulpdu, i, i, 0, KIT_MEMORY, p.side.remote_token, (uintptr_t)p.side.memory),
                         true);
    raw_send(p.s, all, size);
    CHECK(kit_result(&p.side).Status < 0);
    data_check_ended(&p.side);
    CHECK_EQ(raw_recv_terminate(p.s, true, ulpdu, &len), 0x1202);
    peer_initiator_close(&p);
}

/* A read that could never be sent is refused, so it does not prevent a graceful disconnect. */
/* covers: QPR-11 */
CASE(qpr_11_no_read_where_the_peer_serves_none, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_WRITE);
    struct kit_call disconnect = { 0 };
    uint8_t ulpdu[64];
    ULONG in, out;
    NTSTATUS status;

    request.ird = RAW_A;
    peer_initiator_open(&p, &request);
    peer_initiator_accept(&p);
    peer_initiator_ready(&p, PEER_WRITE);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
    CHECK_STATUS(p.side.connector->Dispatch->NdkGetConnectionData(p.side.connector, &in, &out, NULL, NULL),
                 STATUS_SUCCESS);
    CHECK_EQ(out, 0);
    CHECK_STATUS(kit_post_read(&p.side, 1, 0, 8, &p.side, 0), STATUS_NOT_SUPPORTED);
    CHECK_STATUS(kit_post_send(&p.side, 2, 0, 8), STATUS_SUCCESS);
    CHECK_EQ((uintptr_t)kit_result(&p.side).RequestContext, 2);
    CHECK_EQ(raw_recv_fpdu(p.s, ulpdu, sizeof ulpdu, true), 18 + 8);
    status = p.side.connector->Dispatch->NdkDisconnect(p.side.connector, kit_request_done, &disconnect);
    CHECK(peer_wait_end(p.s));
    close(p.s);
    p.s = -1;
    CHECK_STATUS(kit_final(&disconnect, status), STATUS_SUCCESS);
    peer_initiator_close(&p);
}

/* The permitted number of reads is answered, in order, repeatedly. */
/* covers: QPR-11 */
CASE(qpr_11_a_peer_at_the_inbound_limit_is_served, KIT_FAMILIES)
{
    enum { ROUNDS = 10, BYTES = 3000 };
    static struct peer_initiator p;
    uint8_t ulpdu[14 + BYTES + 16];

    peer_initiator_connect(&p, PEER_WRITE);
    kit_pattern(p.side.memory, BYTES + PEER_READS, 3);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < PEER_READS; i++)
            raw_send_fpdu(p.s, ulpdu,
                          raw_read_request(ulpdu, round * PEER_READS + i + 1, 100 + i, i, BYTES, p.side.remote_token,
                                           (uintptr_t)p.side.memory + i),
                          true);
        for (uint32_t i = 0; i < PEER_READS; i++) {
            CHECK_EQ(raw_recv_fpdu(p.s, ulpdu, sizeof ulpdu, true), 14 + BYTES);
            CHECK_EQ(ulpdu[1] & 15, 2);
            CHECK_EQ(ulpdu[5], 100 + i);
            CHECK_EQ(ulpdu[13], i);
            CHECK(memcmp(ulpdu + 14, p.side.memory + i, BYTES) == 0);
        }
    }
    peer_initiator_close(&p);
}

/* ---- the sink of a read takes only the valid answer of that read ---- */

enum { LEN = 100, FIRST = 30, AT = 4096 };

/* A read request's sink, as next_read receives it. */
struct asked {
    uint32_t sink;
    uint64_t to;
};

static struct asked next_read(int s)
{
    uint8_t ulpdu[128];
    struct asked a = { 0 };

    CHECK_EQ(raw_recv_fpdu(s, ulpdu, sizeof ulpdu, true), 46);
    CHECK_EQ(ulpdu[1] & 15, 1);
    for (int i = 18; i < 22; i++)
        a.sink = a.sink << 8 | ulpdu[i];
    for (int i = 22; i < 30; i++)
        a.to = a.to << 8 | ulpdu[i];
    return a;
}

static void tagged(int s, uint8_t opcode, uint32_t stag, uint64_t to, bool last, size_t len)
{
    uint8_t data[2 * LEN], ulpdu[14 + 2 * LEN];

    memset(data, 0x99, sizeof data);
    raw_send_fpdu(s, ulpdu, raw_tagged(ulpdu, opcode, stag, to, last, data, len), true);
}

/*
 * A peer that sends other data instead of the answer or after it. `a` has the sinks of two reads of LEN bytes: one to
 * AT, and one to AT + LEN.
 */
enum { WRITE = 0, RESPONSE = 2 };
struct forger {
    struct peer_acceptor p;
    struct asked a[2];
};

static void write_to_sink(struct forger *f)
{
    tagged(f->p.s, WRITE, f->a[0].sink, f->a[0].to, true, LEN);
}

static void other_token(struct forger *f)
{
    tagged(f->p.s, RESPONSE, f->a[0].sink ^ 0x100, f->a[0].to, true, LEN);
}

static void into_a_region(struct forger *f)
{
    tagged(f->p.s, RESPONSE, f->p.side.remote_token, (uintptr_t)f->p.side.memory + AT, true, LEN);
}

static void one_further(struct forger *f)
{
    tagged(f->p.s, RESPONSE, f->a[0].sink, f->a[0].to + 1, true, LEN - 1);
}

static void one_longer(struct forger *f)
{
    tagged(f->p.s, RESPONSE, f->a[0].sink, f->a[0].to, true, LEN + 1);
}

static void first_twice(struct forger *f)
{
    tagged(f->p.s, RESPONSE, f->a[0].sink, f->a[0].to, false, FIRST);
    tagged(f->p.s, RESPONSE, f->a[0].sink, f->a[0].to, false, FIRST);
}

static void second_too_long(struct forger *f)
{
    tagged(f->p.s, RESPONSE, f->a[0].sink, f->a[0].to, false, FIRST);
    tagged(f->p.s, RESPONSE, f->a[0].sink, f->a[0].to + FIRST, true, LEN);
}

static void write_in_between(struct forger *f)
{
    tagged(f->p.s, RESPONSE, f->a[0].sink, f->a[0].to, false, FIRST);
    tagged(f->p.s, WRITE, f->a[0].sink, f->a[0].to + FIRST, true, LEN - FIRST);
}

static void second_read_first(struct forger *f)
{
    tagged(f->p.s, RESPONSE, f->a[1].sink, f->a[1].to, true, LEN);
}

static const struct forgery {
    const char *name;
    void (*send)(struct forger *f);
    uint16_t code;
    size_t placed; /* bytes of the answer that are valid and arrive before the fault */
} forgeries[] = {
    { "a write names the sink", write_to_sink, 0x1100, 0 },
    { "an answer names another token", other_token, 0x1100, 0 },
    { "an answer names a region of ours", into_a_region, 0x1100, 0 },
    { "an answer begins too far", one_further, 0x1101, 0 },
    { "an answer is too long", one_longer, 0x1101, 0 },
    { "the first segment comes twice", first_twice, 0x1101, FIRST },
    { "the second segment is too long", second_too_long, 0x1101, FIRST },
    { "a write between two segments", write_in_between, 0x1100, FIRST },
    { "the second read is answered first", second_read_first, 0x1100, 0 },
};

static void forger_open(struct forger *f, int reads)
{
    static struct kit_side far;

    peer_acceptor_open(&f->p);
    peer_acceptor_connect(&f->p, PEER_FPDU);
    memset(f->p.side.memory, DATA_FILL, 3 * AT);
    far.memory = f->p.side.memory;
    far.remote_token = 0x1234567;
    for (int i = 0; i < reads; i++) {
        CHECK_STATUS(kit_post_read(&f->p.side, (uintptr_t)i, AT + (size_t)i * LEN, LEN, &far, 0), STATUS_SUCCESS);
        f->a[i] = next_read(f->p.s);
    }
}

static void forger_check(struct forger *f, const char *name, uint16_t expected, size_t placed)
{
    const uint8_t *memory = f->p.side.memory;
    uint8_t ulpdu[128];
    int len;
    uint16_t code = raw_recv_terminate(f->p.s, true, ulpdu, &len);

    if (code != expected)
        kit_fail(__FILE__, __LINE__, "%s: expected %04x, saw %04x", name, expected, code);
    data_check_ended(&f->p.side);
    for (size_t i = 0; i < 3 * AT; i++)
        if (memory[i] != (i >= AT && i < AT + placed ? 0x99 : DATA_FILL))
            kit_fail(__FILE__, __LINE__, "%s: byte %zu was touched", name, i);
}

/* covers: QPR-12 */
CASE(qpr_12_the_sink_takes_its_own_answer_alone, KIT_FAMILIES)
{
    static struct forger f;

    for (size_t i = 0; i < sizeof forgeries / sizeof forgeries[0]; i++) {
        forger_open(&f, 2);
        forgeries[i].send(&f);
        forger_check(&f, forgeries[i].name, forgeries[i].code, forgeries[i].placed);
        CHECK(kit_result(&f.p.side).Status < 0);
        CHECK(kit_result(&f.p.side).Status < 0);
        peer_acceptor_close(&f.p);
    }
}

/* The sink's token is invalid after the read was answered. */
static void after_the_answer(uint8_t opcode)
{
    static struct forger f;

    forger_open(&f, 1);
    tagged(f.p.s, RESPONSE, f.a[0].sink, f.a[0].to, true, LEN);
    CHECK_STATUS(kit_result(&f.p.side).Status, STATUS_SUCCESS);
    CHECK_EQ(f.p.side.memory[AT + LEN - 1], 0x99);
    CHECK_EQ(f.p.side.memory[AT + LEN], DATA_FILL);
    memset(f.p.side.memory, DATA_FILL, 3 * AT); /* it belongs to the consumer again */
    tagged(f.p.s, opcode, f.a[0].sink, f.a[0].to, true, LEN);
    forger_check(&f, "behind the answer", 0x1100, 0);
    peer_acceptor_close(&f.p);
}

/* covers: QPR-12 */
CASE(qpr_12_an_answered_read_has_no_sink, KIT_FAMILIES)
{
    after_the_answer(RESPONSE);
    after_the_answer(WRITE);
}

/* covers: QPR-12 */
CASE(qpr_12_an_answer_without_a_read, KIT_FAMILIES)
{
    static struct forger f;

    forger_open(&f, 0);
    tagged(f.p.s, RESPONSE, f.p.side.remote_token, (uintptr_t)f.p.side.memory + AT, true, LEN);
    forger_check(&f, "no read", 0x1100, 0);
    peer_acceptor_close(&f.p);
}

/* ---- a refused write of a raw peer changes nothing, and the next connection works ---- */

/* covers: QPR-13 */
CASE(qpr_13_writes_by_hand, KIT_FAMILIES)
{
    enum { REGION = 1000 };
    static const struct {
        ptrdiff_t offset;
        size_t len;
        bool other_token, other_domain;
        ULONG flags;
        uint16_t code;
    } all[] = {
        { -1, 10, false, false, DATA_ALL, 0x1101 },
        { REGION - 9, 10, false, false, DATA_ALL, 0x1101 },
        { REGION, 1, false, false, DATA_ALL, 0x1101 },
        { 0, 10, true, false, DATA_ALL, 0x1100 },
        { 0, 10, false, true, DATA_ALL, 0x1102 },
        { 0, 10, false, false, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ, 0x0102 },
    };
    static struct peer_initiator p;
    struct data_region r;
    uint8_t ulpdu[128];
    int len;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        NDK_PD *other;

        peer_initiator_connect(&p, PEER_WRITE);
        other = kit_pd(p.side.adapter);
        data_region_open(&r, all[i].other_domain ? other : p.side.pd, 77, REGION, all[i].flags);
        tagged(p.s, WRITE, all[i].other_token ? r.token ^ 0x800 : r.token,
               (uintptr_t)r.memory + (uint64_t)all[i].offset, true, all[i].len);
        CHECK_EQ(raw_recv_terminate(p.s, true, ulpdu, &len), all[i].code);
        data_check_ended(&p.side);
        CHECK(data_is_untouched(&r));
        data_region_close(&r);
        CHECK_STATUS(kit_close(other), STATUS_SUCCESS);
        peer_initiator_close(&p);
    }
}
