/* SPDX-License-Identifier: MIT */
/*
 * Each reason that can be provoked, as a consumer sees it: in the disconnect callback of NDK 2.1, in the completions
 * that were flushed, and by ondk_connector_reason.
 */
#include <unistd.h>

#include "contract/kit/data.h"
#include "contract/kit/peer.h"
#include "openndk/reason.h"

enum { RESET = 0x00230000, FLUSH = 0x00440000, CLOSED = 0x00420000, LEFT = 0x00430000 };

/* ---- the end of a connection whose other end is made by hand ---- */

struct end {
    struct peer_initiator p;
    atomic_int calls;
    ULONG reason;
};

static void on_disconnect(void *context, ULONG reason)
{
    struct end *e = context;

    e->reason = reason;
    kit_increment(&e->calls);
}

/* Establishes a connection, with one receive of 64 bytes if requested. */
static void end_open(struct end *e, bool receive)
{
    struct raw_frame request = peer_frame(PEER_WRITE);
    NDK_CONNECTOR *c;

    memset(e, 0, sizeof *e);
    peer_initiator_open(&e->p, &request);
    if (receive)
        CHECK_STATUS(kit_post_receive(&e->p.side, 1, 0, 64), STATUS_SUCCESS);
    c = e->p.side.connector;
    e->p.accepting = c->Dispatch->NdkAcceptEx(c, e->p.side.qp, 8, 8, NULL, 0, on_disconnect, e, kit_request_done,
                                              &e->p.accept);
    CHECK(raw_recv_frame(e->p.s, true, &e->p.reply));
    peer_initiator_ready(&e->p, PEER_WRITE);
    CHECK_STATUS(kit_final(&e->p.accept, e->p.accepting), STATUS_SUCCESS);
    CHECK_EQ(ondk_connector_reason(c), 0);
}

/* The connection has ended for this reason, as have `waiting` requests. */
static void end_check(struct end *e, ULONG reason, int waiting)
{
    kit_wait_count(&e->calls, 1);
    CHECK_EQ(e->reason, reason);
    CHECK_EQ(ondk_connector_reason(e->p.side.connector), reason);
    for (int i = 0; i < waiting; i++) {
        NDK_RESULT_EX r = kit_result(&e->p.side);
        CHECK(r.Status < 0);
        CHECK_EQ(r.ProviderErrorCode, reason);
    }
}

/* Our disconnect flushes later receives, which still have the reason of the connection's end. */
static void end_close(struct end *e, ULONG reason)
{
    CHECK_STATUS(kit_post_receive(&e->p.side, 2, 0, 8), STATUS_SUCCESS);
    (void)kit_disconnect(&e->p.side);
    CHECK_EQ(kit_result(&e->p.side).ProviderErrorCode, reason);
    peer_initiator_close(&e->p);
}

CASE(reasons_a_reset, KIT_FAMILIES)
{
    static struct end e;

    end_open(&e, true);
    raw_close(e.p.s, true);
    e.p.s = -1;
    end_check(&e, RESET, 1);
    end_close(&e, RESET);
}

CASE(reasons_a_graceful_notice, KIT_FAMILIES)
{
    static struct end e;

    end_open(&e, true);
    raw_close(e.p.s, false);
    e.p.s = -1;
    end_check(&e, 0x00240000, 0); /* flushes nothing */
    CHECK_STATUS(kit_disconnect(&e.p.side), STATUS_SUCCESS);
    CHECK_EQ(kit_result(&e.p.side).ProviderErrorCode, LEFT);
    CHECK_EQ(ondk_connector_reason(e.p.side.connector), 0x00240000);
    peer_initiator_close(&e.p);
}

CASE(reasons_terminates_of_the_peer, KIT_FAMILIES)
{
    static const uint16_t codes[] = { 0x0000, 0x0101, 0x0206, 0x1101, 0x1202, 0x2002, 0x1fff };
    static struct end e;

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        uint8_t control[4] = { (uint8_t)(codes[i] >> 8), (uint8_t)codes[i] }, ulpdu[64];

        end_open(&e, true);
        raw_send_fpdu(e.p.s, ulpdu, raw_untagged(ulpdu, 7, 2, 1, 0, true, control, sizeof control), true);
        end_check(&e, 0x02260000u | codes[i], 1);
        end_close(&e, 0x02260000u | codes[i]);
    }
}

static size_t bad_write(struct end *e, uint8_t *ulpdu, bool known)
{
    uint32_t token = known ? e->p.side.remote_token : 0x12345678;

    return raw_tagged(ulpdu, 0, token, (uintptr_t)e->p.side.memory + KIT_MEMORY - 4, true, "12345678", 8);
}

CASE(reasons_faults_of_the_peer, KIT_FAMILIES)
{
    static const uint16_t codes[] = { 0x2002, 0x1202, 0x1100, 0x1101, 0x0206 };
    static struct end e;

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        uint8_t ulpdu[128], fpdu[160];
        size_t len;

        end_open(&e, codes[i] != 0x1202);
        if (codes[i] == 0x1100 || codes[i] == 0x1101)
            len = bad_write(&e, ulpdu, codes[i] == 0x1101);
        else
            len = raw_untagged(ulpdu, codes[i] == 0x0206 ? 9 : 3, 0, 1, 0, true, "12345678", 8);
        len = raw_fpdu(fpdu, ulpdu, len, true);
        if (codes[i] == 0x2002)
            fpdu[len - 1] ^= 1;
        raw_send(e.p.s, fpdu, len);
        end_check(&e, 0x01310000u | codes[i], codes[i] != 0x1202);
        end_close(&e, 0x01310000u | codes[i]);
    }
}

CASE(reasons_a_message_longer_than_the_receive, KIT_FAMILIES)
{
    static struct end e;
    uint8_t bytes[65] = { 0 };

    end_open(&e, true);
    CHECK_STATUS(kit_post_receive(&e.p.side, 2, 64, 64), STATUS_SUCCESS);
    raw_send_message(e.p.s, 1, bytes, sizeof bytes);
    CHECK_EQ(kit_result(&e.p.side).ProviderErrorCode, 0x01571205);
    end_check(&e, 0x01311205, 1);
    end_close(&e, 0x01311205);
}

/* A region is deregistered while a receive names it. */
CASE(reasons_memory_that_was_gone, KIT_FAMILIES)
{
    static struct end e;
    struct data_region r;
    NDK_SGE sge;

    end_open(&e, false);
    data_region_open(&r, e.p.side.pd, 0, 64, DATA_ALL);
    sge = data_sge(&r, 0, 64);
    CHECK_STATUS(e.p.side.qp->Dispatch->NdkReceive(e.p.side.qp, NULL, &sge, 1), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&e.p.side, 2, 64, 64), STATUS_SUCCESS);
    CHECK_STATUS(data_deregister(r.mr), STATUS_SUCCESS);
    raw_send_message(e.p.s, 1, "1234", 4);
    CHECK_EQ(kit_result(&e.p.side).ProviderErrorCode, 0x00520000);
    end_check(&e, 0x01511000, 1);
    data_region_close(&r);
    end_close(&e, 0x01511000);
}

/* A read that cannot be cancelled ends the connection. */
CASE(reasons_a_flush_that_tears, KIT_FAMILIES)
{
    static struct end e;
    uint8_t ulpdu[128];

    end_open(&e, true);
    CHECK_STATUS(
        e.p.side.qp->Dispatch->NdkRead(
            e.p.side.qp, NULL,
            &(NDK_SGE){ .VirtualAddress = e.p.side.memory, .Length = 8, .MemoryRegionToken = e.p.side.local_token }, 1,
            0, 77, 0),
        STATUS_SUCCESS);
    CHECK_EQ(raw_recv_fpdu(e.p.s, ulpdu, sizeof ulpdu, true), 46);
    raw_send_fpdu(e.p.s, ulpdu, raw_untagged(ulpdu, 3, 0, 1, 0, false, "1234", 4), true); /* half a message */
    kit_pause();
    e.p.side.qp->Dispatch->NdkFlush(e.p.side.qp);
    kit_wait_count(&e.calls, 1);
    CHECK_EQ(e.reason, 0x01440000);
    for (int i = 0; i < 2; i++) {
        NDK_RESULT_EX r = kit_result(&e.p.side);
        CHECK_STATUS(r.Status, STATUS_CANCELLED);
        CHECK_EQ(r.ProviderErrorCode, FLUSH);
    }
    end_close(&e, 0x01440000);
}

/* ---- this side's own wish ---- */

CASE(reasons_flush_disconnect_and_close, KIT_FAMILIES)
{
    static struct kit_pair p;
    NDK_RESULT_EX r;

    kit_pair_open(&p);
    CHECK_STATUS(kit_post_receive(&p.active, 1, 0, 8), STATUS_SUCCESS);
    p.active.qp->Dispatch->NdkFlush(p.active.qp);
    r = kit_result(&p.active);
    CHECK_STATUS(r.Status, STATUS_CANCELLED);
    CHECK_EQ(r.ProviderErrorCode, FLUSH);
    kit_exchange(&p.active, &p.passive); /* it continued */
    CHECK_STATUS(kit_post_receive(&p.active, 1, 0, 8), STATUS_SUCCESS);
    kit_pair_disconnect(&p);
    CHECK_EQ(kit_result(&p.active).ProviderErrorCode, LEFT);
    data_reconnect(&p);
    CHECK_STATUS(kit_post_receive(&p.active, 1, 0, 8), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 8), STATUS_SUCCESS);
    kit_close_connector(&p.active);
    CHECK_EQ(kit_result(&p.active).ProviderErrorCode, CLOSED);
    CHECK_EQ(kit_result(&p.passive).ProviderErrorCode, RESET);
    kit_pair_close(&p);
}

CASE(reasons_success_has_none, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 8), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p.active, 1, 0, 8), STATUS_SUCCESS);
    CHECK_EQ(kit_result(&p.active).ProviderErrorCode, 0);
    CHECK_EQ(kit_result(&p.passive).ProviderErrorCode, 0);
    kit_pair_disconnect(&p);
    CHECK_EQ(ondk_connector_reason(p.active.connector), LEFT);
    kit_pair_close(&p);
}

CASE(reasons_a_peer_that_does_not_disconnect, KIT_FAMILIES)
{
    struct kit_config config = kit_config();
    static struct end e;

    config.disconnect_ms = 200;
    kit_configure(&config);
    end_open(&e, true);
    CHECK_STATUS(kit_disconnect(&e.p.side), STATUS_IO_TIMEOUT);
    CHECK_EQ(kit_result(&e.p.side).ProviderErrorCode, 0x00740000);
    CHECK_EQ(ondk_connector_reason(e.p.side.connector), 0x00740000);
    peer_initiator_close(&e.p);
}

/* ---- reads beyond the peer's memory ---- */

CASE(reasons_reads_that_the_peer_refuses, KIT_FAMILIES)
{
    static struct kit_pair p;
    NDK_SGE sge;

    kit_pair_open(&p);
    sge = kit_sge(&p.active, 0, 8);
    for (int i = 0; i < 2; i++) {
        uint64_t end = (uintptr_t)p.passive.memory + KIT_MEMORY;
        uint16_t code = i ? 0x0100 : 0x0101;

        CHECK_STATUS(kit_post_receive(&p.active, 1, 64, 8), STATUS_SUCCESS);
        CHECK_STATUS(kit_post_receive(&p.passive, 1, 64, 8), STATUS_SUCCESS);
        CHECK_STATUS(data_read(&p.active, 2, &sge, i ? end - 8 : end - 4, p.passive.remote_token ^ (i ? 0x10101 : 0)),
                     STATUS_SUCCESS);
        CHECK_EQ(kit_result(&p.active).ProviderErrorCode, (i ? 0x02580000u : 0x02590000u) | code);
        CHECK_EQ(kit_result(&p.active).ProviderErrorCode, 0x02260000u | code);
        CHECK_EQ(kit_result(&p.passive).ProviderErrorCode, 0x01310000u | code);
        data_reconnect(&p);
    }
    kit_pair_close(&p);
}

/* ---- an overflow ---- */

CASE(reasons_a_completion_queue_that_overflows, KIT_FAMILIES)
{
    struct data_qp how = { .receives = 8, .initiators = 4, .receive_sges = 1, .initiator_sges = 1 };
    static struct kit_pair p;
    NDK_RESULT_EX r;
    NDK_CQ *shallow;
    NDK_SGE sge;

    kit_pair_open_idle(&p);
    CHECK_STATUS(kit_close(p.passive.qp), STATUS_SUCCESS);
    CHECK_STATUS(data_cq(p.passive.adapter, 1, kit_on_notify, &p.passive, &shallow), STATUS_SUCCESS);
    how.receive_cq = shallow;
    CHECK_STATUS(data_qp(&p.passive, &how, &p.passive.qp), STATUS_SUCCESS);
    for (int i = 0; i < 4; i++)
        CHECK_STATUS(kit_post_receive(&p.passive, i, 64, 8), STATUS_SUCCESS);
    kit_establish(&p.active, &p.passive, &p.listener);
    sge = kit_sge(&p.passive, 0, KIT_MEMORY);
    CHECK_STATUS(data_write(&p.passive, 9, &sge, (uintptr_t)p.active.memory, p.active.remote_token), STATUS_SUCCESS);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(kit_post_send(&p.active, 1, 0, 8), STATUS_SUCCESS);
    kit_wait_count(&p.passive.disconnected, 1);
    CHECK_EQ(ondk_connector_reason(p.passive.connector), 0x00620000);
    r = kit_result(&p.passive);
    if (r.Status < 0) /* it may have completed before */
        CHECK_EQ(r.ProviderErrorCode, 0x00620000);
    kit_close_connector(&p.passive);
    CHECK_STATUS(kit_close(p.passive.qp), STATUS_SUCCESS);
    p.passive.qp = NULL;
    CHECK_STATUS(kit_close(shallow), STATUS_SUCCESS);
    kit_pair_close(&p);
}

/* ---- establishment ---- */

static void connect_fails(struct peer_acceptor *p, NTSTATUS status, ULONG reason)
{
    CHECK_STATUS(kit_final(&p->connect, p->connecting), status);
    CHECK_EQ(ondk_connector_reason(p->side.connector), reason);
    peer_acceptor_close(p);
}

CASE(reasons_replies_that_cannot_be_used, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct raw_frame reply;

    peer_acceptor_open(&p);
    reply = peer_frame(PEER_NONE);
    reply.flags |= RAW_R;
    raw_send_frame(p.s, true, &reply);
    connect_fails(&p, STATUS_CONNECTION_REFUSED, 0x00220000);
    peer_acceptor_open(&p);
    raw_send(p.s, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    connect_fails(&p, STATUS_CONNECTION_REFUSED, 0x00320000);
    peer_acceptor_open(&p);
    raw_close(p.s, true);
    p.s = -1;
    connect_fails(&p, STATUS_CONNECTION_REFUSED, RESET);
    peer_acceptor_open(&p);
    raw_close(p.s, false);
    p.s = -1;
    connect_fails(&p, STATUS_CONNECTION_REFUSED, 0x00250000);
}

CASE(reasons_nobody_and_silence, KIT_FAMILIES)
{
    struct kit_config config = kit_config();
    struct sockaddr_storage nobody = kit_free_address(), here = kit_host(0), foreign = kit_address("192.0.2.1", 0);
    static struct peer_acceptor p;
    static struct kit_side s;

    config.reply_ms = 200;
    kit_configure(&config);
    kit_side_open(&s, NULL);
    CHECK_STATUS(kit_connect(&s, &here, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
    CHECK_EQ(ondk_connector_reason(s.connector), 0x00210000);
    if (kit_family() == AF_INET) {
        CHECK_STATUS(kit_connect(&s, &foreign, &nobody, NULL, 0), STATUS_INVALID_ADDRESS);
        CHECK_EQ(ondk_connector_reason(s.connector), 0x00140000);
    }
    kit_side_close(&s);
    peer_acceptor_open(&p);
    connect_fails(&p, STATUS_IO_TIMEOUT, 0x00720000);
}

/* ---- registrations that requests make and end ---- */

enum { FAST = 8192 };

/* Fast-registers the side's second region, and gets the result of the request. */
struct fast {
    NDK_MR *mr;
    uint8_t *memory;
    MDL mdl;
    NDK_LOGICAL_ADDRESS_MAPPING *lam;
};

static void fast_open(struct fast *f, struct kit_side *s)
{
    struct kit_call create = { 0 }, build = { 0 }, init = { 0 };
    ULONG size = 256, fbo;
    NTSTATUS status;

    f->memory = aligned_alloc(PAGE_SIZE, FAST);
    f->lam = calloc(1, size);
    CHECK(f->memory && f->lam);
    kit_init_mdl(&f->mdl, f->memory, FAST, NULL);
    status = s->adapter->Dispatch->NdkBuildLAM(s->adapter, &f->mdl, FAST, kit_request_done, &build, f->lam, &size,
                                               &fbo);
    CHECK_STATUS(kit_final(&build, status), STATUS_SUCCESS);
    status = s->pd->Dispatch->NdkCreateMr(s->pd, TRUE, kit_create_done, &create, &f->mr);
    CHECK_STATUS(kit_final(&create, status), STATUS_SUCCESS);
    status = f->mr->Dispatch->NdkInitializeFastRegisterMr(f->mr, f->lam->AdapterPageCount, TRUE, kit_request_done,
                                                          &init);
    CHECK_STATUS(kit_final(&init, status), STATUS_SUCCESS);
    CHECK_STATUS(s->qp->Dispatch->NdkFastRegister(s->qp, NULL, f->mr, f->lam->AdapterPageCount,
                                                  f->lam->AdapterPageArray, fbo, FAST, f->memory,
                                                  NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_ALLOW_REMOTE_READ),
                 STATUS_SUCCESS);
    CHECK_EQ(kit_result(s).ProviderErrorCode, 0);
}

static void fast_close(struct fast *f, struct kit_side *s)
{
    CHECK_STATUS(kit_close(f->mr), STATUS_SUCCESS);
    s->adapter->Dispatch->NdkReleaseLAM(s->adapter, f->lam);
    free(f->lam);
    free(f->memory);
}

CASE(reasons_of_invalidations, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_side *a = &p.active;
    struct fast f;

    kit_pair_open(&p);
    fast_open(&f, a);
    CHECK_STATUS(a->qp->Dispatch->NdkInvalidate(a->qp, NULL, &f.mr->Header, 0), STATUS_SUCCESS);
    CHECK_EQ(kit_result(a).ProviderErrorCode, 0);
    CHECK_STATUS(a->qp->Dispatch->NdkInvalidate(a->qp, NULL, &f.mr->Header, 0), STATUS_SUCCESS);
    CHECK_EQ(kit_result(a).ProviderErrorCode, 0x00520000);
    kit_exchange(a, &p.passive);
    fast_close(&f, a);
    kit_pair_close(&p);
}

CASE(reasons_of_a_send_that_cannot_invalidate, KIT_FAMILIES)
{
    static struct kit_pair p;
    NDK_SGE sge;

    kit_pair_open(&p);
    for (int i = 0; i < 2; i++) {
        UINT32 token = i ? p.passive.remote_token : p.passive.remote_token ^ 0x10101;
        uint32_t code = i ? 0x0209 : 0x0100;
        ULONG seen;

        CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 64), STATUS_SUCCESS);
        CHECK_STATUS(kit_post_receive(&p.active, 1, 0, 64), STATUS_SUCCESS);
        sge = kit_sge(&p.active, 0, 8);
        CHECK_STATUS(
            p.active.qp->Dispatch->NdkSendAndInvalidate(p.active.qp, NULL, &sge, 1, NDK_OP_FLAG_SILENT_SUCCESS, token),
            STATUS_SUCCESS);
        seen = kit_result(&p.passive).ProviderErrorCode;
        CHECK_EQ(seen, 0x01310000u | code);
        CHECK_EQ(kit_result(&p.active).ProviderErrorCode, 0x02260000u | code);
        data_reconnect(&p);
    }
    kit_pair_close(&p);
}

/* The window's region is deregistered while the bind waits for the request behind it. */
CASE(reasons_of_a_bind_whose_region_went, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call create = { 0 }, gone = { 0 };
    struct data_region r;
    NTSTATUS deregistering;
    NDK_MW *mw = NULL;
    NDK_QP *qp;

    kit_pair_open(&p);
    qp = p.active.qp;
    data_region_open(&r, p.active.pd, 0, 64, DATA_ALL);
    CHECK_STATUS(kit_final(&create, p.active.pd->Dispatch->NdkCreateMw(p.active.pd, kit_create_done, &create, &mw)),
                 STATUS_SUCCESS);
    CHECK_STATUS(
        qp->Dispatch->NdkBind(qp, (void *)7, r.mr, mw, r.memory, 64, NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_DEFER),
        STATUS_SUCCESS);
    deregistering = r.mr->Dispatch->NdkDeregisterMr(r.mr, kit_request_done, &gone);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 8), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p.active, 1, 0, 8), STATUS_SUCCESS);
    CHECK_EQ(kit_result(&p.active).ProviderErrorCode, 0x005a0000);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&gone, deregistering), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    data_region_close(&r);
    kit_pair_close(&p);
}

/* ---- more of establishment ---- */

CASE(reasons_replies_that_do_not_fit, KIT_FAMILIES)
{
    struct kit_config config = kit_config();
    static struct peer_acceptor p;
    struct raw_frame reply;

    config.rtr = NDKCONFORM_RTR_WRITE;
    kit_configure(&config);
    peer_acceptor_open(&p);
    reply = peer_frame(PEER_WRITE);
    reply.ord = (reply.ord & 0xc000) | (PEER_READS + 1);
    raw_send_frame(p.s, true, &reply);
    connect_fails(&p, STATUS_CONNECTION_REFUSED, 0x00330000);
    peer_acceptor_open(&p);
    reply = peer_frame(PEER_READ);
    raw_send_frame(p.s, true, &reply);
    connect_fails(&p, STATUS_CONNECTION_REFUSED, 0x00340000);
}

CASE(reasons_addresses_in_use, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage taken;

    kit_pair_open_idle(&p);
    taken = p.listener.address;
    CHECK_STATUS(kit_connect(&p.active, &taken, &p.listener.address, NULL, 0), STATUS_SHARING_VIOLATION);
    CHECK_EQ(ondk_connector_reason(p.active.connector), 0x00130000);
    kit_close_connector(&p.active);
    kit_pair_close(&p);
}

CASE(reasons_of_accepts_that_fail, KIT_FAMILIES)
{
    struct raw_frame request = peer_frame(PEER_WRITE);
    struct kit_config config = kit_config();
    static struct peer_initiator p;

    config.establish_ms = 200;
    kit_configure(&config);
    peer_initiator_open(&p, &request);
    peer_initiator_accept(&p);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_IO_TIMEOUT);
    CHECK_EQ(ondk_connector_reason(p.side.connector), 0x00730000);
    peer_initiator_close(&p);
    config.establish_ms = 10000;
    kit_configure(&config);
    peer_initiator_open(&p, &request);
    peer_initiator_accept(&p);
    raw_close(p.s, false);
    p.s = -1;
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_CONNECTION_ABORTED);
    CHECK_EQ(ondk_connector_reason(p.side.connector), 0x00250000);
    peer_initiator_close(&p);
}
