/* SPDX-License-Identifier: MIT */
/* The read limits of a connection: whether RDMA reads are possible on it. */
#ifndef TOOLS_READ_LIMITS_H
#define TOOLS_READ_LIMITS_H

#include <stdbool.h>

#include "ndk/ndkpi.h"

/*
 * Returns NULL, or why reads are not possible and which settings to raise. If `own` is true, this side must be able to
 * read; if `peer` is true, the peer must be able to read. On the accepting side the limits are valid only after the
 * accept.
 */
const char *read_limits_check(NDK_CONNECTOR *connector, bool own, bool peer);

#endif
