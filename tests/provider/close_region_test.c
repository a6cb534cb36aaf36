/* SPDX-License-Identifier: MIT */
/*
 * Close of a memory region or window in another thread while a call that registers or deregisters it, or a post that
 * names it, is inside: once in order, with wrappers of the fabric's functions in which another thread closes first, and
 * many times by chance.
 */
#include <sched.h>

#include "contract/kit/fast.h"
#include "provider/adapter.h"
#include "provider/object.h"

static struct fabric_ops ordered;
static const struct fabric_ops *real;
static uint8_t memory[4096];

/* One region, or another object that is closed in its place, and its close in another thread. */
static struct {
    NDK_MR *mr;
    NDK_OBJECT_HEADER *header;
    MDL mdl;
    struct kit_call call;
    NTSTATUS status;
    atomic_int round, done; /* of the rounds by chance, from 1 on; negative: the end */
} victim;

static void *close_victim(void *arg)
{
    (void)arg;
    victim.status = object_ndk_close(victim.header, kit_close_done, &victim.call);
    return NULL;
}

/* When this returns, the close has returned, and the call is still inside. */
static void close_inside(void)
{
    pthread_t thread;

    CHECK_EQ(pthread_create(&thread, NULL, close_victim, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_STATUS(victim.status, STATUS_PENDING);
    CHECK_EQ(atomic_load(&victim.call.calls), 0);
}

static bool ordered_deregister(struct fabric_mr *mr, void (*done)(void *context), void *context)
{
    close_inside();
    return real->mr_deregister(mr, done, context);
}

static int ordered_register(struct fabric_mr *mr, void *at, uint64_t len, uint64_t base, unsigned access,
                            uint32_t *token)
{
    close_inside();
    return real->mr_register(mr, at, len, base, access, token);
}

static int ordered_reserve(struct fabric_mr *mr)
{
    close_inside();
    return real->mr_reserve(mr);
}

static int ordered_post(struct fabric_qp *qp, const struct rdma_request *r)
{
    close_inside();
    return real->qp_post(qp, r);
}

static int ordered_window(struct fabric_mr *mw, uint32_t of, uint64_t at, uint64_t len, unsigned access,
                          uint32_t *token)
{
    close_inside();
    return real->mr_prepare_window(mw, of, at, len, access, token);
}

static uint32_t ordered_left(struct fabric_mr *mr)
{
    close_inside();
    (void)real->mr_current_token(mr);
    return 1; /* any request; it is not posted */
}

static void wrap(NDK_ADAPTER *adapter)
{
    struct fabric *fabric = adapter_of(adapter)->fabric;

    real = fabric->ops;
    ordered = *real;
    fabric->ops = &ordered;
}

static void make_victim(struct kit_side *s, bool is_registered)
{
    victim.call = (struct kit_call){ 0 };
    if (is_registered) {
        UINT32 token;
        victim.mr = kit_mr(s, memory, sizeof memory, NDK_MR_FLAG_ALLOW_REMOTE_WRITE, &victim.mdl, &token);
    } else {
        kit_init_mdl(&victim.mdl, memory, sizeof memory, NULL);
        CHECK_STATUS(s->pd->Dispatch->NdkCreateMr(s->pd, FALSE, NULL, NULL, &victim.mr), STATUS_SUCCESS);
    }
    victim.header = &victim.mr->Header;
}

static NTSTATUS change(bool is_registered, struct kit_call *call)
{
    if (is_registered)
        return victim.mr->Dispatch->NdkDeregisterMr(victim.mr, kit_request_done, call);
    return victim.mr->Dispatch->NdkRegisterMr(victim.mr, &victim.mdl, sizeof memory, NDK_MR_FLAG_ALLOW_LOCAL_WRITE,
                                              kit_request_done, call);
}

static void check_closed_inside(struct kit_side *s)
{
    CHECK_STATUS(kit_final(&victim.call, victim.status), STATUS_SUCCESS);
    ordered = *real;
    kit_side_close(s);
}

/* The call was first: it succeeds, and the close ends after it. covers: OBJ-11, MEM-03 */
static void meet_by_order(bool is_registered)
{
    static struct kit_side s;
    struct kit_call call = { 0 };

    kit_side_open(&s, NULL);
    make_victim(&s, is_registered);
    wrap(s.adapter);
    ordered.mr_deregister = ordered_deregister;
    ordered.mr_register = ordered_register;
    CHECK_STATUS(change(is_registered, &call), STATUS_SUCCESS);
    check_closed_inside(&s);
    CHECK_EQ(atomic_load(&call.calls), 0);
}

CASE(close_inside_deregister, 0)
{
    meet_by_order(true);
}

CASE(close_inside_register, 0)
{
    meet_by_order(false);
}

CASE(close_inside_initialize, 0)
{
    static struct kit_side s;

    kit_side_open(&s, NULL);
    victim.mr = fast_mr(s.pd);
    victim.header = &victim.mr->Header;
    wrap(s.adapter);
    ordered.mr_reserve = ordered_reserve;
    CHECK_STATUS(victim.mr->Dispatch->NdkInitializeFastRegisterMr(victim.mr, 1, FALSE, kit_request_done, NULL),
                 STATUS_SUCCESS);
    check_closed_inside(&s);
}

/* ---- posts, on a queue pair that is not connected: what one has made it takes back, with the region there ---- */

/* covers: OBJ-10 */
CASE(close_inside_fast_register, 0)
{
    static struct kit_side s;
    static struct fast_memory pages;

    kit_side_open(&s, NULL);
    fast_memory_open(&pages, s.adapter, 0, PAGE_SIZE);
    victim.mr = fast_mr(s.pd);
    victim.header = &victim.mr->Header;
    CHECK_STATUS(fast_initialize(victim.mr, 1, FALSE), STATUS_SUCCESS);
    wrap(s.adapter);
    ordered.qp_post = ordered_post;
    CHECK_STATUS(fast_register(&s, 1, victim.mr, pages.lam->AdapterPageArray, 1, 0, PAGE_SIZE, NULL, 0),
                 STATUS_CONNECTION_INVALID);
    fast_memory_close(&pages);
    check_closed_inside(&s);
}

/* Closes the window before its bind is posted, or the region before the window, which would keep it, is bound to it. */
static void bind_and_close(bool window, NTSTATUS status)
{
    static struct kit_side s;

    kit_side_open(&s, NULL);
    make_victim(&s, true);
    NDK_MR *mr = victim.mr;
    NDK_MW *mw = fast_mw(s.pd);
    victim.header = window ? &mw->Header : &mr->Header;
    wrap(s.adapter);
    if (window)
        ordered.qp_post = ordered_post;
    else
        ordered.mr_prepare_window = ordered_window;
    CHECK_STATUS(fast_bind(&s, 1, mr, mw, memory, sizeof memory, NDK_OP_FLAG_ALLOW_REMOTE_READ), status);
    CHECK_STATUS(kit_close(window ? (void *)mr : (void *)mw), STATUS_SUCCESS);
    check_closed_inside(&s);
}

/* covers: OBJ-10 */
CASE(close_inside_bind_of_the_window, 0)
{
    bind_and_close(true, STATUS_CONNECTION_INVALID);
}

/* covers: OBJ-10 */
CASE(close_inside_bind_of_the_region, 0)
{
    bind_and_close(false, STATUS_INVALID_DEVICE_STATE);
}

/* covers: OBJ-10 */
CASE(close_inside_invalidate, 0)
{
    static struct kit_side s;

    kit_side_open(&s, NULL);
    victim.mr = fast_mr(s.pd);
    victim.header = &victim.mr->Header;
    wrap(s.adapter);
    ordered.mr_current_token = ordered_left;
    CHECK_STATUS(fast_invalidate(&s, 1, victim.mr, 0), STATUS_CONNECTION_INVALID);
    check_closed_inside(&s);
}

/* ---- many, by chance ---- */

enum { ROUNDS = 400, TURNS = 700 };

static void spin(int turns)
{
    for (volatile int i = 0; i < turns; i++)
        ;
}

static void *close_rounds(void *arg)
{
    int round;

    for (int last = 0; (round = atomic_load(&victim.round)) >= 0;) {
        if (round == last) {
            sched_yield();
            continue;
        }
        last = round;
        spin(round * 37 % TURNS);
        (void)close_victim(arg);
        atomic_store(&victim.done, round);
    }
    return NULL;
}

/* A reference keeps the memory, as an earlier call would. */
static void meet_once(struct kit_side *s, bool is_registered, int round)
{
    struct kit_call call = { 0 };

    make_victim(s, is_registered);
    struct object *o = object_of(&victim.mr->Header);
    object_ref(o, REF_INTERNAL);
    atomic_store(&victim.round, round);
    spin(round * 101 % TURNS);
    NTSTATUS answer = change(is_registered, &call);
    while (atomic_load(&victim.done) != round)
        sched_yield();
    object_unref(o, REF_INTERNAL);
    CHECK_STATUS(kit_final(&victim.call, victim.status), STATUS_SUCCESS);
    CHECK(answer == STATUS_SUCCESS || answer == STATUS_INVALID_DEVICE_STATE);
    CHECK_EQ(atomic_load(&call.calls), 0);
}

/* covers: OBJ-09, OBJ-11 */
static void meet_often(bool is_registered)
{
    static struct kit_side s;
    pthread_t thread;

    kit_side_open(&s, NULL);
    CHECK_EQ(pthread_create(&thread, NULL, close_rounds, NULL), 0);
    for (int round = 1; round <= ROUNDS; round++)
        meet_once(&s, is_registered, round);
    atomic_store(&victim.round, -1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    kit_side_close(&s);
}

CASE(close_meets_deregister, 0)
{
    meet_often(true);
}

CASE(close_meets_register, 0)
{
    meet_often(false);
}
