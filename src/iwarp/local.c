/* SPDX-License-Identifier: MIT */
/*
 * Abstract: requests that send nothing, and are carried out in their turn: fast register, bind, invalidate.
 *
 * They are met while a batch is framed, of which the transport may take less than it is offered. So what was carried
 * out is written into the entry, not into the sending state: when the entry is met again it is passed over.
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
        enum mem_turn turn = mem_activate(qp->memory, e->stag, alone);
        if (turn == MEM_BUSY)
            return false;
        error = turn == MEM_GONE ? WIRE_RDMAP_PROTECTION : WIRE_OK;
    }
    if (error == WIRE_OK)
        e->state = ENTRY_DONE;
    else
        entry_fail(e, RDMA_STATUS_LOCAL_ACCESS, error);
    return true;
}

/* As if it had never been posted: the consumer's object names what was there before. */
void local_discard(struct iw_qp *qp, const struct entry *e)
{
    if (e->opcode != RDMA_OP_INVALIDATE)
        mem_discard(qp->memory, qp->domain, e->stag);
}
