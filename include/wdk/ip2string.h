/* SPDX-License-Identifier: MIT */
/*
 * Conversion between addresses and text, which wdm/rtl.h declares. mingw-w64's import library has these functions, but
 * its headers do not declare them.
 */
#ifndef ONDK_WDK_IP2STRING_H
#define ONDK_WDK_IP2STRING_H

#include "wdm.h"

#ifdef __MINGW32__
#include "ws2ipdef.h"

EXTERN_C_START

NTSYSAPI NTSTATUS NTAPI RtlIpv4StringToAddressExA(PCSTR AddressString, BOOLEAN Strict, struct in_addr *Address,
                                                  PUSHORT Port);
NTSYSAPI NTSTATUS NTAPI RtlIpv4StringToAddressExW(PCWSTR AddressString, BOOLEAN Strict, struct in_addr *Address,
                                                  PUSHORT Port);
NTSYSAPI NTSTATUS NTAPI RtlIpv6StringToAddressExA(PCSTR AddressString, struct in6_addr *Address, PULONG ScopeId,
                                                  PUSHORT Port);
NTSYSAPI NTSTATUS NTAPI RtlIpv6StringToAddressExW(PCWSTR AddressString, struct in6_addr *Address, PULONG ScopeId,
                                                  PUSHORT Port);
NTSYSAPI NTSTATUS NTAPI RtlIpv4AddressToStringExA(const struct in_addr *Address, USHORT Port, PSTR AddressString,
                                                  PULONG AddressStringLength);
NTSYSAPI NTSTATUS NTAPI RtlIpv4AddressToStringExW(const struct in_addr *Address, USHORT Port, PWSTR AddressString,
                                                  PULONG AddressStringLength);
NTSYSAPI NTSTATUS NTAPI RtlIpv6AddressToStringExA(const struct in6_addr *Address, ULONG ScopeId, USHORT Port,
                                                  PSTR AddressString, PULONG AddressStringLength);
NTSYSAPI NTSTATUS NTAPI RtlIpv6AddressToStringExW(const struct in6_addr *Address, ULONG ScopeId, USHORT Port,
                                                  PWSTR AddressString, PULONG AddressStringLength);

EXTERN_C_END

#else
#include "mstcpip.h"
#endif

#endif
