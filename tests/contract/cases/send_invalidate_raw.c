/* SPDX-License-Identifier: MIT */
/* INV: sends with invalidate from and to a raw peer: refused ones and their Terminates. */
#include "contract/kit/fast.h"
#include "contract/kit/peer.h"

enum { WRITE = 0, SEND_INVALIDATE = 4, SEND_SE_INVALIDATE = 6, PAGES = 2 };

/* Encodes one segment of a message with a token. */
static size_t segment(uint8_t *ulpdu, uint8_t opcode, UINT32 token, uint32_t mo, bool last, const void *data,
                      size_t len)
{
    size_t size = raw_untagged(ulpdu, opcode, 0, 1, mo, last, data, len);

    for (int i = 0; i < 4; i++)
        ulpdu[2 + i] = (uint8_t)(token >> (24 - 8 * i));
    return size;
}

/* ---- INV-01 ---- */

/*
 * Sends the message in three segments, and uses the token between the segments and after the last one. The token is
 * valid up to the last segment and then invalid, even if all segments arrive together.
 */
/* covers: INV-01 */
CASE(inv_01_alive_until_the_last_segment, KIT_FAMILIES)
{
    static struct peer_initiator p;
    uint8_t ulpdu[256], all[1024], data[50];
    struct fast_region r;
    int len;

    for (int solicited = 0; solicited < 2; solicited++) {
        uint8_t opcode = solicited ? SEND_SE_INVALIDATE : SEND_INVALIDATE;
        NDK_RESULT_EX got;
        size_t size = 0;

        peer_initiator_connect(&p, PEER_WRITE);
        fast_region_open(&r, &p.side, PAGES, FAST_ALL);
        memset(p.side.memory, DATA_FILL, 500);
        CHECK_STATUS(kit_post_receive(&p.side, 7, 0, 300), STATUS_SUCCESS);
        memset(data, 0x31, sizeof data);
        size += raw_fpdu(all + size, ulpdu, segment(ulpdu, opcode, r.token, 0, false, data, 50), true);
        size += raw_fpdu(all + size, ulpdu, raw_tagged(ulpdu, WRITE, r.token, (uintptr_t)r.base, true, data, 20), true);
        size += raw_fpdu(all + size, ulpdu, segment(ulpdu, opcode, r.token, 50, false, data, 50), true);
        size += raw_fpdu(all + size, ulpdu, segment(ulpdu, opcode, r.token, 100, true, data, 50), true);
        size += raw_fpdu(all + size, ulpdu, raw_tagged(ulpdu, WRITE, r.token, (uintptr_t)r.base + 20, true, data, 20),
                         true);
        raw_send(p.s, all, size);
        got = kit_result(&p.side);
        CHECK_STATUS(got.Status, STATUS_SUCCESS);
        CHECK_EQ(got.Type, NdkOperationTypeReceiveAndInvalidate);
        CHECK_EQ(got.TypeSpecificCompletionOutput, r.token);
        CHECK_EQ(got.BytesTransferred, 150);
        CHECK_EQ(raw_recv_terminate(p.s, true, ulpdu, &len), 0x1100);
        data_check_ended(&p.side);
        for (size_t i = 0; i < 500; i++)
            CHECK_EQ(p.side.memory[i], i < 150 ? 0x31 : DATA_FILL);
        for (size_t i = 0; i < 60; i++)
            CHECK_EQ(r.memory.memory[i], i < 20 ? 0x31 : DATA_FILL);
        fast_region_close(&r);
        peer_initiator_close(&p);
    }
}

/* Checks the opcode and the token in each segment that the provider sends. */
/* covers: INV-01, QPR-09 */
CASE(inv_01_on_the_wire, KIT_FAMILIES)
{
    static const struct {
        ULONG len, flags;
        uint8_t opcode;
    } all[] = {
        { 0, 0, SEND_INVALIDATE },
        { 100, 0, SEND_INVALIDATE },
        { 100, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT, SEND_SE_INVALIDATE },
        { 5000, 0, SEND_INVALIDATE },
        { 5000, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT | NDK_OP_FLAG_READ_FENCE, SEND_SE_INVALIDATE },
    };
    static struct peer_acceptor p;
    struct kit_config config = kit_config();
    uint8_t ulpdu[1024];

    config.max_fpdu = 1000;
    kit_configure(&config);
    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_FPDU);
    kit_pattern(p.side.memory, 5000, 1);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        ULONG seen = 0;
        int len;

        CHECK_STATUS(fast_send_invalidate(&p.side, i, 0, all[i].len, all[i].flags, 0x12345670 + (UINT32)i),
                     STATUS_SUCCESS);
        do {
            len = raw_recv_fpdu(p.s, ulpdu, sizeof ulpdu, true);
            CHECK(len >= 18);
            CHECK_EQ(ulpdu[0] & 0x80, 0);
            CHECK_EQ(ulpdu[1] & 15, all[i].opcode);
            CHECK_EQ((uint32_t)ulpdu[2] << 24 | (uint32_t)ulpdu[3] << 16 | (uint32_t)ulpdu[4] << 8 | ulpdu[5],
                     0x12345670 + i);
            CHECK_EQ(ulpdu[13], i + 1);
            CHECK(memcmp(ulpdu + 18, p.side.memory + seen, (size_t)len - 18) == 0);
            seen += (ULONG)len - 18;
        } while (!(ulpdu[0] & 0x40));
        CHECK_EQ(seen, all[i].len);
        CHECK_EQ(fast_check_result(&p.side, NdkOperationTypeSend), i);
    }
    peer_acceptor_close(&p);
}

/* ---- INV-02 ---- */

enum wrong { UNKNOWN, ZERO, OTHER_DOMAIN, NORMAL, LOCAL_ALONE, ENDED, TWICE, WRONGS };

static const struct {
    const char *name;
    uint16_t code;
} wrongs[WRONGS] = {
    [UNKNOWN] = { "a token that nobody has", 0x0100 },
    [ZERO] = { "no token", 0x0100 },
    [OTHER_DOMAIN] = { "another domain's", 0x0103 },
    [NORMAL] = { "of a region that was registered", 0x0209 },
    [LOCAL_ALONE] = { "of a region that has no remote access", 0x0209 },
    [ENDED] = { "invalidated by its owner", 0x0100 },
    [TWICE] = { "invalidated by the peer before", 0x0100 },
};

/* A connection for the registrations of the other domain. */
struct other {
    struct kit_side active, passive;
    struct kit_listener listener;
};

static void other_open(struct other *o, NDK_ADAPTER *adapter)
{
    kit_side_open(&o->active, adapter);
    kit_side_open(&o->passive, adapter);
    kit_listen(&o->listener, adapter);
    kit_establish(&o->active, &o->passive, &o->listener);
}

static void other_close(struct other *o)
{
    kit_close_connector(&o->active);
    kit_close_connector(&o->passive);
    CHECK_STATUS(kit_close(o->listener.listener), STATUS_SUCCESS);
    kit_side_close(&o->active);
    kit_side_close(&o->passive);
}

static UINT32 token_of(struct peer_initiator *p, struct fast_region *r, enum wrong w)
{
    switch (w) {
    case UNKNOWN:
        return r->token ^ 0x321;
    case ZERO:
        return 0;
    case NORMAL:
        return p->side.remote_token;
    case ENDED:
        CHECK_STATUS(fast_invalidate(&p->side, 1, r->mr, 0), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(&p->side, NdkOperationTypeInvalidate), 1);
        return r->token;
    default:
        return r->token;
    }
}

/*
 * Checks the Terminate's code and header, that the receive fails, and that no memory changes except that of the
 * message.
 */
static void check_invalidate_refused(struct peer_initiator *p, enum wrong w, UINT32 token, bool second)
{
    uint8_t ulpdu[256], sent[256], data[60];
    size_t size;
    int len;

    memset(p->side.memory, DATA_FILL, 1000);
    memset(data, 0x44, sizeof data);
    CHECK_STATUS(kit_post_receive(&p->side, 7, 300, 100), STATUS_SUCCESS);
    size = segment(sent, SEND_INVALIDATE, token, 0, true, data, sizeof data);
    if (second)
        sent[13] = 2;
    raw_send_fpdu(p->s, sent, size, true);
    uint16_t code = raw_recv_terminate(p->s, true, ulpdu, &len);
    if (code != wrongs[w].code)
        kit_fail(__FILE__, __LINE__, "%s: expected %04x, saw %04x", wrongs[w].name, wrongs[w].code, code);
    CHECK_EQ(len, 18 + 4 + 2 + 18);
    CHECK_EQ((unsigned)ulpdu[22] << 8 | ulpdu[23], size);
    CHECK(memcmp(ulpdu + 24, sent, 18) == 0);
    data_check_ended(&p->side);
    NDK_RESULT_EX got = kit_result(&p->side);
    CHECK(got.Status < 0);
    CHECK_EQ((uintptr_t)got.RequestContext, 7);
    for (size_t i = 0; i < 1000; i++)
        CHECK(p->side.memory[i] == DATA_FILL || (i >= 300 && i < 300 + sizeof data));
}

/* covers: INV-02, WIR-04 */
CASE(inv_02_as_the_transport_prescribes, KIT_FAMILIES)
{
    static struct peer_initiator p;
    static struct other o;
    struct fast_region r;

    for (enum wrong w = 0; w < WRONGS; w++) {
        uint8_t ulpdu[64];
        UINT32 token;

        peer_initiator_connect(&p, PEER_WRITE);
        other_open(&o, p.side.adapter);
        fast_region_open(&r, w == OTHER_DOMAIN ? &o.passive : &p.side, PAGES,
                         w == LOCAL_ALONE ? NDK_OP_FLAG_ALLOW_LOCAL_WRITE : FAST_ALL);
        token = token_of(&p, &r, w);
        if (w == TWICE) {
            CHECK_STATUS(kit_post_receive(&p.side, 6, 0, 100), STATUS_SUCCESS);
            raw_send_fpdu(p.s, ulpdu, segment(ulpdu, SEND_INVALIDATE, token, 0, true, NULL, 0), true);
            CHECK_EQ(fast_check_result(&p.side, NdkOperationTypeReceiveAndInvalidate), 6);
        }
        check_invalidate_refused(&p, w, token, w == TWICE);
        CHECK(fast_memory_is_untouched(&r.memory));
        fast_region_close(&r);
        other_close(&o);
        peer_initiator_close(&p);
    }
}

/* A message that is too long or incomplete invalidates nothing. */
/* covers: INV-02 */
CASE(inv_02_a_message_at_fault_invalidates_nothing, KIT_FAMILIES)
{
    static struct peer_initiator p;
    uint8_t ulpdu[256], data[101] = { 0 };
    struct fast_region r;
    NDK_SGE sge;
    int len;

    for (int broken = 0; broken < 2; broken++) {
        peer_initiator_connect(&p, PEER_WRITE);
        fast_region_open(&r, &p.side, PAGES, FAST_ALL);
        CHECK_STATUS(kit_post_receive(&p.side, 7, 0, 100), STATUS_SUCCESS);
        raw_send_fpdu(p.s, ulpdu, segment(ulpdu, SEND_INVALIDATE, r.token, 0, !broken, data, broken ? 50 : 101), true);
        if (broken)
            CHECK(shutdown(p.s, SHUT_WR) == 0);
        else
            CHECK_EQ(raw_recv_terminate(p.s, true, ulpdu, &len), 0x1205);
        CHECK(kit_result(&p.side).Status < 0);
        data_check_ended(&p.side);
        kit_close_connector(&p.side);
        CHECK_STATUS(kit_close(p.side.qp), STATUS_SUCCESS);
        p.side.qp = kit_qp(&p.side, KIT_DEPTH);
        data_drain(&p.side);
        sge = fast_sge(&r, 0, 50); /* valid: a receive into it is accepted */
        CHECK_STATUS(p.side.qp->Dispatch->NdkReceive(p.side.qp, NULL, &sge, 1), STATUS_SUCCESS);
        p.side.qp->Dispatch->NdkFlush(p.side.qp);
        CHECK_STATUS(kit_result(&p.side).Status, STATUS_CANCELLED);
        fast_region_close(&r);
        peer_initiator_close(&p);
    }
}
