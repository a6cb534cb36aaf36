/* SPDX-License-Identifier: MIT */
/* Writes counters of queues: outstanding requests, outstanding receives, and results that wait in completion queues. */
#ifndef NDKTRACE_PERFETTO_COUNTERS_H
#define NDKTRACE_PERFETTO_COUNTERS_H

#include "calls.h"
#include "perfetto_json.h"

/* Writes the counters of all queues. Returns false if out of memory. */
bool perfetto_write_counters(struct perfetto *p, const struct calls *calls);

#endif
