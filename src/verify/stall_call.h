/* SPDX-License-Identifier: MIT */
/* Reports pending calls that are stalls: see stall.h. */
#ifndef VERIFY_STALL_CALL_H
#define VERIFY_STALL_CALL_H

#include <stdint.h>

/*
 * Reports the calls that have been pending for at least `limit` nanoseconds at the time `now`. Returns the start time
 * of the oldest call that was never reported, or UINT64_MAX if there is none.
 */
uint64_t stall_examine_calls(uint64_t now, uint64_t limit);

#endif
