/* SPDX-License-Identifier: MIT */
/*
 * Implements handles, providers, and the memory of hashes and keys: see object.h. Each object but the providers of
 * pseudo handles is registered while its handle is valid, so that an object that is left is reported with its stack.
 */
#include "wdk/cng/object.h"

#include <stdlib.h>
#include <string.h>

#include "wdk/common/check.h"
#include "wdk/common/inuse.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"

#define CNG_SIGNATURE 0x676e6343 /* "Ccng" */

static const struct cng_algorithm algorithms[] = {
    { BCRYPT_MD2_ALGORITHM, CNG_CLASS_HASH, DIGEST_MD2 },
    { BCRYPT_MD4_ALGORITHM, CNG_CLASS_HASH, DIGEST_MD4 },
    { BCRYPT_MD5_ALGORITHM, CNG_CLASS_HASH, DIGEST_MD5 },
    { BCRYPT_SHA1_ALGORITHM, CNG_CLASS_HASH, DIGEST_SHA1 },
    { BCRYPT_SHA256_ALGORITHM, CNG_CLASS_HASH, DIGEST_SHA256 },
    { BCRYPT_SHA384_ALGORITHM, CNG_CLASS_HASH, DIGEST_SHA384 },
    { BCRYPT_SHA512_ALGORITHM, CNG_CLASS_HASH, DIGEST_SHA512 },
    { BCRYPT_SHA3_256_ALGORITHM, CNG_CLASS_HASH, DIGEST_SHA3_256 },
    { BCRYPT_SHA3_384_ALGORITHM, CNG_CLASS_HASH, DIGEST_SHA3_384 },
    { BCRYPT_SHA3_512_ALGORITHM, CNG_CLASS_HASH, DIGEST_SHA3_512 },
    { BCRYPT_AES_ALGORITHM, CNG_CLASS_CIPHER, CIPHER_AES },
    { BCRYPT_CHACHA20_POLY1305_ALGORITHM, CNG_CLASS_CIPHER, CIPHER_CHACHA20_POLY1305 },
    { BCRYPT_RNG_ALGORITHM, CNG_CLASS_RNG, 0 },
    { BCRYPT_SP800108_CTR_HMAC_ALGORITHM, CNG_CLASS_KDF, CNG_KDF_KBKDF },
    { BCRYPT_PBKDF2_ALGORITHM, CNG_CLASS_KDF, CNG_KDF_PBKDF2 },
};

bool cng_name_is(const WCHAR *name, const WCHAR *other)
{
    while (*name && *name == *other) {
        name++;
        other++;
    }
    return *name == *other;
}

const struct cng_algorithm *cng_find_algorithm(const WCHAR *name)
{
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++)
        if (cng_name_is(algorithms[i].name, name))
            return &algorithms[i];
    return NULL;
}

struct digest cng_provider_digest(const struct cng_provider *p)
{
    return (struct digest){ (enum digest_kind)p->algorithm->id, p->flags & BCRYPT_ALG_HANDLE_HMAC_FLAG };
}

static void cng_provider_init(struct cng_provider *p, const struct cng_algorithm *algorithm, ULONG flags)
{
    bool is_aes = algorithm->class == CNG_CLASS_CIPHER && algorithm->id == CIPHER_AES;

    p->object = (struct cng_object){ CNG_SIGNATURE, CNG_PROVIDER, p, true };
    p->algorithm = algorithm;
    p->flags = flags;
    atomic_init(&p->mode, is_aes ? CIPHER_CBC : CIPHER_UNCHAINED);
    atomic_init(&p->refs, 1);
}

/* ---- Pseudo handles ---------------------------------------------------------------------------------------------- */

enum { MAX_PSEUDO_HANDLE = 0xfff };

static const struct pseudo {
    BCRYPT_ALG_HANDLE handle;
    const WCHAR *name;
    ULONG flags;
    enum cipher_mode mode;
} pseudos[] = {
    { BCRYPT_MD2_ALG_HANDLE, BCRYPT_MD2_ALGORITHM, 0, CIPHER_UNCHAINED },
    { BCRYPT_MD4_ALG_HANDLE, BCRYPT_MD4_ALGORITHM, 0, CIPHER_UNCHAINED },
    { BCRYPT_MD5_ALG_HANDLE, BCRYPT_MD5_ALGORITHM, 0, CIPHER_UNCHAINED },
    { BCRYPT_SHA1_ALG_HANDLE, BCRYPT_SHA1_ALGORITHM, 0, CIPHER_UNCHAINED },
    { BCRYPT_SHA256_ALG_HANDLE, BCRYPT_SHA256_ALGORITHM, 0, CIPHER_UNCHAINED },
    { BCRYPT_SHA384_ALG_HANDLE, BCRYPT_SHA384_ALGORITHM, 0, CIPHER_UNCHAINED },
    { BCRYPT_SHA512_ALG_HANDLE, BCRYPT_SHA512_ALGORITHM, 0, CIPHER_UNCHAINED },
    { BCRYPT_SHA3_256_ALG_HANDLE, BCRYPT_SHA3_256_ALGORITHM, 0, CIPHER_UNCHAINED },
    { BCRYPT_SHA3_384_ALG_HANDLE, BCRYPT_SHA3_384_ALGORITHM, 0, CIPHER_UNCHAINED },
    { BCRYPT_SHA3_512_ALG_HANDLE, BCRYPT_SHA3_512_ALGORITHM, 0, CIPHER_UNCHAINED },
    { BCRYPT_HMAC_MD2_ALG_HANDLE, BCRYPT_MD2_ALGORITHM, BCRYPT_ALG_HANDLE_HMAC_FLAG, CIPHER_UNCHAINED },
    { BCRYPT_HMAC_MD4_ALG_HANDLE, BCRYPT_MD4_ALGORITHM, BCRYPT_ALG_HANDLE_HMAC_FLAG, CIPHER_UNCHAINED },
    { BCRYPT_HMAC_MD5_ALG_HANDLE, BCRYPT_MD5_ALGORITHM, BCRYPT_ALG_HANDLE_HMAC_FLAG, CIPHER_UNCHAINED },
    { BCRYPT_HMAC_SHA1_ALG_HANDLE, BCRYPT_SHA1_ALGORITHM, BCRYPT_ALG_HANDLE_HMAC_FLAG, CIPHER_UNCHAINED },
    { BCRYPT_HMAC_SHA256_ALG_HANDLE, BCRYPT_SHA256_ALGORITHM, BCRYPT_ALG_HANDLE_HMAC_FLAG, CIPHER_UNCHAINED },
    { BCRYPT_HMAC_SHA384_ALG_HANDLE, BCRYPT_SHA384_ALGORITHM, BCRYPT_ALG_HANDLE_HMAC_FLAG, CIPHER_UNCHAINED },
    { BCRYPT_HMAC_SHA512_ALG_HANDLE, BCRYPT_SHA512_ALGORITHM, BCRYPT_ALG_HANDLE_HMAC_FLAG, CIPHER_UNCHAINED },
    { BCRYPT_HMAC_SHA3_256_ALG_HANDLE, BCRYPT_SHA3_256_ALGORITHM, BCRYPT_ALG_HANDLE_HMAC_FLAG, CIPHER_UNCHAINED },
    { BCRYPT_HMAC_SHA3_384_ALG_HANDLE, BCRYPT_SHA3_384_ALGORITHM, BCRYPT_ALG_HANDLE_HMAC_FLAG, CIPHER_UNCHAINED },
    { BCRYPT_HMAC_SHA3_512_ALG_HANDLE, BCRYPT_SHA3_512_ALGORITHM, BCRYPT_ALG_HANDLE_HMAC_FLAG, CIPHER_UNCHAINED },
    { BCRYPT_RNG_ALG_HANDLE, BCRYPT_RNG_ALGORITHM, 0, CIPHER_UNCHAINED },
    { BCRYPT_AES_CBC_ALG_HANDLE, BCRYPT_AES_ALGORITHM, 0, CIPHER_CBC },
    { BCRYPT_AES_ECB_ALG_HANDLE, BCRYPT_AES_ALGORITHM, 0, CIPHER_ECB },
    { BCRYPT_AES_CCM_ALG_HANDLE, BCRYPT_AES_ALGORITHM, 0, CIPHER_CCM },
    { BCRYPT_AES_GCM_ALG_HANDLE, BCRYPT_AES_ALGORITHM, 0, CIPHER_GCM },
    { BCRYPT_CHACHA20_POLY1305_ALG_HANDLE, BCRYPT_CHACHA20_POLY1305_ALGORITHM, 0, CIPHER_UNCHAINED },
    { BCRYPT_PBKDF2_ALG_HANDLE, BCRYPT_PBKDF2_ALGORITHM, 0, CIPHER_UNCHAINED },
    { BCRYPT_SP800108_CTR_HMAC_ALG_HANDLE, BCRYPT_SP800108_CTR_HMAC_ALGORITHM, 0, CIPHER_UNCHAINED },
};

enum { PSEUDOS = sizeof pseudos / sizeof pseudos[0] };

static struct cng_provider shared[PSEUDOS];

__attribute__((constructor)) static void cng_init_pseudo_handles(void)
{
    for (size_t i = 0; i < PSEUDOS; i++) {
        cng_provider_init(&shared[i], cng_find_algorithm(pseudos[i].name), pseudos[i].flags);
        atomic_store(&shared[i].mode, (int)pseudos[i].mode);
        shared[i].is_shared = true;
    }
}

/* Returns the provider of a pseudo handle, or NULL if there is no such pseudo handle. */
static struct cng_object *cng_find_pseudo(BCRYPT_HANDLE handle)
{
    for (size_t i = 0; i < PSEUDOS; i++)
        if (pseudos[i].handle == handle)
            return &shared[i].object;
    return NULL;
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

static const char *const kind_names[] = { "CNG handle", "BCRYPT_ALG_HANDLE", "BCRYPT_HASH_HANDLE",
                                          "BCRYPT_KEY_HANDLE" };

/*
 * Returns the object of a valid handle, or NULL. While checks are on, a handle is valid only if its object is
 * registered (live.h), so the memory of an object that has ended is not read.
 */
static struct cng_object *cng_object_at(BCRYPT_HANDLE handle)
{
    struct cng_object *o = handle;

    if ((uintptr_t)handle <= MAX_PSEUDO_HANDLE)
        return cng_find_pseudo(handle);
    if (check_on() ? !live_has(LIVE_CNG, handle) : (uintptr_t)handle % BCRYPT_OBJECT_ALIGNMENT != 0)
        return NULL;
    return o->signature == CNG_SIGNATURE ? o : NULL;
}

void *cng_lookup(const char *routine, BCRYPT_HANDLE handle, enum cng_kind kind)
{
    struct cng_object *o = cng_object_at(handle);

    if (o && (kind == CNG_ANY || o->kind == kind)) {
        irql_check_max(routine, o->provider->flags & BCRYPT_PROV_DISPATCH ? DISPATCH_LEVEL : PASSIVE_LEVEL);
        return o;
    }
    if (handle && check_on())
        check_failed(CHECK_CNG_HANDLE, routine, (uintptr_t)handle, 0, 0, 0, "%p is not a valid %s, or was released",
                     handle, kind_names[kind]);
    return NULL;
}

void cng_object_publish(struct cng_object *o)
{
    live_add(LIVE_CNG, o, kind_names[o->kind]);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static size_t cng_plain_size(const struct cng_provider *p)
{
    switch (p->algorithm->class) {
    case CNG_CLASS_HASH:
        return sizeof(struct cng_hash) + digest_state_size(cng_provider_digest(p));
    case CNG_CLASS_CIPHER:
    case CNG_CLASS_KDF:
        return sizeof(struct cng_key);
    default:
        return 0;
    }
}

/* The driver's buffer may have any address: the object is at the next aligned one. */
ULONG cng_object_size(const struct cng_provider *p)
{
    size_t size = cng_plain_size(p);

    return size ? (ULONG)(size + BCRYPT_OBJECT_ALIGNMENT - 1) : 0;
}

static bool cng_find_use(const void *start, size_t size, struct inuse_found *out)
{
    out->object = live_inside(LIVE_CNG, start, size, &out->what);
    out->what = "hash or key that was not destroyed";
    return out->object != NULL;
}

static void *cng_place(PUCHAR buffer)
{
    uintptr_t start = ((uintptr_t)buffer + BCRYPT_OBJECT_ALIGNMENT - 1) & ~(uintptr_t)(BCRYPT_OBJECT_ALIGNMENT - 1);

    return (void *)start;
}

static void cng_provider_unref(struct cng_provider *p)
{
    if (atomic_fetch_sub(&p->refs, 1) == 1 && !p->is_shared)
        free(p);
}

void cng_object_end(struct cng_object *o)
{
    struct cng_provider *p = o->provider;
    bool is_own_memory = o->is_own_memory;

    (void)live_remove(LIVE_CNG, o);
    *o = (struct cng_object){ .signature = 0 };
    if (is_own_memory)
        free(o);
    cng_provider_unref(p);
}

/*
 * Ends an object that the driver has not destroyed. If the driver has overwritten the object, only ends the object's
 * registration (live.h).
 */
static void cng_object_abandon(struct cng_object *o)
{
    if (o->signature != CNG_SIGNATURE) {
        (void)live_remove(LIVE_CNG, o);
        return;
    }
    if (o->kind == CNG_KEY)
        cng_key_fini((struct cng_key *)o);
    cng_object_end(o);
}

NTSTATUS cng_object_new(const char *routine, struct cng_provider *p, enum cng_kind kind, PUCHAR buffer, ULONG size,
                        void **out)
{
    struct cng_object *o;

    if (!buffer && size)
        return STATUS_INVALID_PARAMETER;
    if (buffer && size < cng_object_size(p))
        return STATUS_BUFFER_TOO_SMALL;
    o = buffer ? cng_place(buffer)
               : aligned_alloc(BCRYPT_OBJECT_ALIGNMENT, cng_object_size(p) & ~(size_t)(BCRYPT_OBJECT_ALIGNMENT - 1));
    if (!o)
        return STATUS_NO_MEMORY;
    if (buffer && check_on() && live_has(LIVE_CNG, o)) {
        check_failed(CHECK_OBJECT_REINITIALIZED, routine, (uintptr_t)o, 0, 0, 0,
                     "the hash or key %p in the buffer has not been destroyed", (void *)o);
        cng_object_abandon(o);
    }
    memset(o, 0, cng_plain_size(p));
    *o = (struct cng_object){ CNG_SIGNATURE, kind, p, !buffer };
    if (buffer)
        inuse_add_source(cng_find_use);
    atomic_fetch_add(&p->refs, 1);
    *out = o;
    return STATUS_SUCCESS;
}

/* ---- Providers --------------------------------------------------------------------------------------------------- */

NTSTATUS BCryptOpenAlgorithmProvider(BCRYPT_ALG_HANDLE *phAlgorithm, LPCWSTR pszAlgId, LPCWSTR pszImplementation,
                                     ULONG dwFlags)
{
    const ULONG hash_flags = BCRYPT_ALG_HANDLE_HMAC_FLAG | BCRYPT_HASH_REUSABLE_FLAG;
    const struct cng_algorithm *algorithm;
    struct cng_provider *p;

    irql_check_max("BCryptOpenAlgorithmProvider", PASSIVE_LEVEL);
    if (!phAlgorithm || !pszAlgId || dwFlags & ~(hash_flags | BCRYPT_PROV_DISPATCH))
        return STATUS_INVALID_PARAMETER;
    algorithm = cng_find_algorithm(pszAlgId);
    if (!algorithm || (pszImplementation && !cng_name_is(pszImplementation, MS_PRIMITIVE_PROVIDER)))
        return STATUS_NOT_FOUND;
    if (algorithm->class != CNG_CLASS_HASH && dwFlags & hash_flags)
        return STATUS_INVALID_PARAMETER;
    p = aligned_alloc(BCRYPT_OBJECT_ALIGNMENT,
                      (sizeof *p + BCRYPT_OBJECT_ALIGNMENT - 1) & ~(size_t)(BCRYPT_OBJECT_ALIGNMENT - 1));
    if (!p)
        return STATUS_NO_MEMORY;
    memset(p, 0, sizeof *p);
    cng_provider_init(p, algorithm, dwFlags);
    cng_object_publish(&p->object);
    *phAlgorithm = p;
    return STATUS_SUCCESS;
}

NTSTATUS BCryptCloseAlgorithmProvider(BCRYPT_ALG_HANDLE hAlgorithm, ULONG dwFlags)
{
    struct cng_provider *p = cng_lookup("BCryptCloseAlgorithmProvider", hAlgorithm, CNG_PROVIDER);
    unsigned users;

    UNREFERENCED_PARAMETER(dwFlags);
    irql_check_max("BCryptCloseAlgorithmProvider", PASSIVE_LEVEL);
    if (!p || p->is_shared)
        return STATUS_INVALID_HANDLE;
    users = atomic_load(&p->refs) - 1;
    if (users && check_on() && p->flags & BCRYPT_PROV_DISPATCH)
        check_failed(CHECK_CNG_HANDLE, "BCryptCloseAlgorithmProvider", (uintptr_t)p, users, 0, 0,
                     "%u hash(es) or key(s) of the provider %p were not destroyed, which is for DISPATCH_LEVEL", users,
                     (void *)p);
    (void)live_remove(LIVE_CNG, p);
    p->object.signature = 0;
    cng_provider_unref(p);
    return STATUS_SUCCESS;
}
