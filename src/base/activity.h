/* SPDX-License-Identifier: MIT */
/* Declares the numbers of what adapters have done, for the summary of a run (ndkrun). */
#ifndef BASE_ACTIVITY_H
#define BASE_ACTIVITY_H

#include <stdint.h>

#include "base/rdma.h"

/* Sums over adapters. The counters of connections are those of ondk_counters_t. */
struct activity {
    uint64_t initiated, accepted, failed, refused, dropped, lost, cq_overflows;
    uint64_t in_bytes, out_bytes, in_frames, out_frames;
    struct rdma_counts requests[RDMA_KINDS];
};

#endif
