/* SPDX-License-Identifier: MIT */
/* Keeps the open objects in a hash table of a fixed size: see traced_object.h. */
#include "calltrace/traced_object.h"

#include <stdlib.h>

#include "base/fork.h"
#include "base/spin.h"
#include "calltrace/calltrace.h"
#include "calltrace/names.h"
#include "calltrace/traced_table.h"
#include "trace/trace.h"

enum { OBJECT_BUCKET_BITS = 14 };

static struct spin objects_lock;    /* guards object_buckets and traced_tables */
static atomic_bool objects_guarded; /* true: an adapter was traced, and fork_guard was called for objects_lock */
static struct traced_object *object_buckets[1 << OBJECT_BUCKET_BITS];

/* Returns the link that points to the object, or the link at the end of the bucket's list. Requires the lock. */
static struct traced_object **traced_object_link(const void *object)
{
    uint64_t hash = (uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);
    struct traced_object **at = &object_buckets[hash >> (64 - OBJECT_BUCKET_BITS)];

    while (*at && atomic_load_explicit(&(*at)->address, memory_order_relaxed) != object)
        at = &(*at)->next;
    return at;
}

struct traced_object *traced_object_alloc(NDK_OBJECT_TYPE type)
{
    struct traced_object *o = calloc(1, sizeof *o);

    if (o)
        o->type = type;
    return o;
}

void traced_object_free(struct traced_object *o)
{
    struct traced_disconnect *next;

    for (struct traced_disconnect *d = o ? o->disconnects : NULL; d; d = next) {
        next = d->next;
        free(d);
    }
    free(o);
}

void traced_object_insert(struct traced_object *o, NDK_OBJECT_HEADER *object, NDK_OBJECT_TYPE type)
{
    struct traced_object *stale = NULL, **at;

    if (o) {
        atomic_store_explicit(&o->address, object, memory_order_release);
        spin_lock(&objects_lock);
        o->real = traced_table_replace_locked(object, type, o->sges);
        at = traced_object_link(object);
        if (*at) { /* an object at this address was closed without a completion routine, or freed without a close */
            stale = *at;
            *at = stale->next;
        }
        o->next = NULL;
        *traced_object_link(object) = o;
        spin_unlock(&objects_lock);
        traced_object_free(stale);
    }
    if (!o || !o->real)
        TRACE(untraced, 0, .object = (uintptr_t)object, .type = (uint8_t)type);
}

struct traced_object *traced_object_remove(const void *object)
{
    struct traced_object **at, *o;

    spin_lock(&objects_lock);
    at = traced_object_link(object);
    o = *at;
    if (o)
        *at = o->next;
    spin_unlock(&objects_lock);
    return o;
}

const void *traced_object_find_real(const void *object)
{
    const struct traced_object *o;
    const void *real;

    spin_lock(&objects_lock);
    o = *traced_object_link(object);
    real = o ? o->real : NULL;
    spin_unlock(&objects_lock);
    return real;
}

struct traced_disconnect *traced_object_add_disconnect(const NDK_CONNECTOR *connector, bool has_routine)
{
    struct traced_disconnect *d = has_routine ? calloc(1, sizeof *d) : NULL;
    struct traced_object *o;

    if (!d)
        return NULL;
    d->connector = connector;
    spin_lock(&objects_lock);
    o = *traced_object_link(connector);
    if (o) {
        d->next = o->disconnects;
        o->disconnects = d;
    }
    spin_unlock(&objects_lock);
    if (o)
        return d;
    free(d);
    return NULL;
}

/* ---- adapters ---- */

/*
 * Counts another open of a traced adapter. Returns false if the adapter is not in the table. If the provider has stored
 * its own Dispatch again, replaces it again. Any other Dispatch stays: it belongs to a second provider, which uses the
 * objects of the first one and calls the recording entries.
 */
static bool calltrace_reopen(NDK_ADAPTER *adapter)
{
    struct traced_object *o;

    spin_lock(&objects_lock);
    o = *traced_object_link(adapter);
    if (o) {
        o->opens++;
        if (adapter->Dispatch == o->real)
            (void)traced_table_replace_locked(&adapter->Header, NdkObjectTypeAdapter, o->sges);
    }
    spin_unlock(&objects_lock);
    return o != NULL;
}

void calltrace_begin(NDK_ADAPTER *adapter)
{
    if (!trace_is_on())
        return;
    fork_guard(&objects_lock);
    atomic_store(&objects_guarded, true);
    if (!calltrace_reopen(adapter))
        traced_object_insert(traced_object_alloc(NdkObjectTypeAdapter), &adapter->Header, NdkObjectTypeAdapter);
}

bool calltrace_end(const NDK_ADAPTER *adapter)
{
    struct traced_object **at, *o, *ended = NULL;

    if (!atomic_load(&objects_guarded))
        return false; /* no adapter was ever traced */
    spin_lock(&objects_lock);
    at = traced_object_link(adapter);
    o = *at;
    if (o && o->opens) {
        o->opens--;
    } else if (o) {
        *at = o->next;
        ended = o;
    }
    spin_unlock(&objects_lock);
    traced_object_free(ended);
    return o != NULL;
}

/*
 * Registers the names when the library is loaded. The constructor is not in names.c, because a linker would omit
 * names.c from a static build: no other file would refer to it.
 */
__attribute__((constructor)) static void traced_object_set_names(void)
{
    call_names_set();
}
