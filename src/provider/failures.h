/* SPDX-License-Identifier: MIT */
/*
 * Declares the process's list of the latest connections that failed or were refused. openndk/netstat.h describes the
 * list. The list is in static memory. Any thread may call these functions, up to DISPATCH_LEVEL.
 */
#ifndef PROVIDER_FAILURES_H
#define PROVIDER_FAILURES_H

#include <stdint.h>

#include "fabric/fabric.h"
#include "ndk/nt.h"
#include "openndk/netstat.h"

enum { FAILURES_PER_ROLE = 32, MAX_FAILURES = 2 * FAILURES_PER_ROLE };

struct adapter;

/*
 * Installs a fork handler, so that a child process begins with an empty list. Must be called before the first
 * failures_add. Idempotent.
 */
void failures_watch_forks(void);
/* Adds the failure that *report describes. Requires the outcome FAILED or REFUSED. */
void failures_add(const struct adapter *a, const struct fabric_report *report, NTSTATUS status, uint32_t reason);

#endif
