/* SPDX-License-Identifier: MIT */
/* Registered memory. */
#ifndef CONSUMER_REGION_H
#define CONSUMER_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "ndk/ndkpi.h"
#include "openndk/mdl.h"

enum {
    CONSUMER_ALL_RIGHTS = NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ |
                          NDK_MR_FLAG_ALLOW_REMOTE_WRITE,
};

struct consumer_region {
    MDL mdl;
    NDK_MR *mr;
    uint8_t *memory;
    uint32_t len;
    bool owns_memory;
    uint32_t local_token, remote_token;
};

/* Allocates zeroed pages and registers them. flags: NDK_MR_FLAG_. After a failure, *r is zeroed. */
NTSTATUS consumer_region_create(struct consumer_region *r, NDK_PD *pd, uint32_t len, ULONG flags);
/* Works like consumer_region_create, but registers `memory`, which must outlive the region. */
NTSTATUS consumer_region_register(struct consumer_region *r, NDK_PD *pd, void *memory, uint32_t len, ULONG flags);
/* Waits until no request uses the memory, and closes the region. Does nothing if *r is zeroed. */
void consumer_region_destroy(struct consumer_region *r);

static inline NDK_SGE consumer_region_sge(const struct consumer_region *r, uint32_t offset, uint32_t len)
{
    return (NDK_SGE){ .VirtualAddress = r->memory + offset, .Length = len, .MemoryRegionToken = r->local_token };
}

#endif
