/* SPDX-License-Identifier: MIT */
/* Implements hashes and HMACs: see bcrypt.h. */
#include <stdlib.h>
#include <string.h>

#include "wdk/cng/object.h"

/*
 * Returns STATUS_SUCCESS if the provider computes hashes and accepts the key. Only a provider of HMACs accepts a key
 * that is not empty.
 */
static NTSTATUS hash_check_key(const struct cng_provider *p, const UCHAR *secret, ULONG size)
{
    if (p->algorithm->class != CNG_CLASS_HASH)
        return STATUS_NOT_SUPPORTED;
    if (size && (!secret || !(p->flags & BCRYPT_ALG_HANDLE_HMAC_FLAG)))
        return STATUS_INVALID_PARAMETER;
    return STATUS_SUCCESS;
}

NTSTATUS BCryptCreateHash(BCRYPT_ALG_HANDLE hAlgorithm, BCRYPT_HASH_HANDLE *phHash, PUCHAR pbHashObject,
                          ULONG cbHashObject, PUCHAR pbSecret, ULONG cbSecret, ULONG dwFlags)
{
    struct cng_provider *p = cng_lookup("BCryptCreateHash", hAlgorithm, CNG_PROVIDER);
    struct cng_hash *h;
    NTSTATUS status;

    if (!p)
        return STATUS_INVALID_HANDLE;
    if (!phHash || dwFlags & ~BCRYPT_HASH_REUSABLE_FLAG)
        return STATUS_INVALID_PARAMETER;
    status = hash_check_key(p, pbSecret, cbSecret);
    if (NT_SUCCESS(status))
        status = cng_object_new("BCryptCreateHash", p, CNG_HASH, pbHashObject, cbHashObject, (void **)&h);
    if (!NT_SUCCESS(status))
        return status;
    h->digest = cng_provider_digest(p);
    h->is_reusable = (dwFlags | p->flags) & BCRYPT_HASH_REUSABLE_FLAG;
    digest_begin(h->digest, h->state, pbSecret, cbSecret);
    cng_object_publish(&h->object);
    *phHash = h;
    return STATUS_SUCCESS;
}

NTSTATUS BCryptHashData(BCRYPT_HASH_HANDLE hHash, PUCHAR pbInput, ULONG cbInput, ULONG dwFlags)
{
    struct cng_hash *h = cng_lookup("BCryptHashData", hHash, CNG_HASH);

    if (!h || h->is_finished)
        return STATUS_INVALID_HANDLE;
    if ((!pbInput && cbInput) || dwFlags)
        return STATUS_INVALID_PARAMETER;
    digest_add(h->digest, h->state, pbInput, cbInput);
    return STATUS_SUCCESS;
}

NTSTATUS BCryptFinishHash(BCRYPT_HASH_HANDLE hHash, PUCHAR pbOutput, ULONG cbOutput, ULONG dwFlags)
{
    struct cng_hash *h = cng_lookup("BCryptFinishHash", hHash, CNG_HASH);

    if (!h || h->is_finished)
        return STATUS_INVALID_HANDLE;
    if (!pbOutput || cbOutput != digest_size(h->digest.kind) || dwFlags)
        return STATUS_INVALID_PARAMETER;
    digest_end(h->digest, h->state, pbOutput);
    h->is_finished = !h->is_reusable;
    return STATUS_SUCCESS;
}

NTSTATUS BCryptDuplicateHash(BCRYPT_HASH_HANDLE hHash, BCRYPT_HASH_HANDLE *phNewHash, PUCHAR pbHashObject,
                             ULONG cbHashObject, ULONG dwFlags)
{
    struct cng_hash *h = cng_lookup("BCryptDuplicateHash", hHash, CNG_HASH);
    struct cng_hash *copy;
    NTSTATUS status;

    if (!h || h->is_finished)
        return STATUS_INVALID_HANDLE;
    if (!phNewHash || dwFlags)
        return STATUS_INVALID_PARAMETER;
    status = cng_object_new("BCryptDuplicateHash", h->object.provider, CNG_HASH, pbHashObject, cbHashObject,
                            (void **)&copy);
    if (!NT_SUCCESS(status))
        return status;
    copy->digest = h->digest;
    copy->is_reusable = h->is_reusable;
    memcpy(copy->state, h->state, digest_state_size(h->digest));
    cng_object_publish(&copy->object);
    *phNewHash = copy;
    return STATUS_SUCCESS;
}

NTSTATUS BCryptDestroyHash(BCRYPT_HASH_HANDLE hHash)
{
    struct cng_hash *h = cng_lookup("BCryptDestroyHash", hHash, CNG_HASH);

    if (!h)
        return STATUS_INVALID_HANDLE;
    explicit_bzero(h->state, digest_state_size(h->digest));
    cng_object_end(&h->object);
    return STATUS_SUCCESS;
}

NTSTATUS BCryptHash(BCRYPT_ALG_HANDLE hAlgorithm, PUCHAR pbSecret, ULONG cbSecret, PUCHAR pbInput, ULONG cbInput,
                    PUCHAR pbOutput, ULONG cbOutput)
{
    _Alignas(BCRYPT_OBJECT_ALIGNMENT) uint8_t state[DIGEST_MAX_STATE_SIZE];
    struct cng_provider *p = cng_lookup("BCryptHash", hAlgorithm, CNG_PROVIDER);
    struct digest digest;
    NTSTATUS status;

    if (!p)
        return STATUS_INVALID_HANDLE;
    status = hash_check_key(p, pbSecret, cbSecret);
    if (!NT_SUCCESS(status))
        return status;
    digest = cng_provider_digest(p);
    if ((!pbInput && cbInput) || !pbOutput || cbOutput != digest_size(digest.kind))
        return STATUS_INVALID_PARAMETER;
    digest_begin(digest, state, pbSecret, cbSecret);
    digest_add(digest, state, pbInput, cbInput);
    digest_end(digest, state, pbOutput);
    explicit_bzero(state, sizeof state);
    return STATUS_SUCCESS;
}
