/* SPDX-License-Identifier: MIT */
/* Like causes.c, for each cause that ends an established connection. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/net.h"
#include "contract/kit/peer.h"
#include "contract/kit/raw.h"
#include "observe/outcome.h"
#include "openndk/config.h"
#include "openndk/log.h"

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
    int wait_status;
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
    CHECK(waitpid(child.pid, &wait_status, WUNTRACED) == child.pid && WIFSTOPPED(wait_status));
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
