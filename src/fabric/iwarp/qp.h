/* SPDX-License-Identifier: MIT */
/* Queue pairs: the protocol core's, with their completion queues and their connection. */
#ifndef FABRIC_IWARP_QP_H
#define FABRIC_IWARP_QP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "fabric/iwarp/cq.h"
#include "fabric/iwarp/srq.h"
#include "iwarp/qp.h"

struct fabric_qp {
    struct iwarp_shard *home; /* the receive queue's */
    bool is_seen;             /* looks at the initiator's queue are looks at home */
    struct iw_qp *iw;
    struct fabric_cq *receive_cq, *initiator_cq;
    struct cq_user receive_user, initiator_user;
    struct fabric_srq *srq;   /* or NULL */
    struct srq_partial partial;
    atomic_uint refs;         /* the handle, and an overflow or a partial's check that is queued */
    atomic_bool has_overflow; /* it has learned that a queue of its overflowed */
    atomic_uint sent_to;      /* iw_qp_posted at the last transmission */
    _Atomic uint64_t asked_to; /* iw_qp_asked then */
    atomic_uint busy_until;   /* where many left at once: the initiator's queue's empty polls by then, and one more */
    atomic_uint waiting;         /* posts since then that were to wait */
    _Atomic uint64_t waiting_since; /* the first of them */
    struct fabric_conn *conn; /* owner; while a stream runs */
    enum fabric_reason stopped; /* owner; why requests are being flushed */
    uint16_t terminate;       /* owner; the Terminate that had a part in it */
    atomic_uint refuses;      /* why posts are refused: enum fabric_reason << 16 | the Terminate; 0: see qp_reason */
    struct task transmit, flush, overflow, close;
    void (*closed)(void *context);
    void *close_context;
};

int iwarp_qp_create(struct fabric *f, const struct fabric_qp_config *c, struct fabric_qp **out);
int iwarp_qp_post(struct fabric_qp *qp, const struct rdma_request *r);
void iwarp_qp_release(struct fabric_qp *qp);
void iwarp_qp_flush(struct fabric_qp *qp);
enum fabric_reason iwarp_qp_reason(struct fabric_qp *qp, uint16_t *terminate);
/*
 * Why its connection ends, when this is found out: what is known already stays, as of a queue that overflowed before.
 */
enum fabric_reason iwarp_qp_first_cause(struct fabric_qp *qp, enum fabric_reason why);
void iwarp_qp_set_reason(struct fabric_qp *qp, enum fabric_reason why, uint16_t terminate); /* owner */
void iwarp_qp_defer_to_poll(struct fabric_qp *qp); /* its requests wait for the poller, where there is one */
void iwarp_qp_close(struct fabric_qp *qp, void (*done)(void *context), void *context);
void iwarp_qp_ref(struct fabric_qp *qp);
void iwarp_qp_unref(struct fabric_qp *qp); /* owner */
void iwarp_qp_flush_now(struct fabric_qp *qp, enum fabric_reason why, uint16_t terminate); /* owner */

#endif
