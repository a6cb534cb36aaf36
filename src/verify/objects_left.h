/* SPDX-License-Identifier: MIT */
/* Makes the close of an adapter wait until the adapter's objects and mappings are closed. */
#ifndef VERIFY_OBJECTS_LEFT_H
#define VERIFY_OBJECTS_LEFT_H

#include "verify/proxy.h"

/*
 * Waits until all objects and mappings of the adapter are closed, and then returns true. If stall_ms pass in which none
 * of them is closed, although the consumer could close at least one, reports the open objects and mappings once. If
 * stall_ms pass again in which none is closed, returns false.
 */
bool objects_left_wait(const struct proxy *adapter, const char *routine);

#endif
