/* SPDX-License-Identifier: MIT */
/*
 * The observer of an adapter's fabric. Each report comes in owner context, and before the consumer learns of the same
 * from its completion or callback. The invariant: nothing here waits, allocates memory or calls the consumer.
 */
#include "provider/connection_log.h"

#include "provider/adapter.h"
#include "provider/failures.h"
#include "provider/reason.h"
#include "provider/status.h"

/* Returns the status of the consumer's request that the report ends. */
static NTSTATUS connection_status(const struct fabric_report *r)
{
    bool connects = r->phase == FABRIC_PHASE_CONNECTING || r->phase == FABRIC_PHASE_REQUESTING;

    return connects ? status_of_connect(r->why) : status_of_reason(r->why);
}

static void connection_on_report(void *owner, const struct fabric_report *r)
{
    struct adapter *a = owner;

    if (r->outcome == FABRIC_OUTCOME_FAILED || r->outcome == FABRIC_OUTCOME_REFUSED)
        failures_add(a, r, connection_status(r), reason_code(r->why, r->terminate));
}

void connection_log_observe(struct adapter *a)
{
    const struct fabric_observer observer = { .report = connection_on_report, .owner = a };

    failures_watch_forks();
    a->fabric->ops->observe(a->fabric, &observer);
}
