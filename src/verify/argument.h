/* SPDX-License-Identifier: MIT */
/*
 * Checks of a call's arguments and entry. Each reports a broken rule and does nothing else: the provider receives the
 * call as the consumer made it, and answers it.
 */
#ifndef VERIFY_ARGUMENT_H
#define VERIFY_ARGUMENT_H

#include "verify/queue.h"

/* The versions of NDKPI in which entries and flags were added. */
enum { ARGUMENT_NDKPI_1_2 = 1 << 16 | 2, ARGUMENT_NDKPI_2_1 = 2 << 16 | 1 };

/* A call on p, or a create call of p's, has no completion routine. */
void argument_check_completion(const struct proxy *p, const char *routine, bool is_given);
/* A create call of p's has no routine for the events of the new object. */
void argument_check_notification(const struct proxy *p, const char *routine, NDK_OBJECT_TYPE type, bool is_given);
/* The close entry of the table for `entry` is called with p. Returns false if p is an adapter, which has no such entry. */
bool argument_check_close(const struct proxy *p, const char *routine, NDK_OBJECT_TYPE entry);
/* The entry, or the flag, is newer than p's adapter. p may be NULL. `what` is for example "the entry". */
void argument_check_version(const struct proxy *p, const char *routine, uint32_t since, const char *what);
/* The flags of a post to p. */
void argument_check_flags(const struct proxy *p, const char *routine, ULONG flags);

void argument_check_arm(const struct proxy *cq, ULONG type);
void argument_check_moderation(const struct queue *cq, ULONG interval, ULONG count);
void argument_check_resize(const struct proxy *cq);

#endif
