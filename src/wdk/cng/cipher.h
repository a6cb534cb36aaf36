/* SPDX-License-Identifier: MIT */
/*
 * AES in the modes CBC, ECB, CCM and GCM, and ChaCha20-Poly1305. cipher.c computes them with nettle. Neither nettle's
 * headers nor Windows' are included here, so that a file may include this header with either.
 *
 * Input and output may be the same memory, but must not overlap otherwise. Several threads may use a cipher at the same
 * time. Only cipher_prepare allocates memory. No function waits.
 */
#ifndef ONDK_WDK_CNG_CIPHER_H
#define ONDK_WDK_CNG_CIPHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cipher_kind { CIPHER_AES, CIPHER_CHACHA20_POLY1305 };
enum cipher_mode { CIPHER_CBC, CIPHER_ECB, CIPHER_CCM, CIPHER_GCM, CIPHER_UNCHAINED, CIPHER_MODES };

enum {
    CIPHER_BLOCK_SIZE = 16, /* of AES */
    CIPHER_MAX_KEY_SIZE = 32,
    CIPHER_TAG_SIZE = 16, /* the longest */
    CIPHER_SCHEDULE_WORDS = 60
};

/* A key, ready for use. The members belong to cipher.c. cipher_fini must be called in the end. */
struct cipher {
    enum cipher_kind kind;
    size_t key_size;
    uint8_t key[CIPHER_MAX_KEY_SIZE];
    uint32_t encrypt[CIPHER_SCHEDULE_WORDS], decrypt[CIPHER_SCHEDULE_WORDS]; /* AES' round keys */
    _Atomic(void *) gcm; /* the table of mode GCM; NULL until cipher_prepare */
};

/*
 * Returns the size of the key that a secret of `size` bytes gives. 32 or more bytes give a key of 32 bytes. For AES, 16
 * and 24 bytes give a key of this size. Returns 0 for any other size.
 */
size_t cipher_key_size(enum cipher_kind kind, size_t size);
void cipher_init(struct cipher *c, enum cipher_kind kind, const uint8_t *key, size_t key_size);
/* Must succeed before the mode is used for the first time. Returns false if out of memory. Idempotent. */
bool cipher_prepare(struct cipher *c, enum cipher_mode mode);
/* Zeroes the key, and frees the table of mode GCM. */
void cipher_fini(struct cipher *c);

/* Mode ECB. The size must be a multiple of CIPHER_BLOCK_SIZE. */
void cipher_ecb(const struct cipher *c, bool encrypt, uint8_t *out, const uint8_t *in, size_t size);
/* Mode CBC. The size must be a multiple of CIPHER_BLOCK_SIZE. *iv is replaced by the vector of the next block. */
void cipher_cbc(const struct cipher *c, bool encrypt, uint8_t iv[CIPHER_BLOCK_SIZE], uint8_t *out, const uint8_t *in,
                size_t size);

/* The parameters of an authenticated mode beside the data. */
struct cipher_message {
    const uint8_t *nonce;
    size_t nonce_size;
    const uint8_t *auth; /* data that is authenticated and not encrypted */
    size_t auth_size;
    uint8_t *tag; /* an encryption stores the tag here, a decryption compares the tag with these bytes */
    size_t tag_size;
};

/* Returns true if the mode allows the sizes of the nonce, the tag and the data, and no necessary pointer is NULL. */
bool cipher_allows(enum cipher_kind kind, enum cipher_mode mode, const struct cipher_message *m, size_t size);
/*
 * cipher_seal encrypts a message, and cipher_open decrypts one. cipher_allows must have returned true. If the tag is
 * wrong, cipher_open zeroes the output and returns false.
 */
void cipher_seal(const struct cipher *c, enum cipher_mode mode, const struct cipher_message *m, uint8_t *out,
                 const uint8_t *in, size_t size);
bool cipher_open(const struct cipher *c, enum cipher_mode mode, const struct cipher_message *m, uint8_t *out,
                 const uint8_t *in, size_t size);

/* A message in mode GCM that is encrypted or decrypted in parts. The caller may store it between the calls. */
struct cipher_gcm {
    uint8_t counter[CIPHER_BLOCK_SIZE], hash[CIPHER_BLOCK_SIZE];
    uint64_t auth_size, data_size;
};

/* Begins a message. m->tag is not used. */
void cipher_gcm_begin(const struct cipher *c, const struct cipher_message *m, struct cipher_gcm *g);
/* Processes the next part. Each part but the last must have a multiple of CIPHER_BLOCK_SIZE bytes. */
void cipher_gcm_add(const struct cipher *c, bool encrypt, struct cipher_gcm *g, uint8_t *out, const uint8_t *in,
                    size_t size);
/* Ends the encryption of a message. Stores the tag at m->tag. */
void cipher_gcm_seal(const struct cipher *c, const struct cipher_message *m, const struct cipher_gcm *g);
/* Ends the decryption of a message. Returns false if the tag at m->tag is wrong. */
bool cipher_gcm_open(const struct cipher *c, const struct cipher_message *m, const struct cipher_gcm *g);

#endif
