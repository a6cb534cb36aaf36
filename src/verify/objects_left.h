/* SPDX-License-Identifier: MIT */
/* An adapter's close waits until the adapter's objects and mappings are closed. */
#ifndef VERIFY_OBJECTS_LEFT_H
#define VERIFY_OBJECTS_LEFT_H

#include "verify/proxy.h"

/*
 * Waits until all objects and mappings of the adapter are closed. If none of them ends for stall_ms, although the
 * consumer could close one, reports all of them. Returns false if none ends for stall_ms after the report either.
 */
bool objects_left_wait(const struct proxy *adapter, const char *routine);

#endif
