/* SPDX-License-Identifier: MIT */
/*
 * Socket addresses with Windows' families: AF_INET6 is 23 here.
 */
#ifndef ONDK_WDK_WS2DEF_H
#define ONDK_WDK_WS2DEF_H

#include "ntdef.h"

typedef USHORT ADDRESS_FAMILY;

#define AF_UNSPEC 0
#define AF_INET 2
#define AF_INET6 23

typedef struct sockaddr {
    ADDRESS_FAMILY sa_family;
    CHAR sa_data[14];
} SOCKADDR, *PSOCKADDR, *LPSOCKADDR;

typedef struct sockaddr_storage {
    ADDRESS_FAMILY ss_family;
    CHAR __ss_pad1[6];
    LONGLONG __ss_align;
    CHAR __ss_pad2[112];
} SOCKADDR_STORAGE_LH, *PSOCKADDR_STORAGE_LH, SOCKADDR_STORAGE, *PSOCKADDR_STORAGE, *LPSOCKADDR_STORAGE;

#endif
