/* SPDX-License-Identifier: MIT */
/*
 * The host's interfaces, addresses and routes for an IP helper client. The index of an interface is the one that the
 * host program has mapped (ndkrun --map), otherwise the host's own. An interface's LUID consists of its index on the
 * host and its type. CancelMibChangeNotify2 and the conversions of names and GUIDs require PASSIVE_LEVEL, all other
 * functions IRQL <= APC_LEVEL. Values that the host does not report (router discovery, lifetimes, forwarding on one
 * interface) are Windows' defaults.
 */
#ifndef ONDK_WDK_NETIOAPI_H
#define ONDK_WDK_NETIOAPI_H

#include "ifdef.h"
#include "nldef.h"
#include "ntddndis.h"
#include "wdm.h"
#include "ws2ipdef.h"

EXTERN_C_START

#define NETIO_STATUS NTSTATUS
#define NETIO_SUCCESS(x) NT_SUCCESS(x)
#define NETIOAPI_API_ NTAPI
#define NETIOAPI_API NTKERNELAPI NETIO_STATUS NETIOAPI_API_

#ifndef ANY_SIZE
#define ANY_SIZE 1
#endif

typedef enum _MIB_NOTIFICATION_TYPE {
    MibParameterNotification,
    MibAddInstance,
    MibDeleteInstance,
    MibInitialNotification
} MIB_NOTIFICATION_TYPE, *PMIB_NOTIFICATION_TYPE;

typedef enum _MIB_IF_TABLE_LEVEL {
    MibIfTableNormal,
    MibIfTableRaw,
    MibIfTableNormalWithoutStatistics
} MIB_IF_TABLE_LEVEL, *PMIB_IF_TABLE_LEVEL;

typedef struct _MIB_IF_ROW2 {
    NET_LUID InterfaceLuid;
    NET_IFINDEX InterfaceIndex;
    GUID InterfaceGuid;
    WCHAR Alias[IF_MAX_STRING_SIZE + 1];
    WCHAR Description[IF_MAX_STRING_SIZE + 1];
    ULONG PhysicalAddressLength;
    UCHAR PhysicalAddress[IF_MAX_PHYS_ADDRESS_LENGTH];
    UCHAR PermanentPhysicalAddress[IF_MAX_PHYS_ADDRESS_LENGTH];
    ULONG Mtu;
    IFTYPE Type;
    TUNNEL_TYPE TunnelType;
    NDIS_MEDIUM MediaType;
    NDIS_PHYSICAL_MEDIUM PhysicalMediumType;
    NET_IF_ACCESS_TYPE AccessType;
    NET_IF_DIRECTION_TYPE DirectionType;
    struct {
        BOOLEAN HardwareInterface : 1;
        BOOLEAN FilterInterface : 1;
        BOOLEAN ConnectorPresent : 1;
        BOOLEAN NotAuthenticated : 1;
        BOOLEAN NotMediaConnected : 1;
        BOOLEAN Paused : 1;
        BOOLEAN LowPower : 1;
        BOOLEAN EndPointInterface : 1;
    } InterfaceAndOperStatusFlags;
    IF_OPER_STATUS OperStatus;
    NET_IF_ADMIN_STATUS AdminStatus;
    NET_IF_MEDIA_CONNECT_STATE MediaConnectState;
    NET_IF_NETWORK_GUID NetworkGuid;
    NET_IF_CONNECTION_TYPE ConnectionType;
    ULONG64 TransmitLinkSpeed;
    ULONG64 ReceiveLinkSpeed;
    ULONG64 InOctets;
    ULONG64 InUcastPkts;
    ULONG64 InNUcastPkts;
    ULONG64 InDiscards;
    ULONG64 InErrors;
    ULONG64 InUnknownProtos;
    ULONG64 InUcastOctets;
    ULONG64 InMulticastOctets;
    ULONG64 InBroadcastOctets;
    ULONG64 OutOctets;
    ULONG64 OutUcastPkts;
    ULONG64 OutNUcastPkts;
    ULONG64 OutDiscards;
    ULONG64 OutErrors;
    ULONG64 OutUcastOctets;
    ULONG64 OutMulticastOctets;
    ULONG64 OutBroadcastOctets;
    ULONG64 OutQLen;
} MIB_IF_ROW2, *PMIB_IF_ROW2;

typedef struct _MIB_IF_TABLE2 {
    ULONG NumEntries;
    MIB_IF_ROW2 Table[ANY_SIZE];
} MIB_IF_TABLE2, *PMIB_IF_TABLE2;

typedef struct _MIB_IPINTERFACE_ROW {
    ADDRESS_FAMILY Family;
    NET_LUID InterfaceLuid;
    NET_IFINDEX InterfaceIndex;
    ULONG MaxReassemblySize;
    ULONG64 InterfaceIdentifier;
    ULONG MinRouterAdvertisementInterval;
    ULONG MaxRouterAdvertisementInterval;
    BOOLEAN AdvertisingEnabled;
    BOOLEAN ForwardingEnabled;
    BOOLEAN WeakHostSend;
    BOOLEAN WeakHostReceive;
    BOOLEAN UseAutomaticMetric;
    BOOLEAN UseNeighborUnreachabilityDetection;
    BOOLEAN ManagedAddressConfigurationSupported;
    BOOLEAN OtherStatefulConfigurationSupported;
    BOOLEAN AdvertiseDefaultRoute;
    NL_ROUTER_DISCOVERY_BEHAVIOR RouterDiscoveryBehavior;
    ULONG DadTransmits;
    ULONG BaseReachableTime;
    ULONG RetransmitTime;
    ULONG PathMtuDiscoveryTimeout;
    NL_LINK_LOCAL_ADDRESS_BEHAVIOR LinkLocalAddressBehavior;
    ULONG LinkLocalAddressTimeout;
    ULONG ZoneIndices[ScopeLevelCount];
    ULONG SitePrefixLength;
    ULONG Metric;
    ULONG NlMtu;
    BOOLEAN Connected;
    BOOLEAN SupportsWakeUpPatterns;
    BOOLEAN SupportsNeighborDiscovery;
    BOOLEAN SupportsRouterDiscovery;
    ULONG ReachableTime;
    NL_INTERFACE_OFFLOAD_ROD TransmitOffload;
    NL_INTERFACE_OFFLOAD_ROD ReceiveOffload;
    BOOLEAN DisableDefaultRoutes;
} MIB_IPINTERFACE_ROW, *PMIB_IPINTERFACE_ROW;

typedef struct _MIB_IPINTERFACE_TABLE {
    ULONG NumEntries;
    MIB_IPINTERFACE_ROW Table[ANY_SIZE];
} MIB_IPINTERFACE_TABLE, *PMIB_IPINTERFACE_TABLE;

typedef struct _MIB_UNICASTIPADDRESS_ROW {
    SOCKADDR_INET Address;
    NET_LUID InterfaceLuid;
    NET_IFINDEX InterfaceIndex;
    NL_PREFIX_ORIGIN PrefixOrigin;
    NL_SUFFIX_ORIGIN SuffixOrigin;
    ULONG ValidLifetime;
    ULONG PreferredLifetime;
    UINT8 OnLinkPrefixLength;
    BOOLEAN SkipAsSource;
    NL_DAD_STATE DadState;
    SCOPE_ID ScopeId;
    LARGE_INTEGER CreationTimeStamp;
} MIB_UNICASTIPADDRESS_ROW, *PMIB_UNICASTIPADDRESS_ROW;

typedef struct _MIB_UNICASTIPADDRESS_TABLE {
    ULONG NumEntries;
    MIB_UNICASTIPADDRESS_ROW Table[ANY_SIZE];
} MIB_UNICASTIPADDRESS_TABLE, *PMIB_UNICASTIPADDRESS_TABLE;

typedef struct _MIB_IPPATH_ROW {
    SOCKADDR_INET Source;
    SOCKADDR_INET Destination;
    NET_LUID InterfaceLuid;
    NET_IFINDEX InterfaceIndex;
    SOCKADDR_INET CurrentNextHop;
    ULONG PathMtu;
    ULONG RttMean;
    ULONG RttDeviation;
    union {
        ULONG LastReachable;
        ULONG LastUnreachable;
    };
    BOOLEAN IsReachable;
    ULONG64 LinkTransmitSpeed;
    ULONG64 LinkReceiveSpeed;
} MIB_IPPATH_ROW, *PMIB_IPPATH_ROW;

typedef struct _MIB_IPPATH_TABLE {
    ULONG NumEntries;
    MIB_IPPATH_ROW Table[ANY_SIZE];
} MIB_IPPATH_TABLE, *PMIB_IPPATH_TABLE;

typedef struct _IP_ADDRESS_PREFIX {
    SOCKADDR_INET Prefix;
    UINT8 PrefixLength;
} IP_ADDRESS_PREFIX, *PIP_ADDRESS_PREFIX;

typedef struct _MIB_IPFORWARD_ROW2 {
    NET_LUID InterfaceLuid;
    NET_IFINDEX InterfaceIndex;
    IP_ADDRESS_PREFIX DestinationPrefix;
    SOCKADDR_INET NextHop;
    UCHAR SitePrefixLength;
    ULONG ValidLifetime;
    ULONG PreferredLifetime;
    ULONG Metric;
    NL_ROUTE_PROTOCOL Protocol;
    BOOLEAN Loopback;
    BOOLEAN AutoconfigureAddress;
    BOOLEAN Publish;
    BOOLEAN Immortal;
    ULONG Age;
    NL_ROUTE_ORIGIN Origin;
} MIB_IPFORWARD_ROW2, *PMIB_IPFORWARD_ROW2;

typedef VOID NETIOAPI_API_ IPINTERFACE_CHANGE_CALLBACK(_In_ PVOID CallerContext, _In_opt_ PMIB_IPINTERFACE_ROW Row,
                                                       _In_ MIB_NOTIFICATION_TYPE NotificationType);
typedef IPINTERFACE_CHANGE_CALLBACK *PIPINTERFACE_CHANGE_CALLBACK;
typedef VOID NETIOAPI_API_ UNICAST_IPADDRESS_CHANGE_CALLBACK(_In_ PVOID CallerContext,
                                                             _In_opt_ PMIB_UNICASTIPADDRESS_ROW Row,
                                                             _In_ MIB_NOTIFICATION_TYPE NotificationType);
typedef UNICAST_IPADDRESS_CHANGE_CALLBACK *PUNICAST_IPADDRESS_CHANGE_CALLBACK;

/* ---- Names of an interface: STATUS_INVALID_PARAMETER if there is no such interface ------------------------------- */

NETIOAPI_API ConvertInterfaceIndexToLuid(_In_ NET_IFINDEX InterfaceIndex, _Out_ PNET_LUID InterfaceLuid);
NETIOAPI_API ConvertInterfaceLuidToIndex(_In_ const NET_LUID *InterfaceLuid, _Out_ PNET_IFINDEX InterfaceIndex);
/*
 * The alias and the name of an interface equal the host's name ("eth0"). Returns STATUS_NO_MEMORY if Length is too
 * small.
 */
NETIOAPI_API ConvertInterfaceLuidToAlias(_In_ const NET_LUID *InterfaceLuid, _Out_writes_(Length) PWSTR InterfaceAlias,
                                         _In_ SIZE_T Length);
NETIOAPI_API ConvertInterfaceAliasToLuid(_In_ const WCHAR *InterfaceAlias, _Out_ PNET_LUID InterfaceLuid);
NETIOAPI_API ConvertInterfaceLuidToNameA(_In_ const NET_LUID *InterfaceLuid, _Out_writes_(Length) PSTR InterfaceName,
                                         _In_ SIZE_T Length);
NETIOAPI_API ConvertInterfaceLuidToNameW(_In_ const NET_LUID *InterfaceLuid, _Out_writes_(Length) PWSTR InterfaceName,
                                         _In_ SIZE_T Length);
NETIOAPI_API ConvertInterfaceNameToLuidA(_In_z_ const CHAR *InterfaceName, _Out_ NET_LUID *InterfaceLuid);
NETIOAPI_API ConvertInterfaceNameToLuidW(_In_z_ const WCHAR *InterfaceName, _Out_ NET_LUID *InterfaceLuid);
NETIOAPI_API ConvertInterfaceLuidToGuid(_In_ const NET_LUID *InterfaceLuid, _Out_ GUID *InterfaceGuid);
NETIOAPI_API ConvertInterfaceGuidToLuid(_In_ const GUID *InterfaceGuid, _Out_ PNET_LUID InterfaceLuid);
/* Masks are in network byte order. Returns STATUS_INVALID_PARAMETER if the mask has a 0 bit before a 1 bit. */
NETIOAPI_API ConvertLengthToIpv4Mask(_In_ ULONG MaskLength, _Out_ PULONG Mask);
NETIOAPI_API ConvertIpv4MaskToLength(_In_ ULONG Mask, _Out_ PUINT8 MaskLength);

/* ---- Tables: FreeMibTable frees what Get...Table returns --------------------------------------------------------- */

NETIOAPI_API GetIfEntry2(_Inout_ PMIB_IF_ROW2 Row);
NETIOAPI_API GetIfTable2(_Outptr_ PMIB_IF_TABLE2 *Table);
NETIOAPI_API GetIfTable2Ex(_In_ MIB_IF_TABLE_LEVEL Level, _Outptr_ PMIB_IF_TABLE2 *Table);
NTKERNELAPI VOID NETIOAPI_API_ InitializeIpInterfaceEntry(_Out_ PMIB_IPINTERFACE_ROW Row);
NETIOAPI_API GetIpInterfaceEntry(_Inout_ PMIB_IPINTERFACE_ROW Row);
NETIOAPI_API GetIpInterfaceTable(_In_ ADDRESS_FAMILY Family, _Outptr_ PMIB_IPINTERFACE_TABLE *Table);
NTKERNELAPI VOID NETIOAPI_API_ InitializeUnicastIpAddressEntry(_Out_ PMIB_UNICASTIPADDRESS_ROW Row);
NETIOAPI_API GetUnicastIpAddressEntry(_Inout_ PMIB_UNICASTIPADDRESS_ROW Row);
NETIOAPI_API GetUnicastIpAddressTable(_In_ ADDRESS_FAMILY Family, _Outptr_ PMIB_UNICASTIPADDRESS_TABLE *Table);
/* Returns the route and the source address that the host would use. AddressSortOptions is ignored. */
NETIOAPI_API GetBestRoute2(_In_opt_ NET_LUID *InterfaceLuid, _In_ NET_IFINDEX InterfaceIndex,
                           _In_opt_ const SOCKADDR_INET *SourceAddress, _In_ const SOCKADDR_INET *DestinationAddress,
                           _In_ ULONG AddressSortOptions, _Out_ PMIB_IPFORWARD_ROW2 BestRoute,
                           _Out_ SOCKADDR_INET *BestSourceAddress);
/*
 * Returns a table with one path from each of the host's addresses to that same address, because the host has no path
 * table.
 */
NETIOAPI_API GetIpPathTable(_In_ ADDRESS_FAMILY Family, _Outptr_ PMIB_IPPATH_TABLE *Table);
NTKERNELAPI VOID NETIOAPI_API_ FreeMibTable(_In_ PVOID Memory);

/* ---- Notifications of changes ------------------------------------------------------------------------------------ */

/*
 * Callback runs at PASSIVE_LEVEL on a thread of the kernel. In the row that it receives, only family, LUID, index and
 * address are set. For MibInitialNotification the row is NULL. CancelMibChangeNotify2 waits for a running callback, so
 * a callback must not call it.
 */
NETIOAPI_API NotifyIpInterfaceChange(_In_ ADDRESS_FAMILY Family, _In_ PIPINTERFACE_CHANGE_CALLBACK Callback,
                                     _In_opt_ PVOID CallerContext, _In_ BOOLEAN InitialNotification,
                                     _Inout_ HANDLE *NotificationHandle);
NETIOAPI_API NotifyUnicastIpAddressChange(_In_ ADDRESS_FAMILY Family, _In_ PUNICAST_IPADDRESS_CHANGE_CALLBACK Callback,
                                          _In_opt_ PVOID CallerContext, _In_ BOOLEAN InitialNotification,
                                          _Inout_ HANDLE *NotificationHandle);
NETIOAPI_API CancelMibChangeNotify2(_In_ HANDLE NotificationHandle);

EXTERN_C_END

#endif
