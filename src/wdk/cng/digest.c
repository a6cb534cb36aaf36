/* SPDX-License-Identifier: MIT */
/*
 * Computes hashes and HMACs with nettle: see digest.h. An HMAC's state is nettle's three contexts, one after another.
 */
#include "wdk/cng/digest.h"

#include <string.h>

#include <nettle/hmac.h>
#include <nettle/nettle-meta.h>
#include <nettle/sha3.h>

static const struct nettle_hash *const hashes[DIGEST_KINDS] = {
    [DIGEST_MD2] = &nettle_md2,           [DIGEST_MD4] = &nettle_md4,           [DIGEST_MD5] = &nettle_md5,
    [DIGEST_SHA1] = &nettle_sha1,         [DIGEST_SHA256] = &nettle_sha256,     [DIGEST_SHA384] = &nettle_sha384,
    [DIGEST_SHA512] = &nettle_sha512,     [DIGEST_SHA3_256] = &nettle_sha3_256, [DIGEST_SHA3_384] = &nettle_sha3_384,
    [DIGEST_SHA3_512] = &nettle_sha3_512,
};

enum { ALIGNMENT = 16 };

/* The largest context is that of SHA3-256. */
_Static_assert(3 * ((sizeof(struct sha3_256_ctx) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT) <= DIGEST_MAX_STATE_SIZE,
               "room for an HMAC's state");

size_t digest_size(enum digest_kind kind)
{
    return hashes[kind]->digest_size;
}

size_t digest_block_size(enum digest_kind kind)
{
    return hashes[kind]->block_size;
}

/* Returns the distance between the contexts of an HMAC, in bytes. */
static size_t digest_stride(const struct nettle_hash *hash)
{
    return (hash->context_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t digest_state_size(struct digest digest)
{
    return digest_stride(hashes[digest.kind]) * (digest.keyed ? 3 : 1);
}

/*
 * The hash contexts of an HMAC. `outer` has hashed the key with the outer padding. `inner` has hashed the key with the
 * inner padding. `data` has hashed the key with the inner padding and all data so far.
 */
struct hmac_contexts {
    void *outer, *inner, *data;
};

static struct hmac_contexts digest_contexts(const struct nettle_hash *hash, void *state)
{
    uint8_t *first = state;

    return (struct hmac_contexts){ first + digest_stride(hash), first + 2 * digest_stride(hash), first };
}

void digest_begin(struct digest digest, void *state, const uint8_t *key, size_t key_size)
{
    const struct nettle_hash *hash = hashes[digest.kind];
    struct hmac_contexts c = digest_contexts(hash, state);

    if (digest.keyed)
        hmac_set_key(c.outer, c.inner, c.data, hash, key_size, key);
    else
        hash->init(state);
}

/* Data is added to an HMAC as to a hash, because the context `data` is the first one in an HMAC's state. */
void digest_add(struct digest digest, void *state, const uint8_t *data, size_t size)
{
    if (size)
        hashes[digest.kind]->update(state, size, data);
}

void digest_end(struct digest digest, void *state, uint8_t *value)
{
    const struct nettle_hash *hash = hashes[digest.kind];
    struct hmac_contexts c = digest_contexts(hash, state);

    if (digest.keyed)
        hmac_digest(c.outer, c.inner, c.data, hash, hash->digest_size, value);
    else
        hash->digest(state, hash->digest_size, value);
}

/* ---- Key derivation ---------------------------------------------------------------------------------------------- */

struct hmac {
    struct digest digest;
    _Alignas(ALIGNMENT) uint8_t state[DIGEST_MAX_STATE_SIZE];
};

static void hmac_begin(struct hmac *h, enum digest_kind kind, struct digest_bytes key)
{
    h->digest = (struct digest){ kind, true };
    digest_begin(h->digest, h->state, key.start, key.size);
}

static void hmac_add(struct hmac *h, const uint8_t *data, size_t size)
{
    digest_add(h->digest, h->state, data, size);
}

static void hmac_add_number(struct hmac *h, uint32_t number)
{
    const uint8_t big_endian[4] = { (uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
                                    (uint8_t)number };

    hmac_add(h, big_endian, sizeof big_endian);
}

static void hmac_end(struct hmac *h, uint8_t *value)
{
    digest_end(h->digest, h->state, value);
}

/* Computes block `number` of PBKDF2, which is the exclusive or of `iterations` HMACs. */
static void digest_pbkdf2_block(struct hmac *h, struct digest_bytes salt, uint64_t iterations, uint32_t number,
                                uint8_t sum[DIGEST_MAX_SIZE])
{
    size_t size = digest_size(h->digest.kind);
    uint8_t value[DIGEST_MAX_SIZE];

    hmac_add(h, salt.start, salt.size);
    hmac_add_number(h, number);
    hmac_end(h, value);
    memcpy(sum, value, size);
    for (uint64_t i = 1; i < iterations; i++) {
        hmac_add(h, value, size);
        hmac_end(h, value);
        for (size_t j = 0; j < size; j++)
            sum[j] ^= value[j];
    }
    explicit_bzero(value, sizeof value);
}

void digest_pbkdf2(enum digest_kind kind, struct digest_bytes password, struct digest_bytes salt, uint64_t iterations,
                   uint8_t *out, size_t size)
{
    uint8_t sum[DIGEST_MAX_SIZE];
    struct hmac h;

    hmac_begin(&h, kind, password);
    for (uint32_t number = 1; size > 0; number++) {
        size_t n = size < digest_size(kind) ? size : digest_size(kind);

        digest_pbkdf2_block(&h, salt, iterations, number, sum);
        memcpy(out, sum, n);
        out += n;
        size -= n;
    }
    explicit_bzero(sum, sizeof sum);
    explicit_bzero(&h, sizeof h);
}

void digest_kbkdf(enum digest_kind kind, struct digest_bytes key, const struct digest_bytes fixed[], size_t count,
                  uint8_t *out, size_t size)
{
    uint32_t bits = (uint32_t)(size * 8);
    uint8_t value[DIGEST_MAX_SIZE];
    struct hmac h;

    hmac_begin(&h, kind, key);
    for (uint32_t number = 1; size > 0; number++) {
        size_t n = size < digest_size(kind) ? size : digest_size(kind);

        hmac_add_number(&h, number);
        for (size_t i = 0; i < count; i++)
            hmac_add(&h, fixed[i].start, fixed[i].size);
        hmac_add_number(&h, bits);
        hmac_end(&h, value);
        memcpy(out, value, n);
        out += n;
        size -= n;
    }
    explicit_bzero(value, sizeof value);
    explicit_bzero(&h, sizeof h);
}
