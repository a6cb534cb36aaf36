/* SPDX-License-Identifier: MIT */
/*
 * What cases about shared receive queues share: one queue, and connections whose passive queue pairs receive from it.
 */
#ifndef TESTS_CONTRACT_SHARING_H
#define TESTS_CONTRACT_SHARING_H

#include "contract/kit/data.h"

enum { SHARING_MAX = 8 };

struct sharing_member {
    NDK_QP *qp, *peer;                         /* passive, with the shared queue; active */
    NDK_CQ *cq;                                /* of the passive one: its own, or the side's */
    NDK_CONNECTOR *connector, *peer_connector; /* NULL before the connection and after its end */
};

struct sharing {
    struct kit_side passive, active; /* qp and connector of theirs stand for those of one member, while it is made */
    struct kit_listener listener;
    NDK_SRQ *srq;
    struct sharing_member member[SHARING_MAX];
    int members;
    atomic_int low;                  /* notifications of the shared queue */
    NTSTATUS low_status;
    void (*inside_low)(struct sharing *s);
};

struct sharing_config {
    ULONG depth, sges, threshold; /* 0: KIT_DEPTH, 4, unarmed */
    bool own_queues;              /* a completion queue for each member */
};

/* Skips where the adapter has no shared receive queues. */
void sharing_open(struct sharing *s, const struct sharing_config *c);
void sharing_connect(struct sharing *s, int members, bool own_queues); /* so many more */
void sharing_drop(struct sharing *s, int member); /* both of its ends, connectors and queue pairs */
void sharing_close(struct sharing *s);

void sharing_low(void *context, NTSTATUS status); /* context: struct sharing */
NTSTATUS sharing_srq(struct sharing *s, ULONG depth, ULONG sges, ULONG threshold, NDK_SRQ **srq);
NTSTATUS sharing_qp(struct sharing *s, NDK_PD *pd, NDK_CQ *cq, NDK_SRQ *srq, void *context, NDK_QP **qp);
NTSTATUS sharing_modify(struct sharing *s, ULONG depth, ULONG threshold);
NTSTATUS sharing_receive(struct sharing *s, uintptr_t context, size_t offset, ULONG len);
/* From the active side's memory; the completion comes to its queue, with the member's number as context. */
NTSTATUS sharing_send(struct sharing *s, int member, size_t offset, ULONG len);
/* The same, and its success is waited for, and what the passive side's queue tells. */
NDK_RESULT_EX sharing_message(struct sharing *s, int member, size_t offset, ULONG len);
NDK_RESULT_EX sharing_result(NDK_CQ *cq);
/* When it returns, the passive end has taken everything that was sent to this member before. */
void sharing_reached(struct sharing *s, int member);

#endif
