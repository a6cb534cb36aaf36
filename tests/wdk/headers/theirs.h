/* SPDX-License-Identifier: MIT */
/* mingw-w64's headers, in the order in which they can be included. */
#include <winsock2.h>
#include <ws2tcpip.h>
#include <mstcpip.h>
#include <winternl.h>
#include <iphlpapi.h>
#include <netioapi.h>
#include <ntddndis.h>
