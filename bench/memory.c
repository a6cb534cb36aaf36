/* SPDX-License-Identifier: MIT */
/*
 * Measures requests that manage memory, and queues that many queue pairs share (CQ or SRQ). Prints one line of JSON.
 *   memory fast-register <pages> <seconds>   pairs of FastRegister and Invalidate, with adjacent pages
 *   memory scattered <pages> <seconds>       pairs of FastRegister and Invalidate, with pages in reverse order
 *   memory bind <bytes> <seconds>            pairs of Bind and Invalidate
 *   memory register <bytes> <seconds>        pairs of NdkRegisterMr and NdkDeregisterMr
 *   memory cq <queue pairs> <seconds>        64 B messages over each queue pair in turn; one CQ at each end
 *   memory srq <queue pairs> <seconds>       as cq, and the receiving queue pairs share one receive queue
 * Both ends are in one process. each_us is the elapsed time of one pair or message, cpu_us its CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "consumer/sync.h"
#include "openndk/mdl.h"
#include "pairs.h"

enum { DEPTH = 128, BURST = 32, MESSAGE = 64, MESSAGE_DEPTH = 4, WINDOW = 64, RESULTS = 64, SRQ_DEPTH = 4096 };

/* Polls until the queue has returned `count` results. Every result must be a success. */
static void memory_reap(NDK_CQ *cq, unsigned count)
{
    NDK_RESULT results[RESULTS];

    while (count > 0) {
        ULONG n = cq->Dispatch->NdkGetCqResults(cq, results, count < RESULTS ? count : RESULTS);

        for (ULONG i = 0; i < n; i++)
            pairs_require(results[i].Status, "a request");
        count -= (unsigned)n;
    }
}

/* ---- pairs of requests: the second request of a pair undoes the first ---- */

struct work {
    struct pairs pairs;
    NDK_MR *mr;
    NDK_MW *mw;
    MDL mdl;
    struct sync sync;
    NDK_LOGICAL_ADDRESS_MAPPING *lam;
    NDK_LOGICAL_ADDRESS *pages;
    ULONG fbo;
    unsigned size; /* pages, or bytes */
    void (*pair)(struct work *w, bool more);
};

static void work_fast_register(struct work *w, bool more)
{
    NDK_QP *qp = w->pairs.active.qps[0];
    ULONG defer = more ? NDK_OP_FLAG_DEFER : 0;

    pairs_require(qp->Dispatch->NdkFastRegister(
                      qp, NULL, w->mr, w->size, w->pages, 0, (SIZE_T)w->size * PAGE_SIZE, (PVOID)0x100000,
                      NDK_OP_FLAG_ALLOW_REMOTE_WRITE | NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_DEFER),
                  "NdkFastRegister");
    pairs_require(qp->Dispatch->NdkInvalidate(qp, NULL, &w->mr->Header, defer), "NdkInvalidate");
}

static void work_bind(struct work *w, bool more)
{
    struct pair_end *e = &w->pairs.active;
    NDK_QP *qp = e->qps[0];
    ULONG defer = more ? NDK_OP_FLAG_DEFER : 0;

    pairs_require(
        qp->Dispatch->NdkBind(qp, NULL, e->region.mr, w->mw, e->region.memory, w->size,
                              NDK_OP_FLAG_ALLOW_REMOTE_WRITE | NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_DEFER),
        "NdkBind");
    pairs_require(qp->Dispatch->NdkInvalidate(qp, NULL, &w->mw->Header, defer), "NdkInvalidate");
}

static void work_register(struct work *w, bool more)
{
    (void)more;
    pairs_require(
        sync_wait(&w->sync, w->mr->Dispatch->NdkRegisterMr(w->mr, &w->mdl, w->size, NDK_MR_FLAG_ALLOW_REMOTE_WRITE,
                                                           sync_on_request, &w->sync)),
        "NdkRegisterMr");
    pairs_require(sync_wait(&w->sync, w->mr->Dispatch->NdkDeregisterMr(w->mr, sync_on_request, &w->sync)),
                  "NdkDeregisterMr");
}

static void work_create_pages(struct work *w, bool scattered)
{
    struct pair_end *e = &w->pairs.active;
    NDK_ADAPTER *a = e->adapter;
    ULONG size = 0;

    ondk_mdl_init(&w->mdl, e->region.memory, PAIRS_MEMORY, NULL);
    (void)a->Dispatch->NdkBuildLAM(a, &w->mdl, PAIRS_MEMORY, sync_on_request, &w->sync, NULL, &size, &w->fbo);
    w->lam = calloc(1, size);
    w->pages = calloc(w->size, sizeof *w->pages);
    if (!w->lam || !w->pages)
        bench_die("no memory");
    pairs_require(sync_wait(&w->sync, a->Dispatch->NdkBuildLAM(a, &w->mdl, PAIRS_MEMORY, sync_on_request, &w->sync,
                                                               w->lam, &size, &w->fbo)),
                  "NdkBuildLAM");
    for (unsigned i = 0; i < w->size; i++)
        w->pages[i] = w->lam->AdapterPageArray[scattered ? w->size - 1 - i : i];
    pairs_require(sync_create_mr(e->pd, TRUE, &w->mr), "NdkCreateMr");
    pairs_require(sync_wait(&w->sync, w->mr->Dispatch->NdkInitializeFastRegisterMr(w->mr, w->size, TRUE,
                                                                                   sync_on_request, &w->sync)),
                  "NdkInitializeFastRegisterMr");
}

static void work_init(struct work *w, const char *what)
{
    struct pair_end *e = &w->pairs.active;

    if (!strcmp(what, "bind")) {
        pairs_require(sync_create_mw(e->pd, &w->mw), "NdkCreateMw");
        w->pair = work_bind;
    } else if (!strcmp(what, "register")) {
        ondk_mdl_init(&w->mdl, e->region.memory, w->size, NULL);
        pairs_require(sync_create_mr(e->pd, FALSE, &w->mr), "NdkCreateMr");
        w->pair = work_register;
    } else {
        work_create_pages(w, !strcmp(what, "scattered"));
        w->pair = work_fast_register;
    }
}

static void work_fini(struct work *w)
{
    NDK_ADAPTER *adapter = w->pairs.active.adapter;

    if (w->mr)
        sync_close(w->mr);
    if (w->mw)
        sync_close(w->mw);
    if (w->lam)
        adapter->Dispatch->NdkReleaseLAM(adapter, w->lam);
    free(w->lam);
    free(w->pages);
    sync_fini(&w->sync);
    pairs_close(&w->pairs);
}

static void memory_print(const char *what, unsigned size, uint64_t count, uint64_t from,
                         const struct bench_usage *before)
{
    struct bench_usage now = bench_usage();
    double elapsed = (double)(bench_now() - from) / NS_PER_S;
    double cpu = now.user + now.system - before->user - before->system;

    printf("{\"kind\": \"%s\", \"size\": %u, \"count\": %llu, \"per_second\": %.0f, \"each_us\": %.4f, "
           "\"cpu_us\": %.4f}\n",
           what, size, (unsigned long long)count, (double)count / elapsed, 1e6 * elapsed / (double)count,
           1e6 * cpu / (double)count);
}

static void memory_measure_requests(const char *what, unsigned size, double seconds)
{
    struct work w = { .size = size };
    struct bench_usage before;
    uint64_t from, count = 0;

    sync_init(&w.sync);
    pairs_open(&w.pairs, 1, DEPTH, 0);
    work_init(&w, what);
    before = bench_usage();
    from = bench_now();
    while ((double)(bench_now() - from) < seconds * NS_PER_S) {
        for (unsigned i = 0; i < BURST; i++)
            w.pair(&w, i + 1 < BURST);
        if (w.pair != work_register)
            memory_reap(w.pairs.active.cq, BURST);
        count += BURST;
    }
    memory_print(what, size, count, from, &before);
    work_fini(&w);
}

/* ---- queues that many queue pairs share ---- */

static void memory_post_receive(struct pair_end *e, unsigned i)
{
    NDK_SGE sge = consumer_region_sge(&e->region, 0, MESSAGE);

    if (e->srq)
        pairs_require(e->srq->Dispatch->NdkSrqReceive(e->srq, NULL, &sge, 1), "NdkSrqReceive");
    else
        pairs_require(e->qps[i]->Dispatch->NdkReceive(e->qps[i], NULL, &sge, 1), "NdkReceive");
}

static void memory_post_send(struct pair_end *e, unsigned i)
{
    NDK_SGE sge = consumer_region_sge(&e->region, 0, MESSAGE);

    pairs_require(e->qps[i]->Dispatch->NdkSend(e->qps[i], NULL, &sge, 1, NDK_OP_FLAG_SILENT_SUCCESS), "NdkSend");
}

/* Posts a new receive for each completed receive. Returns the number of completed receives. */
static unsigned memory_handle_receives(struct pair_end *e)
{
    NDK_RESULT results[RESULTS];
    ULONG n = e->cq->Dispatch->NdkGetCqResults(e->cq, results, RESULTS);

    for (ULONG i = 0; i < n; i++) {
        pairs_require(results[i].Status, "a receive");
        memory_post_receive(e, (unsigned)(uintptr_t)results[i].QPContext);
    }
    return (unsigned)n;
}

static void memory_measure_messages(const char *what, unsigned count, double seconds)
{
    unsigned window = count < WINDOW ? count : WINDOW, in_flight = 0, next = 0;
    bool shared = !strcmp(what, "srq");
    struct bench_usage before;
    uint64_t from, done = 0;
    struct pairs p;

    pairs_open(&p, count, MESSAGE_DEPTH, shared ? SRQ_DEPTH : 0);
    for (unsigned i = 0; i < (shared ? WINDOW * 2 : count * 2); i++)
        memory_post_receive(&p.passive, i % count);
    before = bench_usage();
    from = bench_now();
    while ((double)(bench_now() - from) < seconds * NS_PER_S) {
        for (; in_flight < window; in_flight++, next = (next + 1) % count)
            memory_post_send(&p.active, next);
        unsigned n = memory_handle_receives(&p.passive);
        in_flight -= n;
        done += n;
    }
    while (in_flight > 0)
        in_flight -= memory_handle_receives(&p.passive);
    memory_print(what, count, done, from, &before);
    pairs_close(&p);
}

int main(int argc, char **argv)
{
    double seconds = argc == 4 ? atof(argv[3]) : 0;
    unsigned size = argc == 4 ? (unsigned)atoi(argv[2]) : 0;
    static const char *const kinds[] = { "fast-register", "scattered", "bind", "register", "cq", "srq" };

    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds && size > 0 && seconds > 0; i++) {
        if (strcmp(argv[1], kinds[i]))
            continue;
        (i < 4 ? memory_measure_requests : memory_measure_messages)(kinds[i], size, seconds);
        return 0;
    }
    fputs("usage: memory fast-register|scattered|bind|register|cq|srq <size> <seconds>\n", stderr);
    return 2;
}
