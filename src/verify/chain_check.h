/* SPDX-License-Identifier: MIT */
/*
 * Checks the rule about open chains. A chain is a row of requests with NDK_OP_FLAG_DEFER, and is open until a request
 * without that flag ends it.
 */
#ifndef VERIFY_CHAIN_CHECK_H
#define VERIFY_CHAIN_CHECK_H

#include "verify/queue.h"

/*
 * Reports the open chain in qp's initiator queue if the calling thread has begun the chain. `rest` describes the
 * outstanding requests of that queue: see posted_get_rest. Returns true if a chain was reported. A chain that another
 * thread has begun is not reported, because that thread may be about to end it.
 */
bool chain_check(const struct queue *qp, const struct posted_rest *rest, const char *routine);
/*
 * Reports an open chain in a queue pair whose initiator queue uses cq. Runs before NdkArmCq, because the notification
 * may never come if the chain stays open. Does nothing if `type` is NDK_CQ_NOTIFY_ERRORS, because such an arm waits for
 * no particular request.
 */
void chain_check_arm(struct queue *cq, ULONG type);

#endif
