/* SPDX-License-Identifier: MIT */
/*
 * Names interfaces and addresses that a driver asks for and the host does not have, and the options of ndkrun that
 * supply them. Each is named once, and at most 16 interfaces and 16 addresses are named, because a driver may try for
 * ever. While checks are off, nothing is named. The types are plain C, because net/if.h and netioapi.h share names.
 */
#ifndef WDK_MISSING_H
#define WDK_MISSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/private_export.h"

/* Declares that all peers are in the host's network, so that a missing destination is reported, too. */
void missing_set_isolated(void) PRIVATE_EXPORT(missing_set_isolated);

/*
 * Reports that `routine` has refused the driver's interface index, which is mapped to host_index. Either the interface
 * has no address, or it does not exist. If it does not exist, also lists the interfaces that exist.
 */
void missing_report_interface(const char *routine, uint32_t driver_index, uint32_t host_index);

/*
 * Reports the address in a sockaddr if no interface has it. `is_local` is true if the driver uses the address as its
 * own. Otherwise the address is a destination, which is checked only after missing_set_isolated. Lists the host's
 * interfaces only for an address that it has not found before.
 */
void missing_check_address(const char *routine, const void *sockaddr, size_t length, bool is_local);

#endif
