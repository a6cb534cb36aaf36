/* SPDX-License-Identifier: MIT */
/* DSC: NdkDisconnect, and how the peer observes the end. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/net.h"
#include "contract/kit/peer.h"

static NTSTATUS disconnect_start(struct kit_side *s, struct kit_call *call)
{
    return s->connector->Dispatch->NdkDisconnect(s->connector, kit_request_done, call);
}

/* Receives all FPDUs until the end of the stream, and checks their data. Returns the number of data bytes. */
static size_t read_messages(int s, unsigned seed)
{
    static uint8_t all[8 << 20];
    uint8_t ulpdu[65536];
    size_t total = 0;
    int len;

    while ((len = raw_recv_fpdu(s, ulpdu, sizeof ulpdu, true)) >= 0) {
        if (peer_is_empty_write(ulpdu, len))
            continue;
        CHECK(len >= 18 && total + (size_t)len - 18 <= sizeof all);
        CHECK_EQ(ulpdu[1] & 15, 3);
        memcpy(all + total, ulpdu + 18, (size_t)len - 18);
        total += (size_t)len - 18;
    }
    CHECK(kit_pattern_is(all, total, seed));
    return total;
}

/* ---- the graceful end ---- */

/* covers: DSC-01 */
CASE(dsc_01_waits_for_the_peers_notice, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_call call = { 0 };
    NTSTATUS status;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    status = disconnect_start(&p.side, &call);
    CHECK(peer_wait_end(p.s)); /* the notice */
    kit_pause();
    CHECK_EQ(atomic_load(&call.calls), 0);
    raw_close(p.s, false);
    p.s = -1;
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    peer_acceptor_close(&p);
}

enum { BIG = KIT_MEMORY };

/*
 * More data is posted than a socket buffer holds. The peer sends its disconnect notice (FIN), but does not read.
 * NdkDisconnect must not complete while the provider still needs the memory of the send.
 */
/* covers: DSC-01 */
CASE(dsc_01_after_the_work_posted_before, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_call call = { 0 };
    NDK_SGE sge;
    NTSTATUS status;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    kit_pattern(p.side.memory, BIG, 5);
    sge = kit_sge(&p.side, 0, BIG);
    CHECK_STATUS(p.side.qp->Dispatch->NdkSend(p.side.qp, NULL, &sge, 1, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
    status = disconnect_start(&p.side, &call);
    CHECK_STATUS(status, STATUS_PENDING);
    CHECK(shutdown(p.s, SHUT_WR) == 0);
    kit_pause();
    CHECK_EQ(atomic_load(&call.calls), 0);
    CHECK_EQ(read_messages(p.s, 5), BIG);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    peer_acceptor_close(&p);
}

static void scribble(struct kit_call *call)
{
    struct kit_side *s = call->arg;

    memset(s->memory, 0xdd, BIG);
}

/* covers: DSC-01 */
CASE(dsc_01_memory_is_the_consumers_again, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_call call = { .inside = scribble, .arg = &p.side };
    NTSTATUS status;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    kit_pattern(p.side.memory, BIG, 9);
    CHECK_STATUS(kit_post_send(&p.side, 1, 0, BIG), STATUS_SUCCESS);
    CHECK(shutdown(p.s, SHUT_WR) == 0);
    status = disconnect_start(&p.side, &call);
    CHECK_EQ(read_messages(p.s, 9), BIG);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.side).Status, STATUS_SUCCESS);
    peer_acceptor_close(&p);
}

static void count_inside(struct kit_call *call)
{
    struct kit_side *s = call->arg;
    NDK_RESULT_EX results[4];

    CHECK_EQ(s->cq->Dispatch->NdkGetCqResultsEx(s->cq, results, 4), 3);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(results[i].Status, STATUS_CANCELLED);
        CHECK_EQ((uintptr_t)results[i].RequestContext, 10 + i);
    }
}

/* covers: DSC-01 */
CASE(dsc_01_then_the_queue_pair_is_flushed, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_call call = { .inside = count_inside, .arg = &p.side };
    NTSTATUS status;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    for (uintptr_t i = 0; i < 3; i++)
        CHECK_STATUS(kit_post_receive(&p.side, 10 + i, i * 64, 64), STATUS_SUCCESS);
    status = disconnect_start(&p.side, &call);
    CHECK(peer_wait_end(p.s));
    raw_close(p.s, false);
    p.s = -1;
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    peer_acceptor_close(&p);
}

/* covers: DSC-01 */
CASE(dsc_01_receives_posted_after_the_end_are_flushed, KIT_FAMILIES)
{
    static struct peer_acceptor p;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    raw_close(p.s, true);
    p.s = -1;
    kit_wait_count(&p.side.disconnected, 1);
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 64), STATUS_SUCCESS);
    (void)kit_disconnect(&p.side); /* any status is valid here */
    CHECK_STATUS(kit_result(&p.side).Status, STATUS_CANCELLED);
    peer_acceptor_close(&p);
}

/* ---- what the peer sees ---- */

/* covers: DSC-02 */
CASE(dsc_02_notice_calls_once_and_flushes_nothing, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call call = { 0 };
    NDK_RESULT_EX result;
    NTSTATUS status;

    kit_pair_open(&p);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 64), STATUS_SUCCESS);
    status = disconnect_start(&p.active, &call);
    kit_wait_count(&p.passive.disconnected, 1);
    kit_pause();
    CHECK_EQ(atomic_load(&p.passive.disconnected), 1);
    CHECK_EQ(p.passive.cq->Dispatch->NdkGetCqResultsEx(p.passive.cq, &result, 1), 0);
    CHECK_EQ(atomic_load(&call.calls), 0);
    CHECK_STATUS(kit_disconnect(&p.passive), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.passive).Status, STATUS_CANCELLED);
    CHECK_EQ(atomic_load(&p.passive.disconnected), 1);
    CHECK_EQ(atomic_load(&p.active.disconnected), 0);
    kit_pair_close(&p);
}

/* Checks that all outstanding requests have failed, and that the callback has run once. */
static void check_aborted(struct kit_side *s, ULONG outstanding)
{
    NDK_RESULT_EX results[8];

    kit_wait_count(&s->disconnected, 1);
    kit_results(s, results, outstanding);
    for (ULONG i = 0; i < outstanding; i++)
        CHECK(!NT_SUCCESS(results[i].Status));
    kit_pause();
    CHECK_EQ(atomic_load(&s->disconnected), 1);
    CHECK_EQ(s->cq->Dispatch->NdkGetCqResultsEx(s->cq, results, 1), 0);
    CHECK_STATUS(kit_post_send(s, 9, 0, 8), STATUS_CONNECTION_INVALID);
}

/* Two receives, and a read that the peer does not answer. */
static void post_three(struct kit_side *s)
{
    NDK_SGE sge = kit_sge(s, 256, 64);

    CHECK_STATUS(kit_post_receive(s, 1, 0, 64), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(s, 2, 64, 64), STATUS_SUCCESS);
    CHECK_STATUS(s->qp->Dispatch->NdkRead(s->qp, (PVOID)3, &sge, 1, 0x1000, 77, 0), STATUS_SUCCESS);
}

/* covers: DSC-02 */
CASE(dsc_02_reset_ends_everything, KIT_FAMILIES)
{
    static struct peer_acceptor p;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    post_three(&p.side);
    raw_close(p.s, true);
    p.s = -1;
    check_aborted(&p.side, 3);
    peer_acceptor_close(&p);
}

/* covers: DSC-02 */
CASE(dsc_02_terminate_ends_everything, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    /* Layer RDMAP, type remote protection error, code access violation; no headers follow */
    uint8_t ulpdu[64], control[4] = { 0x01, 0x02, 0, 0 };

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    post_three(&p.side);
    raw_send_fpdu(p.s, ulpdu, raw_untagged(ulpdu, 7, 2, 1, 0, true, control, sizeof control), true);
    check_aborted(&p.side, 3);
    peer_acceptor_close(&p);
}

/* covers: DSC-02 */
CASE(dsc_02_abort_by_close_ends_everything, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 64), STATUS_SUCCESS);
    kit_close_connector(&p.active);
    check_aborted(&p.passive, 1);
    CHECK_EQ(atomic_load(&p.active.disconnected), 0);
    kit_pair_close(&p);
}

/* The second process: connects, reports that, and does nothing more. */
static void connect_and_stay(int wire)
{
    static struct kit_side s;
    struct sockaddr_storage source = kit_host(0), there;
    char word = 'c';

    kit_wire_receive(wire, &there, sizeof there);
    kit_side_open(&s, NULL);
    CHECK_STATUS(kit_connect(&s, &source, &there, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&s), STATUS_SUCCESS);
    kit_wire_send(wire, &word, 1);
    kit_wire_receive(wire, &word, 1);
}

/* covers: DSC-02 QPR-20 */
CASE(dsc_02_death_of_the_peers_process, KIT_FAMILIES)
{
    static struct kit_side s;
    static struct kit_listener l;
    struct kit_child child;
    struct kit_call call = { 0 };
    NTSTATUS closing;
    char word;

    kit_fork(&child, connect_and_stay, false);
    kit_side_open(&s, NULL);
    kit_listen(&l, s.adapter);
    kit_wire_send(child.wire, &l.address, sizeof l.address);
    s.connector = kit_next_request(&l);
    CHECK_STATUS(kit_post_receive(&s, 1, 0, 64), STATUS_SUCCESS);
    CHECK_STATUS(kit_accept(&s, NULL, 0), STATUS_SUCCESS);
    kit_wire_receive(child.wire, &word, 1);
    CHECK_EQ(kill(child.pid, SIGKILL), 0);
    CHECK_EQ(waitpid(child.pid, NULL, 0), child.pid);
    kit_wait_count(&s.disconnected, 1);
    /* The connection ends abruptly: outstanding requests complete without a disconnect. */
    CHECK_STATUS(kit_result(&s).Status, STATUS_CONNECTION_ABORTED);
    closing = l.listener->Dispatch->NdkCloseListener(&l.listener->Header, kit_close_done, &call);
    kit_close_connector(&s);
    CHECK_STATUS(kit_final(&call, closing), STATUS_SUCCESS);
    CHECK_EQ(atomic_load(&s.disconnected), 1);
    kit_side_close(&s);
}

/* ---- a peer that does not end in good order ---- */

/* covers: DSC-03 */
CASE(dsc_03_peer_resets_after_our_notice, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_call call = { 0 };
    NTSTATUS status;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 64), STATUS_SUCCESS);
    status = disconnect_start(&p.side, &call);
    CHECK(peer_wait_end(p.s));
    raw_close(p.s, true);
    p.s = -1;
    CHECK_STATUS(kit_final(&call, status), STATUS_CONNECTION_ABORTED);
    CHECK(!NT_SUCCESS(kit_result(&p.side).Status));
    CHECK_EQ(atomic_load(&p.side.disconnected), 0);
    CHECK_STATUS(kit_disconnect(&p.side), STATUS_CONNECTION_INVALID);
    peer_acceptor_close(&p);
}

/* covers: DSC-03 */
CASE(dsc_03_peer_never_answers, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_config config = kit_config();

    config.disconnect_ms = 100;
    kit_configure(&config);
    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 64), STATUS_SUCCESS);
    CHECK_STATUS(kit_disconnect(&p.side), STATUS_IO_TIMEOUT);
    CHECK(!NT_SUCCESS(kit_result(&p.side).Status));
    CHECK(peer_wait_end(p.s)); /* the whole connection is closed, so further data is answered by a reset */
    raw_send(p.s, "x", 1);
    for (ssize_t n = 1; n >= 0;) {
        n = send(p.s, "x", 1, MSG_NOSIGNAL);
        sched_yield();
    }
    CHECK_STATUS(kit_disconnect(&p.side), STATUS_CONNECTION_INVALID);
    peer_acceptor_close(&p);
}

/* covers: DSC-03 */
CASE(dsc_03_peer_never_reads, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_config config = kit_config();

    config.disconnect_ms = 100;
    kit_configure(&config);
    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    for (int i = 0; i < 4; i++)
        CHECK_STATUS(kit_post_send(&p.side, 1, 0, BIG), STATUS_SUCCESS);
    CHECK_STATUS(kit_disconnect(&p.side), STATUS_IO_TIMEOUT);
    for (int i = 0; i < 4; i++)
        (void)kit_result(&p.side);
    peer_acceptor_close(&p);
}

/* ---- both sides disconnect at the same time ---- */

struct both {
    struct kit_side *side;
    pthread_barrier_t *start;
    NTSTATUS status;
};

static void *disconnect_thread(void *arg)
{
    struct both *b = arg;

    pthread_barrier_wait(b->start);
    b->status = kit_disconnect(b->side);
    return NULL;
}

/* covers: DSC-04 */
CASE(dsc_04_both_sides_at_once, KIT_FAMILIES)
{
    enum { ROUNDS = 20 };
    static struct kit_pair p;
    pthread_barrier_t start;

    CHECK_EQ(pthread_barrier_init(&start, NULL, 2), 0);
    kit_pair_open_idle(&p);
    for (int round = 0; round < ROUNDS; round++) {
        struct both active = { .side = &p.active, .start = &start }, passive = { .side = &p.passive, .start = &start };
        pthread_t thread;

        kit_establish(&p.active, &p.passive, &p.listener);
        CHECK_EQ(pthread_create(&thread, NULL, disconnect_thread, &active), 0);
        disconnect_thread(&passive);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_STATUS(active.status, STATUS_SUCCESS);
        CHECK_STATUS(passive.status, STATUS_SUCCESS);
        kit_close_connector(&p.active);
        kit_close_connector(&p.passive);
        CHECK_STATUS(kit_close(p.active.qp), STATUS_SUCCESS);
        CHECK_STATUS(kit_close(p.passive.qp), STATUS_SUCCESS);
        p.active.qp = kit_qp(&p.active, KIT_DEPTH);
        p.passive.qp = kit_qp(&p.passive, KIT_DEPTH);
    }
    kit_pair_close(&p);
    pthread_barrier_destroy(&start);
}

/* covers: DSC-04 */
CASE(dsc_04_the_peers_notice_while_ours_waits_for_work, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_call call = { 0 };
    NTSTATUS status;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    kit_pattern(p.side.memory, BIG, 4);
    CHECK_STATUS(kit_post_send(&p.side, 1, 0, BIG), STATUS_SUCCESS);
    status = disconnect_start(&p.side, &call);
    CHECK(shutdown(p.s, SHUT_WR) == 0); /* this end has not sent its FIN yet, because the socket is full */
    CHECK_EQ(read_messages(p.s, 4), BIG);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.side).Status, STATUS_SUCCESS);
    peer_acceptor_close(&p);
}

/* ---- not connected ---- */

/* covers: DSC-05 */
CASE(dsc_05_active_side_before_the_end_of_establishment, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    static struct kit_side idle;
    struct kit_call complete = { 0 };
    NTSTATUS status;

    kit_side_open(&idle, NULL);
    idle.connector = kit_connector(idle.adapter);
    CHECK_STATUS(kit_disconnect(&idle), STATUS_CONNECTION_INVALID);
    kit_side_close(&idle);
    peer_acceptor_open(&p);
    CHECK_STATUS(kit_disconnect(&p.side), STATUS_CONNECTION_INVALID);
    peer_acceptor_reply(&p, PEER_READ);
    CHECK_STATUS(kit_disconnect(&p.side), STATUS_CONNECTION_INVALID);
    status = p.side.connector->Dispatch->NdkCompleteConnect(p.side.connector, NULL, NULL, kit_request_done, &complete);
    CHECK_STATUS(kit_disconnect(&p.side), STATUS_CONNECTION_INVALID);
    peer_acceptor_ready(&p, PEER_READ);
    CHECK_STATUS(kit_final(&complete, status), STATUS_SUCCESS);
    peer_acceptor_close(&p);
}

/* covers: DSC-05 */
CASE(dsc_05_passive_side_before_the_end_of_establishment, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_WRITE);

    peer_initiator_open(&p, &request);
    CHECK_STATUS(kit_disconnect(&p.side), STATUS_CONNECTION_INVALID);
    peer_initiator_accept(&p);
    CHECK_STATUS(kit_disconnect(&p.side), STATUS_CONNECTION_INVALID);
    peer_initiator_ready(&p, PEER_WRITE);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
    peer_initiator_close(&p);
}

/* covers: DSC-05 */
CASE(dsc_05_twice, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call call = { 0 };
    NTSTATUS status;

    kit_pair_open(&p);
    status = disconnect_start(&p.active, &call);
    CHECK_STATUS(kit_disconnect(&p.active), STATUS_CONNECTION_INVALID); /* the first is pending */
    CHECK_STATUS(kit_disconnect(&p.passive), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    CHECK_STATUS(kit_disconnect(&p.active), STATUS_CONNECTION_INVALID);
    kit_pair_close(&p);
}

/* ---- after the disconnect ---- */

/* covers: DSC-06 */
CASE(dsc_06_nothing_can_be_connected_again, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    NDK_CONNECTOR *spent;

    kit_pair_open(&p);
    kit_pair_disconnect(&p);
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    spent = p.active.connector;
    p.active.connector = NULL; /* a new connector with the used queue pair */
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    CHECK_STATUS(kit_close(spent), STATUS_SUCCESS);
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    kit_pair_close(&p);
}

/* covers: DSC-06 */
CASE(dsc_06_a_spent_queue_pair_accepts_nothing, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_WRITE);
    struct kit_call call = { 0 };
    NTSTATUS status;
    int s;

    peer_initiator_connect(&p, PEER_WRITE);
    status = disconnect_start(&p.side, &call);
    raw_close(p.s, false);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    kit_close_connector(&p.side);
    s = raw_connect(&p.listener.address);
    raw_send_frame(s, false, &request);
    p.s = s;
    p.side.connector = kit_next_request(&p.listener);
    CHECK_STATUS(kit_accept(&p.side, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    peer_initiator_close(&p);
}

/* covers: DSC-06 */
CASE(dsc_06_nothing_arrives_or_leaves, KIT_FAMILIES)
{
    static struct kit_pair p;
    NDK_RESULT_EX result;

    kit_pair_open(&p);
    kit_pair_disconnect(&p);
    CHECK_STATUS(kit_post_send(&p.active, 1, 0, 8), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_post_send(&p.passive, 1, 0, 8), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_post_write(&p.passive, 1, 0, 8, &p.active, 0), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_post_read(&p.active, 1, 0, 8, &p.passive, 0), STATUS_CONNECTION_INVALID);
    kit_pause();
    CHECK_EQ(p.active.cq->Dispatch->NdkGetCqResultsEx(p.active.cq, &result, 1), 0);
    CHECK_EQ(p.passive.cq->Dispatch->NdkGetCqResultsEx(p.passive.cq, &result, 1), 0);
    kit_pair_close(&p);
}
