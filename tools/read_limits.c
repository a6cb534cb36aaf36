/* SPDX-License-Identifier: MIT */
/* Checks the read limits of a connection: see read_limits.h. */
#include "read_limits.h"

#include <stddef.h>

#include "consumer/provider.h"

const char *read_limits_check(struct consumer_limits limits, bool own, bool peer)
{
    if (own && !limits.outbound && consumer_foreign_provider())
        return "this side may have 0 reads in progress (read-limits outbound=0): raise --ord here, or --ird at the "
               "peer";
    if (peer && !limits.inbound && consumer_foreign_provider())
        return "the peer may have 0 reads in progress (read-limits inbound=0): raise --ird here, or --ord at the peer";
    if (own && !limits.outbound)
        return "this side may have 0 reads in progress (read-limits outbound=0): raise --ord or "
               "ONDK_MAX_OUTBOUND_READS here, or --ird or ONDK_MAX_INBOUND_READS at the peer";
    if (peer && !limits.inbound)
        return "the peer may have 0 reads in progress (read-limits inbound=0): raise --ird or "
               "ONDK_MAX_INBOUND_READS here, or --ord or ONDK_MAX_OUTBOUND_READS at the peer";
    return NULL;
}
