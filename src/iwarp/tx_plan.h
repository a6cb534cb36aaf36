/* SPDX-License-Identifier: MIT */
/*
 * Decides which message a queue pair sends next, and plans the headers of that message's next FPDU. tx.c frames the
 * FPDU. The invariant: tx_plan_advance changes only the state that the caller passes. So a batch can be discarded.
 */
#ifndef IWARP_TX_PLAN_H
#define IWARP_TX_PLAN_H

#include "iwarp/qp_internal.h"

/* The contents of a message's next FPDU. */
struct tx_plan {
    size_t header;       /* bytes of the DDP header; 0 in an empty FPDU */
    struct ddp_header h; /* valid if header is not 0 */
    uint32_t bytes_left; /* payload bytes of the message that are not framed yet */
    bool read;           /* a Read Request: an RDMAP header follows `h`, with the contents of the members below */
    uint32_t sink, length, stag;
    uint64_t to;
};

/*
 * Returns the kind of the next message. The ready-to-receive message comes first; then requests and responses
 * alternate. Ignores requests from the position `tail` on.
 */
enum tx_kind tx_plan_choose(const struct iw_qp *qp, const struct tx_state *t, uint32_t tail);
/* Plans the next FPDU of the message in progress. Stores a sink STag in the request if it is a read. */
void tx_plan_fpdu(struct iw_qp *qp, const struct tx_state *t, struct tx_plan *p);
/*
 * Advances the state past an FPDU with `bytes` bytes of the message. `last` means that the message ends with this
 * FPDU.
 */
void tx_plan_advance(const struct iw_qp *qp, struct tx_state *t, uint32_t bytes, bool last);

#endif
