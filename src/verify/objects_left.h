/* SPDX-License-Identifier: MIT */
/* Makes the close of an adapter wait until the adapter's objects and mappings are closed. */
#ifndef VERIFY_OBJECTS_LEFT_H
#define VERIFY_OBJECTS_LEFT_H

#include "verify/proxy.h"

/*
 * Waits until all objects and mappings of the adapter are closed, and then returns true. If nothing was closed during
 * the last stall_ms, and the consumer can close at least one object or mapping, reports what is open. Reports only
 * once. After the report, returns false when nothing was closed during another stall_ms.
 */
bool objects_left_wait(const struct proxy *adapter, const char *routine);

#endif
