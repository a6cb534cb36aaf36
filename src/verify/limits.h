/* SPDX-License-Identifier: MIT */
/*
 * Checks the limits that the adapter reports, and the limits that the consumer has passed to the create call of a
 * queue. Reports a breach before the provider is called. The provider then refuses the call, or the request fails
 * later.
 */
#ifndef VERIFY_LIMITS_H
#define VERIFY_LIMITS_H

#include "verify/queue.h"

/*
 * These functions check the arguments of calls that create or resize a queue. p is the object on which the call is
 * made.
 */
void limits_check_cq(const struct proxy *p, const char *routine, ULONG depth);
void limits_check_srq(const struct proxy *p, const char *routine, ULONG depth, ULONG sges);
void limits_check_qp(const struct proxy *p, const char *routine, const struct queue_size *sizes, ULONG inline_size);

/*
 * Checks a post to q against the limits of q and its adapter. `use` is QUEUE_INITIATE for the initiator queue, or
 * QUEUE_RECEIVE for the receive queue.
 */
void limits_check_post(const struct queue *q, int use, const struct post *post);

/* Checks the flags of NdkRegisterMr. */
void limits_check_registration(const struct proxy *mr, ULONG flags);

#endif
