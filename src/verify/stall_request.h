/* SPDX-License-Identifier: MIT */
/* Reports initiator requests that are outstanding for too long: see stall.h. */
#ifndef VERIFY_STALL_REQUEST_H
#define VERIFY_STALL_REQUEST_H

#include <stdint.h>

/*
 * Reports initiator requests that were posted at least `limit` nanoseconds before the time `now`. Makes one report for
 * each queue pair, for all its requests that are due. A silent request is reported only as the last request of an open
 * chain, because it has no result if it succeeds. Returns the post time of the oldest request that was never reported,
 * or UINT64_MAX if there is none.
 */
uint64_t stall_examine_requests(uint64_t now, uint64_t limit);

#endif
