/* SPDX-License-Identifier: MIT */
/*
 * Reads from and writes to a bounded buffer, in network byte order. The invariant: an access that does not fit does not
 * move the cursor and sets `failed`, which stays set. So a decoder checks `failed` only once, after the last field.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor_in {
    const uint8_t *at;
    size_t remaining;
    bool failed;
};

struct cursor_out {
    uint8_t *at;
    size_t remaining;
    bool failed;
};

static inline struct cursor_in cursor_in(const void *data, size_t len)
{
    return (struct cursor_in){ .at = data, .remaining = len, .failed = false };
}

static inline struct cursor_out cursor_out(void *data, size_t len)
{
    return (struct cursor_out){ .at = data, .remaining = len, .failed = false };
}

/* Returns the next `len` bytes and moves the cursor behind them. Returns NULL if fewer bytes remain. */
static inline const uint8_t *cursor_get(struct cursor_in *c, size_t len)
{
    const uint8_t *p = c->at;
    if (c->failed || len > c->remaining) {
        c->failed = true;
        return NULL;
    }
    c->at += len;
    c->remaining -= len;
    return p;
}

static inline uint8_t cursor_get8(struct cursor_in *c)
{
    const uint8_t *p = cursor_get(c, 1);
    return p ? p[0] : 0;
}

static inline uint16_t cursor_get16(struct cursor_in *c)
{
    const uint8_t *p = cursor_get(c, 2);
    return p ? (uint16_t)(p[0] << 8 | p[1]) : 0;
}

static inline uint32_t cursor_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint32_t cursor_get32(struct cursor_in *c)
{
    const uint8_t *p = cursor_get(c, 4);
    return p ? cursor_be32(p) : 0;
}

static inline uint64_t cursor_get64(struct cursor_in *c)
{
    const uint8_t *p = cursor_get(c, 8);
    return p ? (uint64_t)cursor_be32(p) << 32 | cursor_be32(p + 4) : 0;
}

/*
 * Returns the place for the next `len` bytes and moves the cursor behind it. Returns NULL if there is not enough room.
 */
static inline uint8_t *cursor_reserve(struct cursor_out *c, size_t len)
{
    uint8_t *p = c->at;
    if (c->failed || len > c->remaining) {
        c->failed = true;
        return NULL;
    }
    c->at += len;
    c->remaining -= len;
    return p;
}

static inline void cursor_put(struct cursor_out *c, const void *data, size_t len)
{
    uint8_t *p = cursor_reserve(c, len);
    if (p && len)
        memcpy(p, data, len);
}

static inline void cursor_put8(struct cursor_out *c, uint8_t v)
{
    cursor_put(c, &v, 1);
}

static inline void cursor_put16(struct cursor_out *c, uint16_t v)
{
    uint8_t b[2] = { (uint8_t)(v >> 8), (uint8_t)v };
    cursor_put(c, b, sizeof b);
}

static inline void cursor_put32(struct cursor_out *c, uint32_t v)
{
    uint8_t b[4] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v };
    cursor_put(c, b, sizeof b);
}

static inline void cursor_put64(struct cursor_out *c, uint64_t v)
{
    uint8_t b[8] = { (uint8_t)(v >> 56), (uint8_t)(v >> 48), (uint8_t)(v >> 40), (uint8_t)(v >> 32),
                     (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8),  (uint8_t)v };
    cursor_put(c, b, sizeof b);
}

#endif
