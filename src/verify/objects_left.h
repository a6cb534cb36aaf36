/* SPDX-License-Identifier: MIT */
/* An adapter's close waits until the adapter's objects and mappings are closed. */
#ifndef VERIFY_OBJECTS_LEFT_H
#define VERIFY_OBJECTS_LEFT_H

#include "verify/proxy.h"

/*
 * Waits until all objects and mappings of the adapter are closed. If none of them is closed within stall_ms, and the
 * consumer could close at least one, reports all of them. Returns false if, after that report, again none is closed
 * within stall_ms.
 */
bool objects_left_wait(const struct proxy *adapter, const char *routine);

#endif
