/* SPDX-License-Identifier: MIT */
/* Checks if the read limits of a connection permit RDMA reads. */
#ifndef TOOLS_READ_LIMITS_H
#define TOOLS_READ_LIMITS_H

#include <stdbool.h>

#include "consumer/consumer.h"

/*
 * Checks whether the limits permit reads by this side (`own`) and by the peer (`peer`). Returns NULL, or a text that
 * explains why reads are not possible and which settings must be raised. `limits` are the connection's effective
 * limits.
 */
const char *read_limits_check(struct consumer_limits limits, bool own, bool peer);

#endif
