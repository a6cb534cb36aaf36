/* SPDX-License-Identifier: MIT */
#ifndef VERIFY_CONNECTOR_H
#define VERIFY_CONNECTOR_H

#include "verify/proxy.h"

/* Returns a proxy for a connector of `parent`, which is an adapter or a listener. Returns NULL if out of memory. */
struct proxy *connector_proxy_create(struct proxy *parent);

#endif
