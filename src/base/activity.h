/* SPDX-License-Identifier: MIT */
/* Declares the counts of what adapters have done. The summary of a run (ndkrun) prints them. */
#ifndef BASE_ACTIVITY_H
#define BASE_ACTIVITY_H

#include <stdint.h>

#include "base/rdma.h"

/* Each count is a sum over adapters. The counts of connections are computed from ondk_counters_t. */
struct activity {
    uint64_t initiated, accepted, failed, refused, dropped, lost, cq_overflows;
    uint64_t in_bytes, out_bytes, in_frames, out_frames;
    struct rdma_counts requests[RDMA_KINDS];
};

#endif
