/* SPDX-License-Identifier: MIT */
/* Makes the close of an adapter wait until the adapter's objects and mappings are closed. */
#ifndef VERIFY_OBJECTS_LEFT_H
#define VERIFY_OBJECTS_LEFT_H

#include "verify/proxy.h"

/*
 * Waits until all objects and mappings of the adapter are closed. If none of them is closed for stall_ms, and the
 * consumer could close at least one, reports them once. Returns true when all are closed. Returns false if, after that
 * report, again none is closed for stall_ms.
 */
bool objects_left_wait(const struct proxy *adapter, const char *routine);

#endif
