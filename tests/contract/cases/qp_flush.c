/* SPDX-License-Identifier: MIT */
/* QPR: the visibility of data, and the end of requests: flush, close, and a peer that crashes. */
#include "contract/kit/data.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/net.h"

/* ---- a write's data arrive before the send that follows ---- */

static void check_writes_before_sends(void)
{
    enum { ROUNDS = 400, MOST = 30000, WRITES = 5 };
    static struct kit_pair p;
    uint64_t seed = 14;

    kit_pair_open(&p);
    for (unsigned round = 0; round < ROUNDS; round++) {
        ULONG lengths[WRITES];

        CHECK_STATUS(kit_post_receive(&p.passive, 1, KIT_MEMORY - 100, 8), STATUS_SUCCESS);
        for (unsigned i = 0; i < WRITES; i++) {
            lengths[i] = 1 + data_random_below(&seed, MOST);
            kit_pattern(p.active.memory + i * MOST, lengths[i], round * WRITES + i);
            CHECK_STATUS(kit_post_write(&p.active, 1, i * MOST, lengths[i], &p.passive, i * MOST), STATUS_SUCCESS);
        }
        CHECK_STATUS(kit_post_send(&p.active, 2, 0, 8), STATUS_SUCCESS);
        CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
        for (unsigned i = 0; i < WRITES; i++)
            CHECK(kit_pattern_is(p.passive.memory + i * MOST, lengths[i], round * WRITES + i));
        for (unsigned i = 0; i < WRITES + 1; i++)
            CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    }
    kit_pair_close(&p);
}

/* covers: QPR-14 */
CASE(qpr_14_data_is_there_when_the_send_is, KIT_FAMILIES)
{
    check_writes_before_sends();
}

/* covers: QPR-14 */
CASE(qpr_14_data_of_several_segments, KIT_FAMILIES)
{
    struct kit_config config = kit_config();

    config.max_fpdu = 1500;
    kit_configure(&config);
    check_writes_before_sends();
}

/* ---- flush ---- */

/* covers: QPR-16 */
CASE(qpr_16_everything_pending_is_cancelled, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open_idle(&p);
    for (uintptr_t i = 0; i < KIT_DEPTH; i++)
        CHECK_STATUS(kit_post_receive(&p.passive, i, 0, 8), STATUS_SUCCESS);
    p.passive.qp->Dispatch->NdkFlush(p.passive.qp);
    for (uintptr_t i = 0; i < KIT_DEPTH; i++) {
        NDK_RESULT_EX r = kit_result(&p.passive);
        CHECK_STATUS(r.Status, STATUS_CANCELLED);
        CHECK_EQ((uintptr_t)r.RequestContext, i);
    }
    kit_establish(&p.active, &p.passive, &p.listener); /* an earlier flush has no effect */
    kit_exchange(&p.active, &p.passive);
    for (uintptr_t i = 0; i < 10; i++)
        CHECK_STATUS(kit_post_receive(&p.passive, 100 + i, 0, 8), STATUS_SUCCESS);
    p.passive.qp->Dispatch->NdkFlush(p.passive.qp);
    for (uintptr_t i = 0; i < 10; i++) {
        NDK_RESULT_EX r = kit_result(&p.passive);
        CHECK_STATUS(r.Status, STATUS_CANCELLED);
        CHECK_EQ((uintptr_t)r.RequestContext, 100 + i);
    }
    kit_pause();
    CHECK_EQ(data_drain(&p.passive), 0);
    kit_pair_close(&p);
}

/*
 * Flushes reads and receives. The peer answers reads without its consumer, so reads may succeed before the flush. Every
 * receive is cancelled.
 */
/* covers: QPR-16 */
CASE(qpr_16_requests_under_way_are_cancelled, KIT_FAMILIES)
{
    static struct kit_pair p;
    unsigned cancelled = 0;

    kit_pair_open(&p);
    for (uintptr_t i = 0; i < 40; i++)
        CHECK_STATUS(kit_post_read(&p.active, i, 0, KIT_MEMORY, &p.passive, 0), STATUS_SUCCESS);
    for (uintptr_t i = 40; i < 60; i++)
        CHECK_STATUS(kit_post_receive(&p.active, i, 0, 8), STATUS_SUCCESS);
    p.active.qp->Dispatch->NdkFlush(p.active.qp);
    for (uintptr_t i = 0; i < 60; i++) {
        NDK_RESULT_EX r = kit_result(&p.active);
        CHECK_EQ((uintptr_t)r.RequestContext, i);
        CHECK(r.Status == STATUS_CANCELLED || (i < 40 && r.Status == STATUS_SUCCESS));
        cancelled += r.Status == STATUS_CANCELLED;
    }
    CHECK(cancelled >= 20);
    kit_pause();
    CHECK_EQ(data_drain(&p.active), 0);
    kit_pair_close(&p);
}

/* A thread that posts. Each successful post must have exactly one completion. */
struct poster {
    struct kit_pair *p;
    bool receives;
    unsigned wanted;
    /*
     * accepted: number of successful posts. seen: number of their completions. The thread posts only while fewer than
     * p->active.depth requests have no completion.
     */
    atomic_uint accepted, seen;
    atomic_bool over;
};

static void *post_on(void *arg)
{
    struct poster *w = arg;
    struct kit_side *s = &w->p->active;

    while (atomic_load(&w->accepted) < w->wanted) {
        if (atomic_load(&w->accepted) - atomic_load(&w->seen) >= s->depth) {
            sched_yield();
            continue;
        }
        NTSTATUS status = w->receives ? kit_post_receive(s, 1, 0, 8) : kit_post_write(s, 2, 0, 100, &w->p->passive, 0);

        if (status == STATUS_SUCCESS)
            atomic_fetch_add(&w->accepted, 1);
        else if (status == STATUS_CONNECTION_INVALID)
            break;
        else
            CHECK_STATUS(status, STATUS_INSUFFICIENT_RESOURCES); /* full */
        if (status != STATUS_SUCCESS)
            sched_yield();
    }
    atomic_store(&w->over, true);
    return NULL;
}

static unsigned owed(const struct poster *w)
{
    return atomic_load(&w->accepted) - atomic_load(&w->seen);
}

/*
 * Polls until both posters are done and all requests have completed. Calls do_now, which races with them, in each
 * round.
 */
static void race(struct kit_pair *p, unsigned wanted, void (*do_now)(struct kit_pair *p, unsigned results))
{
    struct poster receives = { .p = p, .receives = true, .wanted = wanted }, writes = { .p = p, .wanted = wanted };
    pthread_t threads[2];
    unsigned all = 0;
    bool over = false;

    CHECK(pthread_create(&threads[0], NULL, post_on, &receives) == 0);
    CHECK(pthread_create(&threads[1], NULL, post_on, &writes) == 0);
    while (!over || owed(&receives) || owed(&writes)) {
        NDK_RESULT_EX r;

        over = atomic_load(&receives.over) && atomic_load(&writes.over);
        do_now(p, all);
        if (p->active.cq->Dispatch->NdkGetCqResultsEx(p->active.cq, &r, 1) == 0) {
            sched_yield();
            continue;
        }
        CHECK(r.Status == STATUS_SUCCESS || r.Status == STATUS_CANCELLED);
        CHECK((uintptr_t)r.RequestContext == 1 || (uintptr_t)r.RequestContext == 2);
        CHECK((uintptr_t)r.RequestContext == 2 || r.Status == STATUS_CANCELLED); /* nobody sends */
        atomic_fetch_add((uintptr_t)r.RequestContext == 1 ? &receives.seen : &writes.seen, 1);
        all++;
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    kit_pause();
    CHECK_EQ(data_drain(&p->active), 0);
    CHECK_EQ(owed(&receives), 0);
    CHECK_EQ(owed(&writes), 0);
}

static void flush_now(struct kit_pair *p, unsigned results)
{
    (void)results;
    p->active.qp->Dispatch->NdkFlush(p->active.qp);
}

/* covers: QPR-16 */
CASE(qpr_16_flush_beside_posts_loses_nothing, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    for (int round = 0; round < 5; round++) {
        race(&p, 3000, flush_now);
        data_reconnect(&p);
    }
    kit_pair_close(&p);
}

/* ---- close of the connector ---- */

static void close_once(struct kit_pair *p, unsigned results)
{
    if (results >= 300 && p->active.connector)
        kit_close_connector(&p->active);
    if (results >= 300)
        p->active.qp->Dispatch->NdkFlush(p->active.qp); /* receives may be posted after the close */
}

/* covers: QPR-17 */
CASE(qpr_17_close_beside_posts, KIT_FAMILIES)
{
    static struct kit_pair p;

    p.active.depth = 128;
    kit_pair_open(&p);
    for (int round = 0; round < 20; round++) {
        /* Some writes complete before the race begins. */
        for (uintptr_t i = 0; i < 20; i++)
            CHECK_STATUS(kit_post_write(&p.active, 2, 0, 8, &p.passive, 0), STATUS_SUCCESS);
        for (uintptr_t i = 0; i < 20; i++)
            CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
        race(&p, 1000, close_once);
        data_reconnect(&p);
    }
    kit_pair_close(&p);
}

/* covers: QPR-17 */
CASE(qpr_17_what_is_pending_is_cancelled, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    for (uintptr_t i = 0; i < 20; i++)
        CHECK_STATUS(kit_post_receive(&p.active, i, 0, 8), STATUS_SUCCESS);
    kit_close_connector(&p.active);
    for (uintptr_t i = 0; i < 20; i++) {
        NDK_RESULT_EX r = kit_result(&p.active);
        CHECK_STATUS(r.Status, STATUS_CANCELLED);
        CHECK_EQ((uintptr_t)r.RequestContext, i);
    }
    data_check_ended(&p.passive);
    kit_pair_close(&p);
}

/* ---- a peer that dies ---- */

struct told {
    struct sockaddr_storage address;
    uint64_t memory;
    UINT32 token;
};

/* The other process: accepts one connection, and lives until it is killed. */
static void live_on(int wire)
{
    static struct kit_side s;
    static struct kit_listener l;
    struct told told;

    kit_side_open(&s, NULL);
    kit_listen(&l, s.adapter);
    memset(&told, 0, sizeof told);
    told.address = l.address;
    told.memory = (uintptr_t)s.memory;
    told.token = s.remote_token;
    kit_wire_send(wire, &told, sizeof told);
    s.connector = kit_next_request(&l);
    CHECK_STATUS(kit_accept(&s, NULL, 0), STATUS_SUCCESS);
    kit_wire_send(wire, "", 1);
    for (;;)
        pause();
}

static void connect_to(struct kit_side *s, const struct sockaddr_storage *address)
{
    struct sockaddr_storage source = kit_host(0);

    CHECK_STATUS(kit_connect(s, &source, address, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(s), STATUS_SUCCESS);
}

/* Stops the peer's process before the requests are posted, so that none is answered. Then kills the process. */
/* covers: QPR-20 */
CASE(qpr_20_the_peers_process_dies, KIT_FAMILIES)
{
    enum { RECEIVES = 20, READS = 12 };
    static struct kit_side s;
    struct kit_child child;
    struct told told;
    char up;
    int status;
    NDK_SGE sge;

    kit_fork(&child, live_on, false);
    kit_wire_receive(child.wire, &told, sizeof told);
    kit_side_open(&s, NULL);
    connect_to(&s, &told.address);
    kit_wire_receive(child.wire, &up, 1);
    CHECK(kill(child.pid, SIGSTOP) == 0);
    CHECK(waitpid(child.pid, &status, WUNTRACED) == child.pid && WIFSTOPPED(status));
    sge = kit_sge(&s, 0, 100000);
    for (uintptr_t i = 0; i < READS; i++)
        CHECK_STATUS(data_read(&s, i, &sge, told.memory, told.token), STATUS_SUCCESS);
    for (uintptr_t i = 0; i < 10; i++)
        CHECK_STATUS(data_write(&s, READS + i, &sge, told.memory, told.token), STATUS_SUCCESS);
    for (uintptr_t i = 0; i < RECEIVES; i++)
        CHECK_STATUS(kit_post_receive(&s, 100 + i, 0, 8), STATUS_SUCCESS);
    kit_pause();
    CHECK_EQ(data_drain(&s), 0);
    CHECK_EQ(atomic_load(&s.disconnected), 0);
    CHECK(kill(child.pid, SIGKILL) == 0);
    CHECK(waitpid(child.pid, &status, 0) == child.pid && WIFSIGNALED(status));
    for (unsigned i = 0; i < READS + 10 + RECEIVES; i++) {
        NDK_RESULT_EX r = kit_result(&s);
        CHECK(r.Status < 0);
    }
    data_check_ended(&s);
    kit_pause();
    CHECK_EQ(data_drain(&s), 0);
    close(child.wire);
    kit_side_close(&s);
}
