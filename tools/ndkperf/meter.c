/* SPDX-License-Identifier: MIT */
/* Measures the rate of one end's messages: see meter.h. */
#include "meter.h"

static const uint64_t SLICE_NS = 100000000;

void meter_begin(struct meter *m, uint64_t now)
{
    *m = (struct meter){ .from = now, .slice_at = now };
}

void meter_update(struct meter *m, uint64_t now, uint64_t messages)
{
    double rate;

    if (now - m->slice_at < SLICE_NS)
        return;
    rate = (double)(messages - m->slice_messages) * 1e9 / (double)(now - m->slice_at);
    if (rate > m->peak)
        m->peak = rate;
    m->slice_at = now;
    m->slice_messages = messages;
}
