/* SPDX-License-Identifier: MIT */
/* The rule about chains of requests with NDK_OP_FLAG_DEFER that no request has ended. */
#ifndef VERIFY_CHAIN_CHECK_H
#define VERIFY_CHAIN_CHECK_H

#include "verify/queue.h"

/*
 * If the calling thread has begun a chain and not ended it, reports the chain and returns true. `rest` is what is
 * outstanding in the initiator queue of qp. A chain of another thread is not reported, because that thread may be about
 * to end it.
 */
bool chain_check(const struct queue *qp, const struct posted_rest *rest, const char *routine);
/*
 * Called before NdkArmCq. Reports an open chain of a queue pair whose initiator requests complete on cq, because the
 * notification may not come before the chain ends. Nothing is reported for NDK_CQ_NOTIFY_ERRORS, because such an arm
 * waits for no request.
 */
void chain_check_arm(struct queue *cq, ULONG type);

#endif
