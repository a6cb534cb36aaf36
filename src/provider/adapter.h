/* SPDX-License-Identifier: MIT */
/*
 * The adapter object, to which all other objects belong. The invariant: the members `limits` and `config` do not change
 * after adapter_open, so any thread reads them without a lock.
 */
#ifndef PROVIDER_ADAPTER_H
#define PROVIDER_ADAPTER_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/gate.h"
#include "fabric/fabric.h"
#include "ndk/ndkpi.h"
#include "openndk/config.h"
#include "provider/close_report.h"
#include "provider/lam.h"
#include "provider/live.h"
#include "provider/object.h"

struct adapter {
    NDK_ADAPTER pub;
    struct object obj;
    NDK_VERSION version; /* the highest version with the requested major number; copied to each object's header */
    struct fabric *fabric;
    struct fabric_info limits; /* the fabric's limits, reduced by config; the adapter reports and enforces them */
    ondk_config_t config;
    bool windows_families; /* IPv6 addresses that the consumer receives have Windows' AF_INET6 */
    struct lams lams;      /* logical address mappings that are not released */
    uint32_t if_index;     /* the index of the interface that was opened; 0: opened without one */
    uint32_t pid;          /* the ID of the process that opened the adapter */
    struct live_list live; /* the objects of this adapter */
    struct close_reporter reporter;
    LIST_ENTRY(adapter) published; /* link in stat_server.c's list of adapters */
    uint32_t number;               /* number of the adapter in that list, from 1; 0: the adapter is not in the list */
    uint64_t serial;               /* number of the adapter, different for each adapter that the process has opened */
    unsigned generation;           /* fork_generation() of the process that opened the adapter */
    struct gate ended;             /* opened when no reference is left */
};
OBJECT_ASSERT_LAYOUT(adapter);

static inline struct adapter *adapter_of(NDK_ADAPTER *pub)
{
    return (struct adapter *)pub;
}

/*
 * Returns the provider's object. `object` is that object, or the verifier's object for that object: see
 * provider_set_unwrap.
 */
void *provider_unwrap(void *object);
/* Returns the provider's adapter. `pub` is that adapter, or the verifier's object for that adapter. */
static inline struct adapter *adapter_behind(NDK_ADAPTER *pub)
{
    return adapter_of(provider_unwrap(pub));
}

/* Returns the shard that runs the callbacks of objects without a shard of their own. */
static inline struct shard *adapter_home(struct adapter *a)
{
    return a->fabric->ops->home(a->fabric);
}

/*
 * Opens an adapter that uses `fabric`. The adapter then owns the fabric, and destroys it when the adapter is closed. If
 * the function returns NDIS_STATUS_BAD_VERSION or STATUS_INSUFFICIENT_RESOURCES, the caller still owns the fabric.
 */
NTSTATUS adapter_open(NDK_VERSION version, struct fabric *fabric, const ondk_config_t *config, NDK_ADAPTER **out);
/* Records the trace event `adapter`, which describes the adapter. */
void adapter_trace(const struct adapter *a);
/* Fills *info with the data that NdkQueryAdapterInfo returns. */
void adapter_get_info(const struct adapter *a, NDK_ADAPTER_INFO *info);

#endif
