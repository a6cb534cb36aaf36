/* SPDX-License-Identifier: MIT */
/*
 * The lists of an adapter's objects, and the public functions that copy them. The invariant: while the lock is held,
 * only the describe functions of the objects are called, which take no lock but the object's own.
 */
#include "provider/live.h"

#include <openndk/netstat.h>
#include <unistd.h>

#include "base/sized.h"
#include "provider/adapter.h"
#include "provider/connector.h"
#include "provider/provider.h"

void live_list_init(struct live_list *live)
{
    spin_init(&live->lock);
    for (int type = 0; type < NdkObjectTypeMax; type++)
        LIST_INIT(&live->lists[type]);
}

void live_list_insert(struct live_list *live, struct object *o)
{
    spin_lock(&live->lock);
    o->live_inserted = true;
    LIST_INSERT_HEAD(&live->lists[o->type->ndk_type], o, live_link);
    spin_unlock(&live->lock);
}

void live_list_hide(struct live_list *live, struct object *o)
{
    spin_lock(&live->lock);
    o->live_hidden = true;
    spin_unlock(&live->lock);
}

void live_list_remove(struct live_list *live, struct object *o)
{
    spin_lock(&live->lock);
    if (o->live_inserted)
        LIST_REMOVE(o, live_link);
    spin_unlock(&live->lock);
}

uint32_t ondk_adapter_connections_sized(NDK_ADAPTER *adapter, ondk_connection_t *entries, uint32_t capacity,
                                        size_t entry_size)
{
    struct adapter *a = adapter_of(adapter);
    struct object *o;
    ondk_connection_t one;
    uint32_t count = 0, pid = (uint32_t)getpid();

    spin_lock(&a->live.lock);
    LIST_FOREACH (o, &a->live.lists[NdkObjectTypeConnector], live_link) {
        if (o->live_hidden || !connector_describe(o, &one))
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
    struct object *o;
    ondk_listener_t one;
    uint32_t count = 0, pid = (uint32_t)getpid();

    spin_lock(&a->live.lock);
    LIST_FOREACH (o, &a->live.lists[NdkObjectTypeListener], live_link) {
        if (o->live_hidden)
            continue;
        if (count < capacity) {
            listener_describe(o, &one);
            one.if_index = a->if_index;
            one.owner_pid = pid;
            sized_write_entry(entries, count, entry_size, &one, sizeof(one));
        }
        count++;
    }
    spin_unlock(&a->live.lock);
    return count;
}

uint32_t ondk_adapter_endpoints_sized(NDK_ADAPTER *adapter, ondk_endpoint_t *entries, uint32_t capacity,
                                      size_t entry_size)
{
    struct adapter *a = adapter_of(adapter);
    struct object *o;
    ondk_endpoint_t one;
    uint32_t count = 0, pid = (uint32_t)getpid();

    spin_lock(&a->live.lock);
    LIST_FOREACH (o, &a->live.lists[NdkObjectTypeSharedEndpoint], live_link) {
        if (o->live_hidden)
            continue;
        if (count < capacity) {
            shared_endpoint_describe(o, &one);
            one.if_index = a->if_index;
            one.owner_pid = pid;
            sized_write_entry(entries, count, entry_size, &one, sizeof(one));
        }
        count++;
    }
    spin_unlock(&a->live.lock);
    return count;
}
