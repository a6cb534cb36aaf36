/* SPDX-License-Identifier: MIT */
/* For cases about shared receive queues: an SRQ, and connections whose passive queue pairs use it. */
#ifndef TESTS_CONTRACT_SHARING_H
#define TESTS_CONTRACT_SHARING_H

#include "contract/kit/data.h"

enum { SHARING_MAX_MEMBERS = 8 };

struct sharing_member {
    NDK_QP *qp, *peer;                         /* qp: the passive QP, which uses the SRQ; peer: the active QP */
    NDK_CQ *cq;                                /* the passive QP's receive CQ: the member's own, or the side's */
    NDK_CONNECTOR *connector, *peer_connector; /* NULL while not connected */
};

struct sharing {
    struct kit_side passive, active; /* their qp and connector are NULL outside of sharing_connect */
    struct kit_listener listener;
    NDK_SRQ *srq;
    struct sharing_member member[SHARING_MAX_MEMBERS];
    int members;
    atomic_int low; /* number of notifications of the SRQ */
    NTSTATUS low_status;
    void (*inside_low)(struct sharing *s);
};

struct sharing_config {
    ULONG depth, sges, threshold; /* depth 0 means KIT_DEPTH, sges 0 means 4, threshold 0 means no notification */
};

/* Skips the case if the adapter has no shared receive queues. */
void sharing_open(struct sharing *s, const struct sharing_config *c);
void sharing_connect(struct sharing *s, int members, bool own_queues); /* adds `members` connections */
/* Closes the member's connectors, QPs and own CQ. */
void sharing_close_member(struct sharing *s, int member);
void sharing_close(struct sharing *s);

void sharing_on_low(void *context, NTSTATUS status); /* context: struct sharing */
NTSTATUS sharing_srq(struct sharing *s, ULONG depth, ULONG sges, ULONG threshold, NDK_SRQ **srq);
NTSTATUS sharing_qp(struct sharing *s, NDK_PD *pd, NDK_CQ *cq, NDK_SRQ *srq, void *context, NDK_QP **qp);
NTSTATUS sharing_modify(struct sharing *s, ULONG depth, ULONG threshold);
NTSTATUS sharing_receive(struct sharing *s, uintptr_t context, size_t offset, ULONG len);
/* Sends from the active side's memory. The result is on the active side's CQ; its context is the member's number. */
NTSTATUS sharing_send(struct sharing *s, int member, size_t offset, ULONG len);
/* Calls sharing_send, waits until the send succeeds, and returns the result of the receive. */
NDK_RESULT_EX sharing_message(struct sharing *s, int member, size_t offset, ULONG len);
NDK_RESULT_EX sharing_result(NDK_CQ *cq);
/* Waits until the passive side has processed everything that was sent to this member. */
void sharing_wait_delivered(struct sharing *s, int member);

#endif
