/* SPDX-License-Identifier: MIT */
/* The lists of queues, regions, windows and domains, what a connection's counters count, and lists during churn. */
#include <sched.h>
#include <string.h>

#include "contract/kit/fast.h"
#include "contract/kit/kit.h"
#include "openndk/netstat.h"

enum { ROOM = 8 };

#define CHECK_STATE(entry, expected)                                                                                   \
    (strcmp((entry).state, expected)                                                                                   \
         ? kit_fail(__FILE__, __LINE__, "state: expected %s, saw %s", expected, (entry).state)                         \
         : (void)0)

static ondk_connection_t only_connection(const struct kit_side *s)
{
    ondk_connection_t all[ROOM];

    CHECK_EQ(ondk_adapter_connections(s->adapter, all, ROOM), 1);
    return all[0];
}

static ondk_queue_pair_t only_qp(const struct kit_side *s)
{
    ondk_queue_pair_t all[ROOM];

    CHECK_EQ(ondk_adapter_queue_pairs(s->adapter, all, ROOM), 1);
    return all[0];
}

static ondk_completion_queue_t only_cq(const struct kit_side *s)
{
    ondk_completion_queue_t all[ROOM];

    CHECK_EQ(ondk_adapter_completion_queues(s->adapter, all, ROOM), 1);
    return all[0];
}

static ondk_memory_region_t mr_with_id(const struct kit_side *s, uint32_t id)
{
    ondk_memory_region_t all[ROOM];
    uint32_t count = ondk_adapter_memory_regions(s->adapter, all, ROOM);

    for (uint32_t i = 0; i < count && i < ROOM; i++)
        if (all[i].id == id)
            return all[i];
    kit_fail(__FILE__, __LINE__, "no region has the id %u", (unsigned)id);
}

static void check_messages(const struct kit_side *s, uint64_t out_sends, uint64_t out_writes, uint64_t out_reads,
                           uint64_t in_sends, uint64_t in_writes, uint64_t in_reads)
{
    ondk_connection_t c = only_connection(s);

    CHECK_EQ(c.out_sends, out_sends);
    CHECK_EQ(c.out_writes, out_writes);
    CHECK_EQ(c.out_reads, out_reads);
    CHECK_EQ(c.in_sends, in_sends);
    CHECK_EQ(c.in_writes, in_writes);
    CHECK_EQ(c.in_reads, in_reads);
}

/* A write and a send of several FPDUs count as one message each. */
CASE(messages_of_a_connection, KIT_FAMILIES)
{
    enum { BIG = 300000 };
    static struct kit_pair p;

    kit_pair_open(&p);
    check_messages(&p.active, 0, 0, 0, 0, 0, 0);
    check_messages(&p.passive, 0, 0, 0, 0, 0, 0);
    CHECK_EQ(only_connection(&p.active).out_frames, 1); /* ready-to-receive */
    for (uintptr_t i = 0; i < 2; i++)
        CHECK_STATUS(kit_post_receive(&p.passive, i, 1 << 20, BIG), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&p.active, 9, 1 << 20, 100), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p.active, 2, 0, 10), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p.active, 3, 0, BIG), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_write(&p.active, 4, 0, BIG, &p.passive, 4096), STATUS_SUCCESS);
    for (uintptr_t i = 5; i < 8; i++)
        CHECK_STATUS(kit_post_read(&p.active, i, 2 << 20, BIG, &p.passive, 4096), STATUS_SUCCESS);
    for (int i = 0; i < 6; i++)
        CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p.passive, 1, 0, 10), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    check_messages(&p.active, 2, 1, 3, 1, 0, 0);
    check_messages(&p.passive, 1, 0, 0, 2, 1, 3);
    kit_pair_disconnect(&p);
    ondk_connection_t a = only_connection(&p.active), b = only_connection(&p.passive);
    check_messages(&p.active, 2, 1, 3, 1, 0, 0); /* the queue pair keeps its counts */
    CHECK_EQ(a.out_octets, b.in_octets);
    CHECK_EQ(a.in_octets, b.out_octets);
    CHECK_EQ(a.out_frames, b.in_frames);
    CHECK_EQ(a.in_frames, b.out_frames);
    CHECK(a.out_octets > 2 * BIG && b.out_octets > 3 * BIG);
    kit_pair_close(&p);
}

/* A request that a flush completes is not counted. */
CASE(messages_that_were_not_sent, 0)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    CHECK_STATUS(kit_post_receive(&p.active, 1, 0, 100), STATUS_SUCCESS);
    p.active.qp->Dispatch->NdkFlush(p.active.qp);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_CANCELLED);
    check_messages(&p.active, 0, 0, 0, 0, 0, 0);
    kit_pair_close(&p);
}

CASE(age_of_a_connection, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    uint64_t first = only_connection(&p.active).age_ns;
    CHECK(first < UINT64_C(300) * 1000000000); /* of this connection, and not of the clock */
    kit_pause();
    CHECK(only_connection(&p.active).age_ns > first && only_connection(&p.passive).age_ns > 0);
    kit_pair_close(&p);
}

CASE(ids_of_a_connection, KIT_FAMILIES)
{
    static struct kit_pair p;
    ondk_listener_t l;

    kit_pair_open(&p);
    ondk_connection_t a = only_connection(&p.active), b = only_connection(&p.passive);
    CHECK_EQ(ondk_adapter_listeners(p.passive.adapter, &l, 1), 1);
    CHECK(a.id && b.id && l.id);
    CHECK_EQ(a.qp, only_qp(&p.active).id);
    CHECK_EQ(b.qp, only_qp(&p.passive).id);
    CHECK_EQ(a.listener, 0);
    CHECK_EQ(b.listener, l.id);
    CHECK_EQ(l.connections, 1);
    kit_close_connector(&p.passive);
    do /* the connector ends after its close completion has returned */
        CHECK_EQ(ondk_adapter_listeners(p.passive.adapter, &l, 1), 1);
    while (l.connections);
    kit_pair_close(&p);
}

CASE(queue_pair_and_its_parts, KIT_FAMILIES)
{
    static struct kit_pair p;
    ondk_protection_domain_t pd;

    kit_pair_open_idle(&p);
    ondk_queue_pair_t qp = only_qp(&p.active);
    CHECK_STATE(qp, "idle");
    CHECK_EQ(qp.receive_depth, KIT_DEPTH);
    CHECK_EQ(qp.initiator_depth, KIT_DEPTH);
    CHECK_EQ(qp.receive_sges, KIT_SGES);
    CHECK_EQ(qp.receives + qp.initiators + qp.srq, 0);
    CHECK_EQ(ondk_adapter_protection_domains(p.active.adapter, &pd, 1), 1);
    CHECK_STATE(pd, "open");
    CHECK_EQ(pd.id, qp.pd);
    CHECK_EQ(pd.users, 2); /* the queue pair and the region */
    ondk_completion_queue_t cq = only_cq(&p.active);
    CHECK_EQ(cq.id, qp.receive_cq);
    CHECK_EQ(cq.id, qp.initiator_cq);
    CHECK_EQ(cq.users, 1);
    for (uintptr_t i = 0; i < 3; i++)
        CHECK_STATUS(kit_post_receive(&p.active, i, 0, 8), STATUS_SUCCESS);
    CHECK_EQ(only_qp(&p.active).receives, 3);
    kit_establish(&p.active, &p.passive, &p.listener);
    CHECK_STATE(only_qp(&p.active), "connected");
    CHECK_STATE(only_qp(&p.passive), "connected");
    kit_pair_disconnect(&p);
    qp = only_qp(&p.active);
    CHECK_STATE(qp, "ended");
    CHECK_EQ(qp.receives, 0); /* flushed */
    CHECK_EQ(only_cq(&p.active).queued, 3);
    kit_pair_close(&p);
}

/* A queue pair whose connection is being established. */
CASE(queue_pair_that_connects, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call connect = { 0 };
    struct sockaddr_storage source = kit_host(0);

    kit_pair_open_idle(&p);
    NTSTATUS connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    NDK_CONNECTOR *request = kit_next_request(&p.listener);
    CHECK_STATE(only_qp(&p.active), "connecting");
    CHECK_EQ(only_connection(&p.active).qp, only_qp(&p.active).id);
    CHECK_EQ(only_connection(&p.passive).qp, 0); /* not accepted yet */
    CHECK_STATUS(request->Dispatch->NdkReject(request, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_CONNECTION_REFUSED);
    CHECK_STATE(only_qp(&p.active), "idle");
    CHECK_STATUS(kit_close(request), STATUS_SUCCESS);
    kit_pair_close(&p);
}

CASE(completion_queue_in_each_state, 0)
{
    static struct kit_side s;
    GROUP_AFFINITY affinity = { .Mask = 1 << 1 };
    struct kit_call call = { 0 };
    ondk_completion_queue_t all[ROOM];
    NDK_QP *qp;
    NDK_CQ *cq;

    s.depth = KIT_DEPTH;
    kit_side_open(&s, NULL);
    CHECK(only_cq(&s).affinity == -1);
    CHECK(!strcmp(only_cq(&s).armed, "none"));
    NTSTATUS status = s.adapter->Dispatch->NdkCreateCq(s.adapter, 2, kit_on_notify, &s, &affinity, kit_create_done,
                                                       &call, &cq);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    call = (struct kit_call){ 0 };
    status = s.pd->Dispatch->NdkCreateQp(s.pd, cq, cq, NULL, 4, 1, 1, 1, 0, kit_create_done, &call, &qp);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    CHECK_EQ(ondk_adapter_completion_queues(s.adapter, all, ROOM), 2); /* the newest is first */
    CHECK_EQ(all[0].id, 2);
    CHECK_EQ(all[0].affinity, 1);
    CHECK_EQ(all[0].depth, 2);
    CHECK_STATE(all[0], "open");
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ERRORS);
    CHECK_STATUS(cq->Dispatch->NdkControlCqInterruptModeration(cq, 100, 2), STATUS_SUCCESS);
    CHECK_EQ(ondk_adapter_completion_queues(s.adapter, all, ROOM), 2);
    CHECK(!strcmp(all[0].armed, "errors"));
    CHECK_EQ(all[0].moderation_interval_us, 100);
    CHECK_EQ(all[0].moderation_count, 2);
    for (uintptr_t i = 0; i < 4; i++)
        CHECK_STATUS(qp->Dispatch->NdkReceive(qp, NULL, NULL, 0), STATUS_SUCCESS);
    qp->Dispatch->NdkFlush(qp);
    kit_wait_count(&s.notified, 1);
    CHECK_EQ(ondk_adapter_completion_queues(s.adapter, all, ROOM), 2);
    CHECK_STATE(all[0], "overflowed");
    CHECK_EQ(all[0].queued, 2);
    CHECK_STATUS(kit_close(qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(cq), STATUS_SUCCESS);
    CHECK_EQ(ondk_adapter_completion_queues(s.adapter, all, ROOM), 1);
    kit_side_close(&s);
}

CASE(memory_region_that_is_registered, 0)
{
    static struct kit_side s;
    struct kit_call call = { 0 };

    s.depth = KIT_DEPTH;
    kit_side_open(&s, NULL);
    ondk_memory_region_t mr = mr_with_id(&s, 1);
    CHECK_STATE(mr, "registered");
    CHECK_EQ(mr.address, (uintptr_t)s.memory);
    CHECK_EQ(mr.length, KIT_MEMORY);
    CHECK_EQ(mr.token, s.local_token);
    CHECK(mr.local_write && mr.remote_read && mr.remote_write && !mr.fast);
    CHECK_STATUS(kit_final(&call, s.mr->Dispatch->NdkDeregisterMr(s.mr, kit_request_done, &call)), STATUS_SUCCESS);
    mr = mr_with_id(&s, 1);
    CHECK_STATE(mr, "empty");
    CHECK_EQ(mr.length + mr.address, 0);
    kit_side_close(&s);
}

CASE(memory_window_and_fast_region, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_region r;
    ondk_memory_window_t mw;

    KIT_NEED(kit_info()->MaxWindowSize > 0 && kit_info()->FRMRPageCount > 0, "windows and fast registration");
    kit_pair_open(&p);
    fast_region_open(&r, &p.active, 2, FAST_ALL);
    ondk_memory_region_t mr = mr_with_id(&p.active, 2);
    CHECK_STATE(mr, "registered");
    CHECK(mr.fast && mr.remote_write);
    CHECK_EQ(mr.token, r.token);
    CHECK_EQ(mr.length, r.len);
    CHECK_EQ(mr.address, (uintptr_t)r.base);
    NDK_MW *w = fast_mw(p.active.pd);
    CHECK_EQ(ondk_adapter_memory_windows(p.active.adapter, &mw, 1), 1);
    CHECK_STATE(mw, "unbound");
    CHECK_STATUS(fast_bind(&p.active, 7, r.mr, w, r.base + 100, 50, NDK_OP_FLAG_ALLOW_REMOTE_READ), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeBind), 7);
    CHECK_EQ(ondk_adapter_memory_windows(p.active.adapter, &mw, 1), 1);
    CHECK_STATE(mw, "bound");
    CHECK_EQ(mw.address, (uintptr_t)r.base + 100);
    CHECK_EQ(mw.length, 50);
    CHECK_EQ(mw.token, fast_mw_token(w));
    CHECK(mw.remote_read && !mw.remote_write);
    CHECK_STATUS(kit_close(w), STATUS_SUCCESS);
    CHECK_EQ(ondk_adapter_memory_windows(p.active.adapter, &mw, 1), 0);
    fast_region_close(&r);
    CHECK_EQ(ondk_adapter_memory_regions(p.active.adapter, NULL, 0), 1);
    kit_pair_close(&p);
}

CASE(shared_receive_queue, 0)
{
    static struct kit_side s;
    struct kit_call call = { 0 };
    ondk_shared_receive_queue_t entry;
    NDK_SRQ *srq;

    KIT_NEED(kit_info()->MaxSrqDepth > 0, "shared receive queues");
    s.depth = KIT_DEPTH;
    kit_side_open(&s, NULL);
    NTSTATUS status = s.pd->Dispatch->NdkCreateSrq(s.pd, 10, 3, 0, NULL, NULL, NULL, kit_create_done, &call, &srq);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    for (uintptr_t i = 0; i < 4; i++)
        CHECK_STATUS(srq->Dispatch->NdkSrqReceive(srq, NULL, NULL, 0), STATUS_SUCCESS);
    CHECK_EQ(ondk_adapter_shared_receive_queues(s.adapter, &entry, 1), 1);
    CHECK_STATE(entry, "open");
    CHECK_EQ(entry.depth, 10);
    CHECK_EQ(entry.queued, 4);
    CHECK_EQ(entry.sges, 3);
    CHECK_EQ(entry.threshold, 0);
    CHECK_EQ(entry.users, 0);
    CHECK_STATUS(kit_close(srq), STATUS_SUCCESS);
    CHECK_EQ(ondk_adapter_shared_receive_queues(s.adapter, &entry, 1), 0);
    kit_side_close(&s);
}

/* A close that waits is listed as such: the peer keeps a window bound, so the region cannot end. */
CASE(object_that_is_being_closed, 0)
{
    static struct kit_pair p;
    struct fast_region r;
    struct kit_call call = { 0 };

    KIT_NEED(kit_info()->MaxWindowSize > 0 && kit_info()->FRMRPageCount > 0, "windows and fast registration");
    kit_pair_open(&p);
    fast_region_open(&r, &p.active, 2, FAST_ALL);
    NDK_MW *w = fast_mw(p.active.pd);
    CHECK_STATUS(fast_bind(&p.active, 7, r.mr, w, r.base, 50, NDK_OP_FLAG_ALLOW_REMOTE_READ), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeBind), 7);
    NTSTATUS closing = r.mr->Dispatch->NdkCloseMr(&r.mr->Header, kit_close_done, &call);
    CHECK_STATUS(closing, STATUS_PENDING);
    CHECK_STATE(mr_with_id(&p.active, 2), "closing");
    CHECK_STATUS(kit_close(w), STATUS_SUCCESS);
    kit_wait_calls(&call, 1);
    CHECK_EQ(ondk_adapter_memory_regions(p.active.adapter, NULL, 0), 1);
    fast_memory_close(&r.memory);
    kit_pair_close(&p);
}

/* ---- lists while everything comes and goes ---- */

enum { ROUNDS = 15, MAKERS = 2 };
static atomic_int makers_left;

static void *make_and_close(void *arg)
{
    static struct kit_pair pairs[MAKERS];
    static atomic_int next;
    struct kit_pair *p = &pairs[atomic_fetch_add(&next, 1)];
    NDK_ADAPTER *adapter = arg;

    for (int i = 0; i < ROUNDS; i++) {
        memset(p, 0, sizeof *p);
        kit_side_open(&p->active, adapter);
        kit_side_open(&p->passive, adapter);
        kit_listen(&p->listener, adapter);
        kit_establish(&p->active, &p->passive, &p->listener);
        kit_exchange(&p->active, &p->passive);
        kit_close_connector(&p->active);
        kit_close_connector(&p->passive);
        CHECK_STATUS(kit_close(p->listener.listener), STATUS_SUCCESS);
        kit_side_close(&p->active);
        kit_side_close(&p->passive);
    }
    atomic_fetch_sub(&makers_left, 1);
    return NULL;
}

/* Each object's fabric object ends while the lists are read. */
CASE(objects_during_churn, 0)
{
    pthread_t threads[MAKERS];
    NDK_ADAPTER *adapter = kit_open(2, 1);
    static ondk_connection_t connections[ROOM];
    static ondk_completion_queue_t cqs[ROOM];
    static ondk_queue_pair_t qps[ROOM];
    static ondk_memory_region_t mrs[ROOM];
    static ondk_protection_domain_t pds[ROOM];

    atomic_store(&makers_left, MAKERS);
    for (int i = 0; i < MAKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, make_and_close, adapter) == 0);
    while (atomic_load(&makers_left)) {
        CHECK(ondk_adapter_connections(adapter, connections, ROOM) <= 2 * MAKERS);
        CHECK(ondk_adapter_protection_domains(adapter, pds, ROOM) <= 2 * MAKERS);
        CHECK(ondk_adapter_memory_regions(adapter, mrs, ROOM) <= 2 * MAKERS);
        uint32_t n = ondk_adapter_completion_queues(adapter, cqs, ROOM);
        CHECK(n <= 2 * MAKERS);
        for (uint32_t i = 0; i < n; i++)
            CHECK(cqs[i].id && cqs[i].depth && cqs[i].state && cqs[i].armed);
        n = ondk_adapter_queue_pairs(adapter, qps, ROOM);
        CHECK(n <= 2 * MAKERS);
        for (uint32_t i = 0; i < n; i++)
            CHECK(qps[i].pd && qps[i].receive_cq && qps[i].initiator_cq && qps[i].state);
        sched_yield(); /* the lists' lock is a spin lock, and the makers need it */
    }
    for (int i = 0; i < MAKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_EQ(ondk_adapter_queue_pairs(adapter, NULL, 0) + ondk_adapter_completion_queues(adapter, NULL, 0) +
                 ondk_adapter_memory_regions(adapter, NULL, 0) + ondk_adapter_protection_domains(adapter, NULL, 0),
             0);
    kit_close_adapter(adapter);
}
