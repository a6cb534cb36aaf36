/* SPDX-License-Identifier: MIT */
/*
 * WskGetAddressInfo, WskFreeAddressInfo and WskGetNameInfo. The host's resolver blocks. So each query has a thread of
 * its own, which calls the resolver and completes the IRP at PASSIVE_LEVEL. The query has a reference on the client
 * until the IRP is completed.
 */
#ifndef ONDK_WDK_WSK_NAMES_H
#define ONDK_WDK_WSK_NAMES_H

#include "wsk.h"

NTSTATUS WSKAPI wsk_names_get_address(PWSK_CLIENT Client, PUNICODE_STRING NodeName, PUNICODE_STRING ServiceName,
                                      ULONG NameSpace, GUID *Provider, struct addrinfoexW *Hints,
                                      struct addrinfoexW **Result, PEPROCESS OwningProcess, PETHREAD OwningThread,
                                      PIRP Irp);
VOID WSKAPI wsk_names_free(PWSK_CLIENT Client, struct addrinfoexW *AddrInfo);
NTSTATUS WSKAPI wsk_names_get_name(PWSK_CLIENT Client, PSOCKADDR SockAddr, ULONG SockAddrLength,
                                   PUNICODE_STRING NodeName, PUNICODE_STRING ServiceName, ULONG Flags,
                                   PEPROCESS OwningProcess, PETHREAD OwningThread, PIRP Irp);

#endif
