/* SPDX-License-Identifier: MIT */
/* The pieces of memory that requests take, and what is in them: see sim_traffic.h. */
#include <string.h>

#include "sim/sim.h"
#include "sim/sim_traffic_internal.h"

static bool is_usable(const struct region *r, const struct qp *qp, enum use use)
{
    return r->o.kind == MR && r->o.life == OPEN && r->registered && r->token != UINT32_MAX && r->pd == qp->pd &&
           r->use == use;
}

struct region *region_pick(const struct qp *qp, enum use use)
{
    struct region *found[OBJECTS];
    unsigned count = 0;

    for (unsigned i = 0; i < object_count; i++) {
        struct region *r = (struct region *)objects[i];

        if (is_usable(r, qp, use))
            found[count++] = r;
    }
    return count ? found[sim_below(count)] : NULL;
}

bool piece_take(struct region *r, uint32_t len, struct piece *out)
{
    for (int tries = 0; r && tries < 4; tries++) {
        uint32_t at = (uint32_t)sim_below(r->len - len + 1);

        if (memchr(r->busy + at, 1, len))
            continue;
        memset(r->busy + at, 1, len);
        *out = (struct piece){r, at, len};
        return true;
    }
    return false;
}

uint8_t *piece_at(const struct piece *p)
{
    return p->region->memory + GUARD + p->offset;
}

void piece_give(const struct piece *p)
{
    if (!p->region->taken_back)
        memset(piece_at(p), FILL, p->len);
    memset(p->region->busy + p->offset, 0, p->len);
}

void wr_give_back(struct wr *w)
{
    for (unsigned i = 0; i < w->piece_count && !w->taken; i++)
        piece_give(&w->pieces[i]);
    w->taken = true;
}

/* Splits len over some pieces of memory, some of them empty. */
bool wr_take_memory(struct wr *w, uint32_t len, enum use use)
{
    unsigned count = len ? 1 + (unsigned)sim_below(w->qp->sges) : (unsigned)sim_below(2);
    uint32_t left = len;

    w->len = len;
    for (unsigned i = 0; i < count; i++) {
        uint32_t n = i + 1 == count ? left : (uint32_t)sim_below(left + 1);

        if (!piece_take(region_pick(w->qp, use), n, &w->pieces[i])) {
            wr_give_back(w);
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
            piece_at(&w->pieces[p])[i] = traffic_byte(who, message, n++);
}

bool wr_has_pattern(const struct wr *w, unsigned who, unsigned message, size_t len)
{
    size_t n = 0;

    for (unsigned p = 0; p < w->piece_count; p++)
        for (uint32_t i = 0; i < w->pieces[p].len && n < len; i++, n++)
            if (piece_at(&w->pieces[p])[i] != traffic_byte(who, message, n))
                return false;
    return true;
}

bool wr_memory_is_there(const struct wr *w)
{
    for (unsigned p = 0; p < w->piece_count; p++)
        if (w->pieces[p].region->taken_back)
            return false;
    return true;
}

/* Behind the message the receive's memory is as it was. */
void wr_check_rest(const struct wr *w, size_t len)
{
    size_t n = 0;

    for (unsigned p = 0; p < w->piece_count; p++)
        for (uint32_t i = 0; i < w->pieces[p].len; i++)
            sim_check(n++ < len || piece_at(&w->pieces[p])[i] == FILL, "%s: written behind a message", obj_name(&w->qp->o));
}
