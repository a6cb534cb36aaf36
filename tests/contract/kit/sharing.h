/* SPDX-License-Identifier: MIT */
/* For cases about shared receive queues: one of them, and connections whose passive queue pairs receive from it. */
#ifndef TESTS_CONTRACT_SHARING_H
#define TESTS_CONTRACT_SHARING_H

#include "contract/kit/data.h"

enum { SHARING_MAX = 8 };

struct sharing_member {
    NDK_QP *qp, *peer;                         /* the passive QP, which uses the shared queue, and the active one */
    NDK_CQ *cq;                                /* of the passive QP: its own, or the side's */
    NDK_CONNECTOR *connector, *peer_connector; /* NULL while not connected */
};

struct sharing {
    struct kit_side passive, active; /* their qp and connector are those of a member while it is being connected */
    struct kit_listener listener;
    NDK_SRQ *srq;
    struct sharing_member member[SHARING_MAX];
    int members;
    atomic_int low; /* notifications of the shared queue */
    NTSTATUS low_status;
    void (*inside_low)(struct sharing *s);
};

struct sharing_config {
    ULONG depth, sges, threshold; /* if 0: KIT_DEPTH, 4, no notification */
    bool own_queues;              /* each member has a completion queue of its own */
};

/* Skips the case if the adapter has no shared receive queues. */
void sharing_open(struct sharing *s, const struct sharing_config *c);
void sharing_connect(struct sharing *s, int members, bool own_queues); /* adds members */
void sharing_close_member(struct sharing *s, int member);              /* both QPs and connectors */
void sharing_close(struct sharing *s);

void sharing_on_low(void *context, NTSTATUS status); /* context: struct sharing */
NTSTATUS sharing_srq(struct sharing *s, ULONG depth, ULONG sges, ULONG threshold, NDK_SRQ **srq);
NTSTATUS sharing_qp(struct sharing *s, NDK_PD *pd, NDK_CQ *cq, NDK_SRQ *srq, void *context, NDK_QP **qp);
NTSTATUS sharing_modify(struct sharing *s, ULONG depth, ULONG threshold);
NTSTATUS sharing_receive(struct sharing *s, uintptr_t context, size_t offset, ULONG len);
/* Sends from the active side's memory. Completes on that side's CQ, with the member's number as context. */
NTSTATUS sharing_send(struct sharing *s, int member, size_t offset, ULONG len);
/* The same; waits for its success, and returns the passive side's result. */
NDK_RESULT_EX sharing_message(struct sharing *s, int member, size_t offset, ULONG len);
NDK_RESULT_EX sharing_result(NDK_CQ *cq);
/* Waits until the passive end has processed everything that was sent to this member. */
void sharing_wait_delivered(struct sharing *s, int member);

#endif
