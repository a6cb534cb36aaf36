/* SPDX-License-Identifier: MIT */
/* ACC: NdkAccept, NdkAcceptEx, NdkReject. */
#include <unistd.h>

#include "contract/kit/peer.h"

/* A connect request of the active side that the passive side has received and not answered yet. */
struct asked {
    struct kit_pair pair;
    struct kit_call connect;
    NTSTATUS connecting;
};

static void connect_without_answer(struct asked *a)
{
    struct sockaddr_storage source = kit_host(0);

    memset(a, 0, sizeof *a);
    kit_pair_open_idle(&a->pair);
    a->connecting = kit_connect_start(&a->pair.active, &a->connect, &source, &a->pair.listener.address, NULL, 0);
    a->pair.passive.connector = kit_next_request(&a->pair.listener);
}

/* ---- when NdkAccept completes ---- */

/* covers: ACC-01 */
CASE(acc_01_after_the_peers_complete, KIT_FAMILIES)
{
    static struct asked a;
    struct kit_call accept = { 0 };
    NTSTATUS accepting;

    connect_without_answer(&a);
    accepting = kit_accept_start(&a.pair.passive, &accept, NULL, 0);
    CHECK_STATUS(accepting, STATUS_PENDING);
    CHECK_STATUS(kit_final(&a.connect, a.connecting), STATUS_SUCCESS);
    kit_pause();
    CHECK_EQ(atomic_load(&accept.calls), 0);
    CHECK_STATUS(kit_complete_connect(&a.pair.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    kit_exchange(&a.pair.passive, &a.pair.active);
    kit_pair_disconnect(&a.pair);
    kit_pair_close(&a.pair);
}

static void check_form(enum peer_form form)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(form);
    unsigned forms;

    peer_initiator_open(&p, &request);
    peer_initiator_accept(&p);
    forms = (p.reply.ird & RAW_B ? 1 : 0) | (p.reply.ord & RAW_WRITE ? 2 : 0) | (p.reply.ord & RAW_READ ? 4 : 0);
    CHECK(p.reply.ird & RAW_A);
    CHECK_EQ(forms, form == PEER_FPDU ? 1 : form == PEER_WRITE ? 2 : 4);
    kit_pause();
    CHECK_EQ(atomic_load(&p.accept.calls), 0);
    peer_initiator_ready(&p, form);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
    peer_initiator_close(&p);
}

/* covers: ACC-01 */
CASE(acc_01_after_each_form_of_ready, KIT_FAMILIES)
{
    check_form(PEER_FPDU);
    check_form(PEER_WRITE);
    check_form(PEER_READ);
}

static void check_at_once(const struct raw_frame *request)
{
    static struct peer_initiator p;
    uint8_t ulpdu[64];

    peer_initiator_open(&p, request);
    peer_initiator_accept(&p);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 64), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p.side, 2, 64, 20), STATUS_SUCCESS);
    CHECK(raw_is_silent(p.s));
    raw_send_message(p.s, 1, "go", 2);
    CHECK_EQ(raw_recv_fpdu(p.s, ulpdu, sizeof ulpdu, true), 18 + 20);
    peer_initiator_close(&p);
}

/* covers: ACC-01 */
CASE(acc_01_at_once_without_ready, KIT_FAMILIES)
{
    struct raw_frame one = { .flags = RAW_C, .revision = 1 }, two = peer_frame(PEER_NONE);

    check_at_once(&one);
    check_at_once(&two);
}

/* ---- the peer ends the connection before it is established, or does not answer ---- */

/* covers: ACC-02 */
CASE(acc_02_peer_gone_before, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame requests[] = { peer_frame(PEER_WRITE), peer_frame(PEER_NONE) };

    for (int i = 0; i < 2; i++) {
        peer_initiator_open(&p, &requests[i]);
        peer_end_stream(p.s);
        CHECK_STATUS(kit_accept(&p.side, NULL, 0), STATUS_CONNECTION_ABORTED);
        CHECK_EQ(atomic_load(&p.side.disconnected), 0);
        peer_initiator_close(&p);
    }
}

static void check_disconnected_after(bool reset)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_FPDU);

    peer_initiator_open(&p, &request);
    peer_initiator_accept(&p);
    raw_close(p.s, reset);
    p.s = -1;
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_CONNECTION_ABORTED);
    kit_pause();
    CHECK_EQ(atomic_load(&p.side.disconnected), 0);
    peer_initiator_close(&p);
}

/* covers: ACC-02 */
CASE(acc_02_peer_gone_after_the_reply, KIT_FAMILIES)
{
    check_disconnected_after(false);
    check_disconnected_after(true);
}

/* covers: ACC-02 */
CASE(acc_02_connecting_connector_closed, KIT_FAMILIES)
{
    static struct asked a;

    connect_without_answer(&a);
    kit_close_connector(&a.pair.active);
    CHECK_STATUS(kit_final(&a.connect, a.connecting), STATUS_CANCELLED);
    CHECK_STATUS(kit_accept(&a.pair.passive, NULL, 0), STATUS_CONNECTION_ABORTED);
    kit_pair_close(&a.pair);
}

/* covers: ACC-02 */
CASE(acc_02_closed_instead_of_completed, KIT_FAMILIES)
{
    static struct asked a;
    struct kit_call accept = { 0 };
    NTSTATUS accepting;

    connect_without_answer(&a);
    accepting = kit_accept_start(&a.pair.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&a.connect, a.connecting), STATUS_SUCCESS);
    kit_close_connector(&a.pair.active);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_CONNECTION_ABORTED);
    kit_pair_close(&a.pair);
}

/* covers: ACC-03 */
CASE(acc_03_peer_never_completes, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_WRITE);
    struct kit_config config = kit_config();

    config.establish_ms = 100;
    kit_configure(&config);
    peer_initiator_open(&p, &request);
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 64), STATUS_SUCCESS);
    peer_initiator_accept(&p);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_IO_TIMEOUT);
    CHECK(raw_wait_end(p.s));
    CHECK_STATUS(kit_disconnect(&p.side), STATUS_CONNECTION_INVALID);
    kit_pause();
    CHECK_EQ(atomic_load(&p.side.disconnected), 0);
    peer_initiator_close(&p);
}

/* ---- private data and read limits ---- */

static void check_callee_data(ULONG len)
{
    static struct asked a;
    struct kit_call accept = { 0 };
    uint8_t data[512], seen[512];
    ULONG have = sizeof seen;
    NTSTATUS accepting;

    kit_pattern(data, sizeof data, len);
    connect_without_answer(&a);
    accepting = kit_accept_start(&a.pair.passive, &accept, len ? data : NULL, len);
    CHECK_STATUS(kit_final(&a.connect, a.connecting), STATUS_SUCCESS);
    CHECK_STATUS(
        a.pair.active.connector->Dispatch->NdkGetConnectionData(a.pair.active.connector, NULL, NULL, seen, &have),
        STATUS_SUCCESS);
    CHECK_EQ(have, len);
    CHECK(kit_pattern_is(seen, len, len));
    CHECK_STATUS(kit_complete_connect(&a.pair.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    kit_pair_close(&a.pair);
}

static NDK_ADAPTER_INFO info_of(NDK_ADAPTER *adapter)
{
    NDK_ADAPTER_INFO info;
    ULONG size = sizeof info;

    CHECK_STATUS(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_SUCCESS);
    return info;
}

/* covers: ACC-04 */
CASE(acc_04_private_data_of_any_length, KIT_FAMILIES)
{
    NDK_ADAPTER *adapter = kit_open(2, 1);
    ULONG most = info_of(adapter).MaxCalleeData;

    kit_close_adapter(adapter);
    check_callee_data(0);
    check_callee_data(1);
    check_callee_data(most);
}

/* covers: ACC-04 */
CASE(acc_04_private_data_up_to_508, KIT_FAMILIES)
{
    struct kit_config config = kit_config();
    NDK_ADAPTER *adapter;

    config.max_private = 508;
    kit_configure(&config);
    adapter = kit_open(2, 1);
    CHECK_EQ(info_of(adapter).MaxCalleeData, 508);
    CHECK_EQ(info_of(adapter).MaxCallerData, 508);
    kit_close_adapter(adapter);
    check_callee_data(253);
    check_callee_data(508);
}

/* covers: ACC-04 */
CASE(acc_04_more_private_data_is_refused, KIT_FAMILIES)
{
    static struct asked a;
    uint8_t data[512] = { 0 };

    connect_without_answer(&a);
    CHECK_STATUS(kit_accept(&a.pair.passive, data, 253), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(kit_accept(&a.pair.passive, NULL, 1), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(a.pair.passive.connector->Dispatch->NdkReject(a.pair.passive.connector, data, 253),
                 STATUS_INVALID_PARAMETER);
    kit_close_connector(&a.pair.passive);
    CHECK_STATUS(kit_final(&a.connect, a.connecting), STATUS_CONNECTION_REFUSED);
    kit_pair_close(&a.pair);
}

static void check_limits(const struct kit_side *s, ULONG inbound, ULONG outbound)
{
    ULONG ird = 999, ord = 999;

    CHECK_STATUS(s->connector->Dispatch->NdkGetConnectionData(s->connector, &ird, &ord, NULL, NULL), STATUS_SUCCESS);
    CHECK_EQ(ird, inbound);
    CHECK_EQ(ord, outbound);
}

/* covers: ACC-04, CON-02, CON-03 */
CASE(acc_04_read_limits_are_capped_and_paired, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_WRITE);
    ULONG most;

    request.ird = 0x3ff0 | RAW_A; /* more than the adapter's limit */
    request.ord = 5 | RAW_WRITE;
    peer_initiator_open(&p, &request);
    most = info_of(p.side.adapter).MaxOutboundReadLimit;
    check_limits(&p.side, 5, most); /* the offer, capped */
    p.accepting = p.side.connector->Dispatch->NdkAccept(p.side.connector, p.side.qp, 7, MAXULONG, NULL, 0, NULL, NULL,
                                                        kit_request_done, &p.accept);
    CHECK(raw_recv_frame(p.s, true, &p.reply));
    CHECK_EQ(p.reply.ird & 0x3fff, 5);
    CHECK_EQ(p.reply.ord & 0x3fff, most);
    peer_initiator_ready(&p, PEER_WRITE);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
    check_limits(&p.side, 5, most);
    peer_initiator_close(&p);
}

/* ---- receives before accept ---- */

/* covers: ACC-05 */
CASE(acc_05_first_message_behind_ready_is_kept, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_FPDU);
    uint8_t ulpdu[64], bytes[128];
    NDK_RESULT_EX result;
    size_t len;

    peer_initiator_open(&p, &request);
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 64), STATUS_SUCCESS);
    peer_initiator_accept(&p);
    len = raw_fpdu(bytes, ulpdu, 0, true); /* both in one segment */
    len += raw_fpdu(bytes + len, ulpdu, raw_untagged(ulpdu, 3, 0, 1, 0, true, "first", 5), true);
    raw_send(p.s, bytes, len);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
    result = kit_result(&p.side);
    CHECK_STATUS(result.Status, STATUS_SUCCESS);
    CHECK_EQ(result.BytesTransferred, 5);
    CHECK(memcmp(p.side.memory, "first", 5) == 0);
    peer_initiator_close(&p);
}

static void send_inside(struct kit_call *call)
{
    CHECK_STATUS(kit_post_send(call->arg, 7, 0, 5), STATUS_SUCCESS);
}

/* covers: ACC-05 */
CASE(acc_05_message_sent_inside_the_peers_completion, KIT_FAMILIES)
{
    static struct asked a;
    struct kit_call accept = { 0 }, complete = { .inside = send_inside, .arg = &a.pair.active };
    NTSTATUS accepting;
    NDK_CONNECTOR *c;

    connect_without_answer(&a);
    memcpy(a.pair.active.memory, "early", 5);
    CHECK_STATUS(kit_post_receive(&a.pair.passive, 1, 0, 64), STATUS_SUCCESS);
    accepting = kit_accept_start(&a.pair.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&a.connect, a.connecting), STATUS_SUCCESS);
    c = a.pair.active.connector;
    CHECK_STATUS(c->Dispatch->NdkCompleteConnect(c, NULL, NULL, kit_request_done, &complete), STATUS_PENDING);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    CHECK_EQ(kit_result(&a.pair.passive).BytesTransferred, 5);
    CHECK(memcmp(a.pair.passive.memory, "early", 5) == 0);
    kit_wait_calls(&complete, 1);
    kit_pair_close(&a.pair);
}

/* ---- reject ---- */

/* covers: ACC-06 */
CASE(acc_06_reject_with_private_data, KIT_FAMILIES)
{
    static struct asked a;
    uint8_t data[50], seen[512];
    ULONG have = sizeof seen;
    NDK_CONNECTOR *passive, *active;

    kit_pattern(data, sizeof data, 6);
    connect_without_answer(&a);
    passive = a.pair.passive.connector;
    CHECK_STATUS(passive->Dispatch->NdkReject(passive, data, sizeof data), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&a.connect, a.connecting), STATUS_CONNECTION_REFUSED);
    active = a.pair.active.connector;
    CHECK_STATUS(active->Dispatch->NdkGetConnectionData(active, NULL, NULL, seen, &have), STATUS_SUCCESS);
    CHECK_EQ(have, sizeof data);
    CHECK(kit_pattern_is(seen, sizeof data, 6));
    CHECK_STATUS(passive->Dispatch->NdkReject(passive, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    kit_pair_close(&a.pair);
}

/* covers: ACC-06 */
CASE(acc_06_peer_is_gone, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_WRITE);

    peer_initiator_open(&p, &request);
    peer_end_stream(p.s);
    CHECK_STATUS(p.side.connector->Dispatch->NdkReject(p.side.connector, NULL, 0), STATUS_CONNECTION_ABORTED);
    peer_initiator_close(&p);
}

/* covers: ACC-07 */
CASE(acc_07_active_side_rejects, KIT_FAMILIES)
{
    static struct asked a;
    struct kit_call accept = { 0 };
    NTSTATUS accepting;
    NDK_CONNECTOR *c;

    connect_without_answer(&a);
    accepting = kit_accept_start(&a.pair.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&a.connect, a.connecting), STATUS_SUCCESS);
    c = a.pair.active.connector;
    CHECK_STATUS(c->Dispatch->NdkReject(c, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_CONNECTION_ABORTED);
    CHECK_STATUS(kit_complete_connect(&a.pair.active), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_disconnect(&a.pair.active), STATUS_CONNECTION_INVALID);
    kit_pair_close(&a.pair);
}

/* covers: ACC-07 */
CASE(acc_07_reject_sends_no_ready, KIT_FAMILIES)
{
    static struct peer_acceptor p;

    peer_acceptor_open(&p);
    peer_acceptor_reply(&p, PEER_FPDU);
    CHECK_STATUS(p.side.connector->Dispatch->NdkReject(p.side.connector, NULL, 0), STATUS_SUCCESS);
    CHECK(raw_wait_end(p.s));
    peer_acceptor_close(&p);
}

/* covers: ACC-08 */
CASE(acc_08_close_instead_of_an_answer, KIT_FAMILIES)
{
    static struct asked a;

    connect_without_answer(&a);
    kit_close_connector(&a.pair.passive);
    CHECK_STATUS(kit_final(&a.connect, a.connecting), STATUS_CONNECTION_REFUSED);
    kit_pair_close(&a.pair);
}

/* covers: ACC-08 */
CASE(acc_08_close_rejects_on_the_wire, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_WRITE);

    peer_initiator_open(&p, &request);
    kit_close_connector(&p.side);
    CHECK(raw_recv_frame(p.s, true, &p.reply));
    CHECK(p.reply.flags & RAW_R);
    CHECK(raw_wait_end(p.s));
    peer_initiator_close(&p);
}

/* ---- NdkAccept is called in the connect event, or later by another thread ---- */

struct accepting {
    struct kit_side *side;
    struct kit_call call;
    NTSTATUS status;
};

static void accept_inside(struct kit_listener *l, NDK_CONNECTOR *connector)
{
    struct accepting *a = l->arg;

    a->side->connector = connector;
    a->status = kit_accept_start(a->side, &a->call, NULL, 0);
}

/* covers: ACC-09 */
CASE(acc_09_inside_the_event, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct accepting a = { .side = &p.passive };
    struct sockaddr_storage source = kit_host(0);

    kit_pair_open_idle(&p);
    p.listener.arg = &a;
    p.listener.inside = accept_inside;
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_SUCCESS);
    kit_wait_count(&p.listener.requests, 1);
    CHECK_STATUS(kit_final(&a.call, a.status), STATUS_SUCCESS);
    kit_exchange(&p.active, &p.passive);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
}

static void *accept_thread(void *arg)
{
    struct kit_side *s = arg;

    CHECK_STATUS(kit_accept(s, NULL, 0), STATUS_SUCCESS);
    return NULL;
}

/* covers: ACC-09 */
CASE(acc_09_later_from_another_thread, KIT_FAMILIES)
{
    static struct asked a;
    pthread_t thread;

    connect_without_answer(&a);
    kit_pause();
    CHECK_EQ(pthread_create(&thread, NULL, accept_thread, &a.pair.passive), 0);
    CHECK_STATUS(kit_final(&a.connect, a.connecting), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&a.pair.active), STATUS_SUCCESS);
    pthread_join(thread, NULL);
    kit_exchange(&a.pair.active, &a.pair.passive);
    kit_pair_disconnect(&a.pair);
    kit_pair_close(&a.pair);
}
