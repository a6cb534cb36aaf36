/* SPDX-License-Identifier: MIT */
/*
 * The types of network interfaces, with IANA's numbers.
 */
#ifndef ONDK_WDK_IPIFCONS_H
#define ONDK_WDK_IPIFCONS_H

#include "ntdef.h"

typedef ULONG IFTYPE;

#define IF_TYPE_OTHER 1
#define IF_TYPE_ETHERNET_CSMACD 6
#define IF_TYPE_ISO88025_TOKENRING 9
#define IF_TYPE_FDDI 15
#define IF_TYPE_PPP 23
#define IF_TYPE_SOFTWARE_LOOPBACK 24
#define IF_TYPE_ATM 37
#define IF_TYPE_PROP_VIRTUAL 53
#define IF_TYPE_IEEE80211 71
#define IF_TYPE_TUNNEL 131
#define IF_TYPE_L2_VLAN 135
#define IF_TYPE_IEEE8023AD_LAG 161
#define IF_TYPE_INFINIBAND 199

#endif
