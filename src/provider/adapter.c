/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes adapters, and reports their limits. Every object of an adapter has a reference on the adapter. The
 * invariant: the closing thread destroys the fabric and its threads only after the last reference has been dropped.
 */
#include <openndk/adapter.h>

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/interface_name.h"
#include "base/sized.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "provider/activity.h"
#include "provider/adapter.h"
#include "provider/close_report.h"
#include "provider/config.h"
#include "provider/connection_log.h"
#include "provider/lam.h"
#include "provider/log.h"
#include "provider/object.h"
#include "provider/open.h"
#include "provider/provider.h"
#include "provider/stat_server.h"
#include "provider/status.h"
#include "trace/trace.h"

/* The highest minor version of each supported major version. All lower minor versions are supported, too. */
static const NDK_VERSION adapter_versions[] = { { 1, 2 }, { 2, 1 } };

/* Sets *found to the highest version with the major number of `asked`. Returns false if `asked` is not supported. */
static bool adapter_find_version(NDK_VERSION asked, NDK_VERSION *found)
{
    for (size_t i = 0; i < sizeof(adapter_versions) / sizeof(adapter_versions[0]); i++) {
        if (adapter_versions[i].Major != asked.Major)
            continue;
        *found = adapter_versions[i];
        return asked.Minor <= adapter_versions[i].Minor;
    }
    return false;
}

/* ---- Limits ---- */

static uint32_t min_u32(uint64_t a, uint32_t b)
{
    return a < b ? (uint32_t)a : b;
}

static uint64_t kib_to_bytes(uint32_t adapter_limit_info)
{
    return adapter_limit_info == ONDK_UNLIMITED ? UINT64_MAX : (uint64_t)adapter_limit_info << 10;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Reduces the fabric's limits *i to those that the configuration *c sets. */
static void adapter_limit_info(struct fabric_info *i, const ondk_config_t *c)
{
    i->max_initiator_sge = min_u32(i->max_initiator_sge, c->max_initiator_sge);
    i->max_receive_sge = min_u32(i->max_receive_sge, c->max_receive_sge);
    i->max_read_sge = min_u32(min_u32(i->max_read_sge, i->max_initiator_sge), c->max_read_sge);
    i->max_inline = min_u32(i->max_inline, c->max_inline);
    i->max_initiator_depth = min_u32(i->max_initiator_depth, c->max_initiator_depth);
    i->max_receive_depth = min_u32(i->max_receive_depth, c->max_receive_depth);
    i->max_cq_depth = min_u32(i->max_cq_depth, c->max_cq_depth);
    i->max_srq_depth = min_u32(i->max_srq_depth, c->max_srq_depth);
    i->fast_register_pages = min_u32(i->fast_register_pages, c->fast_register_pages);
    i->max_window = min_u64(i->max_window, kib_to_bytes(c->max_window_kib));
    i->max_registration = min_u64(i->max_registration, kib_to_bytes(c->max_registration_kib));
    i->max_transfer = min_u32(i->max_transfer, c->max_transfer);
    i->cq_moderation = i->cq_moderation && c->cq_moderation;
    i->read_local_invalidate = i->read_local_invalidate && c->read_local_invalidate;
}

static _Atomic(void *(*)(void *)) unwrap_object;

void provider_set_unwrap(void *(*unwrap)(void *object))
{
    atomic_store(&unwrap_object, unwrap);
}

void *provider_unwrap(void *object)
{
    void *(*unwrap)(void *) = atomic_load(&unwrap_object);

    return unwrap ? unwrap(object) : object;
}

void adapter_get_info(const struct adapter *a, NDK_ADAPTER_INFO *info)
{
    static const NDK_RDMA_TECHNOLOGY technologies[] = {
        [FABRIC_IWARP] = NdkiWarp,
        [FABRIC_INFINIBAND] = NdkInfiniBand,
        [FABRIC_ROCE] = NdkRoCE,
        [FABRIC_ROCE_V2] = NdkRoCEv2,
    };
    const struct fabric_info *l = &a->limits;

    *info = (NDK_ADAPTER_INFO){
        .Version = a->version,
        .MaxRegistrationSize = l->max_registration,
        .MaxWindowSize = l->max_window,
        .FRMRPageCount = l->fast_register_pages,
        .MaxInitiatorRequestSge = l->max_initiator_sge,
        .MaxReceiveRequestSge = l->max_receive_sge,
        .MaxReadRequestSge = l->max_read_sge,
        .MaxTransferLength = (ULONG)l->max_transfer,
        .MaxInlineDataSize = l->max_inline,
        .MaxInboundReadLimit = l->max_inbound_reads,
        .MaxOutboundReadLimit = l->max_outbound_reads,
        .MaxReceiveQueueDepth = l->max_receive_depth,
        .MaxInitiatorQueueDepth = l->max_initiator_depth,
        .MaxSrqDepth = l->max_srq_depth,
        .MaxCqDepth = l->max_cq_depth,
        .LargeRequestThreshold = l->large_request_threshold,
        .MaxCallerData = l->max_caller_data,
        .MaxCalleeData = l->max_callee_data,
        .AdapterFlags = NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED | NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED |
                        (a->config.cq_resize ? NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED : 0) |
                        (l->cq_moderation ? NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED : 0) |
                        (l->read_local_invalidate ? NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED : 0),
        .RdmaTechnology = technologies[l->technology],
    };
}

/*
 * Returns the size of the structure that is written to a buffer of `room` bytes. The structure of NDK 1 ends before
 * RdmaTechnology. It is used if the adapter was opened as NDK 1 and the buffer is too small for the present structure.
 */
static ULONG adapter_info_size(const struct adapter *a, ULONG room)
{
    const ULONG size_of_ndk_1 = offsetof(NDK_ADAPTER_INFO, RdmaTechnology);

    if (a->version.Major == 1 && room < sizeof(NDK_ADAPTER_INFO))
        return size_of_ndk_1;
    return sizeof(NDK_ADAPTER_INFO);
}

static NTSTATUS adapter_ndk_query_info(NDK_ADAPTER *pub, NDK_ADAPTER_INFO *info, ULONG *size)
{
    NDK_ADAPTER_INFO report;
    ULONG room, needed;

    if (!size)
        return STATUS_INVALID_PARAMETER;
    room = *size;
    needed = adapter_info_size(adapter_of(pub), room);
    *size = needed;
    if (room < needed)
        return STATUS_BUFFER_TOO_SMALL;
    if (!info)
        return STATUS_INVALID_PARAMETER;
    adapter_get_info(adapter_of(pub), &report);
    memcpy(info, &report, needed);
    return STATUS_SUCCESS;
}

/* ---- The dispatch table ---- */

static const NDK_ADAPTER_DISPATCH adapter_dispatch = {
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkQueryAdapterInfo = adapter_ndk_query_info,
    .NdkCreateCq = cq_create,
    .NdkCreatePd = pd_create,
    .NdkCreateSharedEndpoint = shared_endpoint_create,
    .NdkCreateConnector = connector_create,
    .NdkCreateListener = listener_create,
    .NdkBuildLAM = lam_build,
    .NdkReleaseLAM = lam_release,
};

/* ---- Opening and closing ---- */

enum { NS_PER_MS = 1000000 };

/* Wakes the closing thread, which may then free the adapter. Called when the adapter has no more references. */
static bool adapter_retire(struct object *o)
{
    struct adapter *a = (struct adapter *)((char *)o - offsetof(struct adapter, obj));

    gate_open(&a->ended);
    return false;
}

static const struct object_type adapter_type = { .ndk_type = NdkObjectTypeAdapter, .retire = adapter_retire };

NTSTATUS adapter_open(NDK_VERSION version, struct fabric *fabric, const ondk_config_t *config, NDK_ADAPTER **out)
{
    static _Atomic uint64_t adapters_opened;
    NDK_VERSION found;

    if (!adapter_find_version(version, &found))
        return NDIS_STATUS_BAD_VERSION;
    struct adapter *a = calloc(1, sizeof(*a));
    if (!a)
        return STATUS_INSUFFICIENT_RESOURCES;
    a->version = found;
    a->generation = fork_generation();
    a->pid = (uint32_t)getpid();
    a->serial = atomic_fetch_add_explicit(&adapters_opened, 1, memory_order_relaxed);
    a->fabric = fabric;
    a->config = *config;
    fabric->ops->info(fabric, &a->limits);
    adapter_limit_info(&a->limits, config);
    lams_init(&a->lams);
    live_list_init(&a->live);
    object_init(&a->obj, &adapter_type, &a->pub.Header, a, a, adapter_home(a));
    a->pub.Dispatch = &adapter_dispatch;
    connection_log_observe(a);
    *out = &a->pub;
    return STATUS_SUCCESS;
}

void ondk_use_windows_families(NDK_ADAPTER *pub, int on)
{
    adapter_behind(pub)->windows_families = on;
}

static uint64_t adapter_deadline(uint64_t from, uint32_t ms)
{
    return ms ? from + (uint64_t)ms * NS_PER_MS : UINT64_MAX;
}

/*
 * Waits until the adapter has no references and the thread of close_report.c has ended. Calls abort() after
 * close_abort_ms; if close_abort_ms is 0, the wait has no limit.
 */
static void adapter_wait_for_end(struct adapter *a)
{
    const struct fabric_ops *ops = a->fabric->ops;
    uint64_t abort_at = adapter_deadline(ops->now(a->fabric), a->config.close_abort_ms);

    if (!ops->wait(a->fabric, &a->ended, abort_at))
        close_report_abort(a);
    close_report_stop(a, abort_at);
}

void provider_close_adapter(NDK_ADAPTER *pub)
{
    struct adapter *a = adapter_of(pub);
    struct fabric *fabric = a->fabric;

    if (a->generation != fork_generation())
        return; /* the adapter was inherited by fork: its threads do not exist in this process */
    TRACE(adapter_close, 0, .object = (uintptr_t)pub);
    a->reporter.is_in_callback = host_is_fabric_thread();
    atomic_store(&a->obj.closing, true);
    close_report_begin(&a->obj);
    object_unref(&a->obj, REF_HANDLE);
    adapter_wait_for_end(a);
    stat_server_remove(a);
    activity_add_closed(a);
    fabric->ops->destroy(fabric); /* before free(a), because the fabric may report to `a` until destroy returns */
    free(a);
    connection_log_end();
}

/* The maximum number of interfaces of the machine. Further interfaces are neither listed nor opened. */
enum { MAX_INTERFACES = 4096 };

/*
 * Returns the number of interfaces, or -errno. Sets *out to an array of the interfaces, or to NULL. The caller frees
 * *out.
 */
static int adapter_list_interfaces(struct interface_info **out)
{
    int known = host_interfaces(NULL, 0), count;
    int room = known < MAX_INTERFACES ? known : MAX_INTERFACES;

    *out = NULL;
    if (room <= 0)
        return room;
    *out = calloc((size_t)room, sizeof(**out));
    if (!*out)
        return -ENOMEM;
    count = host_interfaces(*out, room);
    return count < room ? count : room; /* `count` is larger if interfaces were added after the first call */
}

/* Returns STATUS_SUCCESS if the interface exists, has an address and is up. */
static NTSTATUS adapter_check_interface(uint32_t if_index)
{
    NTSTATUS status = STATUS_INVALID_PARAMETER;
    struct interface_info *info;
    int count = adapter_list_interfaces(&info);

    for (int i = 0; i < count; i++) {
        if (info[i].index == if_index)
            status = info[i].up ? STATUS_SUCCESS : NDIS_STATUS_ADAPTER_NOT_READY;
    }
    free(info);
    return count < 0 ? status_of_errno(-count) : status;
}

void provider_start_trace(void)
{
    char problem[TRACE_MAX_PROBLEM];

    if (!trace_start(problem))
        log_line(ONDK_LOG_ERROR, "%s", problem);
}

void adapter_trace(const struct adapter *a)
{
    char name[IF_NAMESIZE];

    if (!trace_is_on())
        return;
    interface_name(a->if_index, name);
    TRACE(adapter, 0, .object = (uintptr_t)&a->pub, .interface = a->if_index, .name = trace_text16(name),
          .major = a->version.Major, .minor = a->version.Minor);
}

NTSTATUS provider_open_adapter(NDK_VERSION version, uint32_t if_index, const ondk_config_t *options,
                               NDK_ADAPTER **adapter)
{
    ondk_config_t config;
    struct fabric_config fabric_config;
    struct fabric *fabric;
    NDK_ADAPTER *opened;
    NDK_VERSION found;

    if (!adapter)
        return STATUS_INVALID_PARAMETER;
    if (!adapter_find_version(version, &found))
        return NDIS_STATUS_BAD_VERSION;
    if (!options)
        config_current(&config);
    else if (!config_read(&config, options))
        return STATUS_INVALID_PARAMETER;
    NTSTATUS status = adapter_check_interface(if_index);
    if (status) {
        bool is_missing = status == STATUS_INVALID_PARAMETER;

        log_line(ONDK_LOG_INFO, "adapter failed: interface=%u status=%s: %s", if_index, ondk_status_name(status),
                 is_missing ? "No interface with an address has this index." : ondk_status_advice(status));
        return status;
    }
    provider_start_trace();
    config_for_fabric(&config, &fabric_config);
    int error = host_open_fabric(if_index, &fabric_config, &fabric);
    if (error)
        return status_of_errno(error);
    status = adapter_open(version, fabric, &config, &opened);
    if (status) {
        fabric->ops->destroy(fabric);
        return status;
    }
    adapter_of(opened)->if_index = if_index;
    error = close_report_start(adapter_of(opened));
    if (error) {
        provider_close_adapter(opened);
        return status_of_errno(error);
    }
    if (config.stat)
        stat_server_add(adapter_of(opened));
    adapter_trace(adapter_of(opened));
    *adapter = opened;
    return STATUS_SUCCESS;
}

/* ---- Enumeration ---- */

enum { MAX_ENTRY_ADDRESSES = sizeof(((ondk_adapter_entry_t *)0)->addresses) / sizeof(struct sockaddr_storage) };

static void adapter_fill_entry(const struct interface_info *info, ondk_adapter_entry_t *entry)
{
    struct addr addrs[MAX_ENTRY_ADDRESSES];
    int count = host_interface_addresses(info->index, addrs, MAX_ENTRY_ADDRESSES);

    memset(entry, 0, sizeof(*entry));
    entry->if_index = info->index;
    memcpy(entry->name, info->name, sizeof(entry->name) - 1);
    entry->up = info->up;
    entry->loopback = info->loopback;
    for (int i = 0; i < count && i < MAX_ENTRY_ADDRESSES; i++)
        memcpy(&entry->addresses[entry->address_count++], &addrs[i].sa, addr_len(&addrs[i]));
}

uint32_t ondk_enumerate_adapters_sized(ondk_adapter_entry_t *entries, uint32_t capacity, size_t entry_size)
{
    ondk_adapter_entry_t one;
    struct interface_info *info;
    int count = adapter_list_interfaces(&info);

    for (int i = 0; i < count && (uint32_t)i < capacity; i++) {
        adapter_fill_entry(&info[i], &one);
        sized_write_entry(entries, (size_t)i, entry_size, &one, sizeof(one));
    }
    free(info);
    return count > 0 ? (uint32_t)count : 0;
}

int ondk_on_provider_thread(void)
{
    return host_is_fabric_thread();
}
