/* SPDX-License-Identifier: MIT */
/*
 * Implements the shared endpoint, which has no state machine. The invariant: the endpoint's address is reserved until
 * the endpoint and all connectors that use it are closed.
 */
#include "provider/shared_endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "provider/adapter.h"
#include "provider/address.h"
#include "provider/provider.h"
#include "provider/status.h"

static void shared_endpoint_destroy(struct object *o)
{
    struct shared_endpoint *e = (struct shared_endpoint *)((char *)o - offsetof(struct shared_endpoint, obj));

    o->adapter->fabric->ops->endpoint_close(e->fabric);
}

static bool shared_endpoint_describe(struct object *o, union live_entry *entry)
{
    struct shared_endpoint *e = (struct shared_endpoint *)((char *)o - offsetof(struct shared_endpoint, obj));

    entry->endpoint = (ondk_endpoint_t){
        .if_index = o->adapter->if_index,
        .owner_pid = o->adapter->pid,
        .id = o->live_id,
        .connections = object_users(o),
        .state = object_state(o, "open"),
    };
    memcpy(&entry->endpoint.local, &e->local.sa, addr_len(&e->local));
    return true;
}

static const struct object_type shared_endpoint_type = {
    .ndk_type = NdkObjectTypeSharedEndpoint,
    .destroy = shared_endpoint_destroy,
    .describe = shared_endpoint_describe,
};

static NTSTATUS shared_endpoint_ndk_get_local_address(NDK_SHARED_ENDPOINT *pub, PSOCKADDR address, ULONG *length)
{
    struct shared_endpoint *e = shared_endpoint_of(pub);

    return address_answer(&e->obj, &e->local, address, length);
}

static const NDK_SHARED_ENDPOINT_DISPATCH shared_endpoint_dispatch = {
    .NdkCloseSharedEndpoint = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkGetLocalAddress = shared_endpoint_ndk_get_local_address,
};

NTSTATUS shared_endpoint_create(NDK_ADAPTER *adapter, CONST PSOCKADDR address, ULONG address_length,
                                NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_SHARED_ENDPOINT **out)
{
    struct adapter *a = adapter_of(adapter);
    struct shared_endpoint *e;
    enum fabric_reason why;
    struct addr local;

    if (!addr_from(&local, address, address_length))
        return STATUS_INVALID_PARAMETER;
    e = calloc(1, sizeof(*e));
    if (!e)
        return STATUS_INSUFFICIENT_RESOURCES;
    why = a->fabric->ops->endpoint_create(a->fabric, &local, &e->fabric);
    if (why != FABRIC_OK) {
        free(e);
        return status_of_reason(why);
    }
    e->local = local;
    e->pub.Dispatch = &shared_endpoint_dispatch;
    object_init(&e->obj, &shared_endpoint_type, &e->pub.Header, e, a, adapter_home(a));
    object_depend(&e->obj, &a->obj);
    return object_created(a, &e->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
