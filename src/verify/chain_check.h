/* SPDX-License-Identifier: MIT */
/*
 * Checks the rule about open chains. A chain is a sequence of requests with NDK_OP_FLAG_DEFER. It is open until a
 * request without that flag ends it.
 */
#ifndef VERIFY_CHAIN_CHECK_H
#define VERIFY_CHAIN_CHECK_H

#include "verify/queue.h"

/*
 * Reports the open chain in qp's initiator queue if the calling thread has begun the chain. A chain of another thread
 * is not reported, because that thread may be about to end it. `rest` is what posted_get_rest returned for that queue.
 * Returns true if a chain was reported.
 */
bool chain_check(const struct queue *qp, const struct posted_rest *rest, const char *routine);
/*
 * Runs before NdkArmCq. Reports an open chain in a queue pair whose initiator queue uses cq, because the notification
 * may never come while the chain is open. Does nothing if `type` is NDK_CQ_NOTIFY_ERRORS, because such an arm waits for
 * no particular request.
 */
void chain_check_arm(struct queue *cq, ULONG type);

#endif
