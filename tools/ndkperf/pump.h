/* SPDX-License-Identifier: MIT */
/*
 * The requests of a bandwidth run that this end posts: a window on each lane. The client has them, and with
 * --bidirectional the server, too. With --check a run is a series of laps of one window each: a lap that has begun on
 * one lane is posted on all of them.
 */
#ifndef NDKPERF_PUMP_H
#define NDKPERF_PUMP_H

#include "session.h"

/* Begins a run of `count` messages on each lane (0: until s->pump.over). */
void pump_begin(struct session *s, uint64_t count, uint32_t burst, bool corrupt);
/* Posts the next message of a lane. */
enum id pump_request_kind(enum test test, uint64_t message);
/*
 * Posts what the windows allow. *done: all posted requests have completed, and none can be posted before the next lap.
 */
bool pump_post(struct session *s, bool *done);
/* May another lap begin? If not, the run is done. */
bool pump_has_next_lap(const struct session *s);
void pump_begin_lap(struct session *s);
/* Returns the number of posted messages of all lanes. */
uint64_t pump_posted(const struct session *s);

#endif
