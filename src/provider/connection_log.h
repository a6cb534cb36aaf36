/* SPDX-License-Identifier: MIT */
/* Records what the fabric reports about connections. */
#ifndef PROVIDER_CONNECTION_LOG_H
#define PROVIDER_CONNECTION_LOG_H

#include "fabric/fabric.h"

struct adapter;

/* Makes the adapter the observer of its fabric. */
void connection_log_observe(struct adapter *a);

#endif
