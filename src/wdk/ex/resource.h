/* SPDX-License-Identifier: MIT */
/*
 * Of the locks an ERESOURCE alone can be let go by another thread than the one that has acquired it: a thread's list of
 * held locks does not say whether it still has this one.
 */
#ifndef WDK_RESOURCE_H
#define WDK_RESOURCE_H

#include <stdbool.h>

extern const char resource_what[]; /* thread_held's `what` for it */

/* Has another thread let it go on behalf of the calling one? What has been deleted since counts too. */
bool resource_given_up(const void *resource);

#endif
