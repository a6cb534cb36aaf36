/* SPDX-License-Identifier: MIT */
/*
 * Checks the arguments of a call, and whether the adapter's NDKPI version has the called entry of the dispatch table.
 * Each check only reports a broken rule: the provider receives the call unchanged and answers it.
 */
#ifndef VERIFY_ARGUMENT_H
#define VERIFY_ARGUMENT_H

#include "verify/queue.h"

/* The NDKPI versions that added entries and flags: major number << 16 | minor number. */
enum { ARGUMENT_NDKPI_1_2 = 1 << 16 | 2, ARGUMENT_NDKPI_2_1 = 2 << 16 | 1 };

/*
 * Reports that the consumer has called `routine` on p without a completion routine. Does nothing if `is_given` is true.
 * In a create call, p is the parent of the new object.
 */
void argument_check_completion(const struct proxy *p, const char *routine, bool is_given);
/*
 * Reports that the consumer has passed no routine for the events of a new object. Does nothing if `is_given` is true.
 * `routine` is the create call, p the object on which it was made, and `type` the type of the new object.
 */
void argument_check_notification(const struct proxy *p, const char *routine, NDK_OBJECT_TYPE type, bool is_given);
/*
 * Reports the close if the consumer has called the close entry of another type. `entry` is the type whose close entry
 * was called. Returns false if p is an adapter, because adapters have no close entry. Otherwise returns true: the
 * provider may close p.
 */
bool argument_check_close(const struct proxy *p, const char *routine, NDK_OBJECT_TYPE entry);
/*
 * Reports the use of an entry or a flag that is newer than the NDKPI version of p's adapter. `since` is the NDKPI
 * version that added the entry or flag. `what` names it in the report, for example "the entry". p may be NULL.
 */
void argument_check_version(const struct proxy *p, const char *routine, uint32_t since, const char *what);
/* Reports a post to p if one of its flags is newer than the NDKPI version of p's adapter. */
void argument_check_flags(const struct proxy *p, const char *routine, ULONG flags);

void argument_check_arm(const struct proxy *cq, ULONG type);
void argument_check_moderation(const struct queue *cq, ULONG interval, ULONG count);
void argument_check_resize(const struct proxy *cq);

#endif
