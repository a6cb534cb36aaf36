/* SPDX-License-Identifier: MIT */
/* Measures the peak rate of one end's messages in a run. */
#ifndef NDKPERF_METER_H
#define NDKPERF_METER_H

#include <stdint.h>

struct meter {
    uint64_t from; /* start of the run in ns */
    uint64_t slice_at, slice_messages;
    double peak; /* messages per second in the best tenth of a second so far */
};

void meter_begin(struct meter *m, uint64_t now);
/*
 * Updates the peak if a tenth of a second has elapsed. `messages` is the number of messages since the start of the run.
 */
void meter_update(struct meter *m, uint64_t now, uint64_t messages);

#endif
