/* SPDX-License-Identifier: MIT */
/*
 * Two consumers that give up at any moment. Each side, in threads of its own, decides at random at every step of many
 * establishments whether it goes on, closes, rejects or disconnects, with or without a pending request. In every
 * combination each request completes exactly once before its connector's close, with a fitting status, and the
 * disconnect callback runs at most once, after the establishment completed, and never after the close.
 */
#include <unistd.h>

#include "contract/kit/kit.h"

enum { ROUNDS = 400, PAIRS = 3 };

struct attempt {
    struct kit_call connect, establish, disconnect, close;
    atomic_int notices, established, closed;
};

struct runner {
    struct kit_side side;
    struct kit_listener listener; /* passive */
    int pipe[2];                  /* connectors, from the connect event to the thread; a null one ends the thread */
    const struct sockaddr_storage *to;
    unsigned seed;
    int whole; /* attempts that were completed */
};

static unsigned lot(struct runner *r, unsigned n)
{
    r->seed = r->seed * 1664525u + 1013904223u;
    return (r->seed >> 16) % n;
}

static void notice(void *context)
{
    struct attempt *a = context;

    CHECK_EQ(atomic_fetch_add(&a->notices, 1), 0);
    CHECK_EQ(atomic_load(&a->established), 1);
    CHECK_EQ(atomic_load(&a->closed), 0);
}

static void established(struct kit_call *call)
{
    struct attempt *a = call->arg;

    if (call->status == STATUS_SUCCESS)
        atomic_store(&a->established, 1);
}

static struct attempt *attempt_new(void)
{
    struct attempt *a = calloc(1, sizeof *a);

    CHECK(a != NULL);
    a->establish.inside = established;
    a->establish.arg = a;
    return a;
}

/* When the close has completed, every pending request has completed, once. */
static void end(struct attempt *a, NDK_CONNECTOR *c, bool connecting, bool establishing, bool disconnecting)
{
    CHECK_STATUS(kit_final(&a->close, c->Dispatch->NdkCloseConnector(&c->Header, kit_close_done, &a->close)),
                 STATUS_SUCCESS);
    atomic_store(&a->closed, 1);
    CHECK_EQ(atomic_load(&a->connect.calls), connecting);
    CHECK_EQ(atomic_load(&a->establish.calls), establishing);
    CHECK_EQ(atomic_load(&a->disconnect.calls), disconnecting);
    free(a);
}

static void check_one_of(NTSTATUS seen, NTSTATUS one, NTSTATUS other)
{
    if (seen != one && seen != other)
        CHECK_STATUS(seen, one);
}

/* From a pending complete or accept on, both sides are alike. */
static void go_on(struct runner *r, struct attempt *a, NDK_CONNECTOR *c, bool connecting)
{
    bool disconnecting = false;

    if (lot(r, 6) > 0) {
        kit_wait_calls(&a->establish, 1);
        check_one_of(a->establish.status, STATUS_SUCCESS, STATUS_CONNECTION_ABORTED);
    }
    if (atomic_load(&a->established) && lot(r, 4) > 0) {
        disconnecting = c->Dispatch->NdkDisconnect(c, kit_request_done, &a->disconnect) == STATUS_PENDING;
        CHECK(disconnecting);
        if (lot(r, 4) > 0) {
            kit_wait_calls(&a->disconnect, 1);
            check_one_of(a->disconnect.status, STATUS_SUCCESS, STATUS_CONNECTION_ABORTED);
            r->whole += a->disconnect.status == STATUS_SUCCESS;
        }
    }
    end(a, c, connecting, true, disconnecting);
}

static void active_once(struct runner *r)
{
    struct attempt *a = attempt_new();
    struct sockaddr_storage source = kit_host(0);
    struct kit_side *s = &r->side;

    s->connector = NULL;
    CHECK_STATUS(kit_connect_start(s, &a->connect, &source, r->to, NULL, 0), STATUS_PENDING);
    NDK_CONNECTOR *c = s->connector;
    unsigned fate = lot(r, 10);
    if (fate > 0) {
        kit_wait_calls(&a->connect, 1);
        check_one_of(a->connect.status, STATUS_SUCCESS, STATUS_CONNECTION_REFUSED);
    }
    if (fate <= 1 || a->connect.status != STATUS_SUCCESS) {
        end(a, c, true, false, false);
    } else if (fate == 2) {
        check_one_of(c->Dispatch->NdkReject(c, NULL, 0), STATUS_SUCCESS, STATUS_CONNECTION_ABORTED);
        end(a, c, true, false, false);
    } else {
        CHECK_STATUS(c->Dispatch->NdkCompleteConnect(c, notice, a, kit_request_done, &a->establish), STATUS_PENDING);
        go_on(r, a, c, true);
    }
    s->connector = NULL;
}

static void passive_once(struct runner *r, NDK_CONNECTOR *c)
{
    struct attempt *a = attempt_new();
    struct kit_side *s = &r->side;
    unsigned fate = lot(r, 12);

    if (fate == 0) {
        end(a, c, false, false, false);
    } else if (fate == 1) {
        check_one_of(c->Dispatch->NdkReject(c, NULL, 0), STATUS_SUCCESS, STATUS_CONNECTION_ABORTED);
        end(a, c, false, false, false);
    } else {
        CHECK_STATUS(c->Dispatch->NdkAccept(c, s->qp, 1, 1, NULL, 0, notice, a, kit_request_done, &a->establish),
                     STATUS_PENDING);
        go_on(r, a, c, false);
    }
}

static void renew(struct kit_side *s)
{
    CHECK_STATUS(kit_close(s->qp), STATUS_SUCCESS);
    s->qp = kit_qp(s, KIT_DEPTH);
}

static void *active(void *context)
{
    struct runner *r = context;

    for (int i = 0; i < ROUNDS; i++) {
        active_once(r);
        renew(&r->side);
    }
    return NULL;
}

static void hand_over(struct kit_listener *l, NDK_CONNECTOR *connector)
{
    struct runner *r = l->arg;

    CHECK(write(r->pipe[1], &connector, sizeof connector) == sizeof connector);
}

static void *passive(void *context)
{
    struct runner *r = context;
    NDK_CONNECTOR *c;

    while (CHECK(read(r->pipe[0], &c, sizeof c) == sizeof c), c) {
        passive_once(r, c);
        renew(&r->side);
    }
    return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), struct runner *r, NDK_ADAPTER *adapter, unsigned seed)
{
    r->seed = seed;
    kit_side_open(&r->side, adapter);
    if (run == passive) {
        CHECK(pipe(r->pipe) == 0);
        r->listener.inside = hand_over;
        r->listener.arg = r;
        kit_listen(&r->listener, adapter);
    }
    CHECK(pthread_create(thread, NULL, run, r) == 0);
}

/* The listener's close waits for its connectors, so after it no connector arrives. */
static void stop(pthread_t thread, struct runner *r)
{
    NDK_CONNECTOR *none = NULL;

    CHECK_STATUS(kit_close(r->listener.listener), STATUS_SUCCESS);
    CHECK(write(r->pipe[1], &none, sizeof none) == sizeof none);
    CHECK(pthread_join(thread, NULL) == 0);
    close(r->pipe[0]);
    close(r->pipe[1]);
    kit_side_close(&r->side);
}

CASE(connect_race_of_two_that_give_up, KIT_FAMILIES)
{
    static struct runner actives[PAIRS], passives[PAIRS];
    pthread_t active_threads[PAIRS], passive_threads[PAIRS];
    NDK_ADAPTER *one = kit_open(2, 1), *other = kit_open(2, 1);
    int whole = 0;

    for (int i = 0; i < PAIRS; i++) {
        start(&passive_threads[i], passive, &passives[i], other, 2000u + (unsigned)i);
        actives[i].to = &passives[i].listener.address;
        start(&active_threads[i], active, &actives[i], one, 1000u + (unsigned)i);
    }
    for (int i = 0; i < PAIRS; i++) {
        CHECK(pthread_join(active_threads[i], NULL) == 0);
        stop(passive_threads[i], &passives[i]);
        whole += actives[i].whole;
        kit_side_close(&actives[i].side);
    }
    CHECK(whole > 0); /* some attempts must result in connections */
    kit_close_adapter(one);
    kit_close_adapter(other);
}
