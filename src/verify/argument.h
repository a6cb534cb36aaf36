/* SPDX-License-Identifier: MIT */
/*
 * Checks the arguments of a call, and checks whether the consumer may use the called entry of the dispatch table. Each
 * check reports a broken rule and does nothing else: the provider receives the call as the consumer made it, and
 * answers it.
 */
#ifndef VERIFY_ARGUMENT_H
#define VERIFY_ARGUMENT_H

#include "verify/queue.h"

/* The NDKPI versions 1.2 and 2.1, which added entries and flags: major number << 16 | minor number. */
enum { ARGUMENT_NDKPI_1_2 = 1 << 16 | 2, ARGUMENT_NDKPI_2_1 = 2 << 16 | 1 };

/*
 * Reports the call of `routine` on p if `is_given` is false, which means that the consumer has passed no completion
 * routine. In a create call, p is the parent of the new object.
 */
void argument_check_completion(const struct proxy *p, const char *routine, bool is_given);
/*
 * Reports the create call `routine` on p if `is_given` is false, which means that the consumer has passed no routine
 * for the events of the new object. `type` is the type of the new object.
 */
void argument_check_notification(const struct proxy *p, const char *routine, NDK_OBJECT_TYPE type, bool is_given);
/*
 * Reports p if its type is not `entry`, the type of the objects that the called close entry is for. Returns true if p
 * may be closed. Returns false if p is an adapter, because adapters have no close entry.
 */
bool argument_check_close(const struct proxy *p, const char *routine, NDK_OBJECT_TYPE entry);
/*
 * Reports the use of an entry or a flag that is newer than the NDKPI version of p's adapter. `since` is the NDKPI
 * version that added the entry or flag. `what` names it in the report, for example "the entry". p may be NULL.
 */
void argument_check_version(const struct proxy *p, const char *routine, uint32_t since, const char *what);
/* Reports the flags of a post to p that are newer than the NDKPI version of p's adapter. */
void argument_check_flags(const struct proxy *p, const char *routine, ULONG flags);

void argument_check_arm(const struct proxy *cq, ULONG type);
void argument_check_moderation(const struct queue *cq, ULONG interval, ULONG count);
void argument_check_resize(const struct proxy *cq);

#endif
