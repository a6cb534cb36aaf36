/* SPDX-License-Identifier: MIT */
/* WIR-02: revisions, read limits and ready-to-receive on the wire, with a raw peer. */
#include "contract/kit/data.h"
#include "contract/kit/peer.h"

enum { LIMIT = 0x3fff, ALL_FORMS = 3 };
static const enum peer_form forms[ALL_FORMS] = { PEER_FPDU, PEER_WRITE, PEER_READ };
static const unsigned config_of[] = {
    [PEER_FPDU] = NDKCONFORM_RTR_ZERO_FPDU, [PEER_WRITE] = NDKCONFORM_RTR_WRITE, [PEER_READ] = NDKCONFORM_RTR_READ
};

static void offer(unsigned rtr)
{
    struct kit_config config = kit_config();

    config.rtr = rtr;
    kit_configure(&config);
}

/* Checks which ready-to-receive forms the bits in the IRD and ORD words offer or select. */
static void check_forms(const struct raw_frame *f, bool fpdu, bool write, bool read)
{
    CHECK_EQ(!!(f->ird & RAW_A), fpdu || write || read);
    CHECK_EQ(!!(f->ird & RAW_B), fpdu);
    CHECK_EQ(!!(f->ord & RAW_WRITE), write);
    CHECK_EQ(!!(f->ord & RAW_READ), read);
}

static void check_form(const struct raw_frame *f, enum peer_form form)
{
    check_forms(f, form == PEER_FPDU, form == PEER_WRITE, form == PEER_READ);
}

/* ---- our request ---- */

/* covers: WIR-02 */
CASE(wir_02_the_request_offers_what_is_configured, KIT_FAMILIES)
{
    static struct peer_acceptor p;

    kit_need_reads(8);
    for (unsigned rtr = 0; rtr < 8; rtr++) {
        offer(rtr);
        peer_acceptor_open(&p);
        CHECK_EQ(p.request.revision, 2);
        CHECK_EQ(p.request.flags, RAW_S | RAW_C);
        CHECK_EQ(p.request.ird & LIMIT, 8);
        CHECK_EQ(p.request.ord & LIMIT, 8);
        CHECK_EQ(p.request.len, 0);
        check_forms(&p.request, rtr & NDKCONFORM_RTR_ZERO_FPDU, rtr & NDKCONFORM_RTR_WRITE, rtr & NDKCONFORM_RTR_READ);
        raw_close(p.s, true);
        p.s = -1;
        CHECK(kit_final(&p.connect, p.connecting) < 0);
        peer_acceptor_close(&p);
    }
}

/* covers: WIR-02 */
CASE(wir_02_revision_1_when_configured, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_config config = kit_config();
    struct raw_frame reply = peer_frame(PEER_NONE);

    config.mpa_revision = 1;
    kit_configure(&config);
    peer_acceptor_open(&p);
    CHECK_EQ(p.request.revision, 1);
    CHECK_EQ(p.request.flags, RAW_C);
    CHECK_EQ(p.request.len, 0);
    reply.revision = 1;
    reply.flags = RAW_C;
    raw_send_frame(p.s, true, &reply);
    CHECK_STATUS(kit_final(&p.connect, p.connecting), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_SUCCESS);
    CHECK(raw_is_silent(p.s)); /* without a ready-to-receive message the provider sends nothing yet */
    peer_acceptor_close(&p);
}

/* ---- our ready-to-receive ---- */

/* Checks that exactly one valid message of the form arrives first, followed by the send. */
static void check_ready(struct peer_acceptor *p, enum peer_form form)
{
    uint8_t ulpdu[256];
    int len;

    CHECK(raw_is_silent(p->s)); /* not before NdkCompleteConnect */
    struct kit_call complete = { 0 };
    NTSTATUS completing = p->side.connector->Dispatch->NdkCompleteConnect(p->side.connector, kit_on_disconnect,
                                                                          &p->side, kit_request_done, &complete);
    peer_acceptor_ready(p, form); /* checks its format; answers a read */
    CHECK_STATUS(kit_final(&complete, completing), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&p->side, 1, 0, 8), STATUS_SUCCESS);
    raw_send_message(p->s, 1, "12345678", 8);
    CHECK_STATUS(kit_result(&p->side).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p->side, 2, 0, 8), STATUS_SUCCESS);
    len = raw_recv_fpdu(p->s, ulpdu, sizeof ulpdu, true);
    while (form != PEER_FPDU && len == 14 && (ulpdu[1] & 15) == 0) /* repeated for a silent peer */
        len = raw_recv_fpdu(p->s, ulpdu, sizeof ulpdu, true);
    CHECK_EQ(len, 18 + 8);
    CHECK_EQ(ulpdu[0], 0x41);
    CHECK_EQ(ulpdu[1], 0x43);
    CHECK_EQ(ulpdu[13], 1); /* ready-to-receive uses no message number */
    CHECK(memcmp(ulpdu + 18, "12345678", 8) == 0);
}

/* covers: WIR-02 */
CASE(wir_02_each_form_of_ready_as_initiator, KIT_FAMILIES)
{
    static struct peer_acceptor p;

    for (int offered = 0; offered < 2; offered++)
        for (int i = 0; i < ALL_FORMS; i++) {
            offer(offered ? config_of[forms[i]] : 7);
            peer_acceptor_open(&p);
            peer_acceptor_reply(&p, forms[i]);
            check_ready(&p, forms[i]);
            peer_acceptor_close(&p);
        }
}

/* A reply that permits several forms: the provider uses one of them. */
/* covers: WIR-02 */
CASE(wir_02_one_of_several_forms, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct raw_frame reply = peer_frame(PEER_FPDU);
    uint8_t ulpdu[64];
    int len;

    reply.ord |= RAW_WRITE;
    peer_acceptor_open(&p);
    raw_send_frame(p.s, true, &reply);
    CHECK_STATUS(kit_final(&p.connect, p.connecting), STATUS_SUCCESS);
    CHECK(raw_is_silent(p.s));
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_SUCCESS);
    len = raw_recv_fpdu(p.s, ulpdu, sizeof ulpdu, true);
    CHECK(len == 0 || (len == 14 && (ulpdu[1] & 15) == 0));
    CHECK(len == 14 || raw_is_silent(p.s));
    peer_acceptor_close(&p);
}

/* covers: WIR-02 */
CASE(wir_02_no_ready_where_the_reply_has_no_flag_a, KIT_FAMILIES)
{
    static struct peer_acceptor p;

    peer_acceptor_open(&p);
    peer_acceptor_reply(&p, PEER_NONE);
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_SUCCESS);
    CHECK(raw_is_silent(p.s));
    peer_acceptor_close(&p);
}

/* ---- replies that exceed what the request offered ---- */

static void check_reply_refused(const struct raw_frame *reply, uint16_t code)
{
    static struct peer_acceptor p;
    uint8_t ulpdu[128];
    int len;

    peer_acceptor_open(&p);
    raw_send_frame(p.s, true, reply);
    CHECK(kit_final(&p.connect, p.connecting) < 0);
    CHECK_EQ(raw_recv_terminate(p.s, true, ulpdu, &len), code);
    peer_acceptor_close(&p);
}

/* covers: WIR-02 */
CASE(wir_02_a_reply_that_asks_more_reads_than_offered, KIT_FAMILIES)
{
    struct raw_frame reply = peer_frame(PEER_WRITE);

    reply.ord = (uint16_t)((reply.ord & ~LIMIT) | 9);
    check_reply_refused(&reply, 0x2006);
    reply.ord = (uint16_t)((reply.ord & ~LIMIT) | (LIMIT - 1));
    check_reply_refused(&reply, 0x2006);
    reply = peer_frame(PEER_NONE);
    reply.ord = 100;
    check_reply_refused(&reply, 0x2006);
}

/* covers: WIR-02 */
CASE(wir_02_a_reply_with_a_form_not_offered, KIT_FAMILIES)
{
    for (int offered = 0; offered < ALL_FORMS; offered++)
        for (int i = 0; i < ALL_FORMS; i++) {
            struct raw_frame reply = peer_frame(forms[i]);

            if (i == offered)
                continue;
            offer(config_of[forms[offered]]);
            check_reply_refused(&reply, 0x2007);
        }
}

/* The queue pair was not connected yet, so its posted requests stay for the attempt that succeeds. */
/* covers: CON-17 */
CASE(con_17_receives_outlive_a_reply_that_goes_too_far, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct raw_frame far = peer_frame(PEER_WRITE), fit = peer_frame(PEER_NONE);
    struct sockaddr_storage source = kit_host(0);
    struct kit_call retry = { 0 };
    struct sockaddr_storage there = { 0 };
    socklen_t len = sizeof there;
    NTSTATUS retrying;

    far.ord = (uint16_t)((far.ord & ~LIMIT) | 9);
    peer_acceptor_open(&p);
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 100), STATUS_SUCCESS);
    raw_send_frame(p.s, true, &far);
    CHECK_STATUS(kit_final(&p.connect, p.connecting), STATUS_CONNECTION_REFUSED);
    CHECK_EQ(data_drain(&p.side), 0);
    raw_close(p.s, false);
    CHECK(getsockname(p.listener, (struct sockaddr *)&there, &len) == 0);
    retrying = kit_connect_start(&p.side, &retry, &source, &there, NULL, 0);
    p.s = raw_accept(p.listener);
    CHECK(raw_recv_frame(p.s, false, &p.request));
    raw_send_frame(p.s, true, &fit);
    CHECK_STATUS(kit_final(&retry, retrying), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_SUCCESS);
    raw_send_message(p.s, 1, "first", 5);
    CHECK_STATUS(kit_result(&p.side).Status, STATUS_SUCCESS);
    peer_acceptor_close(&p);
}

/* ---- our reply ---- */

static void check_reply(const struct raw_frame *request, uint8_t revision, uint8_t flags, enum peer_form form)
{
    static struct peer_initiator p;

    peer_initiator_open(&p, request);
    peer_initiator_accept(&p);
    CHECK_EQ(p.reply.revision, revision);
    CHECK_EQ(p.reply.flags, flags);
    CHECK_EQ(p.reply.len, 0);
    if (flags & RAW_S) {
        CHECK_EQ(p.reply.ird & LIMIT, 8);
        CHECK_EQ(p.reply.ord & LIMIT, 8);
        check_form(&p.reply, form);
    }
    peer_initiator_ready(&p, form);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 8), STATUS_SUCCESS);
    raw_send_message(p.s, 1, "abcdefgh", 8);
    CHECK_STATUS(kit_result(&p.side).Status, STATUS_SUCCESS);
    CHECK(memcmp(p.side.memory, "abcdefgh", 8) == 0);
    peer_initiator_close(&p);
}

/* covers: WIR-02 */
CASE(wir_02_flag_a_is_answered_with_one_form, KIT_FAMILIES)
{
    for (int i = 0; i < ALL_FORMS; i++) {
        struct raw_frame request = peer_frame(forms[i]);
        check_reply(&request, 2, RAW_S | RAW_C, forms[i]);
    }
}

/* covers: WIR-02 */
CASE(wir_02_all_forms_are_answered_with_one, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_FPDU);

    request.ord |= RAW_WRITE | RAW_READ;
    peer_initiator_open(&p, &request);
    peer_initiator_accept(&p);
    CHECK(p.reply.ird & RAW_A);
    CHECK_EQ(!!(p.reply.ird & RAW_B) + !!(p.reply.ord & RAW_WRITE) + !!(p.reply.ord & RAW_READ), 1);
    peer_initiator_ready(&p, p.reply.ird & RAW_B ? PEER_FPDU : p.reply.ord & RAW_WRITE ? PEER_WRITE : PEER_READ);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
    peer_initiator_close(&p);
}

/* Linux siw sends such requests. */
/* covers: WIR-02 */
CASE(wir_02_revision_2_without_flag_a, KIT_FAMILIES)
{
    struct raw_frame request = peer_frame(PEER_NONE);

    check_reply(&request, 2, RAW_S | RAW_C, PEER_NONE);
}

/* covers: WIR-02 */
CASE(wir_02_revision_1_is_served_as_revision_1, KIT_FAMILIES)
{
    struct raw_frame request = peer_frame(PEER_NONE);

    request.revision = 1;
    request.flags = RAW_C;
    check_reply(&request, 1, RAW_C, PEER_NONE);
}

/* covers: WIR-02 */
CASE(wir_02_ready_is_waited_for_and_not_answered, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_WRITE);

    peer_initiator_open(&p, &request);
    peer_initiator_accept(&p);
    kit_pause();
    CHECK_EQ(atomic_load(&p.accept.calls), 0);
    CHECK(raw_is_silent(p.s));
    peer_initiator_ready(&p, PEER_WRITE);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
    CHECK(raw_is_silent(p.s));
    peer_initiator_close(&p);
}
