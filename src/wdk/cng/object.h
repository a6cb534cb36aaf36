/* SPDX-License-Identifier: MIT */
/*
 * The objects of CNG: providers, hashes and keys. A handle is the object's address. A hash or key is in memory of the
 * driver or of this library, and has a reference on its provider.
 */
#ifndef ONDK_WDK_CNG_OBJECT_H
#define ONDK_WDK_CNG_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wdm.h"

#include "bcrypt.h"

#include "base/spin.h"
#include "wdk/cng/cipher.h"
#include "wdk/cng/digest.h"

enum cng_kind { CNG_ANY, CNG_PROVIDER, CNG_HASH, CNG_KEY };

struct cng_provider;

/* The head of each object. `signature` is 0 after the end of the object. */
struct cng_object {
    uint32_t signature;
    enum cng_kind kind;
    struct cng_provider *provider; /* of a provider: itself */
    bool is_own_memory;            /* the library has allocated the object */
};

enum cng_class { CNG_CLASS_RNG, CNG_CLASS_HASH, CNG_CLASS_CIPHER, CNG_CLASS_KDF };
enum cng_kdf { CNG_KDF_KBKDF, CNG_KDF_PBKDF2 };

struct cng_algorithm {
    const WCHAR *name;
    enum cng_class class;
    int id; /* enum digest_kind, cipher_kind or cng_kdf */
};

struct cng_provider {
    struct cng_object object;
    const struct cng_algorithm *algorithm;
    ULONG flags;     /* of BCryptOpenAlgorithmProvider */
    bool is_shared;  /* the provider of a pseudo handle */
    atomic_int mode; /* enum cipher_mode of new keys */
    atomic_uint refs;
};

struct cng_hash {
    struct cng_object object;
    struct digest digest;
    bool is_reusable, is_finished;
    _Alignas(BCRYPT_OBJECT_ALIGNMENT) uint8_t state[];
};

struct cng_key {
    struct cng_object object;
    atomic_int mode; /* enum cipher_mode */
    struct spin iv_lock;
    uint8_t iv[CIPHER_BLOCK_SIZE]; /* the key's own initialization vector; under iv_lock */
    struct cipher cipher;
    uint8_t *secret; /* of a key derivation algorithm, else NULL */
    size_t secret_size;
};

/*
 * Returns the object of a handle, or NULL if the handle is NULL or invalid. Reports an invalid handle, but not NULL.
 * Also reports an IRQL that the object's provider does not allow, and returns the object in this case.
 */
void *cng_lookup(const char *routine, BCRYPT_HANDLE handle, enum cng_kind kind);
/* Returns the algorithm with this name, or NULL. */
const struct cng_algorithm *cng_find_algorithm(const WCHAR *name);
bool cng_name_is(const WCHAR *name, const WCHAR *other);
/* Returns the kind of digest that the provider of a hash algorithm computes: the algorithm, and whether an HMAC. */
struct digest cng_provider_digest(const struct cng_provider *p);

/* The size of the buffer that a hash or key of the provider needs. Returns 0 if the provider has neither. */
ULONG cng_object_size(const struct cng_provider *p);
/*
 * Makes a hash or key of the provider in the driver's buffer, or in allocated memory if `buffer` is NULL. The object
 * has a reference on the provider. The members after struct cng_object are zero. The object's handle is not valid
 * before cng_object_publish. If checks are on and the buffer has an object that was not destroyed, reports and ends
 * that object.
 */
NTSTATUS cng_object_new(const char *routine, struct cng_provider *p, enum cng_kind kind, PUCHAR buffer, ULONG size,
                        void **out);
/* Makes the object's handle valid: registers the object (live.h). */
void cng_object_publish(struct cng_object *o);
/* Zeroes what is secret in the key, and frees what the key has allocated. */
void cng_key_fini(struct cng_key *k);
/*
 * Ends the object, drops its reference on the provider, and frees the object if the library has allocated it. The
 * caller must first zero the secrets in the members after struct cng_object.
 */
void cng_object_end(struct cng_object *o);

#endif
