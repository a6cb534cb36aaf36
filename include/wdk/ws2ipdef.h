/* SPDX-License-Identifier: MIT */
/*
 * IPv6 socket addresses, and addresses of either family.
 */
#ifndef ONDK_WDK_WS2IPDEF_H
#define ONDK_WDK_WS2IPDEF_H

#include "in6addr.h"
#include "ws2def.h"

typedef struct sockaddr_in6 {
    ADDRESS_FAMILY sin6_family;
    USHORT sin6_port;
    ULONG sin6_flowinfo;
    IN6_ADDR sin6_addr;
    __extension__ union {
        ULONG sin6_scope_id;
        SCOPE_ID sin6_scope_struct;
    };
} SOCKADDR_IN6_LH, *PSOCKADDR_IN6_LH, SOCKADDR_IN6, *PSOCKADDR_IN6, *LPSOCKADDR_IN6;

typedef union _SOCKADDR_INET {
    SOCKADDR_IN Ipv4;
    SOCKADDR_IN6 Ipv6;
    ADDRESS_FAMILY si_family;
} SOCKADDR_INET, *PSOCKADDR_INET;

typedef struct _sockaddr_in6_pair {
    PSOCKADDR_IN6 SourceAddress;
    PSOCKADDR_IN6 DestinationAddress;
} SOCKADDR_IN6_PAIR, *PSOCKADDR_IN6_PAIR;

#define IN6ADDR_ANY_INIT { { { 0 } } }
#define IN6ADDR_LOOPBACK_INIT { { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 } } }
#define INET_ADDRSTRLEN 22
#define INET6_ADDRSTRLEN 65

#define IP_OPTIONS 1
#define IP_HDRINCL 2
#define IP_TOS 3
#define IP_TTL 4
#define IP_MULTICAST_IF 9
#define IP_MULTICAST_TTL 10
#define IP_MULTICAST_LOOP 11
#define IP_ADD_MEMBERSHIP 12
#define IP_DROP_MEMBERSHIP 13
#define IP_DONTFRAGMENT 14
#define IP_PKTINFO 19
#define IP_UNICAST_IF 31
#define IPV6_HOPOPTS 1
#define IPV6_UNICAST_HOPS 4
#define IPV6_MULTICAST_IF 9
#define IPV6_MULTICAST_HOPS 10
#define IPV6_MULTICAST_LOOP 11
#define IPV6_ADD_MEMBERSHIP 12
#define IPV6_DROP_MEMBERSHIP 13
#define IPV6_DONTFRAG 14
#define IPV6_PKTINFO 19
#define IPV6_V6ONLY 27
#define IPV6_UNICAST_IF 31

typedef struct in_pktinfo {
    IN_ADDR ipi_addr; /* the destination of a received packet, or the source of a packet to send */
    ULONG ipi_ifindex;
} IN_PKTINFO, *PIN_PKTINFO;

typedef struct in6_pktinfo {
    IN6_ADDR ipi6_addr;
    ULONG ipi6_ifindex;
} IN6_PKTINFO, *PIN6_PKTINFO;

typedef struct ip_mreq {
    IN_ADDR imr_multiaddr;
    IN_ADDR imr_interface;
} IP_MREQ, *PIP_MREQ;

typedef struct ipv6_mreq {
    IN6_ADDR ipv6mr_multiaddr;
    ULONG ipv6mr_interface;
} IPV6_MREQ, *PIPV6_MREQ;

FORCEINLINE BOOLEAN IN6_ADDR_EQUAL(_In_ const IN6_ADDR *a, _In_ const IN6_ADDR *b)
{
    return __builtin_memcmp(a, b, sizeof(IN6_ADDR)) == 0;
}

FORCEINLINE BOOLEAN IN6_IS_ADDR_UNSPECIFIED(_In_ const IN6_ADDR *a)
{
    const IN6_ADDR any = IN6ADDR_ANY_INIT;

    return IN6_ADDR_EQUAL(a, &any);
}

FORCEINLINE BOOLEAN IN6_IS_ADDR_LOOPBACK(_In_ const IN6_ADDR *a)
{
    const IN6_ADDR loopback = IN6ADDR_LOOPBACK_INIT;

    return IN6_ADDR_EQUAL(a, &loopback);
}

FORCEINLINE BOOLEAN IN6_IS_ADDR_MULTICAST(_In_ const IN6_ADDR *a)
{
    return a->s6_bytes[0] == 0xff;
}

FORCEINLINE BOOLEAN IN6_IS_ADDR_LINKLOCAL(_In_ const IN6_ADDR *a)
{
    return a->s6_bytes[0] == 0xfe && (a->s6_bytes[1] & 0xc0) == 0x80;
}

FORCEINLINE BOOLEAN IN6_IS_ADDR_SITELOCAL(_In_ const IN6_ADDR *a)
{
    return a->s6_bytes[0] == 0xfe && (a->s6_bytes[1] & 0xc0) == 0xc0;
}

FORCEINLINE BOOLEAN IN6_IS_ADDR_GLOBAL(_In_ const IN6_ADDR *a)
{
    UCHAR high = a->s6_bytes[0] & 0xf0;

    return high != 0 && high != 0xf0;
}

FORCEINLINE BOOLEAN IN6_IS_ADDR_V4MAPPED(_In_ const IN6_ADDR *a)
{
    return a->s6_words[0] == 0 && a->s6_words[1] == 0 && a->s6_words[2] == 0 && a->s6_words[3] == 0 &&
           a->s6_words[4] == 0 && a->s6_words[5] == 0xffff;
}

#endif
