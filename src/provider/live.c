/* SPDX-License-Identifier: MIT */
/* Abstract: the lists of an adapter's objects, and the public functions that copy them. */
#include "provider/live.h"

#include <openndk/netstat.h>
#include <unistd.h>

#include "base/mutant.h"
#include "base/sized.h"
#include "provider/adapter.h"
#include "provider/connector.h"
#include "provider/provider.h"

void live_init(struct live *live)
{
    spin_init(&live->lock);
    for (int kind = 0; kind < LIVE_KINDS; kind++)
        LIST_INIT(&live->lists[kind]);
}

void live_enter(struct live *live, enum live_kind kind, struct live_entry *entry, struct object *object)
{
    entry->object = object;
    spin_lock(&live->lock);
    LIST_INSERT_HEAD(&live->lists[kind], entry, link);
    spin_unlock(&live->lock);
}

void live_leave(struct live *live, struct live_entry *entry)
{
    if (!entry->object)
        return;
    spin_lock(&live->lock);
    LIST_REMOVE(entry, link);
    spin_unlock(&live->lock);
}

uint32_t ondk_adapter_connections_sized(NDK_ADAPTER *adapter, ondk_connection_t *entries, uint32_t capacity,
                                        size_t entry_size)
{
    struct adapter *a = adapter_of(adapter);
    struct live_entry *e;
    ondk_connection_t one;
    uint32_t count = 0, pid = (uint32_t)getpid();

    spin_lock(&a->live.lock);
    LIST_FOREACH(e, &a->live.lists[LIVE_CONNECTORS], link) {
        if (!connector_describe(e->object, &one))
            continue;
        one.if_index = a->if_index;
        one.owner_pid = pid;
        if (count < capacity)
            sized_write_entry(entries, count, entry_size, &one, sizeof(one));
        count++;
    }
    spin_unlock(&a->live.lock);
    return count;
}

uint32_t ondk_adapter_listeners_sized(NDK_ADAPTER *adapter, ondk_listener_t *entries, uint32_t capacity,
                                      size_t entry_size)
{
    struct adapter *a = adapter_of(adapter);
    struct live_entry *e;
    ondk_listener_t one;
    uint32_t count = 0, pid = (uint32_t)getpid();

    spin_lock(&a->live.lock);
    LIST_FOREACH(e, &a->live.lists[LIVE_LISTENERS], link) {
        if (count < capacity) {
            listener_describe(e->object, &one);
            one.if_index = a->if_index;
            one.owner_pid = pid;
            sized_write_entry(entries, count, entry_size, &one, sizeof(one));
        }
        count++;
    }
    spin_unlock(&a->live.lock);
    return MUTANT(obs_count_is_what_fits) && count > capacity ? capacity : count;
}

uint32_t ondk_adapter_endpoints_sized(NDK_ADAPTER *adapter, ondk_endpoint_t *entries, uint32_t capacity,
                                      size_t entry_size)
{
    struct adapter *a = adapter_of(adapter);
    struct live_entry *e;
    ondk_endpoint_t one;
    uint32_t count = 0, pid = (uint32_t)getpid();

    spin_lock(&a->live.lock);
    LIST_FOREACH(e, &a->live.lists[LIVE_ENDPOINTS], link) {
        if (count < capacity) {
            shared_endpoint_describe(e->object, &one);
            one.if_index = a->if_index;
            one.owner_pid = pid;
            sized_write_entry(entries, count, entry_size, &one, sizeof(one));
        }
        count++;
    }
    spin_unlock(&a->live.lock);
    return count;
}
