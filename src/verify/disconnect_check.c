/* SPDX-License-Identifier: MIT */
/* Checks the requests that are outstanding when a consumer disconnects: see disconnect_check.h. */
#include "verify/chain_check.h"
#include "verify/disconnect_check.h"
#include "verify/rules.h"

void disconnect_check(struct queue *qp)
{
    static const char routine[] = "NdkDisconnect";
    struct posted_rest rest;

    if (atomic_load(&qp->p.state) != PROXY_OPEN || atomic_load(&qp->failed))
        return;
    posted_get_rest(&qp->posted[QUEUE_INITIATE], &rest);
    if (!chain_check(qp, &rest, routine) && rest.signalled) {
        proxy_set_report_object(&qp->p);
        report_breach(&verify_rules[RULE_DISCONNECT_OUTSTANDING], routine, (uintptr_t)qp, rest.signalled, 0, 0,
                      "the results of %u initiator request(s) were not polled", rest.signalled);
    }
}
