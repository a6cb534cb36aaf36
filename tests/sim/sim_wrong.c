/* SPDX-License-Identifier: MIT */
/* Invalid requests for registrations and windows: they are refused at once, and nothing changes. */
#include "openndk/adapter.h"
#include "sim/sim.h"
#include "sim/sim_traffic_internal.h"

enum { MANY_PAGES = 1 << 28 };

static const struct qp *asking; /* obj_pick has no argument of its own */

static void expect(struct qp *qp, const char *what, NTSTATUS status, NTSTATUS wanted)
{
    qp->deferred = false; /* the post sends deferred requests */
    sim_check(status == wanted, "%s: %s answers %s", obj_name(&qp->o), what, ondk_status_name(status));
}

static bool is_window(struct obj *o)
{
    return ((const struct window *)o)->pd == asking->pd && !o->calls;
}

static bool is_ended(const struct grant *g, const void *qp)
{
    return g->qp == qp && g->maker->kind == MR && g->state == GRANT_DEAD && g->remote;
}

static bool is_fresh(struct obj *o)
{
    const struct region *r = (struct region *)o;

    return r->fast && r->pd == asking->pd && !o->calls && !o->pending && r->mapped;
}

static void wrong_register(struct qp *qp, struct region *r)
{
    NDK_QP *n = qp->o.ndk.qp;
    NDK_LOGICAL_ADDRESS pages[FAST_PAGES + 1];
    void *base = (void *)(uintptr_t)(16 * PAGE + 5);
    NDK_MR *mr = r->o.ndk.mr;

    r->o.calls++;
    for (unsigned i = 0; i <= FAST_PAGES; i++)
        pages[i].QuadPart = regions_page(r, i % FAST_PAGES);
    sim_check(mr->Dispatch->NdkInitializeFastRegisterMr(mr, MANY_PAGES, TRUE, req_done, NULL) ==
                  STATUS_IMPLEMENTATION_LIMIT,
              "%s: initialised for any number of pages", obj_name(&r->o));
    expect(qp, "a registration of too many pages",
           n->Dispatch->NdkFastRegister(n, NULL, mr, FAST_PAGES + 1, pages, 5, PAGE, base, 0),
           STATUS_INVALID_PARAMETER);
    expect(qp, "a registration longer than its pages",
           n->Dispatch->NdkFastRegister(n, NULL, mr, 2, pages, 5, 2 * PAGE, base, 0), STATUS_INVALID_PARAMETER);
    expect(qp, "a registration at an odd address",
           n->Dispatch->NdkFastRegister(n, NULL, mr, 2, pages, 6, PAGE, base, 0), STATUS_INVALID_PARAMETER);
    if (!r->remote_too)
        expect(qp, "a registration for peers that it is not for",
               n->Dispatch->NdkFastRegister(n, NULL, mr, 2, pages, 5, PAGE, base, NDK_OP_FLAG_ALLOW_REMOTE_READ),
               STATUS_ACCESS_VIOLATION);
    r->o.calls--;
}

static void wrong_window(struct qp *qp, struct window *w, struct grant *g, uint64_t at, uint32_t len, ULONG flags,
                         NTSTATUS wanted)
{
    NDK_QP *n = qp->o.ndk.qp;

    w->o.calls++;
    g->maker->calls++;
    expect(qp, "a window that sticks out, or lets more in than its region",
           n->Dispatch->NdkBind(n, NULL, g->region->o.ndk.mr, w->o.ndk.mw, (void *)(uintptr_t)at, len, flags), wanted);
    g->maker->calls--;
    w->o.calls--;
}

static void wrong_bind(struct qp *qp, struct window *w)
{
    struct grant *source = grant_pick_for(qp, SOURCE, false), *g = grant_pick_for(qp, BEHIND, false);

    if (source && sim_chance(500))
        wrong_window(qp, w, source, source->base, 1, NDK_OP_FLAG_ALLOW_REMOTE_WRITE, STATUS_ACCESS_VIOLATION);
    else if (g && !g->qp)
        wrong_window(qp, w, g, g->base + 1, g->len, NDK_OP_FLAG_ALLOW_REMOTE_READ, STATUS_INVALID_PARAMETER);
}

static void wrong_local(struct qp *qp)
{
    struct grant *g = grant_pick(is_ended, qp);
    NDK_QP *n = qp->o.ndk.qp;
    NDK_SGE sge;

    if (!g)
        return;
    sge = (NDK_SGE){ .VirtualAddress = (void *)(uintptr_t)g->base, .Length = 1, .MemoryRegionToken = g->local };
    expect(qp, "a send by a token that has ended", n->Dispatch->NdkSend(n, NULL, &sge, 1, 0), STATUS_ACCESS_VIOLATION);
}

void regions_wrong(struct qp *qp)
{
    struct region *r;
    struct window *w;

    if (!obj_is_open(&qp->o))
        return;
    qp->o.calls++;
    asking = qp;
    if (sim_chance(500) && (r = obj_pick(MR, qp->o.host, is_fresh)))
        wrong_register(qp, r);
    asking = qp;
    if (sim_chance(500) && (w = obj_pick(MW, qp->o.host, is_window)))
        wrong_bind(qp, w);
    wrong_local(qp);
    if (qp->srq)
        sim_check(qp->o.ndk.qp->Dispatch->NdkReceive(qp->o.ndk.qp, NULL, NULL, 0) == STATUS_INVALID_PARAMETER,
                  "%s: takes a receive of its own", obj_name(&qp->o));
    qp->o.calls--;
}
