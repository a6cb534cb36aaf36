/* SPDX-License-Identifier: MIT */
/*
 * Checks of a call's arguments, and of the dispatch table's entry that was called. Each check reports a broken rule
 * and does nothing else: the provider receives the call as the consumer made it, and answers it.
 */
#ifndef VERIFY_ARGUMENT_H
#define VERIFY_ARGUMENT_H

#include "verify/queue.h"

/* The versions of NDKPI in which entries and flags were added. */
enum { ARGUMENT_NDKPI_1_2 = 1 << 16 | 2, ARGUMENT_NDKPI_2_1 = 2 << 16 | 1 };

/* Reports a call on p without a completion routine. In a create call, p is the parent of the new object. */
void argument_check_completion(const struct proxy *p, const char *routine, bool is_given);
/* Reports a create call on p without a routine for the events of the new object, whose type is `type`. */
void argument_check_notification(const struct proxy *p, const char *routine, NDK_OBJECT_TYPE type, bool is_given);
/*
 * Called when the close entry for objects of type `entry` was called with p. Reports p if it has another type. Returns
 * false if p is an adapter, which has no close entry.
 */
bool argument_check_close(const struct proxy *p, const char *routine, NDK_OBJECT_TYPE entry);
/*
 * Reports an entry or a flag that is newer than p's adapter. `since` is the NDKPI version that added it. `what` is for
 * example "the entry". p may be NULL.
 */
void argument_check_version(const struct proxy *p, const char *routine, uint32_t since, const char *what);
/* Reports flags of a post to p that are newer than p's adapter. */
void argument_check_flags(const struct proxy *p, const char *routine, ULONG flags);

void argument_check_arm(const struct proxy *cq, ULONG type);
void argument_check_moderation(const struct queue *cq, ULONG interval, ULONG count);
void argument_check_resize(const struct proxy *cq);

#endif
