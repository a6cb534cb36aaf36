/* SPDX-License-Identifier: MIT */
/* Abstract: memory regions are the protocol core's; the handle is its region. */
#include "iwarp/memory.h"

#include "fabric/iwarp/internal.h"

int iwarp_mr_register(struct fabric *f, const void *domain, void *memory, uint64_t len, uint64_t base_address,
                      unsigned access, struct fabric_mr **out, uint32_t *token)
{
    struct mem_region *region;
    int error = mem_register(((struct iwarp_fabric *)f)->memory, domain, memory, len, base_address, access, &region,
                             token);

    if (!error)
        *out = (struct fabric_mr *)region;
    return error;
}

bool iwarp_mr_deregister(struct fabric_mr *mr, void (*done)(void *context), void *context)
{
    return mem_invalidate((struct mem_region *)mr, done, context);
}
