/* SPDX-License-Identifier: MIT */
/* SRQ: the end of one queue pair while others continue; limits; and the order of closes. */
#include "contract/kit/sharing.h"

enum { SLOT = 4096 };

static void post(struct sharing *s, uintptr_t first, int count)
{
    for (int i = 0; i < count; i++)
        CHECK_STATUS(sharing_receive(s, first + i, (first + i) * SLOT, SLOT), STATUS_SUCCESS);
}

static void check_member_message(struct sharing *s, int member, uintptr_t context)
{
    NDK_RESULT_EX r = sharing_message(s, member, 0, 100);

    CHECK_STATUS(r.Status, STATUS_SUCCESS);
    CHECK_EQ((uintptr_t)r.RequestContext, context);
}

/* ---- one of several connections ends ---- */

/* covers: SRQ-04 */
CASE(srq_04_the_others_have_what_is_left, KIT_FAMILIES)
{
    static struct sharing s;
    NDK_RESULT_EX none;

    sharing_open(&s, &(struct sharing_config){ 0 });
    sharing_connect(&s, 4, false);
    post(&s, 0, 8);
    check_member_message(&s, 0, 0);
    check_member_message(&s, 1, 1);
    for (int i = 0; i < 3; i++)
        sharing_wait_delivered(&s, i);
    sharing_close_member(&s, 0); /* after it has received */
    sharing_close_member(&s, 2); /* and before */
    s.member[1].qp->Dispatch->NdkFlush(s.member[1].qp);
    kit_pause();
    CHECK_EQ(s.passive.cq->Dispatch->NdkGetCqResultsEx(s.passive.cq, &none, 1), 0);
    check_member_message(&s, 3, 2);
    check_member_message(&s, 1, 3);
    sharing_connect(&s, 1, false);
    for (uintptr_t i = 4; i < 8; i++)
        check_member_message(&s, i % 2 ? 3 : 4, i);
    sharing_close(&s);
}

/* covers: SRQ-04 */
CASE(srq_04_disconnect_takes_nothing_along, KIT_FAMILIES)
{
    static struct sharing s;
    struct sharing_member *m = &s.member[0];
    struct kit_call active = { 0 }, passive = { 0 };
    NTSTATUS status, answer;

    sharing_open(&s, &(struct sharing_config){ 0 });
    sharing_connect(&s, 2, false);
    post(&s, 0, 3);
    check_member_message(&s, 0, 0);
    sharing_wait_delivered(&s, 0);
    status = m->peer_connector->Dispatch->NdkDisconnect(m->peer_connector, kit_request_done, &active);
    kit_wait_count(&s.passive.disconnected, 1);
    answer = m->connector->Dispatch->NdkDisconnect(m->connector, kit_request_done, &passive);
    CHECK_STATUS(kit_final(&passive, answer), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&active, status), STATUS_SUCCESS);
    check_member_message(&s, 1, 1);
    check_member_message(&s, 1, 2);
    CHECK_EQ(data_drain(&s.passive), 0);
    sharing_close(&s);
}

/* covers: SRQ-04, QPR-05 */
CASE(srq_04_a_message_too_long_costs_one_receive, KIT_FAMILIES)
{
    static struct sharing s;
    NDK_RESULT_EX r;

    sharing_open(&s, &(struct sharing_config){ 0 });
    sharing_connect(&s, 2, false);
    memset(s.passive.memory, 0, 4 * SLOT);
    memset(s.active.memory, 0xee, 2 * SLOT);
    post(&s, 0, 3);
    CHECK_STATUS(sharing_send(&s, 0, 0, SLOT + 1), STATUS_SUCCESS);
    r = sharing_result(s.passive.cq);
    CHECK(r.Status != STATUS_SUCCESS);
    CHECK(r.QPContext == &s.member[0]);
    CHECK_EQ((uintptr_t)r.RequestContext, 0);
    CHECK(s.passive.memory[SLOT] == 0);
    kit_wait_count(&s.passive.disconnected, 1);
    kit_wait_count(&s.active.disconnected, 1);
    data_drain(&s.active);
    check_member_message(&s, 1, 1);
    check_member_message(&s, 1, 2);
    CHECK_EQ(data_drain(&s.passive), 0);
    sharing_close(&s);
}

/* covers: SRQ-04, QPR-05 */
CASE(srq_04_no_receive_left_ends_one_connection, KIT_FAMILIES)
{
    static struct sharing s;

    sharing_open(&s, &(struct sharing_config){ 0 });
    sharing_connect(&s, 2, false);
    post(&s, 0, 1);
    check_member_message(&s, 0, 0);
    CHECK_STATUS(sharing_send(&s, 0, 0, 100), STATUS_SUCCESS);
    kit_wait_count(&s.passive.disconnected, 1);
    kit_wait_count(&s.active.disconnected, 1);
    data_drain(&s.active);
    CHECK_EQ(data_drain(&s.passive), 0);
    post(&s, 1, 2);
    check_member_message(&s, 1, 1);
    check_member_message(&s, 1, 2);
    CHECK_EQ(atomic_load(&s.passive.disconnected), 1);
    sharing_close(&s);
}

enum { SENDERS = 3, EACH = 150, QUEUED = 24 };

struct sender {
    struct sharing *s;
    atomic_int received;
};

/* Never sends more at a time than receives are queued. */
static void *keep_sending(void *arg)
{
    struct sender *sender = arg;
    struct sharing *s = sender->s;

    for (int n = 1; n <= EACH; n++) {
        for (int i = 1; i <= SENDERS; i++)
            CHECK_STATUS(sharing_send(s, i, 0, 3000), STATUS_SUCCESS);
        for (int i = 1; i <= SENDERS; i++)
            CHECK_STATUS(sharing_result(s->active.cq).Status, STATUS_SUCCESS);
        while (atomic_load(&sender->received) < n * SENDERS)
            sched_yield();
    }
    return NULL;
}

static void receive_and_repost(struct sharing *s, struct sender *sender)
{
    NDK_RESULT_EX r;

    for (int i = 1; i <= SENDERS; i++) {
        while (s->member[i].cq->Dispatch->NdkGetCqResultsEx(s->member[i].cq, &r, 1) == 1) {
            CHECK_STATUS(r.Status, STATUS_SUCCESS);
            CHECK_EQ(r.BytesTransferred, 3000);
            post(s, (uintptr_t)r.RequestContext, 1);
            atomic_fetch_add(&sender->received, 1);
        }
    }
}

/* Queue pairs are created and closed while the others receive. Only messages use receives. */
/* covers: SRQ-04 */
CASE(srq_04_others_receive_meanwhile, KIT_FAMILIES)
{
    static struct sharing s;
    struct sender sender = { .s = &s };
    NDK_CQ *cq;
    pthread_t thread;
    NDK_RESULT_EX r;
    NDK_QP *qp;

    sharing_open(&s, &(struct sharing_config){ .depth = QUEUED });
    sharing_connect(&s, 1 + SENDERS, true);
    CHECK_STATUS(data_cq(s.passive.adapter, 2 * QUEUED, kit_on_notify, &s.passive, &cq), STATUS_SUCCESS);
    post(&s, 0, QUEUED);
    CHECK(pthread_create(&thread, NULL, keep_sending, &sender) == 0);
    for (int n = 0; atomic_load(&sender.received) < SENDERS * EACH; n++) {
        receive_and_repost(&s, &sender);
        CHECK_STATUS(sharing_qp(&s, s.passive.pd, cq, s.srq, NULL, &qp), STATUS_SUCCESS);
        if (n % 2)
            qp->Dispatch->NdkFlush(qp);
        receive_and_repost(&s, &sender);
        CHECK_STATUS(kit_close(qp), STATUS_SUCCESS);
        if (n == 10)
            sharing_close_member(&s, 0);
    }
    pthread_join(thread, NULL);
    CHECK_EQ(cq->Dispatch->NdkGetCqResultsEx(cq, &r, 1), 0);
    CHECK_STATUS(kit_close(cq), STATUS_SUCCESS);
    sharing_close(&s);
}

/* ---- creation ---- */

/* covers: ADP-02 */
CASE(srq_limits, 0)
{
    static struct sharing s;
    NDK_ADAPTER_INFO info;
    NDK_SRQ *srq;

    sharing_open(&s, &(struct sharing_config){ 0 });
    info = data_info(s.passive.adapter);
    CHECK_STATUS(sharing_srq(&s, info.MaxSrqDepth + 1, 1, 0, &srq), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(sharing_srq(&s, MAXULONG, 1, 0, &srq), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(sharing_srq(&s, 0, 1, 0, &srq), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(sharing_srq(&s, 1, info.MaxReceiveRequestSge + 1, 0, &srq), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(kit_close(s.srq), STATUS_SUCCESS);
    CHECK_STATUS(sharing_srq(&s, info.MaxSrqDepth, info.MaxReceiveRequestSge, 0, &s.srq), STATUS_SUCCESS);
    sharing_connect(&s, 1, false);
    for (uintptr_t i = 0; i < info.MaxSrqDepth; i++)
        CHECK_STATUS(sharing_receive(&s, i, (i % 16) * SLOT, SLOT), STATUS_SUCCESS);
    CHECK(sharing_receive(&s, 0, 0, SLOT) != STATUS_SUCCESS);
    for (uintptr_t i = 0; i < info.MaxSrqDepth; i++)
        check_member_message(&s, 0, i);
    sharing_close(&s);
}

/* covers: SRQ-01, MEM-04 */
CASE(srq_01_queue_pairs_that_fit, 0)
{
    static struct sharing s;
    NDK_PD *other;
    NDK_SGE sge;
    NDK_QP *qp;

    sharing_open(&s, &(struct sharing_config){ 0 });
    other = kit_pd(s.passive.adapter);
    CHECK_STATUS(sharing_qp(&s, s.passive.pd, s.passive.cq, NULL, NULL, &qp), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(sharing_qp(&s, other, s.passive.cq, s.srq, NULL, &qp), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(sharing_qp(&s, s.passive.pd, NULL, s.srq, NULL, &qp), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(sharing_qp(&s, s.passive.pd, s.passive.cq, s.srq, NULL, &qp), STATUS_SUCCESS);
    sge = kit_sge(&s.passive, 0, 8); /* it has no receive queue of its own */
    CHECK_STATUS(qp->Dispatch->NdkReceive(qp, NULL, &sge, 1), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(qp->Dispatch->NdkReceive(qp, NULL, NULL, 0), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(kit_close(qp), STATUS_SUCCESS);
    CHECK_EQ(data_drain(&s.passive), 0);
    CHECK_STATUS(kit_close(other), STATUS_SUCCESS);
    sharing_close(&s);
}

/* ---- closing ---- */

static NTSTATUS close_start(void *object, struct kit_call *call)
{
    NDK_PD *any = object; /* the first entry of each table */

    return any->Dispatch->NdkClosePd(&any->Header, kit_close_done, call);
}

static void check_order_of(void *antecedent, void *successor)
{
    struct kit_call first = { 0 }, second = { 0 };
    NTSTATUS pending = close_start(antecedent, &first), status;

    CHECK_STATUS(pending, STATUS_PENDING);
    kit_pause();
    CHECK_EQ(atomic_load(&first.calls), 0);
    status = close_start(successor, &second);
    CHECK_STATUS(kit_final(&second, status), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&first, pending), STATUS_SUCCESS);
    CHECK(status == STATUS_SUCCESS || second.order < first.order);
}

/* covers: OBJ-12 */
CASE(srq_closed_after_its_queue_pair, 0)
{
    static struct sharing s;
    NDK_QP *qp;

    sharing_open(&s, &(struct sharing_config){ 0 });
    CHECK_STATUS(sharing_qp(&s, s.passive.pd, s.passive.cq, s.srq, NULL, &qp), STATUS_SUCCESS);
    post(&s, 0, 3);
    check_order_of(s.srq, qp);
    s.srq = NULL;
    CHECK_EQ(data_drain(&s.passive), 0); /* unused receives have no completion */
    sharing_close(&s);
}

/* covers: OBJ-12 */
CASE(srq_closed_before_its_domain, 0)
{
    static struct sharing s;

    sharing_open(&s, &(struct sharing_config){ 0 });
    post(&s, 0, 3);
    CHECK_STATUS(kit_close(s.passive.mr), STATUS_SUCCESS);
    check_order_of(s.passive.pd, s.srq);
    s.srq = NULL;
    s.passive.mr = NULL;
    s.passive.pd = NULL;
    sharing_close(&s);
}

static atomic_int entered, leave;

static void stay(struct sharing *s)
{
    (void)s;
    kit_increment(&entered);
    kit_wait_count(&leave, 1);
}

/* covers: OBJ-10 */
CASE(srq_closed_after_its_notification, 0)
{
    static struct sharing s;
    struct kit_call call = { 0 };
    NTSTATUS status;

    sharing_open(&s, &(struct sharing_config){ 0 });
    s.inside_low = stay;
    CHECK_STATUS(sharing_modify(&s, 0, 1), STATUS_SUCCESS);
    kit_wait_count(&entered, 1);
    status = close_start(s.srq, &call);
    CHECK_STATUS(status, STATUS_PENDING);
    kit_pause();
    CHECK_EQ(atomic_load(&call.calls), 0);
    CHECK_EQ(atomic_load(&s.low), 0);
    kit_increment(&leave);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    CHECK_EQ(atomic_load(&s.low), 1);
    s.srq = NULL;
    sharing_close(&s);
}

static struct kit_call closing;
static NTSTATUS closing_status;

static void close_inside(struct sharing *s)
{
    closing_status = close_start(s->srq, &closing);
}

/* covers: OBJ-08 */
CASE(srq_closed_in_its_notification, 0)
{
    static struct sharing s;

    sharing_open(&s, &(struct sharing_config){ 0 });
    s.inside_low = close_inside;
    CHECK_STATUS(sharing_modify(&s, 0, 1), STATUS_SUCCESS);
    kit_wait_count(&s.low, 1);
    CHECK_STATUS(kit_final(&closing, closing_status), STATUS_SUCCESS);
    s.srq = NULL;
    sharing_close(&s);
}

/* Without a notification routine nothing is called. */
/* covers: SRQ-02 */
CASE(srq_02_nobody_to_tell, 0)
{
    static struct sharing s;
    struct kit_call call = { 0 };
    NDK_PD *pd;
    NTSTATUS status;

    sharing_open(&s, &(struct sharing_config){ 0 });
    CHECK_STATUS(kit_close(s.srq), STATUS_SUCCESS);
    pd = s.passive.pd;
    status = pd->Dispatch->NdkCreateSrq(pd, 8, 1, 2, NULL, &s, NULL, kit_create_done, &call, &s.srq);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    if (status == STATUS_PENDING)
        s.srq = (NDK_SRQ *)call.object;
    sharing_connect(&s, 1, false);
    CHECK_STATUS(sharing_modify(&s, 0, 4), STATUS_SUCCESS);
    post(&s, 0, 1);
    CHECK_STATUS(sharing_modify(&s, 0, 1), STATUS_SUCCESS);
    check_member_message(&s, 0, 0);
    kit_pause();
    CHECK_EQ(atomic_load(&s.low), 0);
    sharing_close(&s);
}
