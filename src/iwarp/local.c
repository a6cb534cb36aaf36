/* SPDX-License-Identifier: MIT */
/*
 * Requests that send nothing: fast register, bind, invalidate. Such a request is carried out when the requests ahead of
 * it have been framed.
 *
 * If the transport takes only a part of a batch, the state of sending goes back to the last FPDU that was sent, and
 * the rest is framed again later. Invariant: a local request's result is stored in its entry, which does not go back.
 * So the second framing skips a request that was carried out.
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

/* Discards the registration that the post prepared. */
void local_discard(struct iw_qp *qp, const struct entry *e)
{
    if (e->opcode != RDMA_OP_INVALIDATE)
        mem_discard(qp->memory, qp->domain, e->stag);
}
