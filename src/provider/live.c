/* SPDX-License-Identifier: MIT */
/*
 * The lists of an adapter's objects, and the public functions that copy them. The invariant: while the lock is held,
 * only the describe functions of the objects are called, which take no lock but the object's own and that of the fabric's
 * object behind it, and call nothing that may run other work.
 */
#include "provider/live.h"

#include "base/sized.h"
#include "provider/adapter.h"
#include "provider/object.h"

void live_list_init(struct live_list *live)
{
    spin_init(&live->lock);
    for (int type = 0; type < NdkObjectTypeMax; type++) {
        LIST_INIT(&live->lists[type]);
        live->last_ids[type] = 0;
    }
}

void live_list_insert(struct live_list *live, struct object *o)
{
    spin_lock(&live->lock);
    o->live_inserted = true;
    o->live_id = ++live->last_ids[o->type->ndk_type];
    LIST_INSERT_HEAD(&live->lists[o->type->ndk_type], o, live_link);
    spin_unlock(&live->lock);
}

void live_list_set_retiring(struct live_list *live, struct object *o)
{
    spin_lock(&live->lock);
    o->live_retiring = true;
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

uint32_t live_list_copy(struct live_list *live, NDK_OBJECT_TYPE type, void *entries, uint32_t capacity,
                        size_t entry_size, size_t own_size)
{
    union live_entry one;
    struct object *o;
    uint32_t count = 0;

    spin_lock(&live->lock);
    LIST_FOREACH (o, &live->lists[type], live_link) {
        if (o->live_hidden || !o->type->describe(o, &one))
            continue;
        if (count < capacity)
            sized_write_entry(entries, count, entry_size, &one, own_size);
        count++;
    }
    spin_unlock(&live->lock);
    return count;
}

uint32_t ondk_adapter_connections_sized(NDK_ADAPTER *adapter, ondk_connection_t *entries, uint32_t capacity,
                                        size_t entry_size)
{
    return live_list_copy(&adapter_of(adapter)->live, NdkObjectTypeConnector, entries, capacity, entry_size,
                          sizeof(*entries));
}

uint32_t ondk_adapter_listeners_sized(NDK_ADAPTER *adapter, ondk_listener_t *entries, uint32_t capacity,
                                      size_t entry_size)
{
    return live_list_copy(&adapter_of(adapter)->live, NdkObjectTypeListener, entries, capacity, entry_size,
                          sizeof(*entries));
}

uint32_t ondk_adapter_endpoints_sized(NDK_ADAPTER *adapter, ondk_endpoint_t *entries, uint32_t capacity,
                                      size_t entry_size)
{
    return live_list_copy(&adapter_of(adapter)->live, NdkObjectTypeSharedEndpoint, entries, capacity, entry_size,
                          sizeof(*entries));
}

uint32_t ondk_adapter_protection_domains_sized(NDK_ADAPTER *adapter, ondk_protection_domain_t *entries,
                                               uint32_t capacity, size_t entry_size)
{
    return live_list_copy(&adapter_of(adapter)->live, NdkObjectTypePd, entries, capacity, entry_size, sizeof(*entries));
}

uint32_t ondk_adapter_completion_queues_sized(NDK_ADAPTER *adapter, ondk_completion_queue_t *entries, uint32_t capacity,
                                              size_t entry_size)
{
    return live_list_copy(&adapter_of(adapter)->live, NdkObjectTypeCq, entries, capacity, entry_size, sizeof(*entries));
}

uint32_t ondk_adapter_queue_pairs_sized(NDK_ADAPTER *adapter, ondk_queue_pair_t *entries, uint32_t capacity,
                                        size_t entry_size)
{
    return live_list_copy(&adapter_of(adapter)->live, NdkObjectTypeQp, entries, capacity, entry_size, sizeof(*entries));
}

uint32_t ondk_adapter_shared_receive_queues_sized(NDK_ADAPTER *adapter, ondk_shared_receive_queue_t *entries,
                                                  uint32_t capacity, size_t entry_size)
{
    return live_list_copy(&adapter_of(adapter)->live, NdkObjectTypeSrq, entries, capacity, entry_size,
                          sizeof(*entries));
}

uint32_t ondk_adapter_memory_regions_sized(NDK_ADAPTER *adapter, ondk_memory_region_t *entries, uint32_t capacity,
                                           size_t entry_size)
{
    return live_list_copy(&adapter_of(adapter)->live, NdkObjectTypeMr, entries, capacity, entry_size, sizeof(*entries));
}

uint32_t ondk_adapter_memory_windows_sized(NDK_ADAPTER *adapter, ondk_memory_window_t *entries, uint32_t capacity,
                                           size_t entry_size)
{
    return live_list_copy(&adapter_of(adapter)->live, NdkObjectTypeMw, entries, capacity, entry_size, sizeof(*entries));
}
