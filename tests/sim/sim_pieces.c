/* SPDX-License-Identifier: MIT */
/* The pieces of memory that requests use, and their contents: see sim_traffic.h. */
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "sim/sim_traffic_internal.h"

static void use(struct grant *g, enum user user, int change)
{
    g->users[user] += (unsigned)change;
    if (g->region->o.kind == LAM)
        g->region->o.uses += (unsigned)change;
}

bool piece_acquire(struct grant *g, uint32_t len, enum user user, struct piece *out)
{
    for (int tries = 0; g && len <= g->len && tries < 4; tries++) {
        uint32_t at = g->offset + (uint32_t)sim_below(g->len - len + 1);

        if (memchr(g->region->busy + at, 1, len))
            continue;
        memset(g->region->busy + at, 1, len);
        *out = (struct piece){ g, g->region, user, at, len };
        use(g, user, 1);
        return true;
    }
    return false;
}

uint8_t *piece_byte(const struct piece *p, uint32_t i)
{
    return region_byte(p->region, p->offset + i);
}

uint64_t piece_address(const struct piece *p)
{
    return p->grant->base + p->offset;
}

bool piece_is_stale(const struct piece *p)
{
    return p->grant->state == GRANT_DEAD || (p->grant->under && p->grant->under->state == GRANT_DEAD);
}

void piece_release(const struct piece *p)
{
    use(p->grant, p->user, -1);
    if (piece_is_stale(p))
        return;
    for (uint32_t i = 0; i < p->len; i++)
        *piece_byte(p, i) = FILL;
    memset(p->region->busy + p->offset, 0, p->len);
}

void wr_release(struct wr *w)
{
    for (unsigned i = 0; i < w->piece_count && !w->taken; i++)
        piece_release(&w->pieces[i]);
    w->taken = true;
}

void wr_free(struct wr *w)
{
    if (w->op == READ && w->remote.grant && !w->bad)
        use(w->remote.grant, BY_PEER, -1);
    free(w);
}

/* Splits len into at most `most` pieces of memory, some of them empty. */
bool wr_acquire_memory(struct wr *w, unsigned most, uint32_t len, enum use wanted)
{
    unsigned count = len ? 1 + (unsigned)sim_below(most) : (unsigned)sim_below(2);
    enum user user = w->op == RECEIVE ? BY_RECEIVES : BY_REQUESTS;
    uint32_t left = len;

    w->len = len;
    for (unsigned i = 0; i < count; i++) {
        uint32_t n = i + 1 == count ? left : (uint32_t)sim_below(left + 1);

        if (!piece_acquire(grant_pick_for(w->qp, wanted, user == BY_REQUESTS), n, user, &w->pieces[i])) {
            wr_release(w);
            return false;
        }
        w->piece_count++;
        left -= n;
    }
    return true;
}

void wr_write_pattern(struct wr *w, unsigned who, unsigned message)
{
    size_t n = 0;

    for (unsigned p = 0; p < w->piece_count; p++)
        for (uint32_t i = 0; i < w->pieces[p].len; i++)
            *piece_byte(&w->pieces[p], i) = traffic_byte(who, message, n++);
}

bool wr_has_pattern(const struct wr *w, unsigned who, unsigned message, size_t len)
{
    size_t n = 0;

    for (unsigned p = 0; p < w->piece_count; p++)
        for (uint32_t i = 0; i < w->pieces[p].len && n < len; i++, n++)
            if (*piece_byte(&w->pieces[p], i) != traffic_byte(who, message, n))
                return false;
    return true;
}

bool wr_memory_is_there(const struct wr *w)
{
    for (unsigned p = 0; p < w->piece_count; p++)
        if (w->pieces[p].region->reclaimed || piece_is_stale(&w->pieces[p]))
            return false;
    return !w->taken;
}

/* Checks that the receive's memory behind the message did not change. */
void wr_check_rest(const struct wr *w, size_t len)
{
    size_t n = 0;

    for (unsigned p = 0; p < w->piece_count; p++)
        for (uint32_t i = 0; i < w->pieces[p].len; i++)
            sim_check(n++ < len || *piece_byte(&w->pieces[p], i) == FILL, "%s: written behind a message",
                      obj_name(&w->qp->o));
}
