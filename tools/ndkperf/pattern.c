/* SPDX-License-Identifier: MIT */
/* Fills and verifies the contents of messages for --check: see pattern.h. */
#include "pattern.h"

#include <endian.h>
#include <sched.h>
#include <string.h>

#include "monotonic.h"

/* Maximum time for which written_differs waits for the bytes before a message's last byte. */
static const uint64_t WRITTEN_NS = 1000000000;

static uint64_t pattern_word(uint32_t lane, uint64_t message, uint32_t word)
{
    uint64_t x = (message + 1) * UINT64_C(0x9e3779b97f4a7c15) + (lane + UINT64_C(1)) * UINT64_C(0xc2b2ae3d27d4eb4f) +
                 word * UINT64_C(0x165667b19e3779f9);

    return x ^ x >> 29;
}

void pattern_fill(uint8_t *at, uint32_t len, uint32_t lane, uint64_t message)
{
    for (uint32_t i = 0; i < len; i += 8) {
        uint64_t word = pattern_word(lane, message, i);
        memcpy(at + i, &word, len - i < 8 ? len - i : 8);
    }
}

uint32_t pattern_differs(const uint8_t *at, uint32_t len, uint32_t lane, uint64_t message)
{
    for (uint32_t i = 0; i < len; i += 8) {
        uint64_t word = pattern_word(lane, message, i);
        uint8_t bytes[8];
        uint32_t n = len - i < 8 ? len - i : 8;

        memcpy(bytes, &word, sizeof bytes);
        for (uint32_t k = 0; k < n; k++)
            if (at[i + k] != bytes[k])
                return i + k;
    }
    return len;
}

/* For functions that read memory while the peer writes to it by RDMA. No lock can protect such memory. */
#define RACES_WITH_PEER __attribute__((no_sanitize("thread")))

RACES_WITH_PEER uint8_t written_mark(const uint8_t *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

RACES_WITH_PEER uint32_t written_count(const uint32_t *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

RACES_WITH_PEER static uint32_t written_differs_now(const uint8_t *at, uint32_t len, uint32_t lane, uint64_t message)
{
    const volatile uint8_t *bytes = at;

    for (uint32_t i = 0; i < len; i++)
        if (bytes[i] != (uint8_t)(le64toh(pattern_word(lane, message, i & ~7u)) >> (i & 7) * 8))
            return i;
    return len;
}

uint32_t written_differs(const uint8_t *at, uint32_t len, uint32_t lane, uint64_t message)
{
    uint64_t from = monotonic_ns();
    uint32_t offset;

    while ((offset = written_differs_now(at, len, lane, message)) < len && monotonic_ns() - from < WRITTEN_NS)
        sched_yield();
    return offset;
}
