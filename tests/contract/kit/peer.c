/* SPDX-License-Identifier: MIT */
/* Connections with a raw peer: see peer.h. */
#include "contract/kit/peer.h"

#include <unistd.h>

struct raw_frame peer_frame(enum peer_form form)
{
    struct raw_frame f = raw_enhanced(true, PEER_READS, PEER_READS);

    kit_need_reads(PEER_READS); /* a reply's read limits must not exceed the provider's */
    if (form != PEER_NONE)
        f.ird |= RAW_A;
    if (form == PEER_FPDU)
        f.ird |= RAW_B;
    if (form == PEER_WRITE)
        f.ord |= RAW_WRITE;
    if (form == PEER_READ)
        f.ord |= RAW_READ;
    return f;
}

/* ---- the provider connects ---- */

static void peer_acceptor_request(struct peer_acceptor *p)
{
    struct sockaddr_storage here, source = kit_host(0);
    socklen_t len = sizeof here;

    CHECK(getsockname(p->listener, (struct sockaddr *)&here, &len) == 0);
    if (p->endpoint)
        p->connecting = kit_connect_shared_start(&p->side, &p->connect, p->endpoint, &here);
    else
        p->connecting = kit_connect_start(&p->side, &p->connect, &source, &here, NULL, 0);
    p->s = raw_accept(p->listener);
    CHECK(raw_recv_frame(p->s, false, &p->request));
}

void peer_acceptor_open(struct peer_acceptor *p)
{
    struct sockaddr_storage here = kit_host(0);

    p->listener = raw_listen(&here);
    kit_side_open(&p->side, p->side.adapter);
    peer_acceptor_request(p);
}

void peer_acceptor_reopen(struct peer_acceptor *p)
{
    close(p->s);
    p->connect = (struct kit_call){ 0 };
    peer_acceptor_request(p);
}

NTSTATUS peer_acceptor_try_reply(struct peer_acceptor *p, enum peer_form form)
{
    struct raw_frame reply = peer_frame(form);

    raw_send_frame(p->s, true, &reply);
    return kit_final(&p->connect, p->connecting);
}

void peer_acceptor_reply(struct peer_acceptor *p, enum peer_form form)
{
    CHECK_STATUS(peer_acceptor_try_reply(p, form), STATUS_SUCCESS);
}

void peer_acceptor_ready(struct peer_acceptor *p, enum peer_form form)
{
    uint8_t ulpdu[128], answer[64];
    int len;

    if (form == PEER_NONE)
        return;
    len = raw_recv_fpdu(p->s, ulpdu, sizeof ulpdu, true);
    if (form == PEER_FPDU) {
        CHECK_EQ(len, 0);
        return;
    }
    CHECK_EQ(len, form == PEER_WRITE ? 14 : 46);
    CHECK_EQ(ulpdu[1] & 15, form == PEER_WRITE ? 0 : 1);
    if (form == PEER_READ) {
        uint32_t sink = (uint32_t)ulpdu[18] << 24 | (uint32_t)ulpdu[19] << 16 | (uint32_t)ulpdu[20] << 8 | ulpdu[21];
        uint64_t to = 0;

        for (int i = 22; i < 30; i++)
            to = to << 8 | ulpdu[i];
        raw_send_fpdu(p->s, answer, raw_tagged(answer, 2, sink, to, true, NULL, 0), true);
    }
}

void peer_acceptor_complete(struct peer_acceptor *p, enum peer_form form)
{
    struct kit_call complete = { 0 };
    NTSTATUS completing;

    completing = p->side.connector->Dispatch->NdkCompleteConnect(p->side.connector, kit_on_disconnect, &p->side,
                                                                 kit_request_done, &complete);
    peer_acceptor_ready(p, form);
    CHECK_STATUS(kit_final(&complete, completing), STATUS_SUCCESS);
}

void peer_acceptor_connect(struct peer_acceptor *p, enum peer_form form)
{
    peer_acceptor_reply(p, form);
    peer_acceptor_complete(p, form);
}

void peer_acceptor_close(struct peer_acceptor *p)
{
    if (p->s >= 0)
        close(p->s);
    close(p->listener);
    kit_side_close(&p->side);
    memset(p, 0, sizeof *p);
}

/* ---- the provider accepts ---- */

void peer_initiator_open(struct peer_initiator *p, const struct raw_frame *request)
{
    memset(p, 0, sizeof *p);
    kit_side_open(&p->side, NULL);
    kit_listen(&p->listener, p->side.adapter);
    p->s = raw_connect(&p->listener.address);
    raw_send_frame(p->s, false, request);
    p->side.connector = kit_next_request(&p->listener);
}

void peer_initiator_accept(struct peer_initiator *p)
{
    p->accepting = kit_accept_start(&p->side, &p->accept, NULL, 0);
    CHECK(raw_recv_frame(p->s, true, &p->reply));
}

void peer_initiator_ready(struct peer_initiator *p, enum peer_form form)
{
    uint8_t ulpdu[64] = { 0 };

    switch (form) {
    case PEER_NONE:
        break;
    case PEER_FPDU:
        raw_send_fpdu(p->s, ulpdu, 0, true);
        break;
    case PEER_WRITE:
        raw_send_fpdu(p->s, ulpdu, raw_tagged(ulpdu, 0, 0, 0, true, NULL, 0), true);
        break;
    case PEER_READ:
        raw_send_fpdu(p->s, ulpdu, raw_read_request(ulpdu, 1, 0, 0, 0, 0, 0), true);
        CHECK_EQ(raw_recv_fpdu(p->s, ulpdu, sizeof ulpdu, true), 14);
        CHECK_EQ(ulpdu[1] & 15, 2);
        break;
    }
}

void peer_initiator_connect(struct peer_initiator *p, enum peer_form form)
{
    struct raw_frame request = peer_frame(form);

    peer_initiator_open(p, &request);
    peer_initiator_accept(p);
    peer_initiator_ready(p, form);
    CHECK_STATUS(kit_final(&p->accept, p->accepting), STATUS_SUCCESS);
}

void peer_initiator_close(struct peer_initiator *p)
{
    struct kit_call call = { 0 };
    NDK_LISTENER *l = p->listener.listener;
    NTSTATUS status = l->Dispatch->NdkCloseListener(&l->Header, kit_close_done, &call);

    if (p->s >= 0)
        close(p->s);
    kit_close_connector(&p->side);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    kit_side_close(&p->side);
}

bool peer_is_empty_write(const uint8_t *ulpdu, int len)
{
    return len == 14 && (ulpdu[0] & 0x80) && (ulpdu[1] & 15) == 0;
}

bool peer_wait_end(int s)
{
    uint8_t ulpdu[65536];
    int len;

    while ((len = raw_recv_fpdu(s, ulpdu, sizeof ulpdu, true)) >= 0)
        if (!peer_is_empty_write(ulpdu, len))
            return false;
    return true;
}

void peer_end_stream(int s)
{
    CHECK(shutdown(s, SHUT_WR) == 0);
    CHECK(raw_wait_end(s));
}
