/* SPDX-License-Identifier: MIT */
/* Registers memory for tests to which the group of a registration does not matter. */
#ifndef TESTS_IWARP_REGISTRATION_H
#define TESTS_IWARP_REGISTRATION_H

#include "iwarp/memory.h"

/* Registers the memory in a group that is never closed. All such registrations of a source file share one group. */
static inline int register_memory(struct mem_table *t, const void *domain, void *memory, uint64_t len, uint64_t base_to,
                                  unsigned access, struct mem_region **out, uint32_t *stag)
{
    static struct mem_group group; /* zeroed, as mem_group_init leaves it */

    return mem_register(t, &group, domain, memory, len, base_to, access, out, stag);
}

#endif
