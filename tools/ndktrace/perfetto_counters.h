/* SPDX-License-Identifier: MIT */
/* Counters of queues: requests and receives that are outstanding, and results that wait in completion queues. */
#ifndef NDKTRACE_PERFETTO_COUNTERS_H
#define NDKTRACE_PERFETTO_COUNTERS_H

#include "calls.h"
#include "perfetto_json.h"

/* Writes the counters. Returns false if out of memory. */
bool perfetto_write_counters(struct perfetto *p, const struct calls *calls);

#endif
