/* SPDX-License-Identifier: MIT */
/*
 * OBJ: regions and windows: their dependencies, closes while their requests are queued, and posts by several threads.
 */
#include <pthread.h>
#include <sched.h>

#include "contract/kit/data.h"

enum {
    ALL = NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE,
    REMOTE = NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE,
};
#define BASE ((PVOID)(uintptr_t)0x7000000)

/* A connection whose passive side has a page with a logical address, a region for it, and a window. */
struct stage {
    struct kit_pair pair;
    struct kit_side *side;
    NDK_LOGICAL_ADDRESS_MAPPING lam;
    NDK_MR *fast;
    NDK_MW *mw;
};

static uint8_t page[PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));

static NDK_MR *fast_region(NDK_PD *pd)
{
    struct kit_call call = { 0 }, initialized = { 0 };
    NDK_MR *mr = NULL;
    NTSTATUS status = pd->Dispatch->NdkCreateMr(pd, TRUE, kit_create_done, &call, &mr);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    if (status == STATUS_PENDING)
        mr = (NDK_MR *)call.object;
    status = mr->Dispatch->NdkInitializeFastRegisterMr(mr, 1, TRUE, kit_request_done, &initialized);
    CHECK_STATUS(kit_final(&initialized, status), STATUS_SUCCESS);
    return mr;
}

static NDK_MW *window(NDK_PD *pd)
{
    struct kit_call call = { 0 };
    NDK_MW *mw = NULL;
    NTSTATUS status = pd->Dispatch->NdkCreateMw(pd, kit_create_done, &call, &mw);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return status == STATUS_PENDING ? (NDK_MW *)call.object : mw;
}

static void map_page(struct stage *t)
{
    struct kit_call call = { 0 };
    NDK_ADAPTER *a = t->side->adapter;
    ULONG size = sizeof t->lam, fbo;
    MDL mdl;

    kit_init_mdl(&mdl, page, sizeof page, NULL);
    CHECK_STATUS(
        kit_final(&call, a->Dispatch->NdkBuildLAM(a, &mdl, sizeof page, kit_request_done, &call, &t->lam, &size, &fbo)),
        STATUS_SUCCESS);
    CHECK_EQ(fbo, 0);
}

static void stage_open(struct stage *t)
{
    memset(t, 0, sizeof *t);
    kit_pair_open(&t->pair);
    t->side = &t->pair.passive;
    if (!data_info(t->side->adapter).MaxWindowSize || !data_info(t->side->adapter).FRMRPageCount)
        kit_skip("the adapter has no windows, or no fast registration");
    map_page(t);
    t->fast = fast_region(t->side->pd);
    t->mw = window(t->side->pd);
}

static void stage_close(struct stage *t)
{
    if (t->mw)
        CHECK_STATUS(kit_close(t->mw), STATUS_SUCCESS);
    if (t->fast)
        CHECK_STATUS(kit_close(t->fast), STATUS_SUCCESS);
    t->side->adapter->Dispatch->NdkReleaseLAM(t->side->adapter, &t->lam);
    kit_pair_close(&t->pair);
}

static NTSTATUS close_start(void *object, struct kit_call *call)
{
    struct any {
        NDK_OBJECT_HEADER header;
        const NDK_FN_CLOSE_OBJECT *dispatch;
    } *any = object;

    return any->dispatch[0](&any->header, kit_close_done, call);
}

static NTSTATUS fast_register(const struct stage *t, uintptr_t context, ULONG flags)
{
    NDK_QP *qp = t->side->qp;

    return qp->Dispatch->NdkFastRegister(qp, (PVOID)context, t->fast, 1, t->lam.AdapterPageArray, 0, PAGE_SIZE, BASE,
                                         ALL | flags);
}

static NTSTATUS bind_to(const struct stage *t, uintptr_t context, NDK_MR *mr, PVOID address, ULONG flags)
{
    return t->side->qp->Dispatch->NdkBind(t->side->qp, (PVOID)context, mr, t->mw, address, 100, REMOTE | flags);
}

static NTSTATUS invalidate(const struct stage *t, uintptr_t context, NDK_OBJECT_HEADER *object, ULONG flags)
{
    return t->side->qp->Dispatch->NdkInvalidate(t->side->qp, (PVOID)context, object, flags);
}

static void done(struct stage *t, NTSTATUS posted)
{
    CHECK_STATUS(posted, STATUS_SUCCESS);
    CHECK_STATUS(kit_result(t->side).Status, STATUS_SUCCESS);
}

/* ---- OBJ-12 ---- */

/* The region's close waits until its window is closed or invalidated. */
static void region_then_window(NDK_MR *mr, NDK_OBJECT_HEADER **window_to_invalidate, struct stage *t)
{
    struct kit_call closing = { 0 };

    CHECK_STATUS(close_start(mr, &closing), STATUS_PENDING);
    kit_pause();
    CHECK_EQ(atomic_load(&closing.calls), 0);
    if (window_to_invalidate) {
        done(t, invalidate(t, 1, *window_to_invalidate, 0));
    } else {
        CHECK_STATUS(kit_close(t->mw), STATUS_SUCCESS);
        t->mw = NULL;
    }
    kit_wait_calls(&closing, 1);
    kit_pause();
    CHECK_EQ(atomic_load(&closing.calls), 1);
}

/* covers: OBJ-12 */
CASE(obj_12_a_region_before_its_window, KIT_FAMILIES)
{
    static struct stage t;
    NDK_MR *mr;
    MDL mdl;
    UINT32 token;

    stage_open(&t);
    mr = kit_mr(t.side, page, sizeof page, DATA_ALL, &mdl, &token);
    done(&t, bind_to(&t, 1, mr, page, 0));
    region_then_window(mr, NULL, &t);
    stage_close(&t);
}

/* covers: OBJ-12 */
CASE(obj_12_a_fast_registered_region_before_its_window, KIT_FAMILIES)
{
    static struct stage t;

    stage_open(&t);
    done(&t, fast_register(&t, 1, 0));
    done(&t, bind_to(&t, 1, t.fast, BASE, 0));
    region_then_window(t.fast, NULL, &t);
    t.fast = NULL;
    stage_close(&t);
}

/* covers: OBJ-12 */
CASE(obj_12_a_window_that_is_not_bound_any_more, KIT_FAMILIES)
{
    static struct stage t;
    NDK_MR *mr;
    MDL mdl;
    UINT32 token;

    stage_open(&t);
    mr = kit_mr(t.side, page, sizeof page, DATA_ALL, &mdl, &token);
    done(&t, bind_to(&t, 1, mr, page, 0));
    done(&t, fast_register(&t, 2, 0));
    done(&t, bind_to(&t, 3, t.fast, BASE, 0)); /* bound to another region: the first one is free */
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    NDK_OBJECT_HEADER *header = &t.mw->Header;
    region_then_window(t.fast, &header, &t);
    t.fast = NULL;
    stage_close(&t);
}

/* ---- objects are closed while requests that use them are queued ---- */

enum { QUEUED = 5 };

/* Posts only deferred requests, which the provider may delay because no other request follows. */
static void post_deferred(const struct stage *t)
{
    CHECK_STATUS(fast_register(t, 1, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    CHECK_STATUS(bind_to(t, 2, t->fast, BASE, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    CHECK_STATUS(invalidate(t, 3, &t->mw->Header, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    CHECK_STATUS(bind_to(t, 4, t->fast, BASE, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    CHECK_STATUS(fast_register(t, QUEUED, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
}

/* How the requests end: they execute, are flushed, or the queue pair ends. */
enum ending { TURN, FLUSH, CLOSE, ENDINGS };

static void end_deferred(struct stage *t, enum ending ending)
{
    struct kit_side *s = t->side;

    if (ending == TURN) {
        CHECK_STATUS(kit_post_write(s, QUEUED + 1, 0, 10, &t->pair.active, 0), STATUS_SUCCESS);
    } else if (ending == FLUSH) {
        s->qp->Dispatch->NdkFlush(s->qp);
    } else {
        kit_close_connector(s);
        CHECK_STATUS(kit_close(s->qp), STATUS_SUCCESS);
        s->qp = NULL;
    }
}

/* Checks that each request completes once, in order: executed, failed because its object is invalid, or flushed. */
static void check_results(struct stage *t, ULONG count)
{
    NDK_RESULT_EX results[QUEUED + 1];

    kit_results(t->side, results, count);
    for (ULONG i = 0; i < count; i++) {
        CHECK_EQ((uintptr_t)results[i].RequestContext, i + 1);
        CHECK(results[i].Status == STATUS_SUCCESS || results[i].Status == STATUS_ACCESS_VIOLATION ||
              results[i].Status == STATUS_CANCELLED);
    }
    CHECK_EQ(data_drain(t->side), 0);
}

static void close_while_queued(enum ending ending, bool region_first)
{
    static struct stage t;
    struct kit_call closings[2] = { 0 };
    NTSTATUS statuses[2];

    stage_open(&t);
    post_deferred(&t);
    statuses[0] = close_start(region_first ? (void *)t.fast : t.mw, &closings[0]);
    statuses[1] = close_start(region_first ? (void *)t.mw : t.fast, &closings[1]);
    end_deferred(&t, ending);
    check_results(&t, ending == TURN ? QUEUED + 1 : QUEUED);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(kit_final(&closings[i], statuses[i]), STATUS_SUCCESS);
    t.fast = NULL;
    t.mw = NULL;
    stage_close(&t);
}

/* covers: OBJ-09, OBJ-12 */
CASE(obj_09_regions_close_while_requests_are_queued, KIT_FAMILIES)
{
    for (enum ending ending = TURN; ending < ENDINGS; ending++) {
        close_while_queued(ending, false);
        close_while_queued(ending, true);
    }
}

/* ---- several threads ---- */

enum { THREADS = 4, POSTS = 500 };

struct poster {
    struct stage *stage;
    NDK_MR *mr; /* the region to bind to; NULL: registers */
    atomic_int *room;
    pthread_t thread;
};

static void *post_often(void *arg)
{
    struct poster *p = arg;

    for (int i = 0; i < POSTS; i++) {
        while (atomic_fetch_sub(p->room, 1) <= 0) { /* the queues are full */
            atomic_fetch_add(p->room, 1);
            sched_yield();
        }
        CHECK_STATUS(p->mr ? bind_to(p->stage, 2, p->mr, page, 0) : fast_register(p->stage, 1, 0), STATUS_SUCCESS);
    }
    return NULL;
}

/*
 * The posts of the threads interleave in any order. Each registration or bind replaces the one before it and executes.
 */
/* covers: INV-09 */
CASE(inv_09_posted_for_by_several_threads, KIT_FAMILIES)
{
    static struct stage t;
    struct poster posters[THREADS];
    atomic_int room = KIT_DEPTH;
    NDK_MR *mr;
    MDL mdl;
    UINT32 token;

    stage_open(&t);
    mr = kit_mr(t.side, page, sizeof page, DATA_ALL, &mdl, &token);
    done(&t, fast_register(&t, 1, 0));
    UINT32 first = t.fast->Dispatch->NdkGetRemoteTokenFromMr(t.fast);
    for (int i = 0; i < THREADS; i++) {
        posters[i] = (struct poster){ .stage = &t, .mr = i & 1 ? mr : NULL, .room = &room };
        CHECK_EQ(pthread_create(&posters[i].thread, NULL, post_often, &posters[i]), 0);
    }
    for (int i = 0; i < THREADS * POSTS; i++) {
        CHECK_STATUS(kit_result(t.side).Status, STATUS_SUCCESS);
        atomic_fetch_add(&room, 1);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(posters[i].thread, NULL), 0);
    NDK_SGE sge = kit_sge(&t.pair.active, 0, 100);
    CHECK_STATUS(
        data_write(&t.pair.active, 1, &sge, (uintptr_t)BASE, t.fast->Dispatch->NdkGetRemoteTokenFromMr(t.fast)),
        STATUS_SUCCESS);
    CHECK_STATUS(data_write(&t.pair.active, 2, &sge, (uintptr_t)page, t.mw->Dispatch->NdkGetRemoteTokenFromMw(t.mw)),
                 STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&t.pair.active).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&t.pair.active).Status, STATUS_SUCCESS);
    data_wait_delivered(&t.pair.active, t.side);
    CHECK_STATUS(data_read(&t.pair.active, 3, &sge, (uintptr_t)BASE, first), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&t.pair.active).Status, STATUS_ACCESS_VIOLATION);
    CHECK_STATUS(kit_close(t.mw), STATUS_SUCCESS);
    t.mw = NULL;
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    stage_close(&t);
}
