/* SPDX-License-Identifier: MIT */
/* Reports connectors that wait for a call by their consumer: see stall.h. */
#ifndef VERIFY_STALL_CONNECTOR_H
#define VERIFY_STALL_CONNECTOR_H

#include <stdint.h>

/*
 * Reports the connectors that have waited for a call by their consumer for at least `limit` nanoseconds at the time
 * `now`. Returns the start time of the oldest such wait that was never reported, or UINT64_MAX if there is none.
 */
uint64_t stall_examine_connectors(uint64_t now, uint64_t limit);

#endif
