/* SPDX-License-Identifier: MIT */
/* Implements key derivation and random numbers: see bcrypt.h. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "wdk/cng/object.h"
#include "wdk/ke/thread.h"

/*
 * DEFAULT_ITERATIONS is the documented default of PBKDF2. MAX_DERIVED_SIZE is the maximum size in bytes of an output of
 * NIST SP 800-108. The size in bits must be less than 2^32.
 */
enum { DEFAULT_ITERATIONS = 10000, MAX_DERIVED_SIZE = 0x1fffffff };

NTSTATUS BCryptDeriveKeyPBKDF2(BCRYPT_ALG_HANDLE hPrf, PUCHAR pbPassword, ULONG cbPassword, PUCHAR pbSalt, ULONG cbSalt,
                               ULONGLONG cIterations, PUCHAR pbDerivedKey, ULONG cbDerivedKey, ULONG dwFlags)
{
    struct cng_provider *p = cng_lookup("BCryptDeriveKeyPBKDF2", hPrf, CNG_PROVIDER);

    if (!p)
        return STATUS_INVALID_HANDLE;
    if (p->algorithm->class != CNG_CLASS_HASH || !(p->flags & BCRYPT_ALG_HANDLE_HMAC_FLAG) || !cIterations ||
        (!pbPassword && cbPassword) || (!pbSalt && cbSalt) || !pbDerivedKey || !cbDerivedKey || dwFlags)
        return STATUS_INVALID_PARAMETER;
    digest_pbkdf2((enum digest_kind)p->algorithm->id, (struct digest_bytes){ pbPassword, cbPassword },
                  (struct digest_bytes){ pbSalt, cbSalt }, cIterations, pbDerivedKey, cbDerivedKey);
    return STATUS_SUCCESS;
}

/* ---- BCryptKeyDerivation ----------------------------------------------------------------------------------------- */

/* The parameters of a key derivation. A missing one is NULL. */
struct derive_parameters {
    const BCryptBuffer *hash, *label, *context, *salt, *iterations, *generic;
};

/* Stores the list's parameters in *p. Returns false if the list is malformed, or a type is unknown or occurs twice. */
static bool derive_read_list(const BCryptBufferDesc *list, struct derive_parameters *p)
{
    *p = (struct derive_parameters){ 0 };
    if (!list || list->ulVersion != BCRYPTBUFFER_VERSION || (list->cBuffers && !list->pBuffers))
        return false;
    for (ULONG i = 0; i < list->cBuffers; i++) {
        const BCryptBuffer *b = &list->pBuffers[i];
        const BCryptBuffer **place = b->BufferType == KDF_HASH_ALGORITHM      ? &p->hash
                                     : b->BufferType == KDF_LABEL             ? &p->label
                                     : b->BufferType == KDF_CONTEXT           ? &p->context
                                     : b->BufferType == KDF_SALT              ? &p->salt
                                     : b->BufferType == KDF_ITERATION_COUNT   ? &p->iterations
                                     : b->BufferType == KDF_GENERIC_PARAMETER ? &p->generic
                                                                              : NULL;

        if (!place || *place || (b->cbBuffer && !b->pvBuffer))
            return false;
        *place = b;
    }
    return true;
}

static struct digest_bytes derive_bytes(const BCryptBuffer *b)
{
    return (struct digest_bytes){ b->pvBuffer, b->cbBuffer };
}

/* Finds the hash algorithm that the parameter names. The name must be terminated within the buffer. */
static NTSTATUS derive_find_hash(const BCryptBuffer *b, enum digest_kind *kind)
{
    const struct cng_algorithm *algorithm;
    const WCHAR *text = b ? b->pvBuffer : NULL;
    ULONG units = b ? b->cbBuffer / sizeof(WCHAR) : 0, n = 0;

    while (n < units && text[n])
        n++;
    if (n == units)
        return STATUS_INVALID_PARAMETER;
    algorithm = cng_find_algorithm(text);
    if (!algorithm || algorithm->class != CNG_CLASS_HASH)
        return STATUS_NOT_SUPPORTED;
    *kind = (enum digest_kind)algorithm->id;
    return STATUS_SUCCESS;
}

static NTSTATUS derive_with_kbkdf(const struct cng_key *k, enum digest_kind kind, const struct derive_parameters *p,
                                  PUCHAR out, ULONG size)
{
    static const uint8_t zero;
    struct digest_bytes fixed[3];
    size_t count = 0;

    if (p->salt || p->iterations || !p->generic == (!p->label || !p->context) ||
        (p->generic && (p->label || p->context)) || size > MAX_DERIVED_SIZE)
        return STATUS_INVALID_PARAMETER;
    if (p->generic) {
        fixed[count++] = derive_bytes(p->generic);
    } else {
        fixed[count++] = derive_bytes(p->label);
        fixed[count++] = (struct digest_bytes){ &zero, 1 };
        fixed[count++] = derive_bytes(p->context);
    }
    digest_kbkdf(kind, (struct digest_bytes){ k->secret, k->secret_size }, fixed, count, out, size);
    return STATUS_SUCCESS;
}

static NTSTATUS derive_with_pbkdf2(const struct cng_key *k, enum digest_kind kind, const struct derive_parameters *p,
                                   PUCHAR out, ULONG size)
{
    const BCryptBuffer *salt = p->salt ? p->salt : p->generic;
    ULONGLONG iterations = DEFAULT_ITERATIONS;

    if (!salt || (p->salt && p->generic) || p->label || p->context ||
        (p->iterations && p->iterations->cbBuffer != sizeof iterations))
        return STATUS_INVALID_PARAMETER;
    if (p->iterations)
        memcpy(&iterations, p->iterations->pvBuffer, sizeof iterations);
    if (!iterations)
        return STATUS_INVALID_PARAMETER;
    digest_pbkdf2(kind, (struct digest_bytes){ k->secret, k->secret_size }, derive_bytes(salt), iterations, out, size);
    return STATUS_SUCCESS;
}

NTSTATUS BCryptKeyDerivation(BCRYPT_KEY_HANDLE hKey, BCryptBufferDesc *pParameterList, PUCHAR pbDerivedKey,
                             ULONG cbDerivedKey, ULONG *pcbResult, ULONG dwFlags)
{
    struct cng_key *k = cng_lookup("BCryptKeyDerivation", hKey, CNG_KEY);
    struct derive_parameters parameters;
    enum digest_kind kind;
    NTSTATUS status;

    if (!k)
        return STATUS_INVALID_HANDLE;
    if (!k->secret)
        return STATUS_NOT_SUPPORTED;
    if (!pbDerivedKey || !cbDerivedKey || !pcbResult || dwFlags || !derive_read_list(pParameterList, &parameters))
        return STATUS_INVALID_PARAMETER;
    status = derive_find_hash(parameters.hash, &kind);
    if (!NT_SUCCESS(status))
        return status;
    if (k->object.provider->algorithm->id == CNG_KDF_KBKDF)
        status = derive_with_kbkdf(k, kind, &parameters, pbDerivedKey, cbDerivedKey);
    else
        status = derive_with_pbkdf2(k, kind, &parameters, pbDerivedKey, cbDerivedKey);
    *pcbResult = NT_SUCCESS(status) ? cbDerivedKey : 0;
    return status;
}

/* ---- Random numbers ---------------------------------------------------------------------------------------------- */

/*
 * Fills the buffer with random bytes from Linux. Waits only if Linux has no entropy yet, which is possible in the first
 * seconds after the machine's start. Returns false if the system call fails.
 */
static bool random_fill(PUCHAR buffer, size_t size)
{
    ssize_t n;

    while (size > 0) {
        n = getrandom(buffer, size, 0);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            buffer += n;
            size -= (size_t)n;
        }
    }
    return true;
}

NTSTATUS BCryptGenRandom(BCRYPT_ALG_HANDLE hAlgorithm, PUCHAR pbBuffer, ULONG cbBuffer, ULONG dwFlags)
{
    struct cng_provider *p;

    if (dwFlags & BCRYPT_USE_SYSTEM_PREFERRED_RNG) {
        irql_check_max("BCryptGenRandom", PASSIVE_LEVEL);
        if (hAlgorithm)
            return STATUS_INVALID_PARAMETER;
    } else {
        p = cng_lookup("BCryptGenRandom", hAlgorithm, CNG_PROVIDER);
        if (!p || p->algorithm->class != CNG_CLASS_RNG)
            return STATUS_INVALID_HANDLE;
    }
    if ((!pbBuffer && cbBuffer) || dwFlags & ~(BCRYPT_USE_SYSTEM_PREFERRED_RNG | BCRYPT_RNG_USE_ENTROPY_IN_BUFFER))
        return STATUS_INVALID_PARAMETER;
    return random_fill(pbBuffer, cbBuffer) ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
}

NTSTATUS BCryptGetFipsAlgorithmMode(BOOLEAN *pfEnabled)
{
    irql_check_max("BCryptGetFipsAlgorithmMode", PASSIVE_LEVEL);
    if (!pfEnabled)
        return STATUS_INVALID_PARAMETER;
    *pfEnabled = FALSE;
    return STATUS_SUCCESS;
}
