/* SPDX-License-Identifier: MIT */
/*
 * Declares the fabric's queue pair, which connects the protocol core's queue pair with its CQs and its connection. The
 * invariant: only the owner of the home shard uses `conn`, `stopped`, `terminate` and the functions marked "owner".
 */
#ifndef FABRIC_IWARP_QP_H
#define FABRIC_IWARP_QP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "fabric/iwarp/cq.h"
#include "fabric/iwarp/doorbell.h"
#include "fabric/iwarp/srq.h"
#include "iwarp/qp.h"

struct fabric_qp {
    struct iwarp_shard *home; /* the receive CQ's home shard */
    bool cq_drives_home;      /* a poll of the initiator CQ also drives `home` */
    struct iw_qp *iw;
    struct fabric_cq *receive_cq, *initiator_cq;
    struct cq_user receive_user, initiator_user;
    struct fabric_srq *srq; /* or NULL */
    struct srq_partial partial;
    atomic_uint refs;         /* held by the handle, and by `overflow` and partial.check while they are queued */
    atomic_bool has_overflow; /* one of its CQs has overflowed */
    struct doorbell doorbell;
    struct fabric_conn *conn;   /* NULL if no stream runs; only the owner uses it */
    enum fabric_reason stopped; /* why requests are flushed; only the owner uses it */
    uint16_t terminate;         /* the Terminate that caused the flush, or FABRIC_NO_TERMINATE; used by the owner */
    atomic_uint refuses; /* why posts are refused: enum fabric_reason << 16 | Terminate code; 0: they are not refused */
    struct task transmit, flush, overflow, close;
    void (*closed)(void *context);
    void *close_context;
};

int iwarp_qp_create(struct fabric *f, const struct fabric_qp_config *c, struct fabric_qp **out);
int iwarp_qp_post(struct fabric_qp *qp, const struct rdma_request *r);
/* Transmits the requests that were posted with RDMA_FLAG_DEFER. */
void iwarp_qp_ring(struct fabric_qp *qp);
void iwarp_qp_flush(struct fabric_qp *qp);
enum fabric_reason iwarp_qp_reason(struct fabric_qp *qp, uint16_t *terminate);
/* Returns the reason that iwarp_qp_reason returns. If that is FABRIC_OK, returns `why`. */
enum fabric_reason iwarp_qp_first_cause(struct fabric_qp *qp, enum fabric_reason why);
void iwarp_qp_set_reason(struct fabric_qp *qp, enum fabric_reason why, uint16_t terminate); /* owner */
void iwarp_qp_info(struct fabric_qp *qp, struct fabric_qp_info *info);
void iwarp_qp_close(struct fabric_qp *qp, void (*done)(void *context), void *context);
void iwarp_qp_ref(struct fabric_qp *qp);
void iwarp_qp_unref(struct fabric_qp *qp);                                                 /* owner */
void iwarp_qp_flush_now(struct fabric_qp *qp, enum fabric_reason why, uint16_t terminate); /* owner */

#endif
