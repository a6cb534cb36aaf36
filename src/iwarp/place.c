/* SPDX-License-Identifier: MIT */
/*
 * Finds the memory of a message's bytes, and protects the memory against invalidation while it is accessed. The
 * invariant: registered memory is accessed, for sending or for placing, only while a lookup protects it. The lookup is
 * made here or in tx.c (source_*). A lookup can be cached (struct mem_cached), and then protects several accesses.
 */
#include "iwarp/qp_internal.h"

void pieces_set_caching(struct pieces *p, bool caches)
{
    p->caches = caches;
    if (!caches)
        mem_release(&p->cached.ref);
}

void pieces_release(struct pieces *p)
{
    for (unsigned i = 0; i < p->count; i++)
        mem_release(&p->refs[i]);
    p->count = 0;
    p->length = 0;
}

/*
 * Looks up the memory of one piece. `local` is true if the piece is in a request's own SGE. Uses the cached region if
 * it contains the range. Replaces the cached region only if p has no piece yet, because the cached region's protection
 * may protect the pieces of p.
 */
static enum wire_error piece_lookup(const struct iw_qp *qp, struct pieces *p, bool local, uint32_t stag, uint64_t to,
                                    uint32_t len, unsigned access, struct mem_ref *ref)
{
    enum wire_error error;
    uint8_t *at;

    if (mem_cached_covers(&p->cached, stag, to, len, access, &at)) {
        *ref = (struct mem_ref){ .region = NULL, .at = at, .run = len };
        return WIRE_OK;
    }
    error = local ? mem_lookup_local(qp->memory, qp->domain, stag, to, len, access, ref)
                  : mem_lookup(qp->memory, qp->domain, stag, to, len, access, ref);
    if (error == WIRE_OK && p->caches && p->count == 0) {
        mem_release(&p->cached.ref);
        p->cached = (struct mem_cached){ .ref = *ref, .stag = stag, .access = access };
        ref->region = NULL;
    }
    return error;
}

/*
 * Adds a range piece by piece, because its pages may be scattered. The cached region's protection protects the
 * pieces in that region. Each other piece has a protection of its own.
 */
static enum wire_error pieces_add_range(const struct iw_qp *qp, struct pieces *p, bool local, uint32_t stag,
                                        uint64_t to, uint32_t len, unsigned access, unsigned max)
{
    do {
        struct mem_ref *ref = &p->refs[p->count];
        enum wire_error error = piece_lookup(qp, p, local, stag, to, len, access, ref);
        if (error != WIRE_OK)
            return error;
        uint32_t run = (uint32_t)ref->run;
        p->iov[p->count++] = (struct iovec){ .iov_base = ref->at, .iov_len = run };
        p->length += run;
        to += run;
        len -= run;
    } while (len > 0 && p->count < max);
    return WIRE_OK;
}

enum wire_error pieces_add_region(const struct iw_qp *qp, struct pieces *p, uint32_t stag, uint64_t to, uint32_t len,
                                  unsigned access, unsigned max)
{
    return pieces_add_range(qp, p, false, stag, to, len, access, max);
}

const struct rdma_sge *entry_find_sge(const struct entry *e, uint32_t offset, uint32_t *within)
{
    const struct rdma_sge *sge = e->sges;

    while (offset >= sge->length) {
        offset -= sge->length;
        sge++;
    }
    *within = offset;
    return sge;
}

enum wire_error pieces_add_entry(const struct iw_qp *qp, struct pieces *p, const struct entry *e, uint32_t offset,
                                 uint32_t len, unsigned access, unsigned max)
{
    while (len > 0 && p->count < max) {
        uint32_t within;
        const struct rdma_sge *sge = entry_find_sge(e, offset, &within);
        uint32_t n = sge->length - within < len ? sge->length - within : len;
        uint32_t before = p->length;
        enum wire_error error = pieces_add_range(qp, p, true, sge->token, sge->address + within, n, access, max);

        if (error != WIRE_OK)
            return error;
        offset += p->length - before;
        len -= p->length - before;
    }
    return WIRE_OK;
}

enum wire_error sges_check(const struct iw_qp *qp, const struct rdma_sge *sges, uint32_t count, unsigned access,
                           bool posted)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct rdma_sge *g = &sges[i];
        enum wire_error error;

        if (g->length == 0)
            continue;
        error = posted ? mem_check(qp->memory, qp->domain, g->token, g->address, g->length, access)
                       : mem_check_local(qp->memory, qp->domain, g->token, g->address, g->length, access);
        if (error != WIRE_OK)
            return error;
    }
    return WIRE_OK;
}
