/* SPDX-License-Identifier: MIT */
/* The reason why a session failed. The printed message and the JSON object use it. */
#ifndef NDKPERF_FAILURE_H
#define NDKPERF_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include "ndk/ndkpi.h"

enum phase {
    PHASE_RESOLVE,
    PHASE_OPEN,
    PHASE_LISTEN,
    PHASE_WAIT,
    PHASE_CONNECT,
    PHASE_WARMUP,
    PHASE_MEASURE,
    PHASE_END
};

struct failure {
    enum phase phase;
    const char *step; /* name of the call that failed, or NULL */
    bool has_status;  /* `status` and `reason` are valid */
    NTSTATUS status;
    uint32_t reason; /* 0: the reason is not known */
    char text[400];  /* one line that describes the failure */
};

const char *failure_phase_name(enum phase phase);
/* Returns a text with advice for the failure, or NULL. */
const char *failure_advice(const struct failure *f);

#endif
