/* SPDX-License-Identifier: MIT */
/* Encodes and decodes ndkperf's protocol: see wire.h. */
#include "wire.h"

#include <endian.h>
#include <string.h>

static const char magic[4] = { 'N', 'D', 'K', 'P' };

static uint8_t *wire_put32(uint8_t *at, uint32_t value)
{
    value = htobe32(value);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static uint8_t *wire_put64(uint8_t *at, uint64_t value)
{
    value = htobe64(value);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static const uint8_t *wire_get32(const uint8_t *at, uint32_t *value)
{
    memcpy(value, at, sizeof *value);
    *value = be32toh(*value);
    return at + sizeof *value;
}

static const uint8_t *wire_get64(const uint8_t *at, uint64_t *value)
{
    memcpy(value, at, sizeof *value);
    *value = be64toh(*value);
    return at + sizeof *value;
}

/*
 * Writes the first eight bytes of a hello or answer: magic, `version`, `a` and `b`. In a hello, `a` is the flags and
 * `b` the index. In an answer, `a` is the code. The version has the same position in all versions of the protocol.
 */
static uint8_t *wire_put_head(uint8_t bytes[WIRE_PRIVATE], uint32_t version, uint32_t a, uint32_t b)
{
    memset(bytes, 0, WIRE_PRIVATE);
    memcpy(bytes, magic, sizeof magic);
    bytes[4] = (uint8_t)version;
    bytes[5] = (uint8_t)a;
    bytes[6] = (uint8_t)(b >> 8);
    bytes[7] = (uint8_t)b;
    return bytes + 8;
}

static const uint8_t *wire_get_head(const uint8_t *bytes, size_t len, uint32_t *version, uint32_t *a, uint32_t *b)
{
    if (len < 8 || memcmp(bytes, magic, sizeof magic) != 0)
        return NULL;
    *version = bytes[4];
    *a = bytes[5];
    *b = (uint32_t)bytes[6] << 8 | bytes[7];
    return bytes + 8;
}

void hello_put(const struct hello *h, uint8_t bytes[WIRE_PRIVATE])
{
    uint8_t *at = wire_put_head(bytes, h->version, h->flags, h->index);

    at = wire_put32(at, h->session);
    at = wire_put32(at, h->qps);
    at = wire_put32(at, h->size);
    at = wire_put32(at, h->window);
    at = wire_put32(at, h->token);
    at = wire_put64(at, h->address);
    (void)wire_put32(at, h->inline_size);
}

bool hello_get(struct hello *h, const uint8_t *bytes, size_t len)
{
    const uint8_t *at;

    memset(h, 0, sizeof *h);
    at = wire_get_head(bytes, len, &h->version, &h->flags, &h->index);
    if (!at)
        return false;
    if (h->version != WIRE_VERSION)
        return true;
    if (len < WIRE_PRIVATE)
        return false;
    at = wire_get32(at, &h->session);
    at = wire_get32(at, &h->qps);
    at = wire_get32(at, &h->size);
    at = wire_get32(at, &h->window);
    at = wire_get32(at, &h->token);
    at = wire_get64(at, &h->address);
    (void)wire_get32(at, &h->inline_size);
    return true;
}

void answer_put(const struct answer *a, uint8_t bytes[WIRE_PRIVATE])
{
    uint8_t *at = wire_put_head(bytes, a->version, a->code, 0);

    at = wire_put32(at, a->value);
    at = wire_put32(at, a->window);
    at = wire_put32(at, a->token);
    (void)wire_put64(at, a->address);
}

bool answer_get(struct answer *a, const uint8_t *bytes, size_t len)
{
    const uint8_t *at;
    uint32_t unused;

    memset(a, 0, sizeof *a);
    at = wire_get_head(bytes, len, &a->version, &a->code, &unused);
    if (!at || len < WIRE_PRIVATE)
        return false;
    at = wire_get32(at, &a->value);
    at = wire_get32(at, &a->window);
    at = wire_get32(at, &a->token);
    (void)wire_get64(at, &a->address);
    return true;
}

void order_put(const struct order *o, uint8_t bytes[WIRE_ORDER])
{
    uint8_t *at = wire_put32(bytes, o->kind);

    memset(at, 0, WIRE_ORDER - sizeof o->kind);
    at = wire_put32(at, o->test);
    at = wire_put32(at, o->flags);
    at = wire_put32(at, o->size);
    at = wire_put64(at, o->first);
    at = wire_put64(at, o->count);
    (void)wire_put32(at, o->burst);
}

void order_get(struct order *o, const uint8_t bytes[WIRE_ORDER])
{
    const uint8_t *at = wire_get32(bytes, &o->kind);

    at = wire_get32(at, &o->test);
    at = wire_get32(at, &o->flags);
    at = wire_get32(at, &o->size);
    at = wire_get64(at, &o->first);
    at = wire_get64(at, &o->count);
    (void)wire_get32(at, &o->burst);
}

void outcome_put(const struct outcome *o, uint8_t bytes[WIRE_ORDER])
{
    uint8_t *at = wire_put32(bytes, o->kind);

    memset(at, 0, WIRE_ORDER - sizeof o->kind);
    at = wire_put32(at, o->different);
    at = wire_put32(at, o->lane);
    at = wire_put32(at, o->offset);
    at = wire_put64(at, o->message);
    at = wire_put64(at, o->cpu_us);
    at = wire_put64(at, o->messages);
    at = wire_put64(at, o->ns);
    (void)wire_put64(at, o->peak);
}

void outcome_get(struct outcome *o, const uint8_t bytes[WIRE_ORDER])
{
    const uint8_t *at = wire_get32(bytes, &o->kind);

    at = wire_get32(at, &o->different);
    at = wire_get32(at, &o->lane);
    at = wire_get32(at, &o->offset);
    at = wire_get64(at, &o->message);
    at = wire_get64(at, &o->cpu_us);
    at = wire_get64(at, &o->messages);
    at = wire_get64(at, &o->ns);
    (void)wire_get64(at, &o->peak);
}
