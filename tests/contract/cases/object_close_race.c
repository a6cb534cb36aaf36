/* SPDX-License-Identifier: MIT */
/* OBJ: closes at any moment of the establishment, on both sides, by threads that run no callbacks. */
#include <time.h>

#include "contract/kit/kit.h"

enum { ROUNDS = 200 };

/*
 * One end of an attempt to connect. The lock, the consumer's own, prevents calls with an object that is already closed.
 */
struct attempt {
    pthread_mutex_t lock;
    NDK_CONNECTOR *connector;
    NDK_QP *qp;
    bool closed;
    struct kit_call connect, establish, closing;
    NTSTATUS connecting, establishing, close_status;
};

static struct attempt active[ROUNDS], passive[ROUNDS];
static atomic_int arrived;

static void close_attempt(struct attempt *a)
{
    pthread_mutex_lock(&a->lock);
    a->closed = true;
    a->close_status = a->connector->Dispatch->NdkCloseConnector(&a->connector->Header, kit_close_done, &a->closing);
    pthread_mutex_unlock(&a->lock);
}

/* Checks that all pending calls have completed once, the close last. */
static void check_attempt(struct attempt *a)
{
    CHECK_STATUS(kit_final(&a->closing, a->close_status), STATUS_SUCCESS);
    CHECK_EQ(atomic_load(&a->connect.calls), a->connecting == STATUS_PENDING);
    CHECK_EQ(atomic_load(&a->establish.calls), a->establishing == STATUS_PENDING);
    if (a->close_status != STATUS_PENDING)
        return;
    CHECK(a->connecting != STATUS_PENDING || a->connect.order < a->closing.order);
    CHECK(a->establishing != STATUS_PENDING || a->establish.order < a->closing.order);
}

static void complete_inside(struct kit_call *call)
{
    struct attempt *a = call->arg;

    pthread_mutex_lock(&a->lock);
    if (!a->closed && call->status == STATUS_SUCCESS)
        a->establishing = a->connector->Dispatch->NdkCompleteConnect(a->connector, NULL, NULL, kit_request_done,
                                                                     &a->establish);
    pthread_mutex_unlock(&a->lock);
}

static void accept_in_event(struct kit_listener *l, NDK_CONNECTOR *connector)
{
    struct attempt *a = &passive[atomic_load(&l->requests)];

    pthread_mutex_lock(&a->lock);
    a->connector = connector;
    a->establishing = connector->Dispatch->NdkAccept(connector, a->qp, 4, 4, NULL, 0, NULL, NULL, kit_request_done,
                                                     &a->establish);
    pthread_mutex_unlock(&a->lock);
    kit_increment(&arrived);
}

/* Waits for 0 to 380 us, depending on the round, so that the closes hit different moments of the establishment. */
static void some_moment(int round)
{
    struct timespec pause = { .tv_nsec = round % 20 * 20000 };

    if (pause.tv_nsec)
        nanosleep(&pause, NULL);
}

static void *close_arrivals(void *arg)
{
    struct kit_call *listener_closed = arg;

    for (int next = 0; atomic_load(&listener_closed->calls) == 0;) {
        if (next < atomic_load(&arrived)) {
            some_moment(next * 7);
            close_attempt(&passive[next++]);
        } else {
            sched_yield();
        }
    }
    return NULL;
}

static void attempt_init(struct attempt *a, struct kit_side *s, bool connects)
{
    memset(a, 0, sizeof *a);
    pthread_mutex_init(&a->lock, NULL);
    a->qp = kit_qp(s, 2);
    if (connects)
        a->connector = kit_connector(s->adapter);
    a->connect.inside = complete_inside;
    a->connect.arg = a;
}

static NTSTATUS attempt_connect(struct attempt *a, const struct sockaddr_storage *there)
{
    struct sockaddr_storage here = kit_host(0);
    ULONG len = kit_address_len(&here);
    NTSTATUS status;

    pthread_mutex_lock(&a->lock);
    status = a->connecting = a->connector->Dispatch->NdkConnect(a->connector, a->qp, (PSOCKADDR)&here, len,
                                                                (PSOCKADDR)there, len, 4, 4, NULL, 0, kit_request_done,
                                                                &a->connect);
    pthread_mutex_unlock(&a->lock);
    return status;
}

/* covers: OBJ-07, OBJ-09, OBJ-11, OBJ-15 */
CASE(obj_11_close_at_any_moment, KIT_FAMILIES)
{
    static struct kit_pair p;
    static struct kit_call closing;
    NDK_LISTENER *l;
    NTSTATUS status;
    pthread_t thread;

    kit_side_open(&p.active, NULL);
    kit_side_open(&p.passive, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        attempt_init(&active[i], &p.active, true);
        attempt_init(&passive[i], &p.passive, false);
    }
    p.listener.inside = accept_in_event;
    kit_listen(&p.listener, p.passive.adapter);
    l = p.listener.listener;
    CHECK_EQ(pthread_create(&thread, NULL, close_arrivals, &closing), 0);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_STATUS(attempt_connect(&active[i], &p.listener.address), STATUS_PENDING);
        some_moment(i);
        close_attempt(&active[i]);
    }
    status = l->Dispatch->NdkCloseListener(&l->Header, kit_close_done, &closing);
    if (status == STATUS_SUCCESS) /* the routine was not called, but the thread waits for its call */
        kit_close_done(&closing);
    kit_wait_calls(&closing, 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    p.listener.listener = NULL;
    for (int i = 0; i < ROUNDS; i++) {
        check_attempt(&active[i]);
        if (passive[i].connector)
            check_attempt(&passive[i]);
        CHECK_STATUS(kit_close(active[i].qp), STATUS_SUCCESS);
        CHECK_STATUS(kit_close(passive[i].qp), STATUS_SUCCESS);
    }
    kit_pair_close(&p);
}
