/* SPDX-License-Identifier: MIT */
/*
 * Predicates on addresses, and the control codes of TCP sockets.
 */
#ifndef ONDK_WDK_MSTCPIP_H
#define ONDK_WDK_MSTCPIP_H

#include "ws2ipdef.h"

#define SIO_RCVALL _WSAIOW(IOC_VENDOR, 1)
#define SIO_KEEPALIVE_VALS _WSAIOW(IOC_VENDOR, 4)
#define SIO_SET_PRIORITY_HINT _WSAIOW(IOC_VENDOR, 24)
#define SIO_LOOPBACK_FAST_PATH _WSAIOW(IOC_VENDOR, 16)

struct tcp_keepalive {
    ULONG onoff;
    ULONG keepalivetime;
    ULONG keepaliveinterval;
};

FORCEINLINE BOOLEAN IN4_ADDR_EQUAL(_In_ const IN_ADDR *a, _In_ const IN_ADDR *b)
{
    return a->s_addr == b->s_addr;
}

FORCEINLINE BOOLEAN IN4_IS_ADDR_UNSPECIFIED(_In_ const IN_ADDR *a)
{
    return a->s_addr == 0;
}

FORCEINLINE BOOLEAN IN4_IS_ADDR_LOOPBACK(_In_ const IN_ADDR *a)
{
    return a->S_un.S_un_b.s_b1 == 127;
}

FORCEINLINE BOOLEAN IN4_IS_ADDR_BROADCAST(_In_ const IN_ADDR *a)
{
    return a->s_addr == INADDR_BROADCAST;
}

FORCEINLINE BOOLEAN IN4_IS_ADDR_MULTICAST(_In_ const IN_ADDR *a)
{
    return (a->S_un.S_un_b.s_b1 & 0xf0) == 0xe0;
}

FORCEINLINE BOOLEAN IN4_IS_ADDR_LINKLOCAL(_In_ const IN_ADDR *a)
{
    return a->S_un.S_un_b.s_b1 == 169 && a->S_un.S_un_b.s_b2 == 254;
}

FORCEINLINE BOOLEAN INET_IS_ADDR_LOOPBACK(ADDRESS_FAMILY family, _In_ const VOID *address)
{
    return family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK((const IN6_ADDR *)address)
                              : IN4_IS_ADDR_LOOPBACK((const IN_ADDR *)address);
}

FORCEINLINE BOOLEAN INET_IS_ADDR_UNSPECIFIED(ADDRESS_FAMILY family, _In_ const VOID *address)
{
    return family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED((const IN6_ADDR *)address)
                              : IN4_IS_ADDR_UNSPECIFIED((const IN_ADDR *)address);
}

FORCEINLINE BOOLEAN INET_ADDR_EQUAL(ADDRESS_FAMILY family, _In_ const VOID *a, _In_ const VOID *b)
{
    return family == AF_INET6 ? IN6_ADDR_EQUAL((const IN6_ADDR *)a, (const IN6_ADDR *)b)
                              : IN4_ADDR_EQUAL((const IN_ADDR *)a, (const IN_ADDR *)b);
}

/*
 * These macros and functions access the port and the address of an IPv4 or IPv6 socket address. The port has the same
 * offset in both structures. They must not be used for other address families.
 */
#define SS_PORT(address) (((PSOCKADDR_IN)(address))->sin_port)
#define INETADDR_PORT(address) SS_PORT(address)

FORCEINLINE PUCHAR INETADDR_ADDRESS(_In_ const SOCKADDR *a)
{
    return a->sa_family == AF_INET6 ? (PUCHAR)&((PSOCKADDR_IN6)a)->sin6_addr : (PUCHAR)&((PSOCKADDR_IN)a)->sin_addr;
}

FORCEINLINE BOOLEAN INETADDR_ISANY(_In_ const SOCKADDR *a)
{
    return INET_IS_ADDR_UNSPECIFIED(a->sa_family, INETADDR_ADDRESS(a));
}

FORCEINLINE BOOLEAN INETADDR_ISLOOPBACK(_In_ const SOCKADDR *a)
{
    return INET_IS_ADDR_LOOPBACK(a->sa_family, INETADDR_ADDRESS(a));
}

FORCEINLINE VOID INETADDR_SETANY(_Inout_ PSOCKADDR a)
{
    ADDRESS_FAMILY family = a->sa_family;

    __builtin_memset(a, 0, family == AF_INET6 ? sizeof(SOCKADDR_IN6) : sizeof(SOCKADDR_IN));
    a->sa_family = family;
}

#endif
