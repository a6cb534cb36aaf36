/* SPDX-License-Identifier: MIT */
/* Implements keys: see bcrypt.h. A cipher's key has the secret in `cipher`, any other key has it in `secret`. */
#include <stdlib.h>
#include <string.h>

#include "wdk/cng/object.h"

void cng_key_fini(struct cng_key *k)
{
    cipher_fini(&k->cipher);
    if (k->secret)
        explicit_bzero(k->secret, k->secret_size);
    free(k->secret);
    explicit_bzero(k->iv, sizeof k->iv);
}

/* Sets the secret of a new key. */
static NTSTATUS key_init(struct cng_key *k, const struct cng_algorithm *algorithm, const UCHAR *secret, size_t size)
{
    if (algorithm->class == CNG_CLASS_CIPHER) {
        cipher_init(&k->cipher, (enum cipher_kind)algorithm->id, secret, size);
        return cipher_prepare(&k->cipher, (enum cipher_mode)atomic_load(&k->mode)) ? STATUS_SUCCESS : STATUS_NO_MEMORY;
    }
    k->secret = malloc(size ? size : 1);
    if (!k->secret)
        return STATUS_NO_MEMORY;
    if (size)
        memcpy(k->secret, secret, size);
    k->secret_size = size;
    return STATUS_SUCCESS;
}

/* Creates a key. *key is NULL if that fails. */
static NTSTATUS key_new(const char *routine, struct cng_provider *p, enum cipher_mode mode, PUCHAR buffer, ULONG size,
                        const UCHAR *secret, size_t secret_size, struct cng_key **key)
{
    struct cng_key *k;
    NTSTATUS status = cng_object_new(routine, p, CNG_KEY, buffer, size, (void **)&k);

    *key = NULL;
    if (!NT_SUCCESS(status))
        return status;
    spin_init(&k->iv_lock);
    atomic_init(&k->mode, (int)mode);
    status = key_init(k, p->algorithm, secret, secret_size);
    if (!NT_SUCCESS(status)) {
        cng_key_fini(k);
        cng_object_end(&k->object);
        return status;
    }
    *key = k;
    return STATUS_SUCCESS;
}

static NTSTATUS key_create(const char *routine, struct cng_provider *p, BCRYPT_KEY_HANDLE *handle, PUCHAR buffer,
                           ULONG size, const UCHAR *secret, size_t secret_size)
{
    struct cng_key *k;
    NTSTATUS status;

    if (p->algorithm->class != CNG_CLASS_CIPHER && p->algorithm->class != CNG_CLASS_KDF)
        return STATUS_NOT_SUPPORTED;
    if (p->algorithm->class == CNG_CLASS_CIPHER) {
        secret_size = cipher_key_size((enum cipher_kind)p->algorithm->id, secret_size);
        if (!secret_size)
            return STATUS_INVALID_PARAMETER;
    }
    if (!secret && secret_size)
        return STATUS_INVALID_PARAMETER;
    status = key_new(routine, p, (enum cipher_mode)atomic_load(&p->mode), buffer, size, secret, secret_size, &k);
    if (!NT_SUCCESS(status))
        return status;
    cng_object_publish(&k->object);
    *handle = k;
    return STATUS_SUCCESS;
}

NTSTATUS BCryptGenerateSymmetricKey(BCRYPT_ALG_HANDLE hAlgorithm, BCRYPT_KEY_HANDLE *phKey, PUCHAR pbKeyObject,
                                    ULONG cbKeyObject, PUCHAR pbSecret, ULONG cbSecret, ULONG dwFlags)
{
    struct cng_provider *p = cng_lookup("BCryptGenerateSymmetricKey", hAlgorithm, CNG_PROVIDER);

    if (!p)
        return STATUS_INVALID_HANDLE;
    if (!phKey || dwFlags)
        return STATUS_INVALID_PARAMETER;
    return key_create("BCryptGenerateSymmetricKey", p, phKey, pbKeyObject, cbKeyObject, pbSecret, cbSecret);
}

NTSTATUS BCryptDuplicateKey(BCRYPT_KEY_HANDLE hKey, BCRYPT_KEY_HANDLE *phNewKey, PUCHAR pbKeyObject, ULONG cbKeyObject,
                            ULONG dwFlags)
{
    struct cng_key *k = cng_lookup("BCryptDuplicateKey", hKey, CNG_KEY);
    struct cng_key *copy;
    NTSTATUS status;

    if (!k)
        return STATUS_INVALID_HANDLE;
    if (!phNewKey || dwFlags)
        return STATUS_INVALID_PARAMETER;
    status = key_new("BCryptDuplicateKey", k->object.provider, (enum cipher_mode)atomic_load(&k->mode), pbKeyObject,
                     cbKeyObject, k->secret ? k->secret : k->cipher.key,
                     k->secret ? k->secret_size : k->cipher.key_size, &copy);
    if (!NT_SUCCESS(status))
        return status;
    spin_lock(&k->iv_lock);
    memcpy(copy->iv, k->iv, sizeof copy->iv);
    spin_unlock(&k->iv_lock);
    cng_object_publish(&copy->object);
    *phNewKey = copy;
    return STATUS_SUCCESS;
}

NTSTATUS BCryptDestroyKey(BCRYPT_KEY_HANDLE hKey)
{
    struct cng_key *k = cng_lookup("BCryptDestroyKey", hKey, CNG_KEY);

    if (!k)
        return STATUS_INVALID_HANDLE;
    cng_key_fini(k);
    cng_object_end(&k->object);
    return STATUS_SUCCESS;
}

/* ---- Blobs ------------------------------------------------------------------------------------------------------- */

NTSTATUS BCryptImportKey(BCRYPT_ALG_HANDLE hAlgorithm, BCRYPT_KEY_HANDLE hImportKey, LPCWSTR pszBlobType,
                         BCRYPT_KEY_HANDLE *phKey, PUCHAR pbKeyObject, ULONG cbKeyObject, PUCHAR pbInput, ULONG cbInput,
                         ULONG dwFlags)
{
    struct cng_provider *p = cng_lookup("BCryptImportKey", hAlgorithm, CNG_PROVIDER);
    BCRYPT_KEY_DATA_BLOB_HEADER header;

    if (!p)
        return STATUS_INVALID_HANDLE;
    if (!pszBlobType || !phKey || !pbInput || dwFlags)
        return STATUS_INVALID_PARAMETER;
    if (hImportKey || !cng_name_is(pszBlobType, BCRYPT_KEY_DATA_BLOB))
        return STATUS_NOT_SUPPORTED;
    if (cbInput < sizeof header)
        return STATUS_INVALID_PARAMETER;
    memcpy(&header, pbInput, sizeof header);
    if (header.dwMagic != BCRYPT_KEY_DATA_BLOB_MAGIC || header.dwVersion != BCRYPT_KEY_DATA_BLOB_VERSION1 ||
        header.cbKeyData > cbInput - sizeof header)
        return STATUS_INVALID_PARAMETER;
    return key_create("BCryptImportKey", p, phKey, pbKeyObject, cbKeyObject, pbInput + sizeof header, header.cbKeyData);
}

NTSTATUS BCryptExportKey(BCRYPT_KEY_HANDLE hKey, BCRYPT_KEY_HANDLE hExportKey, LPCWSTR pszBlobType, PUCHAR pbOutput,
                         ULONG cbOutput, ULONG *pcbResult, ULONG dwFlags)
{
    struct cng_key *k = cng_lookup("BCryptExportKey", hKey, CNG_KEY);
    BCRYPT_KEY_DATA_BLOB_HEADER header = { BCRYPT_KEY_DATA_BLOB_MAGIC, BCRYPT_KEY_DATA_BLOB_VERSION1, 0 };

    if (!k)
        return STATUS_INVALID_HANDLE;
    if (!pszBlobType || !pcbResult || dwFlags)
        return STATUS_INVALID_PARAMETER;
    if (hExportKey || k->secret || !cng_name_is(pszBlobType, BCRYPT_KEY_DATA_BLOB))
        return STATUS_NOT_SUPPORTED;
    header.cbKeyData = (ULONG)k->cipher.key_size;
    *pcbResult = (ULONG)sizeof header + header.cbKeyData;
    if (!pbOutput)
        return STATUS_SUCCESS;
    if (cbOutput < *pcbResult)
        return STATUS_BUFFER_TOO_SMALL;
    memcpy(pbOutput, &header, sizeof header);
    memcpy(pbOutput + sizeof header, k->cipher.key, header.cbKeyData);
    return STATUS_SUCCESS;
}
