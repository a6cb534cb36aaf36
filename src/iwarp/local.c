/* SPDX-License-Identifier: MIT */
/*
 * Carries out local requests, which send nothing: fast register, bind and invalidate. A local request is carried out
 * when all earlier requests have been framed.
 *
 * If the transport takes only a part of a batch, the rest of the batch is framed again later. Invariant: a local
 * request that was carried out has its result in its entry, so it is not carried out again when the batch is framed
 * again.
 */
#include "iwarp/qp_internal.h"

bool local_carry_out(struct iw_qp *qp, struct entry *e, bool alone)
{
    enum wire_error error;

    if (e->opcode == RDMA_OP_INVALIDATE) {
        if (!alone)
            return false;
        error = mem_revoke(qp->memory, qp->domain, e->stag, false);
    } else {
        enum mem_activation result = mem_activate(qp->memory, e->stag, alone);
        if (result == MEM_BUSY)
            return false;
        error = result == MEM_GONE ? WIRE_RDMAP_PROTECTION : WIRE_OK;
    }
    if (error == WIRE_OK)
        e->state = ENTRY_DONE;
    else
        entry_fail(e, RDMA_STATUS_LOCAL_ACCESS, error);
    return true;
}

/*
 * Discards the registration that the post of this request has prepared. Does nothing for an invalidation, whose post
 * prepares no registration.
 */
void local_discard(struct iw_qp *qp, const struct entry *e)
{
    if (e->opcode != RDMA_OP_INVALIDATE)
        mem_discard(qp->memory, qp->domain, e->stag);
}
