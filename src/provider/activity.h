/* SPDX-License-Identifier: MIT */
/*
 * Sums the counters of adapters. When an adapter closes, its counters are added to the process's sum of closed
 * adapters.
 */
#ifndef PROVIDER_ACTIVITY_H
#define PROVIDER_ACTIVITY_H

#include "base/activity.h"
#include "ndk/ndkpi.h"

struct adapter;

/*
 * Adds the adapter's counters to the process's sum of closed adapters. All objects of the adapter must have been
 * closed.
 */
void activity_add_closed(struct adapter *a);
/* Adds to *sum the counters of all adapters that the process has closed. Any thread may call this, at any IRQL. */
void provider_add_closed_activity(struct activity *sum);
/*
 * Adds the counters of an open adapter and of its open queue pairs to *sum. `adapter` must be the provider's object,
 * not the verifier's. If `crashed` is true, acquires no lock, and leaves out the counters of open queue pairs. Any
 * thread may call this function.
 */
void provider_add_activity(NDK_ADAPTER *adapter, struct activity *sum, bool crashed);

#endif
