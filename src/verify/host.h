/* SPDX-License-Identifier: MIT */
/*
 * The host is the program in which the consumer runs. The verify layer calls the host's functions for IRQL, callbacks,
 * stacks, addresses and memory. These functions are in the table ondk_verify_host_t of openndk/verify.h. By default the
 * layer uses the table for a plain program, in which there is no IRQL. The kernel surface (src/wdk) provides Windows'
 * kernel routines to drivers. It sets its own table: see src/wdk/ndk/verify_host.c.
 *
 * This header uses only plain C types, and a sockaddr is opaque, because the kernel surface has other base types and
 * another value of AF_INET6.
 */
#ifndef VERIFY_HOST_H
#define VERIFY_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/private_export.h"
#include "openndk/verify.h"

enum { VERIFY_PASSIVE_LEVEL = 0, VERIFY_DISPATCH_LEVEL = 2 };
enum { VERIFY_MAX_SOCKADDR = 28 }; /* length in bytes of the longest sockaddr that is converted: an IPv6 address */

/* Returns the current table of the host's functions. No entry is NULL. */
const ondk_verify_host_t *verify_host(void);

/* Reports the call of the NDK routine `routine` if the IRQL of the calling thread is above max. */
void verify_check_irql(const char *routine, int max);
/* Reports a call of `routine` at the IRQL `now`, which is above the maximum `max`. */
void verify_report_irql(const char *routine, int now, int max) PRIVATE_EXPORT(verify_report_irql);

#endif
