/* SPDX-License-Identifier: MIT */
/* Allocates and registers memory: see region.h. */
#include "consumer/region.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/provider.h"
#include "consumer/sync.h"

static NTSTATUS consumer_region_set_up(struct consumer_region *r, NDK_PD *pd, ULONG flags)
{
    NTSTATUS status = sync_create_mr(pd, FALSE, &r->mr);

    if (NT_SUCCESS(status)) {
        consumer_init_mdl(&r->mdl, r->memory, r->len, NULL);
        status = sync_register(r->mr, &r->mdl, r->len, flags);
    }
    if (!NT_SUCCESS(status)) {
        consumer_region_destroy(r);
        return status;
    }
    r->local_token = r->mr->Dispatch->NdkGetLocalTokenFromMr(r->mr);
    r->remote_token = r->mr->Dispatch->NdkGetRemoteTokenFromMr(r->mr);
    return status;
}

NTSTATUS consumer_region_create(struct consumer_region *r, NDK_PD *pd, uint32_t len, ULONG flags)
{
    size_t size = ((size_t)len + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;

    memset(r, 0, sizeof *r);
    r->memory = aligned_alloc(PAGE_SIZE, size ? size : PAGE_SIZE);
    if (!r->memory)
        return STATUS_INSUFFICIENT_RESOURCES;
    memset(r->memory, 0, size);
    r->owns_memory = true;
    r->len = len;
    return consumer_region_set_up(r, pd, flags);
}

NTSTATUS consumer_region_register(struct consumer_region *r, NDK_PD *pd, void *memory, uint32_t len, ULONG flags)
{
    *r = (struct consumer_region){ .memory = memory, .len = len };
    return consumer_region_set_up(r, pd, flags);
}

void consumer_region_destroy(struct consumer_region *r)
{
    if (r->mr)
        sync_close(r->mr);
    if (r->owns_memory)
        free(r->memory);
    memset(r, 0, sizeof *r);
}
