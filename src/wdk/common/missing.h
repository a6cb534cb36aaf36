/* SPDX-License-Identifier: MIT */
/*
 * Reports interfaces and addresses that a driver uses and that the host does not have. A report also has the options of
 * ndkrun that supply the interface or the address. Each interface and each address is reported once, and at most 16
 * interfaces and 16 addresses are reported, because a driver may try for ever. While checks are off, nothing is
 * reported. The types are plain C, because net/if.h and netioapi.h share names.
 */
#ifndef WDK_MISSING_H
#define WDK_MISSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/private_export.h"

/*
 * Must be called if all peers are in the host's network namespace. From now on, missing_check_address also reports
 * destinations that no interface has.
 */
void missing_set_isolated(void) PRIVATE_EXPORT(missing_set_isolated);

/*
 * Reports that `routine` has refused the driver's interface index, which is mapped to host_index. Either the interface
 * has no address, or it does not exist. If it does not exist, also lists the interfaces that exist.
 */
void missing_report_interface(const char *routine, uint32_t driver_index, uint32_t host_index);

/*
 * Reports the address in a sockaddr if no interface has it. `is_local` is true if the driver uses the address as its
 * own. Otherwise the address is a destination, which is checked only after missing_set_isolated. Enumerates the host's
 * interfaces only if it has not found the address before.
 */
void missing_check_address(const char *routine, const void *sockaddr, size_t length, bool is_local);

#endif
