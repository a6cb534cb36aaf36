/* SPDX-License-Identifier: MIT */
/* Connectors whose consumer owes a call: see stall.h. */
#ifndef VERIFY_STALL_CONNECTOR_H
#define VERIFY_STALL_CONNECTOR_H

#include <stdint.h>

/*
 * Reports the connectors whose present phase only the consumer can end, if the phase has lasted `limit` nanoseconds at
 * the time `now`. Returns the start time of the oldest such phase that was not reported; UINT64_MAX if there is none.
 */
uint64_t stall_examine_connectors(uint64_t now, uint64_t limit);

#endif
