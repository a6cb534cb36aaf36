/* SPDX-License-Identifier: MIT */
/*
 * Abstract: requests that send nothing, and are carried out in their turn: fast register, bind, invalidate.
 *
 * They are met while a batch is framed, of which the transport may take less than it is offered. So what was carried
 * out is written into the entry, not into the sending state: when the entry is met again it is passed over.
 */
#include "base/mutant.h"
#include "iwarp/qp_internal.h"

bool local_ends_memory(const struct iw_qp *qp, const struct entry *e)
{
    if (e->opcode == IW_INVALIDATE)
        return true;
    if (e->replaces && mem_revocable(qp->memory, qp->domain, e->replaces, false) == WIRE_OK)
        return true;
    return mem_ends_another(qp->memory, e->stag);
}

void local_carry_out(struct iw_qp *qp, struct entry *e)
{
    enum wire_error error = WIRE_OK;

    if (e->opcode == IW_INVALIDATE)
        error = mem_revoke(qp->memory, qp->domain, e->stag, false);
    else if (!mem_activate(qp->memory, qp->domain, e->stag, e->replaces))
        error = WIRE_RDMAP_PROTECTION;
    if (error == WIRE_OK || (e->opcode == IW_INVALIDATE && MUTANT(inv_03_second_succeeds)))
        e->state = ENTRY_DONE;
    else
        entry_fail(e, IW_LOCAL_ACCESS, error);
}

/* What it was to replace ends all the same: the consumer's object has named the new STag since the post. */
void local_discard(struct iw_qp *qp, const struct entry *e)
{
    if (e->opcode == IW_INVALIDATE)
        return;
    if (!MUTANT(qpr_16_flushed_stays_prepared))
        mem_discard(qp->memory, qp->domain, e->stag);
    if (e->replaces && !MUTANT(inv_09_flushed_leaves_the_old))
        (void)mem_revoke(qp->memory, qp->domain, e->replaces, false);
}
