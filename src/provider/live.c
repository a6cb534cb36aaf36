/* SPDX-License-Identifier: MIT */
/*
 * Implements the lists of an adapter's objects, and the public functions that copy these lists. A list is copied in
 * batches, so that threads that create or end objects need not wait long for the lock. The invariant: `describe` and
 * `visit` are called with the lock held and only read the object. They may take only the lock of that object and the
 * lock of the fabric's object behind it, for a connector the lock of its queue pair's send queue.
 */
#include "provider/live.h"

#include "base/sized.h"
#include "provider/adapter.h"
#include "provider/object.h"

enum { BATCH = 32 }; /* number of objects that are visited before the lock is released for a moment */

/*
 * A walk through a list, in progress. If the object `next` is removed from the list, live_list_remove sets `next` to
 * the object after it.
 */
struct live_walk {
    struct object *next; /* NULL: all objects have been visited */
    LIST_ENTRY(live_walk) link;
};

void live_list_init(struct live_list *live)
{
    spin_init(&live->lock);
    LIST_INIT(&live->walks);
    TAILQ_INIT(&live->closes);
    live->examined = NULL;
    for (int type = 0; type < NdkObjectTypeMax; type++) {
        LIST_INIT(&live->lists[type]);
        live->last_ids[type] = 0;
        live->counts[type] = 0;
    }
}

void live_list_insert(struct live_list *live, struct object *o)
{
    spin_lock(&live->lock);
    o->live_inserted = true;
    o->live_id = ++live->last_ids[o->type->ndk_type];
    live->counts[o->type->ndk_type]++;
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
    if (o->live_inserted && !o->live_hidden)
        live->counts[o->type->ndk_type]--;
    o->live_hidden = true;
    spin_unlock(&live->lock);
}

void live_list_remove(struct live_list *live, struct object *o)
{
    struct live_walk *walk;

    spin_lock(&live->lock);
    LIST_FOREACH (walk, &live->walks, link) {
        if (walk->next == o)
            walk->next = LIST_NEXT(o, live_link);
    }
    if (o->live_inserted)
        LIST_REMOVE(o, live_link);
    if (o->live_is_queued)
        TAILQ_REMOVE(&live->closes, o, live_close);
    if (live->examined == o)
        live->examined = NULL;
    spin_unlock(&live->lock);
}

void live_list_forget_closes(struct live_list *live)
{
    struct object *o;

    TAILQ_FOREACH (o, &live->closes, live_close)
        o->live_is_queued = false;
    TAILQ_INIT(&live->closes);
}

static void live_walk_begin(struct live_list *live, NDK_OBJECT_TYPE type, struct live_walk *walk)
{
    spin_lock(&live->lock);
    walk->next = LIST_FIRST(&live->lists[type]);
    LIST_INSERT_HEAD(&live->walks, walk, link);
    spin_unlock(&live->lock);
}

/* Returns the walk's next object and advances the walk. Returns NULL at the end of the list. Requires the lock. */
static struct object *live_walk_next(struct live_walk *walk)
{
    struct object *o = walk->next;

    if (o)
        walk->next = LIST_NEXT(o, live_link);
    return o;
}

void live_list_walk(struct live_list *live, NDK_OBJECT_TYPE type, void (*visit)(struct object *o, void *context),
                    void *context)
{
    struct live_walk walk;
    bool has_more = true;

    live_walk_begin(live, type, &walk);
    while (has_more) {
        spin_lock(&live->lock);
        for (unsigned visits = 0; walk.next && visits < BATCH; visits++)
            visit(live_walk_next(&walk), context);
        has_more = walk.next != NULL;
        spin_unlock(&live->lock);
    }
    spin_lock(&live->lock);
    LIST_REMOVE(&walk, link);
    spin_unlock(&live->lock);
}

/* Visits up to BATCH objects, and copies their entries to `batch`. Returns true if further objects remain. */
static bool live_walk_batch(struct live_list *live, struct live_walk *walk, union live_entry *batch, uint32_t *listed)
{
    uint32_t count = 0;

    spin_lock(&live->lock);
    for (unsigned visits = 0; walk->next && visits < BATCH; visits++) {
        struct object *o = live_walk_next(walk);

        if (!o->live_hidden && o->type->describe(o, &batch[count]))
            count++;
    }
    bool has_more = walk->next != NULL;
    spin_unlock(&live->lock);
    *listed = count;
    return has_more;
}

uint32_t live_list_copy(struct live_list *live, NDK_OBJECT_TYPE type, void *entries, uint32_t capacity,
                        size_t entry_size, size_t own_size)
{
    bool has_unlisted = type == NdkObjectTypeConnector; /* a connector without a connection is not listed */
    bool has_more = has_unlisted || capacity > 0;
    union live_entry batch[BATCH];
    struct live_walk walk;
    uint32_t count = 0, listed;

    live_walk_begin(live, type, &walk);
    while (has_more && (has_unlisted || count <= capacity)) {
        has_more = live_walk_batch(live, &walk, batch, &listed);
        /* The lock is not held here, because a write to the caller's array may cause a page fault. */
        for (uint32_t i = 0; i < listed; i++, count++) {
            if (count < capacity)
                sized_write_entry(entries, count, entry_size, &batch[i], own_size);
        }
    }
    spin_lock(&live->lock);
    LIST_REMOVE(&walk, link);
    if (!has_unlisted && (!capacity || count > capacity) && count < live->counts[type])
        count = live->counts[type];
    spin_unlock(&live->lock);
    return count;
}

uint32_t ondk_adapter_connections_sized(NDK_ADAPTER *adapter, ondk_connection_t *entries, uint32_t capacity,
                                        size_t entry_size)
{
    return live_list_copy(&adapter_behind(adapter)->live, NdkObjectTypeConnector, entries, capacity, entry_size,
                          sizeof(*entries));
}

uint32_t ondk_adapter_listeners_sized(NDK_ADAPTER *adapter, ondk_listener_t *entries, uint32_t capacity,
                                      size_t entry_size)
{
    return live_list_copy(&adapter_behind(adapter)->live, NdkObjectTypeListener, entries, capacity, entry_size,
                          sizeof(*entries));
}

uint32_t ondk_adapter_endpoints_sized(NDK_ADAPTER *adapter, ondk_endpoint_t *entries, uint32_t capacity,
                                      size_t entry_size)
{
    return live_list_copy(&adapter_behind(adapter)->live, NdkObjectTypeSharedEndpoint, entries, capacity, entry_size,
                          sizeof(*entries));
}

uint32_t ondk_adapter_protection_domains_sized(NDK_ADAPTER *adapter, ondk_protection_domain_t *entries,
                                               uint32_t capacity, size_t entry_size)
{
    return live_list_copy(&adapter_behind(adapter)->live, NdkObjectTypePd, entries, capacity, entry_size,
                          sizeof(*entries));
}

uint32_t ondk_adapter_completion_queues_sized(NDK_ADAPTER *adapter, ondk_completion_queue_t *entries, uint32_t capacity,
                                              size_t entry_size)
{
    return live_list_copy(&adapter_behind(adapter)->live, NdkObjectTypeCq, entries, capacity, entry_size,
                          sizeof(*entries));
}

uint32_t ondk_adapter_queue_pairs_sized(NDK_ADAPTER *adapter, ondk_queue_pair_t *entries, uint32_t capacity,
                                        size_t entry_size)
{
    return live_list_copy(&adapter_behind(adapter)->live, NdkObjectTypeQp, entries, capacity, entry_size,
                          sizeof(*entries));
}

uint32_t ondk_adapter_shared_receive_queues_sized(NDK_ADAPTER *adapter, ondk_shared_receive_queue_t *entries,
                                                  uint32_t capacity, size_t entry_size)
{
    return live_list_copy(&adapter_behind(adapter)->live, NdkObjectTypeSrq, entries, capacity, entry_size,
                          sizeof(*entries));
}

uint32_t ondk_adapter_memory_regions_sized(NDK_ADAPTER *adapter, ondk_memory_region_t *entries, uint32_t capacity,
                                           size_t entry_size)
{
    return live_list_copy(&adapter_behind(adapter)->live, NdkObjectTypeMr, entries, capacity, entry_size,
                          sizeof(*entries));
}

uint32_t ondk_adapter_memory_windows_sized(NDK_ADAPTER *adapter, ondk_memory_window_t *entries, uint32_t capacity,
                                           size_t entry_size)
{
    return live_list_copy(&adapter_behind(adapter)->live, NdkObjectTypeMw, entries, capacity, entry_size,
                          sizeof(*entries));
}
