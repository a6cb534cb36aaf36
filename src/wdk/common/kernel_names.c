/* SPDX-License-Identifier: MIT */
/*
 * Registers the names of values in the events of the kernel (trace/wdk_events.h), and finds some of these names by
 * value.
 */
#include "wdk/common/kernel_names.h"

#include "wdm.h"
#include "ntddstor.h"
#include "ntdddisk.h"
#include "ntddscsi.h"
#include "srb.h"
#include "wsk.h"
#include "wskndk.h"
#include "ws2ipdef.h"
#include "mstcpip.h"

#include "trace/trace.h"

struct kernel_name {
    unsigned value;
    const char *name;
};

#define NAME(constant)                                                                                                 \
    {                                                                                                                  \
        (unsigned)(constant), #constant                                                                                \
    }

static const struct kernel_name status_names[] = {
#include "status_names.inc" /* all of ntstatus.h */
};

#define ROUTINE_NAME(number, name) { (number), #name },
/* clang-format off */
static const struct kernel_name kernel_routine_names[] = { TRACE_WDK_EVENTS(ROUTINE_NAME) };
/* clang-format on */

static const struct kernel_name irp_major_names[] = {
    NAME(IRP_MJ_CREATE),
    NAME(IRP_MJ_CREATE_NAMED_PIPE),
    NAME(IRP_MJ_CLOSE),
    NAME(IRP_MJ_READ),
    NAME(IRP_MJ_WRITE),
    NAME(IRP_MJ_QUERY_INFORMATION),
    NAME(IRP_MJ_SET_INFORMATION),
    NAME(IRP_MJ_QUERY_EA),
    NAME(IRP_MJ_SET_EA),
    NAME(IRP_MJ_FLUSH_BUFFERS),
    NAME(IRP_MJ_QUERY_VOLUME_INFORMATION),
    NAME(IRP_MJ_SET_VOLUME_INFORMATION),
    NAME(IRP_MJ_DIRECTORY_CONTROL),
    NAME(IRP_MJ_FILE_SYSTEM_CONTROL),
    NAME(IRP_MJ_DEVICE_CONTROL),
    NAME(IRP_MJ_INTERNAL_DEVICE_CONTROL),
    NAME(IRP_MJ_SHUTDOWN),
    NAME(IRP_MJ_LOCK_CONTROL),
    NAME(IRP_MJ_CLEANUP),
    NAME(IRP_MJ_CREATE_MAILSLOT),
    NAME(IRP_MJ_QUERY_SECURITY),
    NAME(IRP_MJ_SET_SECURITY),
    NAME(IRP_MJ_POWER),
    NAME(IRP_MJ_SYSTEM_CONTROL),
    NAME(IRP_MJ_DEVICE_CHANGE),
    NAME(IRP_MJ_QUERY_QUOTA),
    NAME(IRP_MJ_SET_QUOTA),
    NAME(IRP_MJ_PNP),
};

static const struct kernel_name irp_mode_names[] = { { KernelMode, "kernel" }, { UserMode, "user" } };

static const struct kernel_name io_code_names[] = {
    { 0, "none" },
    NAME(IOCTL_DISK_GET_DRIVE_GEOMETRY),
    NAME(IOCTL_DISK_GET_PARTITION_INFO),
    NAME(IOCTL_DISK_SET_PARTITION_INFO),
    NAME(IOCTL_DISK_GET_DRIVE_LAYOUT),
    NAME(IOCTL_DISK_VERIFY),
    NAME(IOCTL_DISK_PERFORMANCE),
    NAME(IOCTL_DISK_IS_WRITABLE),
    NAME(IOCTL_DISK_GET_PARTITION_INFO_EX),
    NAME(IOCTL_DISK_GET_DRIVE_LAYOUT_EX),
    NAME(IOCTL_DISK_GET_LENGTH_INFO),
    NAME(IOCTL_DISK_GET_DRIVE_GEOMETRY_EX),
    NAME(IOCTL_DISK_UPDATE_DRIVE_SIZE),
    NAME(IOCTL_DISK_GROW_PARTITION),
    NAME(IOCTL_DISK_GET_CACHE_INFORMATION),
    NAME(IOCTL_DISK_SET_CACHE_INFORMATION),
    NAME(IOCTL_DISK_CHECK_VERIFY),
    NAME(IOCTL_DISK_GET_MEDIA_TYPES),
    NAME(IOCTL_SCSI_PASS_THROUGH),
    NAME(IOCTL_SCSI_MINIPORT),
    NAME(IOCTL_SCSI_GET_INQUIRY_DATA),
    NAME(IOCTL_SCSI_GET_CAPABILITIES),
    NAME(IOCTL_SCSI_PASS_THROUGH_DIRECT),
    NAME(IOCTL_SCSI_GET_ADDRESS),
    NAME(IOCTL_SCSI_RESCAN_BUS),
    NAME(IOCTL_SCSI_GET_DUMP_POINTERS),
    NAME(IOCTL_SCSI_FREE_DUMP_POINTERS),
    NAME(IOCTL_IDE_PASS_THROUGH),
    NAME(IOCTL_ATA_PASS_THROUGH),
    NAME(IOCTL_ATA_PASS_THROUGH_DIRECT),
    NAME(IOCTL_ATA_MINIPORT),
    NAME(IOCTL_MINIPORT_PROCESS_SERVICE_IRP),
    NAME(IOCTL_STORAGE_CHECK_VERIFY),
    NAME(IOCTL_STORAGE_CHECK_VERIFY2),
    NAME(IOCTL_STORAGE_MEDIA_REMOVAL),
    NAME(IOCTL_STORAGE_EJECT_MEDIA),
    NAME(IOCTL_STORAGE_LOAD_MEDIA),
    NAME(IOCTL_STORAGE_LOAD_MEDIA2),
    NAME(IOCTL_STORAGE_RESERVE),
    NAME(IOCTL_STORAGE_RELEASE),
    NAME(IOCTL_STORAGE_FIND_NEW_DEVICES),
    NAME(IOCTL_STORAGE_GET_MEDIA_TYPES),
    NAME(IOCTL_STORAGE_GET_MEDIA_TYPES_EX),
    NAME(IOCTL_STORAGE_GET_HOTPLUG_INFO),
    NAME(IOCTL_STORAGE_RESET_BUS),
    NAME(IOCTL_STORAGE_RESET_DEVICE),
    NAME(IOCTL_STORAGE_BREAK_RESERVATION),
    NAME(IOCTL_STORAGE_PERSISTENT_RESERVE_IN),
    NAME(IOCTL_STORAGE_PERSISTENT_RESERVE_OUT),
    NAME(IOCTL_STORAGE_GET_DEVICE_NUMBER),
    NAME(IOCTL_STORAGE_PREDICT_FAILURE),
    NAME(IOCTL_STORAGE_READ_CAPACITY),
    NAME(IOCTL_STORAGE_PROTOCOL_COMMAND),
    NAME(IOCTL_STORAGE_QUERY_PROPERTY),
    NAME(IOCTL_STORAGE_MANAGE_DATA_SET_ATTRIBUTES),
};

static const struct kernel_name family_names[] = { NAME(AF_UNSPEC), NAME(AF_INET), NAME(AF_INET6) };
static const struct kernel_name socket_type_names[] = { NAME(SOCK_STREAM), NAME(SOCK_DGRAM), NAME(SOCK_RAW) };
static const struct kernel_name protocol_names[] = { { 0, "none" },      NAME(IPPROTO_TCP),    NAME(IPPROTO_UDP),
                                                     NAME(IPPROTO_ICMP), NAME(IPPROTO_ICMPV6), NAME(IPPROTO_RAW) };
static const struct kernel_name socket_kind_names[] = {
    { WSK_FLAG_BASIC_SOCKET, "basic" },           { WSK_FLAG_LISTEN_SOCKET, "listen" },
    { WSK_FLAG_CONNECTION_SOCKET, "connection" }, { WSK_FLAG_DATAGRAM_SOCKET, "datagram" },
    { WSK_FLAG_STREAM_SOCKET, "stream" },
};

static const struct kernel_name wsk_client_code_names[] = {
    NAME(WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH),
    NAME(WSK_TRANSPORT_LIST_QUERY),
    NAME(WSK_TRANSPORT_LIST_CHANGE),
    NAME(WSK_CACHE_SD),
    NAME(WSK_RELEASE_SD),
    NAME(WSK_TDI_DEVICENAME_MAPPING),
    NAME(WSK_SET_STATIC_EVENT_CALLBACKS),
    NAME(WSK_TDI_BEHAVIOR),
};

static const struct kernel_name wsk_wait_names[] = { NAME(WSK_NO_WAIT), NAME(WSK_INFINITE_WAIT) };
static const struct kernel_name wsk_control_names[] = { NAME(WskSetOption), NAME(WskGetOption), NAME(WskIoctl) };

#define OPTION(level, option)                                                                                          \
    {                                                                                                                  \
        (unsigned)(level) << 16 | ((unsigned)(option)&0xffff), #option                                                 \
    }

static const struct kernel_name wsk_option_names[] = {
    OPTION(SOL_SOCKET, SO_REUSEADDR),
    OPTION(SOL_SOCKET, SO_KEEPALIVE),
    OPTION(SOL_SOCKET, SO_DONTROUTE),
    OPTION(SOL_SOCKET, SO_BROADCAST),
    OPTION(SOL_SOCKET, SO_LINGER),
    OPTION(SOL_SOCKET, SO_DONTLINGER),
    OPTION(SOL_SOCKET, SO_EXCLUSIVEADDRUSE),
    OPTION(SOL_SOCKET, SO_SNDBUF),
    OPTION(SOL_SOCKET, SO_RCVBUF),
    OPTION(SOL_SOCKET, SO_SNDTIMEO),
    OPTION(SOL_SOCKET, SO_RCVTIMEO),
    OPTION(SOL_SOCKET, SO_ERROR),
    OPTION(SOL_SOCKET, SO_TYPE),
    OPTION(SOL_SOCKET, SO_CONDITIONAL_ACCEPT),
    OPTION(SOL_SOCKET, SO_PAUSE_ACCEPT),
    OPTION(SOL_SOCKET, SO_COMPARTMENT_ID),
    OPTION(SOL_SOCKET, SO_RANDOMIZE_PORT),
    OPTION(SOL_SOCKET, SO_PORT_SCALABILITY),
    OPTION(SOL_SOCKET, SO_REUSE_UNICASTPORT),
    OPTION(SOL_SOCKET, SO_WSK_SECURITY),
    OPTION(SOL_SOCKET, SO_WSK_EVENT_CALLBACK),
    OPTION(IPPROTO_TCP, TCP_NODELAY),
    OPTION(IPPROTO_TCP, TCP_KEEPIDLE),
    OPTION(IPPROTO_TCP, TCP_KEEPCNT),
    OPTION(IPPROTO_TCP, TCP_KEEPINTVL),
    OPTION(IPPROTO_IP, IP_TOS),
    OPTION(IPPROTO_IP, IP_TTL),
    OPTION(IPPROTO_IP, IP_MULTICAST_IF),
    OPTION(IPPROTO_IP, IP_MULTICAST_TTL),
    OPTION(IPPROTO_IP, IP_MULTICAST_LOOP),
    OPTION(IPPROTO_IP, IP_ADD_MEMBERSHIP),
    OPTION(IPPROTO_IP, IP_DROP_MEMBERSHIP),
    OPTION(IPPROTO_IP, IP_DONTFRAGMENT),
    OPTION(IPPROTO_IP, IP_PKTINFO),
    OPTION(IPPROTO_IP, IP_UNICAST_IF),
    OPTION(IPPROTO_IPV6, IPV6_UNICAST_HOPS),
    OPTION(IPPROTO_IPV6, IPV6_MULTICAST_IF),
    OPTION(IPPROTO_IPV6, IPV6_MULTICAST_HOPS),
    OPTION(IPPROTO_IPV6, IPV6_MULTICAST_LOOP),
    OPTION(IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP),
    OPTION(IPPROTO_IPV6, IPV6_DROP_MEMBERSHIP),
    OPTION(IPPROTO_IPV6, IPV6_DONTFRAG),
    OPTION(IPPROTO_IPV6, IPV6_PKTINFO),
    OPTION(IPPROTO_IPV6, IPV6_V6ONLY),
    OPTION(IPPROTO_IPV6, IPV6_UNICAST_IF),
    NAME(SIO_WSK_SET_REMOTE_ADDRESS),
    NAME(SIO_WSK_REGISTER_EXTENSION),
    NAME(SIO_WSK_QUERY_IDEAL_SEND_BACKLOG),
    NAME(SIO_WSK_QUERY_RECEIVE_BACKLOG),
    NAME(SIO_WSK_QUERY_INSPECT_ID),
    NAME(SIO_WSK_SET_SENDTO_ADDRESS),
    NAME(SIO_WSK_SET_TCP_SILENT_MODE),
    NAME(SIO_ROUTING_INTERFACE_QUERY),
    NAME(SIO_ADDRESS_LIST_QUERY),
    NAME(SIO_KEEPALIVE_VALS),
    NAME(SIO_LOOPBACK_FAST_PATH),
};

static const struct kernel_name wsk_send_flag_names[] = { NAME(WSK_FLAG_NODELAY) };
static const struct kernel_name wsk_receive_flag_names[] = { NAME(WSK_FLAG_WAITALL), NAME(WSK_FLAG_DRAIN) };
static const struct kernel_name wsk_disconnect_flag_names[] = { NAME(WSK_FLAG_ABORTIVE),
                                                                NAME(WSK_FLAG_AT_DISPATCH_LEVEL) };
static const struct kernel_name wsk_event_flag_names[] = { NAME(WSK_FLAG_RELEASE_ASAP), NAME(WSK_FLAG_ENTIRE_MESSAGE),
                                                           NAME(WSK_FLAG_AT_DISPATCH_LEVEL) };

static const struct kernel_name srb_status_names[] = {
    NAME(SRB_STATUS_PENDING),
    NAME(SRB_STATUS_SUCCESS),
    NAME(SRB_STATUS_ABORTED),
    NAME(SRB_STATUS_ABORT_FAILED),
    NAME(SRB_STATUS_ERROR),
    NAME(SRB_STATUS_BUSY),
    NAME(SRB_STATUS_INVALID_REQUEST),
    NAME(SRB_STATUS_INVALID_PATH_ID),
    NAME(SRB_STATUS_NO_DEVICE),
    NAME(SRB_STATUS_TIMEOUT),
    NAME(SRB_STATUS_SELECTION_TIMEOUT),
    NAME(SRB_STATUS_COMMAND_TIMEOUT),
    NAME(SRB_STATUS_MESSAGE_REJECTED),
    NAME(SRB_STATUS_BUS_RESET),
    NAME(SRB_STATUS_PARITY_ERROR),
    NAME(SRB_STATUS_REQUEST_SENSE_FAILED),
    NAME(SRB_STATUS_NO_HBA),
    NAME(SRB_STATUS_DATA_OVERRUN),
    NAME(SRB_STATUS_UNEXPECTED_BUS_FREE),
    NAME(SRB_STATUS_PHASE_SEQUENCE_FAILURE),
    NAME(SRB_STATUS_BAD_SRB_BLOCK_LENGTH),
    NAME(SRB_STATUS_REQUEST_FLUSHED),
    NAME(SRB_STATUS_INVALID_LUN),
    NAME(SRB_STATUS_INVALID_TARGET_ID),
    NAME(SRB_STATUS_BAD_FUNCTION),
    NAME(SRB_STATUS_ERROR_RECOVERY),
    NAME(SRB_STATUS_NOT_POWERED),
    NAME(SRB_STATUS_INTERNAL_ERROR),
};

/* Defines the function that enumerates a list: see trace_next_name. */
#define NEXT_NAME(list)                                                                                                \
    static const char *next_##list(unsigned index, unsigned *value)                                                    \
    {                                                                                                                  \
        if (index >= RTL_NUMBER_OF(list##_names))                                                                      \
            return NULL;                                                                                               \
        *value = list##_names[index].value;                                                                            \
        return list##_names[index].name;                                                                               \
    }
#define LISTS(L)                                                                                                       \
    L(status)                                                                                                          \
    L(kernel_routine)                                                                                                  \
    L(irp_major)                                                                                                       \
    L(irp_mode)                                                                                                        \
    L(io_code)                                                                                                         \
    L(family)                                                                                                          \
    L(socket_type)                                                                                                     \
    L(socket_kind)                                                                                                     \
    L(protocol)                                                                                                        \
    L(wsk_client_code)                                                                                                 \
    L(wsk_wait)                                                                                                        \
    L(wsk_control)                                                                                                     \
    L(wsk_option)                                                                                                      \
    L(wsk_send_flag)                                                                                                   \
    L(wsk_receive_flag)                                                                                                \
    L(wsk_disconnect_flag)                                                                                             \
    L(wsk_event_flag)
/* clang-format off */
LISTS(NEXT_NAME)
/* clang-format on */

/* Runs after the constructors of libopenndk, so that the list of all statuses replaces the list of NDK's statuses. */
__attribute__((constructor)) static void kernel_names_register(void)
{
#define REGISTER_LIST(list) trace_set_names(TRACE_NAMES_##list, next_##list);
    LISTS(REGISTER_LIST)
}

static const char *kernel_find_name(const struct kernel_name *names, size_t count, unsigned value)
{
    for (size_t i = 0; i < count; i++)
        if (names[i].value == value)
            return names[i].name;
    return NULL;
}

const char *kernel_status_name(uint32_t status)
{
    return kernel_find_name(status_names, RTL_NUMBER_OF(status_names), status);
}

const char *kernel_irp_major_name(uint8_t major)
{
    return kernel_find_name(irp_major_names, RTL_NUMBER_OF(irp_major_names), major);
}

const char *kernel_srb_status_name(uint8_t status)
{
    return kernel_find_name(srb_status_names, RTL_NUMBER_OF(srb_status_names), status);
}
