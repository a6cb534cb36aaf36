/* SPDX-License-Identifier: MIT */
/* The adapter object: what all others are made from, and what they need of it. */
#ifndef PROVIDER_ADAPTER_H
#define PROVIDER_ADAPTER_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/gate.h"
#include "fabric/fabric.h"
#include "ndk/ndkpi.h"
#include "openndk/config.h"
#include "provider/lam.h"
#include "provider/live.h"
#include "provider/object.h"

struct adapter {
    NDK_ADAPTER pub;
    struct object obj;
    NDK_VERSION version;       /* of every header: the highest of the major that was opened */
    struct fabric *fabric;
    struct fabric_info limits; /* what it reports and enforces; never more than the fabric's */
    ondk_config_t config;
    bool windows_families;     /* addresses given out carry Windows' number for IPv6 */
    struct lams lams;          /* that are built */
    uint32_t if_index;         /* 0: it is no interface's */
    struct live live;          /* connectors, listeners and shared endpoints that there are */
    LIST_ENTRY(adapter) published; /* stat_server.c's, as is number */
    uint32_t number;           /* which of the adapters that this process has published; 0: none */
    unsigned generation;       /* fork_generation() of the process that opened it */
    struct gate gone;    /* opened when the last descendant's last callback has returned */
};
OBJECT_ASSERT_LAYOUT(adapter);

static inline struct adapter *adapter_of(NDK_ADAPTER *pub)
{
    return (struct adapter *)pub;
}

/* Where objects without a shard of their own have their callbacks delivered. */
static inline struct shard *adapter_home(struct adapter *a)
{
    return a->fabric->ops->home(a->fabric);
}

/*
 * Makes an adapter of a fabric, which then belongs to the adapter and is destroyed with it. STATUS_SUCCESS;
 * NDIS_STATUS_BAD_VERSION, STATUS_INSUFFICIENT_RESOURCES: nothing was made and the fabric is still the caller's.
 */
NTSTATUS adapter_open(NDK_VERSION version, struct fabric *fabric, const ondk_config_t *config, NDK_ADAPTER **out);
/* What NdkQueryAdapterInfo answers. */
void adapter_get_info(const struct adapter *a, NDK_ADAPTER_INFO *info);

#endif
