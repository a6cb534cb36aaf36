/* SPDX-License-Identifier: MIT */
/*
 * Posts the requests of a bandwidth run: on each lane (a measured queue pair) at most a window at a time. The client
 * posts requests, and with --bidirectional the server does, too. With --check a run is a series of laps. In a lap each
 * lane posts one window of messages, which are verified before the next lap. A lap that has begun on one lane is posted
 * completely on all lanes.
 */
#ifndef NDKPERF_PUMP_H
#define NDKPERF_PUMP_H

#include "session.h"

/* Begins a run of `count` messages on each queue pair. If `count` is 0, the run ends when s->pump.over is set. */
void pump_begin(struct session *s, uint64_t count, uint32_t burst, bool corrupt);
/* Returns the kind of request that transfers a message. Only TEST_MIXED has requests of several kinds. */
enum id pump_request_kind(enum test test, uint64_t message);
/*
 * Posts as many requests as the queue pairs' windows allow. *done receives whether no request is left to post and all
 * posted requests have completed. With --check this ends the lap, otherwise the run.
 */
bool pump_post(struct session *s, bool *done);
/* Returns whether another lap follows. Only runs with --check have laps. If no lap follows, the run is done. */
bool pump_has_next_lap(const struct session *s);
void pump_begin_lap(struct session *s);
/* Returns the number of posted messages of all queue pairs. */
uint64_t pump_posted(const struct session *s);

#endif
