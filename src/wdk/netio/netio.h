/* SPDX-License-Identifier: MIT */
/* What the files of netioapi.h share. */
#ifndef ONDK_WDK_NETIO_H
#define ONDK_WDK_NETIO_H

#include <stdbool.h>

#include "netioapi.h"

#include "wdk/netio/host.h"

/* By name if there is one, else by LUID if it is not zero, else by the host's index. */
bool netio_find(const char *name, NET_LUID luid, NET_IFINDEX index, struct netio_interface *found);
NET_LUID netio_luid(const struct netio_interface *i);
GUID netio_guid(NET_LUID luid);
void netio_widen(WCHAR *to, const char *from);
bool netio_family_known(ADDRESS_FAMILY family);
void netio_fill_ip(PMIB_IPINTERFACE_ROW row, ADDRESS_FAMILY family, const struct netio_interface *i);
void netio_fill_unicast(PMIB_UNICASTIPADDRESS_ROW row, const struct netio_address *address);

#endif
