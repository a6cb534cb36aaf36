/* SPDX-License-Identifier: MIT */
/* Makes the close of an adapter wait until the adapter's objects and mappings are closed. */
#ifndef VERIFY_OBJECTS_LEFT_H
#define VERIFY_OBJECTS_LEFT_H

#include "verify/proxy.h"

/*
 * Waits until all objects and mappings of the adapter are closed, and then returns true. Reports the open objects and
 * mappings once if none is closed for stall_ms, and the consumer could close at least one. Returns false if, after the
 * report, none is closed for another stall_ms.
 */
bool objects_left_wait(const struct proxy *adapter, const char *routine);

#endif
