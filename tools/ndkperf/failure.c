/* SPDX-License-Identifier: MIT */
/* Returns advice for failures: see failure.h. */
#include "failure.h"

#include <stddef.h>

#include "consumer/provider.h"
#include "openndk/adapter.h"
#include "openndk/reason.h"

const char *failure_phase_name(enum phase phase)
{
    static const char *const names[] = {
        [PHASE_RESOLVE] = "resolve", [PHASE_OPEN] = "open",     [PHASE_LISTEN] = "listen",   [PHASE_WAIT] = "wait",
        [PHASE_CONNECT] = "connect", [PHASE_WARMUP] = "warmup", [PHASE_MEASURE] = "measure", [PHASE_END] = "end",
    };

    return names[phase];
}

const char *failure_advice(const struct failure *f)
{
    if (!f->has_status)
        return NULL;
    return consumer_reason_is_openndk(f->reason) ? ondk_reason_advice(f->reason) : ondk_status_advice(f->status);
}
