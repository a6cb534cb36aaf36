/* SPDX-License-Identifier: MIT */
/* Registered memory between fences: see fenced.h. */
#include "hostile/fenced.h"

#include <stdlib.h>
#include <string.h>

enum { FENCE = 4096, ODD = 13 };

static uint8_t pattern(uint32_t at)
{
    return (uint8_t)(at * 31 + (at >> 8) * 7 + 5);
}

static uint32_t whole_size(uint32_t len)
{
    return len + 2 * FENCE;
}

NTSTATUS fenced_create(struct fenced *f, NDK_PD *pd, uint32_t len, ULONG flags)
{
    NTSTATUS status;

    memset(f, 0, sizeof *f);
    f->whole = malloc(whole_size(len));
    if (!f->whole)
        return STATUS_INSUFFICIENT_RESOURCES;
    for (uint32_t i = 0; i < whole_size(len); i++)
        f->whole[i] = pattern(i);
    status = consumer_region_register(&f->region, pd, f->whole + FENCE - ODD, len, flags);
    if (!NT_SUCCESS(status))
        fenced_destroy(f);
    return status;
}

bool fenced_is_whole(const struct fenced *f, bool memory)
{
    uint32_t first = FENCE - ODD, end = first + f->region.len;

    for (uint32_t i = 0; f->whole && i < whole_size(f->region.len); i++)
        if ((memory || i < first || i >= end) && f->whole[i] != pattern(i))
            return false;
    return true;
}

void fenced_destroy(struct fenced *f)
{
    consumer_region_destroy(&f->region);
    free(f->whole);
    f->whole = NULL;
}
