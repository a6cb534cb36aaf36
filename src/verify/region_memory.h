/* SPDX-License-Identifier: MIT */
/*
 * Records the memory of registered regions. The consumer must not free the memory until the region is deregistered or
 * closed, because a peer can access the memory without a request of the consumer.
 */
#ifndef VERIFY_REGION_MEMORY_H
#define VERIFY_REGION_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <ndk/ndkpi.h>

#include "verify/stack.h"
#include "verify/verify.h"

struct proxy;

/* The memory of one region. Guarded by the proxies' lock. */
struct region_memory {
    const void *start;
    size_t size;   /* size in bytes; 0: the region is not registered */
    bool reported; /* the memory was reported as freed */
    struct stack registered_by;
};

/*
 * Stores the memory that the region registers. `by` is the stack of the call that registers it. Requires the proxies'
 * lock.
 */
void region_memory_set(struct region_memory *m, const MDL *mdl, SIZE_T length, const struct stack *by);
/*
 * If the memory of the region overlaps [start, start + size), describes the use in *use, marks the memory as reported
 * and returns true. Requires the proxies' lock.
 */
bool region_memory_find_use(struct region_memory *m, const void *start, size_t size, struct verify_use *use);
/*
 * If the region's memory contains [start, start + size), marks the memory as reported and returns true. Requires the
 * proxies' lock.
 */
bool region_memory_set_reported(struct region_memory *m, const void *start, size_t size);
/* Reports the region mr if its memory is freed already. Must run before the registration ends. */
void region_memory_check(struct proxy *mr, const char *routine);

#endif
