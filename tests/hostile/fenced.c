/* SPDX-License-Identifier: MIT */
/* Registered memory between fences: see fenced.h. */
#include "hostile/fenced.h"

#include <stdlib.h>
#include <string.h>

#include "openndk/mdl.h"

enum { FENCE = 4096, ODD = 13 };

static uint8_t pattern(uint32_t at)
{
    return (uint8_t)(at * 31 + (at >> 8) * 7 + 5);
}

static uint32_t whole_size(const struct fenced *r)
{
    return r->len + 2 * FENCE;
}

NTSTATUS fenced_create(struct fenced *r, NDK_PD *pd, uint32_t len, ULONG flags, struct wait *wait)
{
    NTSTATUS status;

    memset(r, 0, sizeof *r);
    r->len = len;
    r->whole = malloc(whole_size(r));
    if (!r->whole)
        return STATUS_INSUFFICIENT_RESOURCES;
    for (uint32_t i = 0; i < whole_size(r); i++)
        r->whole[i] = pattern(i);
    r->memory = r->whole + FENCE - ODD;
    status = wait_for(wait, pd->Dispatch->NdkCreateMr(pd, FALSE, wait_created, wait, &r->mr), &r->mr);
    if (NT_SUCCESS(status)) {
        ondk_mdl_init(&r->mdl, r->memory, len, NULL);
        status = wait_for(wait, r->mr->Dispatch->NdkRegisterMr(r->mr, &r->mdl, len, flags, wait_requested, wait), NULL);
    }
    if (!NT_SUCCESS(status)) {
        fenced_destroy(r, wait);
        return status;
    }
    r->local = r->mr->Dispatch->NdkGetLocalTokenFromMr(r->mr);
    r->remote = r->mr->Dispatch->NdkGetRemoteTokenFromMr(r->mr);
    return STATUS_SUCCESS;
}

bool fenced_is_whole(const struct fenced *r, bool memory)
{
    uint32_t first = FENCE - ODD, behind = first + r->len;

    for (uint32_t i = 0; r->whole && i < whole_size(r); i++)
        if ((memory || i < first || i >= behind) && r->whole[i] != pattern(i))
            return false;
    return true;
}

void fenced_destroy(struct fenced *r, struct wait *wait)
{
    if (r->mr)
        wait_close(wait, &r->mr->Header, r->mr->Dispatch->NdkCloseMr);
    free(r->whole);
    memset(r, 0, sizeof *r);
}

NDK_SGE fenced_sge(const struct fenced *r, uint32_t offset, uint32_t len)
{
    NDK_SGE sge;

    memset(&sge, 0, sizeof sge);
    sge.VirtualAddress = r->memory + offset;
    sge.Length = len;
    sge.MemoryRegionToken = r->local;
    return sge;
}
