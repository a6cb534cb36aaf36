/* SPDX-License-Identifier: MIT */
/*
 * Makes the dispatch tables that the layer gives to objects: one table for each combination of a provider's table and
 * SGE limits. An entry reads the address of the provider's table and the limits from the traced table, so a call needs
 * neither a lock nor a lookup. The invariant: a traced table never changes after the first object has received it.
 *
 * A consumer may copy an object's Dispatch, replace it, and then call through the copy. The entry then finds the
 * provider's table by the object's address.
 */
#ifndef CALLTRACE_TRACED_TABLE_H
#define CALLTRACE_TRACED_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <ndk/ndkpi.h>

enum { MAX_TRACED_TABLES = 16 }; /* maximum number of tables for each type of object */

/*
 * The maximum number of SGEs of a request to a queue pair or shared receive queue. 0: the number is not known, or there
 * are no such requests.
 */
struct traced_sges {
    ULONG receive, initiator;
};

union traced_dispatch {
    NDK_ADAPTER_DISPATCH adapter;
    NDK_QP_DISPATCH qp;
    NDK_CQ_DISPATCH cq;
    NDK_MR_DISPATCH mr;
    NDK_MW_DISPATCH mw;
    NDK_PD_DISPATCH pd;
    NDK_SHARED_ENDPOINT_DISPATCH shared_endpoint;
    NDK_CONNECTOR_DISPATCH connector;
    NDK_LISTENER_DISPATCH listener;
    NDK_SRQ_DISPATCH srq;
};

struct traced_table {
    union traced_dispatch pub; /* must be the first member, because objects point to it */
    const void *real;          /* the provider's table */
    unsigned entries;          /* number of entries that the objects' NDKPI version has */
    struct traced_sges sges;   /* SGE limits of all objects that have the table */
};

extern struct traced_table traced_tables[NdkObjectTypeMax][MAX_TRACED_TABLES];

static inline bool traced_table_is_ours(const void *dispatch)
{
    return (uintptr_t)dispatch - (uintptr_t)traced_tables < sizeof traced_tables;
}

/*
 * Returns the provider's table for an object whose Dispatch the consumer has replaced. If the object is not in the
 * table of open objects, returns the first table of this type that was replaced.
 */
const void *traced_table_find_real(NDK_OBJECT_TYPE type, const void *object);

static inline const void *traced_table_real(NDK_OBJECT_TYPE type, const void *object, const void *dispatch)
{
    if (__builtin_expect(traced_table_is_ours(dispatch), 1))
        return ((const struct traced_table *)dispatch)->real;
    return traced_table_find_real(type, object);
}

/* Returns the provider's table for an object, for example TRACED_REAL(Cq, cq). */
#define TRACED_REAL(type, object)                                                                                      \
    ((__typeof__((object)->Dispatch))traced_table_real(NdkObjectType##type, (object), (object)->Dispatch))

/* Returns the SGE limits of an object with this Dispatch. Returns zeros if the consumer has replaced the Dispatch. */
static inline struct traced_sges traced_table_sges(const void *dispatch)
{
    if (__builtin_expect(traced_table_is_ours(dispatch), 1))
        return ((const struct traced_table *)dispatch)->sges;
    return (struct traced_sges){ 0, 0 };
}

/*
 * Replaces the table of a provider's object by a traced table, and returns the provider's table. If all
 * MAX_TRACED_TABLES traced tables of the type are in use for other tables, changes nothing and returns NULL. If half of
 * them are in use, an object with new limits receives a table with the limits 0. Requires the lock of the open objects
 * (traced_object.h).
 */
const void *traced_table_replace_locked(NDK_OBJECT_HEADER *object, NDK_OBJECT_TYPE type, struct traced_sges sges);

/* The recording entries for each type of object. */
extern const NDK_ADAPTER_DISPATCH traced_adapter_entries;
extern const NDK_QP_DISPATCH traced_qp_entries;
extern const NDK_CQ_DISPATCH traced_cq_entries;
extern const NDK_MR_DISPATCH traced_mr_entries;
extern const NDK_MW_DISPATCH traced_mw_entries;
extern const NDK_PD_DISPATCH traced_pd_entries;
extern const NDK_SHARED_ENDPOINT_DISPATCH traced_shared_endpoint_entries;
extern const NDK_CONNECTOR_DISPATCH traced_connector_entries;
extern const NDK_LISTENER_DISPATCH traced_listener_entries;
extern const NDK_SRQ_DISPATCH traced_srq_entries;

#endif
