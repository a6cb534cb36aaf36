/* SPDX-License-Identifier: MIT */
/*
 * Functions shared by the files that implement netioapi.h. Rows and callbacks of the driver contain mapped indexes
 * (interface_map.h); struct netio_interface and struct netio_address contain the host's indexes.
 */
#ifndef ONDK_WDK_NETIO_H
#define ONDK_WDK_NETIO_H

#include <stdbool.h>

#include "netioapi.h"

#include "wdk/netio/host.h"

/*
 * Finds an interface by `name`. If `name` is NULL, uses `luid`. If `luid` is also 0, uses the host's index. Returns
 * false if there is no such interface.
 */
bool netio_find(const char *name, NET_LUID luid, NET_IFINDEX index, struct netio_interface *found);
/*
 * Finds an interface by `luid`, or by the driver's index if `luid` is 0. Returns false if there is no such interface.
 * If `luid` is 0 and no interface has the driver's index, also prints a message. `routine` is the name of the function
 * that the driver has called.
 */
bool netio_find_for_driver(const char *routine, NET_LUID luid, NET_IFINDEX driver_index, struct netio_interface *found);
NET_LUID netio_luid(const struct netio_interface *i);
GUID netio_guid(NET_LUID luid);
void netio_widen(WCHAR *to, const char *from);
bool netio_is_family_known(ADDRESS_FAMILY family);
void netio_fill_ip_row(PMIB_IPINTERFACE_ROW row, ADDRESS_FAMILY family, const struct netio_interface *i);
void netio_fill_unicast_row(PMIB_UNICASTIPADDRESS_ROW row, const struct netio_address *address);

#endif
