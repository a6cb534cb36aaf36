/* SPDX-License-Identifier: MIT */
/*
 * The host is the program that the consumer runs in. The verify layer calls the host's functions for IRQL, callbacks,
 * stacks, addresses and memory through ondk_verify_host_t of openndk/verify.h. The kernel surface (src/wdk), which
 * gives drivers Windows' routines, sets its own table (src/wdk/ndk/verify_host.c). The default is the table of a plain
 * program, which has no IRQL.
 *
 * Only plain C types are used here, and a sockaddr is opaque, because the kernel surface (src/wdk) has other base types
 * and another AF_INET6.
 */
#ifndef VERIFY_HOST_H
#define VERIFY_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/private_export.h"
#include "openndk/verify.h"

enum { VERIFY_PASSIVE_LEVEL = 0, VERIFY_DISPATCH_LEVEL = 2 };
enum { VERIFY_MAX_SOCKADDR = 28 }; /* the longest sockaddr that is mapped: an IPv6 one */

/* Returns the table in force, in which no entry is NULL. */
const ondk_verify_host_t *verify_host(void);

/* Reports the call of an NDK routine if the calling thread's IRQL is above max. */
void verify_check_irql(const char *routine, int max);
/* Reports that a routine was called at an IRQL above max. */
void verify_report_irql(const char *routine, int now, int max) PRIVATE_EXPORT(verify_report_irql);

#endif
