/* SPDX-License-Identifier: MIT */
/*
 * Posts the requests of a bandwidth run. Each lane (a measured queue pair) has at most one window of requests in
 * flight. The client posts requests; with --bidirectional the server does, too. With --check a run is a series of laps.
 * In a lap each lane posts one window of messages, which are verified before the next lap. When one lane has begun a
 * lap, all lanes post it completely.
 */
#ifndef NDKPERF_PUMP_H
#define NDKPERF_PUMP_H

#include "session.h"

/* Starts a run of `count` messages on each queue pair. If `count` is 0, the run ends after s->pump.over was set. */
void pump_begin(struct session *s, uint64_t count, uint32_t burst, bool corrupt);
/* Returns the kind of request that transfers the message. Only TEST_MIXED uses several kinds. */
enum id pump_request_kind(enum test test, uint64_t message);
/*
 * Posts as many requests as the queue pairs' windows allow. Sets *done to true if no request remains to be posted and
 * all posted requests have completed. This is the end of the lap with --check, otherwise the end of the run. Returns
 * false if the session has failed.
 */
bool pump_post(struct session *s, bool *done);
/* Returns true if another lap follows, which is possible only with --check. Returns false if the run has ended. */
bool pump_has_next_lap(const struct session *s);
void pump_begin_lap(struct session *s);
/* Returns the number of messages that all queue pairs together have posted. */
uint64_t pump_posted(const struct session *s);

#endif
