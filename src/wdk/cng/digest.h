/* SPDX-License-Identifier: MIT */
/*
 * Hashes, HMAC and the functions that derive keys with HMAC. digest.c computes them with nettle. Neither nettle's
 * headers nor Windows' are included here, so that a file may include this header with either.
 *
 * A state is memory of the caller, aligned to 16 bytes, with digest_state_size bytes. A copy of a state is a state. No
 * function allocates memory or waits, so any IRQL is allowed.
 */
#ifndef ONDK_WDK_CNG_DIGEST_H
#define ONDK_WDK_CNG_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum digest_kind {
    DIGEST_MD2,
    DIGEST_MD4,
    DIGEST_MD5,
    DIGEST_SHA1,
    DIGEST_SHA256,
    DIGEST_SHA384,
    DIGEST_SHA512,
    DIGEST_SHA3_256,
    DIGEST_SHA3_384,
    DIGEST_SHA3_512,
    DIGEST_KINDS
};

enum {
    DIGEST_MAX_SIZE = 64,        /* of a hash value */
    DIGEST_MAX_STATE_SIZE = 1200 /* of an HMAC's state */
};

/* The kind of value to compute: a hash of the data or, if `keyed` is true, an HMAC of the data with a key. */
struct digest {
    enum digest_kind kind;
    bool keyed;
};

size_t digest_size(enum digest_kind kind);
size_t digest_block_size(enum digest_kind kind);
size_t digest_state_size(struct digest digest);

/* Begins a computation. The key is used only by an HMAC. */
void digest_begin(struct digest digest, void *state, const uint8_t *key, size_t key_size);
void digest_add(struct digest digest, void *state, const uint8_t *data, size_t size);
/* Stores digest_size bytes. The state is then as after digest_begin, with the same key. */
void digest_end(struct digest digest, void *state, uint8_t *value);

/* A sequence of bytes that a caller passes. */
struct digest_bytes {
    const uint8_t *start;
    size_t size;
};

/* PBKDF2 of RFC 8018 with HMAC. iterations must not be 0. */
void digest_pbkdf2(enum digest_kind kind, struct digest_bytes password, struct digest_bytes salt, uint64_t iterations,
                   uint8_t *out, size_t size);
/*
 * The key derivation of NIST SP 800-108 in counter mode with HMAC. Counter and length have 32 bits. `fixed` has
 * `count` parts, for example the label, a zero byte and the context. `size` must be below 512 MiB.
 */
void digest_kbkdf(enum digest_kind kind, struct digest_bytes key, const struct digest_bytes fixed[], size_t count,
                  uint8_t *out, size_t size);

#endif
