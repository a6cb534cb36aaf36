/* SPDX-License-Identifier: MIT */
/*
 * Memory that requests register, bind and invalidate, and memory that is only mapped: see sim_traffic.h. A polite
 * consumer invalidates a token only if no request of either side uses it. A rude consumer invalidates tokens at any
 * time.
 */
#include <stdlib.h>
#include <string.h>

#include "openndk/adapter.h"
#include "openndk/mdl.h"
#include "sim/sim.h"
#include "sim/sim_consumer.h"
#include "sim/sim_traffic_internal.h"

static const NTSTATUS good[] = { STATUS_SUCCESS, STATUS_PENDING };

/* ---- logical address mappings ---- */

LONGLONG regions_page(const struct region *r, unsigned page)
{
    return (LONGLONG)r->mapping.room[2 + page];
}

static void check_mapping(const struct region *r, uint32_t offset, uint32_t len, ULONG first)
{
    const NDK_LOGICAL_ADDRESS_MAPPING *lam = &r->mapping.lam;

    sim_check(first == offset && lam->AdapterPageCount == (offset + len + PAGE - 1) / PAGE,
              "%s: mapped as %u pages from %u on", obj_name(&r->o), lam->AdapterPageCount, first);
    for (ULONG i = 0; i < lam->AdapterPageCount; i++)
        sim_check(regions_page(r, i) % PAGE == 0, "%s: a page with an offset", obj_name(&r->o));
}

/* Returns false if the provider lacks resources. */
static bool map(struct region *r, uint8_t *memory, uint32_t len)
{
    NDK_ADAPTER *a = consumer_adapter(r->o.host)->ndk.adapter;
    ULONG size = sizeof r->mapping, first = 0;
    NTSTATUS status;
    MDL mdl;

    ondk_mdl_init(&mdl, memory, len, NULL);
    status = a->Dispatch->NdkBuildLAM(a, &mdl, len, req_done, NULL, &r->mapping.lam, &size, &first);
    sim_trace("%s: map: %s", obj_name(&r->o), ondk_status_name(status));
    sim_check(status == STATUS_SUCCESS || status == STATUS_INSUFFICIENT_RESOURCES, "%s: map: %s", obj_name(&r->o),
              ondk_status_name(status));
    r->mapped = status == STATUS_SUCCESS;
    if (r->mapped)
        check_mapping(r, (uint32_t)((uintptr_t)memory % PAGE), len, first);
    return r->mapped;
}

void regions_release(struct region *r)
{
    NDK_ADAPTER *a = consumer_adapter(r->o.host)->ndk.adapter;

    if (!r->mapped)
        return;
    r->mapped = false;
    a->Dispatch->NdkReleaseLAM(a, &r->mapping.lam);
}

static void release_mapping(struct obj *o)
{
    regions_release((struct region *)o);
}

static void mapping_ended(struct obj *o)
{
    region_reclaim((struct region *)o);
}

void regions_map(struct qp *qp)
{
    struct region *r = obj_new(LAM, qp->o.host, sizeof *r);
    struct grant *g;

    if (!r)
        return;
    r->pd = qp->pd;
    r->use = LOCAL;
    r->len = REGION - PAGE - (uint32_t)sim_below(64);
    r->memory = malloc(2 * GUARD + r->len);
    r->busy = calloc(1, r->len);
    sim_check(r->memory && r->busy, "no memory");
    memset(r->memory, FILL, 2 * GUARD + r->len);
    r->o.release = release_mapping;
    r->o.gone = mapping_ended;
    obj_parent(&r->o, consumer_adapter(qp->o.host));
    r->o.life = map(r, r->memory + GUARD, r->len) ? OPEN : GONE;
    if (r->o.life != OPEN)
        return;
    r->registered = true;
    r->grant = g = grant_new(&r->o, r, LOCAL);
    g->qp = qp;
    qp->pd->ndk.pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(qp->pd->ndk.pd, &g->local);
    g->base = (uint64_t)regions_page(r, 0) + (uintptr_t)(r->memory + GUARD) % PAGE;
    g->state = GRANT_ALIVE;
}

/* ---- making objects ---- */

static void fast_ended(struct obj *o)
{
    struct region *r = (struct region *)o;

    region_reclaim(r);
    regions_release(r);
}

static void fast_born(struct obj *o)
{
    NDK_MR *mr = o->ndk.mr;
    struct region *r = (struct region *)o;
    struct req *q = req_new(o, "initialize", good, SIM_SECOND, NULL);

    req_returned(q, mr->Dispatch->NdkInitializeFastRegisterMr(mr, FAST_PAGES, r->remote_too, req_done, q));
}

static void make_fast(unsigned host, struct obj *pd)
{
    struct region *r = obj_new(MR, host, sizeof *r);
    NDK_MR *out = (NDK_MR *)&obj_unwritten;

    if (!r)
        return;
    r->pd = pd;
    r->fast = r->reclaimed = true;
    r->remote_too = sim_chance(850);
    r->memory = aligned_alloc(PAGE, FAST_PAGES * PAGE);
    r->busy = calloc(1, FAST_PAGES * PAGE);
    sim_check(r->memory && r->busy, "no memory");
    memset(r->memory, POISON, FAST_PAGES * PAGE);
    for (unsigned i = 0; i < FAST_PAGES; i++)
        r->order[i] = i;
    r->o.born = fast_born;
    r->o.gone = fast_ended;
    obj_parent(&r->o, pd);
    obj_created(&r->o, pd->ndk.pd->Dispatch->NdkCreateMr(pd->ndk.pd, TRUE, obj_create_done, r, &out), &out);
}

static void window_ended(struct obj *o)
{
    struct window *w = (struct window *)o;

    if (w->grant)
        grant_end(w->grant);
}

static void make_window(unsigned host, struct obj *pd)
{
    struct window *w = obj_new(MW, host, sizeof *w);
    NDK_MW *out = (NDK_MW *)&obj_unwritten;

    if (!w)
        return;
    w->pd = pd;
    w->o.gone = window_ended;
    obj_parent(&w->o, pd);
    obj_created(&w->o, pd->ndk.pd->Dispatch->NdkCreateMw(pd->ndk.pd, obj_create_done, w, &out), &out);
}

void regions_make(unsigned host)
{
    struct obj *pd = obj_pick(PD, host, NULL);

    if (!pd)
        return;
    if (sim_chance(600))
        make_fast(host, pd);
    else
        make_window(host, pd);
}

/* ---- which can be had ---- */

static const struct qp *asking; /* obj_pick has no argument of its own */

static bool is_used(const struct grant *g)
{
    return g->users[BY_RECEIVES] || g->users[BY_REQUESTS] || g->users[BY_PEER];
}

static bool is_over(const struct grant *g)
{
    return !g || g->state == GRANT_DEAD;
}

/* A token of another queue pair is free after that is closed. */
static bool is_free_for(const struct qp *owner, const struct grant *g)
{
    if (owner && owner != asking && owner->o.life != GONE)
        return false;
    return is_over(g) || (owner && owner->o.life == GONE) || (g->state == GRANT_ALIVE && !is_used(g));
}

static bool is_fast_to_be_had(struct obj *o)
{
    const struct region *r = (struct region *)o;

    return r->fast && r->pd == asking->pd && !o->calls && !o->pending && is_free_for(r->qp, r->grant) &&
           (is_over(r->window) || (r->qp && r->qp->o.life == GONE));
}

static bool is_window_available(struct obj *o)
{
    const struct window *w = (struct window *)o;

    return w->pd == asking->pd && !o->calls && is_free_for(w->qp, w->grant);
}

/* Returns whether a later request of the same object may fail and leave this token valid. */
static bool is_covered(const struct grant *g)
{
    return g && (g->covers || g->state != GRANT_DEAD);
}

/*
 * Marks the token as dead after its users have been closed. The provider may not have processed that, so the token must
 * not be used again.
 */
static void grant_abandon(struct grant *g)
{
    if (is_over(g))
        return;
    grant_end(g);
    g->local = g->remote = 0;
}

/* ---- fast registration ---- */

static void shuffle(struct region *r)
{
    for (unsigned i = FAST_PAGES - 1; i > 0; i--) {
        unsigned j = (unsigned)sim_below(i + 1), old = r->order[i];

        r->order[i] = r->order[j];
        r->order[j] = old;
    }
}

static void pattern(struct region *r, const struct grant *g)
{
    for (uint32_t i = g->offset; i < g->offset + g->len; i++)
        *region_byte(r, i) = g->use == READABLE_REGION ? traffic_byte(r->o.id, g->serial, i) : FILL;
}

static ULONG rights(enum use use)
{
    switch (use) {
    case READABLE_REGION:
        return NDK_OP_FLAG_ALLOW_REMOTE_READ;
    case WRITABLE_REGION:
        return NDK_OP_FLAG_ALLOW_REMOTE_WRITE;
    default:
        return NDK_OP_FLAG_ALLOW_LOCAL_WRITE;
    }
}

/* Chooses the pages of a new registration. No request uses the memory of the old one. */
static struct grant *lay_out(struct region *r, struct qp *qp)
{
    static const enum use uses[] = { LOCAL, BEHIND, READABLE_REGION, WRITABLE_REGION };
    struct grant *g;

    shuffle(r);
    r->first = sim_chance(300) ? 0 : (uint32_t)sim_below(PAGE);
    r->len = 1 + (uint32_t)sim_below((1 + sim_below(FAST_PAGES)) * PAGE - r->first);
    r->reclaimed = false;
    r->registered = true;
    r->grant = g = grant_new(&r->o, r, uses[sim_below(r->remote_too ? 4 : 2)]);
    g->qp = r->qp = qp;
    g->base = (1 + sim_below(1 << 30)) * PAGE + r->first;
    pattern(r, g);
    sim_trace("%s: #%u, for %s, %u bytes, use %d", obj_name(&r->o), g->serial, obj_name(&qp->o), g->len, g->use);
    return g;
}

static NTSTATUS call_register(const struct region *r, const struct qp *qp, const void *context, ULONG flags)
{
    ULONG count = (r->first + r->len + PAGE - 1) / PAGE;
    NDK_LOGICAL_ADDRESS pages[FAST_PAGES];

    for (ULONG i = 0; i < count; i++)
        pages[i].QuadPart = regions_page(r, r->order[i]);
    return qp->o.ndk.qp->Dispatch->NdkFastRegister(qp->o.ndk.qp, (void *)(uintptr_t)context, r->o.ndk.mr, count, pages,
                                                   r->first, r->len, (void *)(uintptr_t)r->grant->base, flags);
}

void regions_register(struct qp *qp)
{
    struct grant *old, *g;
    struct region *r;
    struct wr *w;
    bool covers;

    asking = qp;
    if (!post_has_room(qp, FAST_REGISTER) || !(r = obj_pick(MR, qp->o.host, is_fast_to_be_had)))
        return;
    if (!r->mapped && !map(r, r->memory, FAST_PAGES * PAGE))
        return;
    covers = is_covered(r->grant); /* also if it has no users because its queue pair has ended */
    if (r->qp && r->qp->o.life == GONE) {
        grant_abandon(r->window);
        grant_abandon(r->grant);
    }
    old = is_over(r->grant) ? NULL : r->grant;
    region_reclaim(r);
    if (old)
        old->state = GRANT_ENDING;
    g = lay_out(r, qp);
    g->covers = covers;
    w = wr_new(qp, FAST_REGISTER);
    w->makes = g;
    w->replaces = old;
    r->o.calls++;
    if (post_it(w, post_any_flags(w) | rights(g->use)))
        grant_token(g, r->o.ndk.mr->Dispatch->NdkGetLocalTokenFromMr(r->o.ndk.mr),
                    r->o.ndk.mr->Dispatch->NdkGetRemoteTokenFromMr(r->o.ndk.mr));
    r->o.calls--;
}

/* ---- windows ---- */

void regions_unbind(struct grant *g)
{
    if (g->under)
        obj_orphan(g->maker, &g->region->o);
}

static bool is_to_be_bound(const struct grant *g, const void *context)
{
    return g->use == BEHIND && g->region->grant == g && is_over(g->region->window) && grant_is_usable(g, context, true);
}

static struct grant *place(struct window *mw, struct grant *under, struct qp *qp)
{
    struct region *r = under->region;
    struct grant *g = grant_new(&mw->o, r, sim_chance(500) ? READABLE_REGION : WRITABLE_REGION);

    g->under = under;
    g->qp = mw->qp = qp;
    g->base = under->base;
    g->offset = (uint32_t)sim_below(r->len);
    g->len = 1 + (uint32_t)sim_below(r->len - g->offset);
    mw->grant = r->window = g;
    pattern(r, g);
    sim_trace("%s: #%u, for %s, %u from %u on in %s", obj_name(&mw->o), g->serial, obj_name(&qp->o), g->len, g->offset,
              obj_name(&r->o));
    return g;
}

static NTSTATUS call_bind(const struct grant *g, const struct qp *qp, const void *context, ULONG flags)
{
    return qp->o.ndk.qp->Dispatch->NdkBind(qp->o.ndk.qp, (void *)(uintptr_t)context, g->region->o.ndk.mr,
                                           g->maker->ndk.mw, (void *)(uintptr_t)(g->base + g->offset), g->len, flags);
}

void regions_bind(struct qp *qp)
{
    struct grant *under, *old, *g;
    struct window *mw;
    struct wr *w;
    bool covers;

    asking = qp;
    if (!post_has_room(qp, BIND) || !(mw = obj_pick(MW, qp->o.host, is_window_available)) ||
        !(under = grant_pick(is_to_be_bound, qp)))
        return;
    covers = is_covered(mw->grant);
    if (mw->qp && mw->qp->o.life == GONE)
        grant_abandon(mw->grant);
    old = is_over(mw->grant) ? NULL : mw->grant;
    if (old) {
        regions_unbind(old);
        grant_end(old);
        old->region->window = NULL;
        old->state = GRANT_ENDING;
    }
    g = place(mw, under, qp);
    g->covers = covers;
    w = wr_new(qp, BIND);
    w->makes = g;
    w->replaces = old;
    mw->o.calls++;
    under->maker->calls++;
    if (post_it(w, post_any_flags(w) | rights(g->use)))
        grant_token(g, 0, mw->o.ndk.mw->Dispatch->NdkGetRemoteTokenFromMw(mw->o.ndk.mw));
    under->maker->calls--;
    mw->o.calls--;
}

/* ---- ends ---- */

static struct grant *latest(const struct grant *g)
{
    return g->maker->kind == MW ? ((struct window *)g->maker)->grant : g->region->grant;
}

/* Returns whether the token belongs to this queue pair and is the latest of its object. */
static bool is_own(const struct grant *g, const struct qp *qp)
{
    return g->qp == qp && g->maker->kind != LAM && g->maker->life == OPEN && g->remote && latest(g) == g;
}

static bool is_endable(const struct grant *g, const void *qp)
{
    return is_own(g, qp) && (g->state == GRANT_ALIVE || g->state == GRANT_ASKED);
}

static bool is_idle(const struct grant *g, const void *qp)
{
    return is_endable(g, qp) && !g->users[BY_PEER] && !g->users[BY_RECEIVES] &&
           (g->under || is_over(g->region->window));
}

static bool is_ended(const struct grant *g, const void *qp)
{
    return is_own(g, qp) && g->state == GRANT_DEAD && !g->covers;
}

static bool is_peers_to_end(const struct grant *g, const void *qp)
{
    return is_own(g, qp) && g->state == GRANT_ALIVE && (g->use == READABLE_REGION || g->use == WRITABLE_REGION) &&
           grant_is_usable(g, qp, false);
}

struct grant *regions_for_peer_to_end(const struct qp *peer)
{
    return grant_pick(is_peers_to_end, peer);
}

/* Adds a read fence if a read of this queue pair may still write to the memory. */
static ULONG fence(const struct qp *qp, const struct grant *g)
{
    const struct wr *w;

    TAILQ_FOREACH (w, &qp->initiated, link)
        for (unsigned p = 0; w->op == READ && p < w->piece_count; p++)
            if (w->pieces[p].grant == g)
                return NDK_OP_FLAG_READ_FENCE;
    return 0;
}

static void invalidate(struct qp *qp, struct grant *g, bool bad)
{
    struct wr *w = wr_new(qp, INVALIDATE);
    struct obj *maker = g->maker;

    w->ends = g;
    w->was = g->state;
    w->bad = bad;
    sim_trace("%s: end #%u", obj_name(maker), g->serial);
    if (!bad) {
        g->state = GRANT_ENDING;
        regions_unbind(g);
    }
    maker->calls++;
    (void)post_it(w, post_any_flags(w) | fence(qp, g));
    maker->calls--;
}

void regions_invalidate(struct qp *qp, bool rude)
{
    bool again = rude && sim_chance(200);
    struct grant *g;

    if (!post_has_room(qp, INVALIDATE) || !(g = grant_pick(again ? is_ended : rude ? is_endable : is_idle, qp)))
        return;
    traffic_bad = traffic_bad || again;
    traffic_reclaimed = traffic_reclaimed || rude;
    invalidate(qp, g, again);
}

void regions_interrupt(struct region *r)
{
    struct grant *g = r->grant;

    if (!r->fast || !g || !g->qp || !is_endable(g, g->qp) || !post_has_room(g->qp, INVALIDATE))
        return;
    traffic_reclaimed = true;
    invalidate(g->qp, g, false);
}

/* ---- requests ---- */

NTSTATUS regions_call(struct wr *w, ULONG flags)
{
    NDK_QP *qp = w->qp->o.ndk.qp;

    if (w->op == FAST_REGISTER)
        return call_register(w->makes->region, w->qp, w, flags);
    if (w->op == BIND)
        return call_bind(w->makes, w->qp, w, flags);
    return qp->Dispatch->NdkInvalidate(qp, w, w->ends->maker->ndk.header, flags);
}

/*
 * From now on the region cannot be closed before the window is invalidated. A flush may have prevented the bind.
 */
static void made(struct grant *g, struct grant *replaced)
{
    if (replaced)
        replaced->state = GRANT_DEAD;
    g->covers = false;
    if (g->state != GRANT_ASKED)
        return;
    g->state = GRANT_ALIVE;
    if (g->under && g->maker->life == OPEN)
        obj_parent(g->maker, &g->region->o);
}

/* The token that it should have replaced remains valid, but is not used any more. */
void regions_refused(struct wr *w)
{
    struct grant *g = w->makes, *old = w->replaces;

    if (w->ends && !w->bad && w->ends->state == GRANT_ENDING) {
        w->ends->state = w->was;
        if (w->ends->under && w->was == GRANT_ALIVE)
            obj_parent(w->ends->maker, &w->ends->region->o);
    }
    if (!g)
        return;
    grant_end(g);
    if (g->under)
        ((struct window *)g->maker)->grant = old;
    else if (old)
        g->region->grant = old;
}

void regions_completed(struct wr *w, bool succeeded)
{
    if (w->makes && succeeded)
        made(w->makes, w->replaces);
    else if (w->makes)
        grant_end(w->makes);
    if (w->ends && w->op != SEND && succeeded)
        grant_end(w->ends);
}
