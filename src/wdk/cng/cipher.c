/* SPDX-License-Identifier: MIT */
/* Encrypts and decrypts with nettle: see cipher.h. */
#include "wdk/cng/cipher.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <nettle/aes.h>
#include <nettle/cbc.h>
#include <nettle/ccm.h>
#include <nettle/chacha-poly1305.h>
#include <nettle/gcm.h>
#include <nettle/memops.h>
#include <nettle/nettle-meta.h>

enum { GCM_MIN_TAG_SIZE = 12, CCM_MIN_TAG_SIZE = 4, CCM_LONGEST_NONCE = 13 };

_Static_assert(sizeof(struct aes256_ctx) <= sizeof((struct cipher *)NULL)->encrypt, "room for AES' round keys");
_Static_assert(AES_BLOCK_SIZE == CIPHER_BLOCK_SIZE && GCM_DIGEST_SIZE == CIPHER_TAG_SIZE &&
                   CHACHA_POLY1305_DIGEST_SIZE == CIPHER_TAG_SIZE && CHACHA_POLY1305_KEY_SIZE == CIPHER_MAX_KEY_SIZE,
               "the sizes of cipher.h");

static const struct nettle_cipher *cipher_aes(size_t key_size)
{
    return key_size == AES128_KEY_SIZE ? &nettle_aes128 : key_size == AES192_KEY_SIZE ? &nettle_aes192 : &nettle_aes256;
}

size_t cipher_key_size(enum cipher_kind kind, size_t size)
{
    if (size >= CIPHER_MAX_KEY_SIZE)
        return CIPHER_MAX_KEY_SIZE;
    return kind == CIPHER_AES && (size == AES128_KEY_SIZE || size == AES192_KEY_SIZE) ? size : 0;
}

void cipher_init(struct cipher *c, enum cipher_kind kind, const uint8_t *key, size_t key_size)
{
    *c = (struct cipher){ .kind = kind, .key_size = key_size };
    memcpy(c->key, key, key_size);
    if (kind == CIPHER_AES) {
        cipher_aes(key_size)->set_encrypt_key(c->encrypt, key);
        cipher_aes(key_size)->set_decrypt_key(c->decrypt, key);
    }
}

/*
 * If several threads prepare a cipher at the same time, each of them makes a table. The first table is stored, and the
 * other tables are freed.
 */
bool cipher_prepare(struct cipher *c, enum cipher_mode mode)
{
    struct gcm_key *table;
    void *none = NULL;

    if (mode != CIPHER_GCM || atomic_load(&c->gcm))
        return true;
    table = calloc(1, sizeof *table);
    if (!table)
        return false;
    gcm_set_key(table, c->encrypt, cipher_aes(c->key_size)->encrypt);
    if (!atomic_compare_exchange_strong(&c->gcm, &none, table))
        free(table);
    return true;
}

void cipher_fini(struct cipher *c)
{
    void *table = atomic_load(&c->gcm);

    if (table)
        explicit_bzero(table, sizeof(struct gcm_key));
    free(table);
    explicit_bzero(c, sizeof *c);
}

void cipher_ecb(const struct cipher *c, bool encrypt, uint8_t *out, const uint8_t *in, size_t size)
{
    const struct nettle_cipher *aes = cipher_aes(c->key_size);

    if (encrypt)
        aes->encrypt(c->encrypt, size, out, in);
    else
        aes->decrypt(c->decrypt, size, out, in);
}

void cipher_cbc(const struct cipher *c, bool encrypt, uint8_t iv[CIPHER_BLOCK_SIZE], uint8_t *out, const uint8_t *in,
                size_t size)
{
    const struct nettle_cipher *aes = cipher_aes(c->key_size);

    if (encrypt)
        cbc_encrypt(c->encrypt, aes->encrypt, CIPHER_BLOCK_SIZE, iv, size, out, in);
    else
        cbc_decrypt(c->decrypt, aes->decrypt, CIPHER_BLOCK_SIZE, iv, size, out, in);
}

/* ---- Authenticated modes ----------------------------------------------------------------------------------------- */

bool cipher_allows(enum cipher_kind kind, enum cipher_mode mode, const struct cipher_message *m, size_t size)
{
    if (!m->nonce || !m->tag || (m->auth_size && !m->auth))
        return false;
    if (kind == CIPHER_CHACHA20_POLY1305)
        return m->nonce_size == CHACHA_POLY1305_NONCE_SIZE && m->tag_size == CIPHER_TAG_SIZE;
    if (mode == CIPHER_GCM)
        return m->nonce_size == GCM_IV_SIZE && m->tag_size >= GCM_MIN_TAG_SIZE && m->tag_size <= CIPHER_TAG_SIZE;
    return m->nonce_size >= CCM_MIN_NONCE_SIZE && m->nonce_size <= CCM_LONGEST_NONCE &&
           m->tag_size >= CCM_MIN_TAG_SIZE && m->tag_size <= CIPHER_TAG_SIZE && m->tag_size % 2 == 0 &&
           size <= CCM_MAX_MSG_SIZE(m->nonce_size);
}

/*
 * Returns nettle's state at the beginning of a message, computed from the nonce. For a later part of the message,
 * cipher_gcm_load then replaces the members that struct cipher_gcm also has.
 */
static struct gcm_ctx cipher_gcm_context(const struct cipher *c, const struct cipher_message *m)
{
    struct gcm_ctx context;

    gcm_set_iv(&context, atomic_load(&c->gcm), m->nonce_size, m->nonce);
    return context;
}

static void cipher_gcm_load(struct gcm_ctx *context, const struct cipher_gcm *g)
{
    memcpy(context->ctr.b, g->counter, sizeof g->counter);
    memcpy(context->x.b, g->hash, sizeof g->hash);
    context->auth_size = g->auth_size;
    context->data_size = g->data_size;
}

static void cipher_gcm_store(struct cipher_gcm *g, const struct gcm_ctx *context)
{
    memcpy(g->counter, context->ctr.b, sizeof g->counter);
    memcpy(g->hash, context->x.b, sizeof g->hash);
    g->auth_size = context->auth_size;
    g->data_size = context->data_size;
}

void cipher_gcm_begin(const struct cipher *c, const struct cipher_message *m, struct cipher_gcm *g)
{
    struct gcm_ctx context = cipher_gcm_context(c, m);

    if (m->auth_size)
        gcm_update(&context, atomic_load(&c->gcm), m->auth_size, m->auth);
    cipher_gcm_store(g, &context);
}

void cipher_gcm_add(const struct cipher *c, bool encrypt, struct cipher_gcm *g, uint8_t *out, const uint8_t *in,
                    size_t size)
{
    nettle_cipher_func *encrypt_block = cipher_aes(c->key_size)->encrypt;
    const struct gcm_key *table = atomic_load(&c->gcm);
    struct gcm_ctx context = { .auth_size = 0 };

    if (!size)
        return;
    cipher_gcm_load(&context, g);
    if (encrypt)
        gcm_encrypt(&context, table, c->encrypt, encrypt_block, size, out, in);
    else
        gcm_decrypt(&context, table, c->encrypt, encrypt_block, size, out, in);
    cipher_gcm_store(g, &context);
}

static void cipher_gcm_tag(const struct cipher *c, const struct cipher_message *m, const struct cipher_gcm *g,
                           uint8_t *tag)
{
    struct gcm_ctx context = cipher_gcm_context(c, m);

    cipher_gcm_load(&context, g);
    gcm_digest(&context, atomic_load(&c->gcm), c->encrypt, cipher_aes(c->key_size)->encrypt, m->tag_size, tag);
}

void cipher_gcm_seal(const struct cipher *c, const struct cipher_message *m, const struct cipher_gcm *g)
{
    cipher_gcm_tag(c, m, g, m->tag);
}

bool cipher_gcm_open(const struct cipher *c, const struct cipher_message *m, const struct cipher_gcm *g)
{
    uint8_t tag[CIPHER_TAG_SIZE];

    cipher_gcm_tag(c, m, g, tag);
    return memeql_sec(tag, m->tag, m->tag_size);
}

/* The next four functions encrypt or decrypt a message, and store the tag that they have computed at `tag`. */

static void cipher_gcm_message(const struct cipher *c, bool encrypt, const struct cipher_message *m, uint8_t *out,
                               const uint8_t *in, size_t size, uint8_t *tag)
{
    struct cipher_gcm g;

    cipher_gcm_begin(c, m, &g);
    cipher_gcm_add(c, encrypt, &g, out, in, size);
    cipher_gcm_tag(c, m, &g, tag);
}

static void cipher_ccm_message(const struct cipher *c, bool encrypt, const struct cipher_message *m, uint8_t *out,
                               const uint8_t *in, size_t size, uint8_t *tag)
{
    nettle_cipher_func *encrypt_block = cipher_aes(c->key_size)->encrypt;
    struct ccm_ctx context;

    ccm_set_nonce(&context, c->encrypt, encrypt_block, m->nonce_size, m->nonce, m->auth_size, size, m->tag_size);
    if (m->auth_size)
        ccm_update(&context, c->encrypt, encrypt_block, m->auth_size, m->auth);
    if (size && encrypt)
        ccm_encrypt(&context, c->encrypt, encrypt_block, size, out, in);
    else if (size)
        ccm_decrypt(&context, c->encrypt, encrypt_block, size, out, in);
    ccm_digest(&context, c->encrypt, encrypt_block, m->tag_size, tag);
}

static void cipher_chacha_message(const struct cipher *c, bool encrypt, const struct cipher_message *m, uint8_t *out,
                                  const uint8_t *in, size_t size, uint8_t *tag)
{
    struct chacha_poly1305_ctx context;

    chacha_poly1305_set_key(&context, c->key);
    chacha_poly1305_set_nonce(&context, m->nonce);
    if (m->auth_size)
        chacha_poly1305_update(&context, m->auth_size, m->auth);
    if (size && encrypt)
        chacha_poly1305_encrypt(&context, size, out, in);
    else if (size)
        chacha_poly1305_decrypt(&context, size, out, in);
    chacha_poly1305_digest(&context, m->tag_size, tag);
    explicit_bzero(&context, sizeof context);
}

static void cipher_message(const struct cipher *c, enum cipher_mode mode, bool encrypt, const struct cipher_message *m,
                           uint8_t *out, const uint8_t *in, size_t size, uint8_t *tag)
{
    if (c->kind == CIPHER_CHACHA20_POLY1305)
        cipher_chacha_message(c, encrypt, m, out, in, size, tag);
    else if (mode == CIPHER_GCM)
        cipher_gcm_message(c, encrypt, m, out, in, size, tag);
    else
        cipher_ccm_message(c, encrypt, m, out, in, size, tag);
}

void cipher_seal(const struct cipher *c, enum cipher_mode mode, const struct cipher_message *m, uint8_t *out,
                 const uint8_t *in, size_t size)
{
    cipher_message(c, mode, true, m, out, in, size, m->tag);
}

bool cipher_open(const struct cipher *c, enum cipher_mode mode, const struct cipher_message *m, uint8_t *out,
                 const uint8_t *in, size_t size)
{
    uint8_t tag[CIPHER_TAG_SIZE];

    cipher_message(c, mode, false, m, out, in, size, tag);
    if (memeql_sec(tag, m->tag, m->tag_size))
        return true;
    if (size)
        explicit_bzero(out, size);
    return false;
}
