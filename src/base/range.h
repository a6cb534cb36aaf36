/* SPDX-License-Identifier: MIT */
/*
 * Returns true if [addr, addr + len) is inside [base, base + size). This is the only range test for remote and local
 * accesses. The invariant: it computes no sum that can wrap.
 */
#ifndef BASE_RANGE_H
#define BASE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

static inline bool range_within(uint64_t base, uint64_t size, uint64_t addr, uint64_t len)
{
    return addr >= base && addr - base <= size && len <= size - (addr - base);
}

#endif
