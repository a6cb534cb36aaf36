/* SPDX-License-Identifier: MIT */
/* Abstract: the messages that a queue pair sends, one FPDU after the other, for tx.c, which frames them. */
#ifndef IWARP_TX_PLAN_H
#define IWARP_TX_PLAN_H

#include "iwarp/qp_internal.h"

/* What the next FPDU of a message is made of. */
struct plan {
    size_t header;    /* octets of the DDP header, 0 in the empty FPDU */
    struct ddp_header h; /* where there is one */
    uint32_t left;    /* octets of the message to be gathered */
    bool read;        /* a Read Request: its own header follows, with what is below */
    uint32_t sink, length, stag;
    uint64_t to;
};

/* The message that is to begin: the ready-to-receive first, then requests in front of `tail` and responses in turn. */
enum tx_kind tx_plan_choose(const struct iw_qp *qp, const struct tx_state *t, uint32_t tail);
/* Of the message that the state is in. A read is given its sink. */
void tx_plan_fpdu(struct iw_qp *qp, const struct tx_state *t, struct plan *p);
/* The state behind an FPDU with so many octets of the message; last: its last one. */
void tx_plan_advance(const struct iw_qp *qp, struct tx_state *t, uint32_t octets, bool last);

#endif
