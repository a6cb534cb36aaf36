/* SPDX-License-Identifier: MIT */
/* The read limits of a connection: whether RDMA reads are possible on it. */
#ifndef TOOLS_READ_LIMITS_H
#define TOOLS_READ_LIMITS_H

#include <stdbool.h>

#include "consumer/consumer.h"

/*
 * Returns NULL, or why reads are not possible and which settings to raise. If `own` is true, this side must be able to
 * read; if `peer` is true, the peer must be able to read. `limits` are the connection's effective limits.
 */
const char *read_limits_check(struct consumer_limits limits, bool own, bool peer);

#endif
