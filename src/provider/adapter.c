/* SPDX-License-Identifier: MIT */
/*
 * Adapters: opening by interface and version, what they report, closing. An adapter's end is a gate: the last
 * descendant's last reference opens it, and only then the closing thread takes the fabric, with its threads, down.
 */
#include <openndk/adapter.h>

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "base/sized.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "provider/adapter.h"
#include "provider/close_report.h"
#include "provider/config.h"
#include "provider/lam.h"
#include "provider/limits.h"
#include "provider/object.h"
#include "provider/provider.h"
#include "provider/stat_server.h"
#include "provider/status.h"

/* The highest minor for each major. Minors from 0 on are served, as the contract has it. */
static const NDK_VERSION versions[] = {{1, 2}, {2, 1}};

static bool version_served(NDK_VERSION asked, NDK_VERSION *ours)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        if (versions[i].Major != asked.Major)
            continue;
        *ours = versions[i];
        return asked.Minor <= versions[i].Minor;
    }
    return false;
}

/* ---- What it reports ---- */

static uint32_t least(uint64_t a, uint32_t b)
{
    return a < b ? (uint32_t)a : b;
}

static uint64_t kib(uint32_t limit)
{
    return limit == ONDK_UNLIMITED ? UINT64_MAX : (uint64_t)limit << 10;
}

static uint64_t least64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Cut down to what the provider can pass on, to what NDK_ADAPTER_INFO can say, and to what the configuration allows. */
static void limit(struct fabric_info *i, const ondk_config_t *c)
{
    i->max_initiator_sge = least(least(i->max_initiator_sge, MAX_REQUEST_SGES), c->max_initiator_sge);
    i->max_receive_sge = least(least(i->max_receive_sge, MAX_REQUEST_SGES), c->max_receive_sge);
    i->max_read_sge = least(least(i->max_read_sge, i->max_initiator_sge), c->max_read_sge);
    i->max_inline = least(least(i->max_inline, MAX_REQUEST_INLINE), c->max_inline);
    i->max_initiator_depth = least(i->max_initiator_depth, c->max_initiator_depth);
    i->max_receive_depth = least(i->max_receive_depth, c->max_receive_depth);
    i->max_cq_depth = least(i->max_cq_depth, c->max_cq_depth);
    i->max_srq_depth = least(i->max_srq_depth, c->max_srq_depth);
    i->fast_register_pages = least(i->fast_register_pages, c->fast_register_pages);
    i->max_window = least64(i->max_window, kib(c->max_window_kib));
    i->max_registration = least64(i->max_registration, kib(c->max_registration_kib));
    i->max_transfer = least(i->max_transfer, c->max_transfer);
    i->cq_moderation = i->cq_moderation && c->cq_moderation;
    i->read_local_invalidate = i->read_local_invalidate && c->read_local_invalidate;
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

/* The structure of NDK 1 ends before RdmaTechnology. It is all that an adapter of NDK 1 needs room for. */
static ULONG info_size(const struct adapter *a, ULONG room)
{
    const ULONG size_of_ndk_1 = offsetof(NDK_ADAPTER_INFO, RdmaTechnology);

    if (a->version.Major == 1 && room < sizeof(NDK_ADAPTER_INFO))
        return size_of_ndk_1;
    return sizeof(NDK_ADAPTER_INFO);
}

static NTSTATUS query_info(NDK_ADAPTER *pub, NDK_ADAPTER_INFO *info, ULONG *size)
{
    NDK_ADAPTER_INFO report;
    ULONG room, needed;

    if (!size)
        return STATUS_INVALID_PARAMETER;
    room = *size;
    needed = info_size(adapter_of(pub), room);
    *size = needed;
    if (room < needed)
        return STATUS_BUFFER_TOO_SMALL;
    if (!info)
        return STATUS_INVALID_PARAMETER;
    adapter_get_info(adapter_of(pub), &report);
    memcpy(info, &report, needed);
    return STATUS_SUCCESS;
}

/* ---- Its table ---- */

static const NDK_ADAPTER_DISPATCH dispatch = {
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkQueryAdapterInfo = query_info,
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

/* The last reference is gone: the closing thread goes on, and may free the adapter at once. */
static bool retire(struct object *o)
{
    struct adapter *a = (struct adapter *)((char *)o - offsetof(struct adapter, obj));

    gate_open(&a->gone);
    return false;
}

static const struct object_type type = {.ndk_type = NdkObjectTypeAdapter, .retire = retire};

NTSTATUS adapter_open(NDK_VERSION version, struct fabric *fabric, const ondk_config_t *config, NDK_ADAPTER **out)
{
    NDK_VERSION ours;

    if (!version_served(version, &ours))
        return NDIS_STATUS_BAD_VERSION;
    struct adapter *a = calloc(1, sizeof(*a));
    if (!a)
        return STATUS_INSUFFICIENT_RESOURCES;
    a->version = ours;
    a->generation = fork_generation();
    a->fabric = fabric;
    a->config = *config;
    fabric->ops->info(fabric, &a->limits);
    limit(&a->limits, config);
    lams_init(&a->lams);
    live_list_init(&a->live);
    object_init(&a->obj, &type, &a->pub.Header, a, a, adapter_home(a));
    a->pub.Dispatch = &dispatch;
    *out = &a->pub;
    return STATUS_SUCCESS;
}

void ondk_use_windows_families(NDK_ADAPTER *pub, int on)
{
    adapter_of(pub)->windows_families = on;
}

static uint64_t deadline_after(uint64_t from, uint32_t ms)
{
    return ms ? from + (uint64_t)ms * NS_PER_MS : UINT64_MAX;
}

/* Waits for the last descendant's end. A close that takes long is reported once, and ended by abort() if wanted. */
static void wait_until_gone(struct adapter *a)
{
    const struct fabric_ops *ops = a->fabric->ops;
    uint64_t start = ops->now(a->fabric);
    uint64_t report_at = deadline_after(start, a->config.close_report_ms);
    uint64_t abort_at = deadline_after(start, a->config.close_abort_ms);

    if (ops->wait(a->fabric, &a->gone, report_at < abort_at ? report_at : abort_at))
        return;
    close_report_print(a, (ops->now(a->fabric) - start) / NS_PER_MS);
    if (!ops->wait(a->fabric, &a->gone, abort_at))
        abort();
}

void ondk_close_adapter(NDK_ADAPTER *pub)
{
    struct adapter *a = adapter_of(pub);
    struct fabric *fabric = a->fabric;

    if (a->generation != fork_generation())
        return; /* inherited by fork: its threads are not here */
    atomic_store(&a->obj.closing, true);
    object_unref(&a->obj, REF_HANDLE);
    wait_until_gone(a);
    stat_server_remove(a);
    free(a);
    fabric->ops->destroy(fabric);
}

/* Interfaces of a machine that are looked at; those beyond cannot be opened. */
enum { INTERFACES = 4096 };

/* How many there are, and *out, to be freed by the caller; -errno. */
static int list_interfaces(struct interface_info **out)
{
    int known = host_interfaces(NULL, 0), count;
    int room = known < INTERFACES ? known : INTERFACES;

    *out = NULL;
    if (room <= 0)
        return room;
    *out = calloc((size_t)room, sizeof(**out));
    if (!*out)
        return -ENOMEM;
    count = host_interfaces(*out, room);
    return count < room ? count : room; /* more may have come meanwhile */
}

/* An interface without an address is as good as none. */
static NTSTATUS check_interface(uint32_t if_index)
{
    NTSTATUS status = STATUS_INVALID_PARAMETER;
    struct interface_info *info;
    int count = list_interfaces(&info);

    for (int i = 0; i < count; i++) {
        if (info[i].index == if_index)
            status = info[i].up ? STATUS_SUCCESS : NDIS_STATUS_ADAPTER_NOT_READY;
    }
    free(info);
    return count < 0 ? status_of_errno(-count) : status;
}

NTSTATUS ondk_open_adapter(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
{
    ondk_config_t config;
    struct fabric_config fabric_config;
    struct fabric *fabric;
    NDK_VERSION ours;

    if (!adapter)
        return STATUS_INVALID_PARAMETER;
    if (!version_served(version, &ours))
        return NDIS_STATUS_BAD_VERSION;
    NTSTATUS status = check_interface(if_index);
    if (status)
        return status;
    config_current(&config);
    config_for_fabric(&config, &fabric_config);
    int error = host_open_fabric(if_index, &fabric_config, &fabric);
    if (error)
        return status_of_errno(error);
    status = adapter_open(version, fabric, &config, adapter);
    if (status) {
        fabric->ops->destroy(fabric);
        return status;
    }
    adapter_of(*adapter)->if_index = if_index;
    if (config.stat)
        stat_server_add(adapter_of(*adapter));
    return STATUS_SUCCESS;
}

/* ---- Enumeration ---- */

enum { ENTRY_ADDRESSES = sizeof(((ondk_adapter_entry_t *)0)->addresses) / sizeof(struct sockaddr_storage) };

static void fill_entry(const struct interface_info *info, ondk_adapter_entry_t *entry)
{
    struct addr addrs[ENTRY_ADDRESSES];
    int count = host_interface_addresses(info->index, addrs, ENTRY_ADDRESSES);

    memset(entry, 0, sizeof(*entry));
    entry->if_index = info->index;
    memcpy(entry->name, info->name, sizeof(entry->name) - 1);
    entry->up = info->up;
    entry->loopback = info->loopback;
    for (int i = 0; i < count && i < ENTRY_ADDRESSES; i++)
        memcpy(&entry->addresses[entry->address_count++], &addrs[i].sa, addr_len(&addrs[i]));
}

uint32_t ondk_enumerate_adapters_sized(ondk_adapter_entry_t *entries, uint32_t capacity, size_t entry_size)
{
    ondk_adapter_entry_t one;
    struct interface_info *info;
    int count = list_interfaces(&info);

    for (int i = 0; i < count && (uint32_t)i < capacity; i++) {
        fill_entry(&info[i], &one);
        sized_write_entry(entries, (size_t)i, entry_size, &one, sizeof(one));
    }
    free(info);
    return count > 0 ? (uint32_t)count : 0;
}

int ondk_on_provider_thread(void)
{
    return host_is_fabric_thread();
}
