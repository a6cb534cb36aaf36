/* SPDX-License-Identifier: MIT */
/* Implements the properties of providers, hashes and keys: see bcrypt.h. */
#include <string.h>

#include "wdk/cng/object.h"

enum { MAX_MODE_SIZE = 64 }; /* Windows returns this number of bytes for each chaining mode */

static const WCHAR *const mode_names[CIPHER_MODES] = {
    [CIPHER_CBC] = BCRYPT_CHAIN_MODE_CBC,      [CIPHER_ECB] = BCRYPT_CHAIN_MODE_ECB,
    [CIPHER_CCM] = BCRYPT_CHAIN_MODE_CCM,      [CIPHER_GCM] = BCRYPT_CHAIN_MODE_GCM,
    [CIPHER_UNCHAINED] = BCRYPT_CHAIN_MODE_NA,
};

/* The value of a property. */
struct value {
    ULONG size;
    union {
        ULONG number;
        BCRYPT_HANDLE handle;
        BCRYPT_KEY_LENGTHS_STRUCT lengths;
        UCHAR iv[CIPHER_BLOCK_SIZE];
        WCHAR text[MAX_MODE_SIZE / sizeof(WCHAR)];
    };
};

static size_t property_text_size(const WCHAR *text)
{
    size_t n = 1;

    while (text[n - 1])
        n++;
    return n * sizeof *text;
}

static struct value property_number(size_t number)
{
    return (struct value){ .size = sizeof(ULONG), .number = (ULONG)number };
}

static struct value property_lengths(ULONG min, ULONG max, ULONG increment)
{
    return (struct value){ .size = sizeof(BCRYPT_KEY_LENGTHS_STRUCT), .lengths = { min, max, increment } };
}

static struct value property_text(const WCHAR *text, size_t size)
{
    struct value v = { .size = (ULONG)size };

    memcpy(v.text, text, property_text_size(text));
    return v;
}

static const ULONG interfaces[] = {
    [CNG_CLASS_RNG] = BCRYPT_RNG_INTERFACE,
    [CNG_CLASS_HASH] = BCRYPT_HASH_INTERFACE,
    [CNG_CLASS_CIPHER] = BCRYPT_CIPHER_INTERFACE,
    [CNG_CLASS_KDF] = BCRYPT_KEY_DERIVATION_INTERFACE,
};

static bool property_of_hash(const struct cng_object *o, LPCWSTR name, struct value *v)
{
    struct digest digest = cng_provider_digest(o->provider);

    if (cng_name_is(name, BCRYPT_HASH_LENGTH))
        *v = property_number(digest_size(digest.kind));
    else if (cng_name_is(name, BCRYPT_HASH_BLOCK_LENGTH))
        *v = property_number(digest_block_size(digest.kind));
    else if (cng_name_is(name, BCRYPT_IS_KEYED_HASH))
        *v = property_number(digest.keyed);
    else if (cng_name_is(name, BCRYPT_IS_REUSABLE_HASH))
        *v = property_number(o->kind == CNG_HASH ? ((const struct cng_hash *)o)->is_reusable
                                                 : (o->provider->flags & BCRYPT_HASH_REUSABLE_FLAG) != 0);
    else
        return false;
    return true;
}

/*
 * Sets *v to a property that a cipher's provider has and its keys do not have. Returns false if the provider, in this
 * mode, does not have the property.
 */
static bool property_of_cipher_provider(const struct cng_provider *p, enum cipher_mode mode, LPCWSTR name,
                                        struct value *v)
{
    bool is_aes = p->algorithm->id == CIPHER_AES;

    if (cng_name_is(name, BCRYPT_KEY_LENGTHS))
        *v = is_aes ? property_lengths(128, 256, 64) : property_lengths(256, 256, 0);
    else if (!cng_name_is(name, BCRYPT_AUTH_TAG_LENGTH))
        return false;
    else if (!is_aes)
        *v = property_lengths(16, 16, 0);
    else if (mode == CIPHER_GCM)
        *v = property_lengths(12, 16, 1);
    else if (mode == CIPHER_CCM)
        *v = property_lengths(4, 16, 2);
    else
        return false;
    return true;
}

static bool property_of_key(struct cng_key *k, LPCWSTR name, struct value *v)
{
    if (cng_name_is(name, BCRYPT_KEY_LENGTH) || cng_name_is(name, BCRYPT_KEY_STRENGTH)) {
        *v = property_number(k->cipher.key_size * 8);
        return true;
    }
    if (!cng_name_is(name, BCRYPT_INITIALIZATION_VECTOR) || k->cipher.kind != CIPHER_AES)
        return false;
    v->size = CIPHER_BLOCK_SIZE;
    spin_lock(&k->iv_lock);
    memcpy(v->iv, k->iv, sizeof v->iv);
    spin_unlock(&k->iv_lock);
    return true;
}

static bool property_of_cipher(struct cng_object *o, LPCWSTR name, struct value *v)
{
    struct cng_key *k = o->kind == CNG_KEY ? (struct cng_key *)o : NULL;
    enum cipher_mode mode = (enum cipher_mode)atomic_load(k ? &k->mode : &o->provider->mode);

    if (cng_name_is(name, BCRYPT_BLOCK_LENGTH) || cng_name_is(name, BCRYPT_BLOCK_SIZE_LIST))
        *v = property_number(o->provider->algorithm->id == CIPHER_AES ? CIPHER_BLOCK_SIZE : 1);
    else if (cng_name_is(name, BCRYPT_CHAINING_MODE))
        *v = property_text(mode_names[mode], MAX_MODE_SIZE);
    else
        return k ? property_of_key(k, name, v) : property_of_cipher_provider(o->provider, mode, name, v);
    return true;
}

static bool property_get(struct cng_object *o, LPCWSTR name, struct value *v)
{
    const struct cng_algorithm *algorithm = o->provider->algorithm;

    if (cng_name_is(name, BCRYPT_ALGORITHM_NAME))
        *v = property_text(algorithm->name, property_text_size(algorithm->name));
    else if (cng_name_is(name, BCRYPT_PRIMITIVE_TYPE))
        *v = property_number(interfaces[algorithm->class]);
    else if (cng_name_is(name, BCRYPT_OBJECT_LENGTH) && cng_object_size(o->provider))
        *v = property_number(cng_object_size(o->provider));
    else if (cng_name_is(name, BCRYPT_PROVIDER_HANDLE) && o->kind != CNG_PROVIDER)
        *v = (struct value){ .size = sizeof(BCRYPT_HANDLE), .handle = o->provider };
    else if (algorithm->class == CNG_CLASS_HASH)
        return property_of_hash(o, name, v);
    else
        return algorithm->class == CNG_CLASS_CIPHER && property_of_cipher(o, name, v);
    return true;
}

NTSTATUS BCryptGetProperty(BCRYPT_HANDLE hObject, LPCWSTR pszProperty, PUCHAR pbOutput, ULONG cbOutput,
                           ULONG *pcbResult, ULONG dwFlags)
{
    struct cng_object *o = cng_lookup("BCryptGetProperty", hObject, CNG_ANY);
    struct value value = { 0 };

    if (!o)
        return STATUS_INVALID_HANDLE;
    if (!pszProperty || !pcbResult || dwFlags)
        return STATUS_INVALID_PARAMETER;
    if (!property_get(o, pszProperty, &value))
        return STATUS_NOT_SUPPORTED;
    *pcbResult = value.size;
    if (!pbOutput)
        return STATUS_SUCCESS;
    if (cbOutput < value.size)
        return STATUS_BUFFER_TOO_SMALL;
    memcpy(pbOutput, value.text, value.size);
    return STATUS_SUCCESS;
}

/* ---- Set --------------------------------------------------------------------------------------------------------- */

/* Finds the mode that the text names. Returns false if the algorithm does not have the mode. */
static bool property_find_mode(const struct cng_algorithm *algorithm, LPCWSTR text, enum cipher_mode *mode)
{
    for (int i = 0; i < CIPHER_MODES; i++)
        if (cng_name_is(mode_names[i], text)) {
            *mode = (enum cipher_mode)i;
            return (i == CIPHER_UNCHAINED) == (algorithm->id != CIPHER_AES);
        }
    return false;
}

/*
 * Sets the chaining mode. The text must have a terminator. BCryptSetProperty's cbInput is not used, because Windows
 * accepts each size, even 0.
 */
static NTSTATUS property_set_mode(struct cng_object *o, LPCWSTR text)
{
    struct cng_key *k = o->kind == CNG_KEY ? (struct cng_key *)o : NULL;
    enum cipher_mode mode;

    if (o->provider->algorithm->class != CNG_CLASS_CIPHER || !property_find_mode(o->provider->algorithm, text, &mode))
        return STATUS_NOT_SUPPORTED;
    if (k && !cipher_prepare(&k->cipher, mode))
        return STATUS_NO_MEMORY;
    atomic_store(k ? &k->mode : &o->provider->mode, (int)mode);
    return STATUS_SUCCESS;
}

static NTSTATUS property_set_iv(struct cng_key *k, const UCHAR *iv, ULONG size)
{
    if (size != CIPHER_BLOCK_SIZE)
        return STATUS_INVALID_PARAMETER;
    spin_lock(&k->iv_lock);
    memcpy(k->iv, iv, sizeof k->iv);
    spin_unlock(&k->iv_lock);
    return STATUS_SUCCESS;
}

NTSTATUS BCryptSetProperty(BCRYPT_HANDLE hObject, LPCWSTR pszProperty, PUCHAR pbInput, ULONG cbInput, ULONG dwFlags)
{
    struct cng_object *o = cng_lookup("BCryptSetProperty", hObject, CNG_ANY);

    if (!o)
        return STATUS_INVALID_HANDLE;
    if (!pszProperty || !pbInput || dwFlags)
        return STATUS_INVALID_PARAMETER;
    if (o->kind == CNG_PROVIDER && o->provider->is_shared)
        return STATUS_NOT_SUPPORTED;
    if (cng_name_is(pszProperty, BCRYPT_CHAINING_MODE))
        return property_set_mode(o, (LPCWSTR)(void *)pbInput);
    if (cng_name_is(pszProperty, BCRYPT_INITIALIZATION_VECTOR) && o->kind == CNG_KEY &&
        o->provider->algorithm->class == CNG_CLASS_CIPHER && o->provider->algorithm->id == CIPHER_AES)
        return property_set_iv((struct cng_key *)o, pbInput, cbInput);
    return STATUS_NOT_SUPPORTED;
}
