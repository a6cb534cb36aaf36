/* SPDX-License-Identifier: MIT */
/*
 * The memory of registered regions. The consumer must not free it until the region is deregistered or closed, because
 * a peer can access it without a request of the consumer.
 */
#ifndef VERIFY_REGION_MEMORY_H
#define VERIFY_REGION_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <ndk/ndkpi.h>

#include "verify/stack.h"
#include "verify/verify.h"

struct proxy;

/* Guarded by the proxies' lock. */
struct region_memory {
    const void *start;
    size_t size;   /* 0: the region is not registered */
    bool reported; /* the memory was reported as freed */
    struct stack registered_by;
};

/* Sets the memory of a registration. Requires the proxies' lock. */
void region_memory_set(struct region_memory *m, const MDL *mdl, SIZE_T length, const struct stack *by);
/* Returns true, and describes the use, if the memory overlaps [start, start + size). Requires the proxies' lock. */
bool region_memory_find_use(struct region_memory *m, const void *start, size_t size, struct verify_use *use);
/* Marks the memory as reported if it contains [start, start + size). Returns whether it does. Requires the lock. */
bool region_memory_set_reported(struct region_memory *m, const void *start, size_t size);
/* Reports a breach if the region's memory is freed already. Must be called before the registration ends. */
void region_memory_check(struct proxy *mr, const char *routine);

#endif
