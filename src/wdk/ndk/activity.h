/* SPDX-License-Identifier: MIT */
/* Sums the activity of the adapters of all drivers. Files that do not include Windows' headers can include this one. */
#ifndef WDK_NDK_ACTIVITY_H
#define WDK_NDK_ACTIVITY_H

#include <stdbool.h>

#include "base/activity.h"

/*
 * Adds the counters of all adapters, closed and open, to *sum. Returns false if the provider is foreign, because its
 * adapters have no such counters. If `crashed` is true, leaves out the open queue pairs. If another thread is changing
 * the list of open adapters at that time, leaves out the open adapters, too.
 */
bool adapters_add_activity(struct activity *sum, bool crashed);

#endif
