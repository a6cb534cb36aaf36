/* SPDX-License-Identifier: MIT */
/*
 * Rules about limits: those that the adapter reports, and those that a consumer gave when it created a queue. If a call
 * exceeds a limit, the breach is reported before the provider is called. The provider then refuses the call, or the
 * request fails later.
 */
#ifndef VERIFY_LIMITS_H
#define VERIFY_LIMITS_H

#include "verify/queue.h"

/* Check the arguments of the calls that create or change a queue. p is the object that is called. */
void limits_check_cq(const struct proxy *p, const char *routine, ULONG depth);
void limits_check_srq(const struct proxy *p, const char *routine, ULONG depth, ULONG sges);
void limits_check_qp(const struct proxy *p, const char *routine, const struct queue_size *sizes, ULONG inline_size);

/* Checks a post to q's initiator queue (`use` is QUEUE_INITIATE) or receive queue. */
void limits_check_post(const struct queue *q, int use, const struct post *post);

/* Checks the flags of NdkRegisterMr. */
void limits_check_registration(const struct proxy *mr, ULONG flags);

#endif
