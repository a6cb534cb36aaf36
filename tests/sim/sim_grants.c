/* SPDX-License-Identifier: MIT */
/* The valid tokens, and the contents of their memory: see sim_traffic.h. */
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "sim/sim_traffic_internal.h"

static struct grant *first, **last = &first;
static unsigned serials;

struct grant *grant_new(struct obj *maker, struct region *r, enum use use)
{
    struct grant *g = calloc(1, sizeof *g);

    sim_check(g, "no memory");
    g->maker = maker;
    g->region = r;
    g->use = use;
    g->serial = ++serials;
    g->len = r->len;
    *last = g;
    last = &g->next;
    return g;
}

void grants_free(void)
{
    for (struct grant *g = first, *next; g; g = next) {
        next = g->next;
        free(g);
    }
    first = NULL;
    last = &first;
}

bool grant_is_usable(const struct grant *g, const struct qp *qp, bool early)
{
    if (g->maker->life != OPEN || g->region->o.life != OPEN || g->region->pd != qp->pd || (g->qp && g->qp != qp))
        return false;
    if (g->state != GRANT_ALIVE && !(early && g->state == GRANT_ASKED && g->local))
        return false;
    return !g->under || grant_is_usable(g->under, qp, early);
}

struct grant *grant_pick(bool (*wanted)(const struct grant *g, const void *context), const void *context)
{
    struct grant *found = NULL;
    unsigned count = 0;

    for (struct grant *g = first; g; g = g->next)
        count += wanted(g, context);
    if (!count)
        return NULL;
    count = (unsigned)sim_below(count) + 1;
    for (struct grant *g = first; count; g = g->next) {
        if (wanted(g, context)) {
            found = g;
            count--;
        }
    }
    return found;
}

struct wish {
    const struct qp *qp;
    enum use use;
    bool early;
};

static bool is_wished(const struct grant *g, const void *context)
{
    const struct wish *wish = context;

    return g->use == wish->use && grant_is_usable(g, wish->qp, wish->early);
}

struct grant *grant_pick_for(const struct qp *qp, enum use use, bool early)
{
    struct wish wish = { qp, use, early };

    return grant_pick(is_wished, &wish);
}

/* Checks that the token differs from all earlier ones, which may be valid or not. */
void grant_token(struct grant *g, uint32_t local, uint32_t remote)
{
    g->local = local;
    g->remote = remote;
    for (const struct grant *other = first; other; other = other->next)
        sim_check(other == g || other->maker->host != g->maker->host || !other->remote || other->remote != remote,
                  "%s: the token that %s had", obj_name(g->maker), obj_name(other->maker));
}

/* ---- memory ---- */

uint8_t *region_byte(const struct region *r, uint32_t i)
{
    if (!r->fast)
        return r->memory + GUARD + i;
    i += r->first;
    return r->memory + (size_t)r->order[i / PAGE] * PAGE + i % PAGE;
}

static uint8_t expected(const struct region *r, uint32_t i)
{
    const struct grant *w = r->window, *g = r->grant;

    if (w && w->state != GRANT_DEAD && w->use == READABLE_REGION && i >= w->offset && i - w->offset < w->len)
        return traffic_byte(r->o.id, w->serial, i);
    return g && g->use == READABLE_REGION ? traffic_byte(r->o.id, g->serial, i) : FILL;
}

static void check_bytes(const struct region *r, size_t from, size_t to, uint8_t value, const char *what)
{
    for (size_t i = from; i < to; i++)
        sim_check(r->memory[i] == value, "%s: %s: byte %zd is 0x%02x", obj_name(&r->o), what, (ptrdiff_t)i - GUARD,
                  r->memory[i]);
}

static void check_inside(const struct region *r)
{
    for (uint32_t i = 0; i < r->len; i++)
        sim_check(r->busy[i] || *region_byte(r, i) == (r->reclaimed ? POISON : expected(r, i)),
                  "%s: byte %u was written to, 0x%02x", obj_name(&r->o), i, *region_byte(r, i));
}

/* Checks the pages that are not registered, and the bytes before and behind the others. */
static void check_fast(const struct region *r)
{
    size_t mapped = r->reclaimed ? 0 : r->first + r->len;

    if (r->reclaimed) {
        check_bytes(r, 0, FAST_PAGES * PAGE, POISON, "written while it was not registered");
        return;
    }
    check_inside(r);
    for (size_t i = 0; i < FAST_PAGES * PAGE; i++) {
        const uint8_t *b = r->memory + (size_t)r->order[i / PAGE] * PAGE + i % PAGE;

        sim_check((i >= r->first && i < mapped) || *b == POISON, "%s: written outside, page %zu, 0x%02x",
                  obj_name(&r->o), i / PAGE, *b);
    }
}

void region_check(const struct region *r)
{
    if (r->fast) {
        check_fast(r);
        return;
    }
    check_bytes(r, 0, GUARD, FILL, "written in front of the region");
    check_bytes(r, GUARD + r->len, 2 * GUARD + r->len, FILL, "written behind the region");
    if (r->reclaimed)
        check_bytes(r, GUARD, GUARD + r->len, POISON, "written after it was taken back");
    else
        check_inside(r);
}

void region_reclaim(struct region *r)
{
    if (r->grant)
        r->grant->state = GRANT_DEAD;
    if (r->reclaimed || !r->registered)
        return;
    region_check(r);
    for (uint32_t i = 0; i < r->len; i++)
        *region_byte(r, i) = POISON;
    memset(r->busy, 0, r->len);
    r->reclaimed = true;
}

/* Checks that nothing changes the window's bytes from now on. */
static void end_window(struct grant *g)
{
    struct region *r = g->region;

    if (g->under->state == GRANT_DEAD || r->reclaimed || r->window != g) {
        g->state = GRANT_DEAD;
        return;
    }
    region_check(r);
    g->state = GRANT_DEAD;
    for (uint32_t i = g->offset; i < g->offset + g->len; i++) {
        *region_byte(r, i) = FILL;
        r->busy[i] = 0;
    }
}

void grant_end(struct grant *g)
{
    if (g->state == GRANT_DEAD)
        return;
    sim_trace("%s: #%u is over", obj_name(g->maker), g->serial);
    regions_unbind(g);
    if (g->under)
        end_window(g);
    else if (g->region->grant == g)
        region_reclaim(g->region);
    g->state = GRANT_DEAD;
}
