/* SPDX-License-Identifier: MIT */
/*
 * From the octets of a message to memory that is protected against invalidation while it is touched. Every access to a
 * consumer's memory, for sending and for placing, is looked up here or in tx.c's windows, right before it is made.
 */
#include "iwarp/qp_internal.h"

void pieces_release(struct pieces *p)
{
    for (unsigned i = 0; i < p->count; i++)
        mem_release(&p->refs[i]);
    p->count = 0;
    p->length = 0;
}

enum wire_error pieces_of_region(const struct iw_qp *qp, struct pieces *p, uint32_t stag, uint64_t to, uint32_t len,
                                 unsigned access)
{
    struct mem_ref *ref = &p->refs[p->count];
    enum wire_error error = mem_lookup(qp->memory, qp->domain, stag, to, len, access, ref);

    if (error != WIRE_OK)
        return error;
    p->iov[p->count++] = (struct iovec){ .iov_base = ref->at, .iov_len = len };
    p->length += len;
    return WIRE_OK;
}

const struct iw_sge *entry_sge(const struct entry *e, uint32_t offset, uint32_t *within)
{
    const struct iw_sge *sge = e->sges;

    while (offset >= sge->length) {
        offset -= sge->length;
        sge++;
    }
    *within = offset;
    return sge;
}

enum wire_error pieces_of_entry(const struct iw_qp *qp, struct pieces *p, const struct entry *e, uint32_t offset,
                                uint32_t len, unsigned access, unsigned max)
{
    while (len > 0 && p->count < max) {
        uint32_t within;
        const struct iw_sge *sge = entry_sge(e, offset, &within);
        uint32_t n = sge->length - within < len ? sge->length - within : len;
        enum wire_error error = pieces_of_region(qp, p, sge->stag, sge->address + within, n, access);

        if (error != WIRE_OK)
            return error;
        offset += n;
        len -= n;
    }
    return WIRE_OK;
}

enum wire_error entry_check(const struct iw_qp *qp, const struct iw_sge *sges, uint32_t count, unsigned access)
{
    for (uint32_t i = 0; i < count; i++) {
        struct mem_ref ref;
        enum wire_error error;

        if (sges[i].length == 0)
            continue;
        error = mem_lookup(qp->memory, qp->domain, sges[i].stag, sges[i].address, sges[i].length, access, &ref);
        if (error != WIRE_OK)
            return error;
        mem_release(&ref);
    }
    return WIRE_OK;
}
