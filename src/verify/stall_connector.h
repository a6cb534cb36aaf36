/* SPDX-License-Identifier: MIT */
/* Connectors whose consumer owes a call: see stall.h. */
#ifndef VERIFY_STALL_CONNECTOR_H
#define VERIFY_STALL_CONNECTOR_H

#include <stdint.h>

/*
 * Reports the connectors that have been in a phase that the consumer must end for `limit` nanoseconds at the time `now`.
 * Returns when the oldest such phase that was not reported began; UINT64_MAX if there is none.
 */
uint64_t stall_examine_connectors(uint64_t now, uint64_t limit);

#endif
