/* SPDX-License-Identifier: MIT */
/* Why a session failed, for the message and for the JSON object. */
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
    const char *step; /* the call that failed, or NULL */
    bool has_status;  /* status and reason are valid */
    NTSTATUS status;
    uint32_t reason; /* 0: no reason is known */
    char text[400];  /* one line: what happened */
};

const char *failure_phase_name(enum phase phase);
/* Returns advice, or NULL. */
const char *failure_advice(const struct failure *f);

#endif
