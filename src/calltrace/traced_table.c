/* SPDX-License-Identifier: MIT */
/*
 * Makes traced tables: see traced_table.h. An entry that is NULL in the provider's table is also NULL in the traced
 * table, because a consumer may test it. A traced table also has the entries of later NDKPI versions, although the
 * provider's table may end before them. Nothing reads the provider's table at such an entry until a consumer calls the
 * entry. Without the layer, that call would read the same place.
 */
#include "calltrace/traced_table.h"

#include <stddef.h>
#include <string.h>

#include "calltrace/traced_object.h"

typedef void (*traced_entry)(void); /* an entry of a table, without its parameters */

struct traced_table traced_tables[NdkObjectTypeMax][MAX_TRACED_TABLES];

#define TYPE(object_type, member)                                                                                      \
    [NdkObjectType##                                                                                                   \
        object_type] = { &traced_##member##_entries, sizeof traced_##member##_entries / sizeof(traced_entry) }

static const struct traced_type {
    const void *entries;
    unsigned count;
} traced_types[NdkObjectTypeMax] = {
    TYPE(Adapter, adapter),
    TYPE(Qp, qp),
    TYPE(Cq, cq),
    TYPE(Mr, mr),
    TYPE(Mw, mw),
    TYPE(Pd, pd),
    TYPE(Connector, connector),
    TYPE(SharedEndpoint, shared_endpoint),
    TYPE(Listener, listener),
    TYPE(Srq, srq),
};

/* Returns the number of entries in a table of this version. Later versions have further entries at the end. */
static unsigned traced_table_count(NDK_OBJECT_TYPE type, NDK_VERSION version)
{
    unsigned opened = (unsigned)version.Major << 16 | version.Minor;
    unsigned count = traced_types[type].count;

    if (type == NdkObjectTypeConnector && opened < 0x20001)
        return count - 2; /* without NdkCompleteConnectEx and NdkAcceptEx */
    if ((type == NdkObjectTypeCq || type == NdkObjectTypeQp) && opened < 0x10002)
        return count - 1; /* without NdkGetCqResultsEx or NdkSendAndInvalidate */
    return count;
}

static traced_entry traced_table_entry(const void *table, unsigned index)
{
    traced_entry entry;

    memcpy(&entry, (const char *)table + index * sizeof entry, sizeof entry);
    return entry;
}

/*
 * Returns true if the traced table was made for the provider's table at `real`, for `count` entries and for these
 * limits. Also compares which entries are NULL, because the memory at `real` may contain another table now.
 */
static bool traced_table_fits(const struct traced_table *t, const void *real, unsigned count, struct traced_sges sges)
{
    if (t->real != real || t->entries != count || t->sges.receive != sges.receive ||
        t->sges.initiator != sges.initiator)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (!traced_table_entry(&t->pub, i) != !traced_table_entry(real, i))
            return false;
    return true;
}

/*
 * Searches the first `max` traced tables of the type. Returns a table that fits, otherwise a free one. Returns NULL if
 * there is neither.
 */
static struct traced_table *traced_table_find(NDK_OBJECT_TYPE type, const void *real, unsigned count,
                                              struct traced_sges sges, unsigned max)
{
    struct traced_table *t = traced_tables[type], *end = t + max;

    while (t < end && t->real && !traced_table_fits(t, real, count, sges))
        t++;
    return t < end ? t : NULL;
}

static void traced_table_fill(struct traced_table *t, NDK_OBJECT_TYPE type, const void *real, unsigned count,
                              struct traced_sges sges)
{
    for (unsigned i = 0; i < traced_types[type].count; i++) {
        if (i >= count || traced_table_entry(real, i))
            memcpy((char *)&t->pub + i * sizeof(traced_entry),
                   (const char *)traced_types[type].entries + i * sizeof(traced_entry), sizeof(traced_entry));
    }
    t->entries = count;
    t->sges = sges;
    t->real = real;
}

typedef const void *__attribute__((may_alias)) traced_dispatch_pointer; /* the member Dispatch of any type of object */

const void *traced_table_replace_locked(NDK_OBJECT_HEADER *object, NDK_OBJECT_TYPE type, struct traced_sges sges)
{
    const struct traced_sges none = { 0, 0 };
    unsigned count = traced_table_count(type, object->Version);
    bool has_limits = sges.receive || sges.initiator;
    struct traced_table *t;
    char *dispatch = (char *)object + offsetof(NDK_PD, Dispatch); /* the offset is the same in all types */
    const void *real;

    memcpy(&real, dispatch, sizeof real);
    if (traced_table_is_ours(real)) /* a provider that reuses objects may leave our table in Dispatch */
        real = ((const struct traced_table *)real)->real;
    if (!real)
        return NULL;
    t = traced_table_find(type, real, count, sges, has_limits ? MAX_TRACED_TABLES / 2 : MAX_TRACED_TABLES);
    if (!t && has_limits) {
        sges = none;
        t = traced_table_find(type, real, count, sges, MAX_TRACED_TABLES);
    }
    if (!t)
        return NULL;
    if (!t->real)
        traced_table_fill(t, type, real, count, sges);
    /*
     * The entries must be visible before the pointer to them, because other threads may already call functions of the
     * object.
     */
    __atomic_store_n((traced_dispatch_pointer *)(void *)dispatch, (const void *)&t->pub, __ATOMIC_RELEASE);
    return real;
}

const void *traced_table_find_real(NDK_OBJECT_TYPE type, const void *object)
{
    const void *real = traced_object_find_real(object);

    return real ? real : traced_tables[type][0].real;
}
