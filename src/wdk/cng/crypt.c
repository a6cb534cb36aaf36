/* SPDX-License-Identifier: MIT */
/*
 * Implements encryption and decryption: see bcrypt.h. The output is written only after all arguments and the padding
 * were checked. After that, only a wrong tag makes a call fail.
 */
#include <string.h>

#include "wdk/cng/object.h"

enum { BLOCK = CIPHER_BLOCK_SIZE };

/* The arguments of BCryptEncrypt or BCryptDecrypt. */
struct crypt_call {
    bool encrypt;
    struct cng_key *key;
    enum cipher_mode mode;
    const UCHAR *in;
    ULONG in_size;
    BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO *info;
    PUCHAR iv;
    ULONG iv_size;
    PUCHAR out;
    ULONG out_size;
    ULONG *result;
    bool is_padded;
};

/* ---- CBC and ECB ------------------------------------------------------------------------------------------------- */

/* Encrypts or decrypts whole blocks. `iv` is not used by mode ECB. */
static void crypt_blocks(const struct crypt_call *c, uint8_t iv[BLOCK], PUCHAR out, const UCHAR *in, size_t size)
{
    if (c->mode == CIPHER_ECB)
        cipher_ecb(&c->key->cipher, c->encrypt, out, in, size);
    else
        cipher_cbc(&c->key->cipher, c->encrypt, iv, out, in, size);
}

/*
 * Copies the initialization vector of the call to `iv`: the caller's, or the key's own. Mode ECB has none. Returns
 * STATUS_INVALID_PARAMETER if the caller's vector has a wrong size, or if the mode is ECB and the caller passes one.
 */
static NTSTATUS crypt_get_iv(const struct crypt_call *c, uint8_t iv[BLOCK])
{
    if (c->mode == CIPHER_ECB)
        return c->iv ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
    if (c->iv && c->iv_size != BLOCK)
        return STATUS_INVALID_PARAMETER;
    spin_lock(&c->key->iv_lock);
    memcpy(iv, c->iv ? c->iv : c->key->iv, BLOCK);
    spin_unlock(&c->key->iv_lock);
    return STATUS_SUCCESS;
}

/* Stores the vector of the next block in the caller's buffer, if there is one, and in the key, as Windows does. */
static void crypt_set_iv(const struct crypt_call *c, const uint8_t iv[BLOCK])
{
    if (c->mode == CIPHER_ECB)
        return;
    if (c->iv)
        memcpy(c->iv, iv, BLOCK);
    spin_lock(&c->key->iv_lock);
    memcpy(c->key->iv, iv, BLOCK);
    spin_unlock(&c->key->iv_lock);
}

static NTSTATUS crypt_encrypt_blocks(const struct crypt_call *c)
{
    size_t whole = c->in_size / BLOCK * BLOCK, rest = c->in_size - whole;
    uint64_t size = c->is_padded ? (uint64_t)whole + BLOCK : c->in_size;
    uint8_t iv[BLOCK], last[BLOCK];
    NTSTATUS status;

    *c->result = c->in_size;
    if (size > MAXULONG)
        return STATUS_INVALID_PARAMETER;
    if (!c->is_padded && rest)
        return STATUS_INVALID_BUFFER_SIZE;
    *c->result = (ULONG)size;
    if (!c->out)
        return STATUS_SUCCESS;
    if (c->out_size < size)
        return STATUS_BUFFER_TOO_SMALL;
    status = crypt_get_iv(c, iv);
    if (!NT_SUCCESS(status))
        return status;
    /* `last` gets the rest of the data, and the padding. `last` is used only if the data is padded. */
    memset(last, (int)(BLOCK - rest), BLOCK);
    if (rest)
        memcpy(last, c->in + whole, rest);
    if (whole)
        crypt_blocks(c, iv, c->out, c->in, whole);
    if (c->is_padded)
        crypt_blocks(c, iv, c->out + whole, last, BLOCK);
    explicit_bzero(last, sizeof last);
    crypt_set_iv(c, iv);
    return STATUS_SUCCESS;
}

/* Returns the number of data bytes in the last block, or -1 if the padding is wrong. */
static int crypt_unpadded_size(const uint8_t last[BLOCK])
{
    uint8_t padding = last[BLOCK - 1];

    if (padding == 0 || padding > BLOCK)
        return -1;
    for (int i = BLOCK - padding; i < BLOCK; i++)
        if (last[i] != padding)
            return -1;
    return BLOCK - padding;
}

/* Decrypts the last block first, because its padding gives the size of the output. */
static NTSTATUS crypt_decrypt_padded(const struct crypt_call *c, uint8_t iv[BLOCK])
{
    size_t whole = c->in_size - BLOCK;
    uint8_t last_iv[BLOCK], next_iv[BLOCK], last[BLOCK];
    NTSTATUS status = STATUS_SUCCESS;
    int rest;

    memcpy(next_iv, c->in + whole, BLOCK);
    memcpy(last_iv, whole ? c->in + whole - BLOCK : iv, BLOCK);
    crypt_blocks(c, last_iv, last, c->in + whole, BLOCK);
    rest = crypt_unpadded_size(last);
    if (rest >= 0)
        *c->result = (ULONG)(whole + (size_t)rest);
    if (rest < 0) {
        status = STATUS_UNSUCCESSFUL;
    } else if (c->out_size < *c->result) {
        status = STATUS_BUFFER_TOO_SMALL;
    } else {
        if (whole)
            crypt_blocks(c, iv, c->out, c->in, whole);
        memcpy(c->out + whole, last, (size_t)rest);
        crypt_set_iv(c, next_iv);
    }
    explicit_bzero(last, sizeof last);
    return status;
}

static NTSTATUS crypt_decrypt_blocks(const struct crypt_call *c)
{
    uint8_t iv[BLOCK];
    NTSTATUS status;

    *c->result = c->in_size;
    if (c->in_size % BLOCK || (c->is_padded && !c->in_size))
        return STATUS_INVALID_BUFFER_SIZE;
    if (!c->out)
        return STATUS_SUCCESS;
    if (c->out_size < c->in_size - (c->is_padded ? BLOCK : 0))
        return STATUS_BUFFER_TOO_SMALL;
    status = crypt_get_iv(c, iv);
    if (!NT_SUCCESS(status))
        return status;
    if (c->is_padded)
        return crypt_decrypt_padded(c, iv);
    if (c->in_size)
        crypt_blocks(c, iv, c->out, c->in, c->in_size);
    crypt_set_iv(c, iv);
    return STATUS_SUCCESS;
}

/* ---- Authenticated modes ----------------------------------------------------------------------------------------- */

static bool crypt_is_chained(const struct crypt_call *c)
{
    return c->info->dwFlags & (BCRYPT_AUTH_MODE_CHAIN_CALLS_FLAG | BCRYPT_AUTH_MODE_IN_PROGRESS_FLAG);
}

/* Ends a chain: stores or compares the tag, and clears what the chain has stored in the caller's memory. */
static NTSTATUS crypt_end_chain(const struct crypt_call *c, const struct cipher_message *m, const struct cipher_gcm *g)
{
    BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO *info = c->info;
    bool good = true;

    if (c->encrypt)
        cipher_gcm_seal(&c->key->cipher, m, g);
    else
        good = cipher_gcm_open(&c->key->cipher, m, g);
    info->dwFlags &= ~(ULONG)BCRYPT_AUTH_MODE_IN_PROGRESS_FLAG;
    explicit_bzero(info->pbMacContext, CIPHER_BLOCK_SIZE);
    explicit_bzero(c->iv, CIPHER_BLOCK_SIZE);
    return good ? STATUS_SUCCESS : STATUS_AUTH_TAG_MISMATCH;
}

/*
 * Carries out one call of a chain. Between the calls, pbMacContext has the hash, pbIV the counter, cbAAD and cbData the
 * sizes. Only the last call needs the tag.
 */
static NTSTATUS crypt_chained(const struct crypt_call *c, struct cipher_message *m)
{
    BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO *info = c->info;
    bool is_last = !(info->dwFlags & BCRYPT_AUTH_MODE_CHAIN_CALLS_FLAG);
    struct cipher_message sizes = *m;
    uint8_t no_tag[CIPHER_TAG_SIZE];
    struct cipher_gcm g;

    if (c->mode != CIPHER_GCM)
        return STATUS_NOT_SUPPORTED;
    if (!is_last) {
        sizes.tag = no_tag;
        sizes.tag_size = sizeof no_tag;
    }
    if (!cipher_allows(CIPHER_AES, CIPHER_GCM, &sizes, c->in_size) || !info->pbMacContext ||
        info->cbMacContext < CIPHER_BLOCK_SIZE || !c->iv || c->iv_size != CIPHER_BLOCK_SIZE)
        return STATUS_INVALID_PARAMETER;
    if (!is_last && c->in_size % BLOCK)
        return STATUS_INVALID_BUFFER_SIZE;
    if (!(info->dwFlags & BCRYPT_AUTH_MODE_IN_PROGRESS_FLAG)) {
        cipher_gcm_begin(&c->key->cipher, m, &g);
        info->dwFlags |= BCRYPT_AUTH_MODE_IN_PROGRESS_FLAG;
        info->cbAAD = info->cbAuthData;
        info->cbData = 0;
    } else {
        if (info->cbData % BLOCK)
            return STATUS_INVALID_PARAMETER;
        memcpy(g.counter, c->iv, sizeof g.counter);
        memcpy(g.hash, info->pbMacContext, sizeof g.hash);
        g.auth_size = info->cbAAD;
        g.data_size = info->cbData;
    }
    cipher_gcm_add(&c->key->cipher, c->encrypt, &g, c->out, c->in, c->in_size);
    if (is_last)
        return crypt_end_chain(c, m, &g);
    info->cbData = g.data_size;
    memcpy(c->iv, g.counter, sizeof g.counter);
    memcpy(info->pbMacContext, g.hash, sizeof g.hash);
    return STATUS_SUCCESS;
}

static NTSTATUS crypt_message(const struct crypt_call *c)
{
    BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO *info = c->info;
    struct cipher_message m;

    *c->result = c->in_size;
    if (!info || info->cbSize != sizeof *info || info->dwInfoVersion != BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO_VERSION ||
        c->is_padded)
        return STATUS_INVALID_PARAMETER;
    if (!c->out && c->in)
        return STATUS_SUCCESS;
    if (c->out && c->out_size < c->in_size)
        return STATUS_BUFFER_TOO_SMALL;
    m = (struct cipher_message){ info->pbNonce,    info->cbNonce, info->pbAuthData,
                                 info->cbAuthData, info->pbTag,   info->cbTag };
    if (crypt_is_chained(c))
        return crypt_chained(c, &m);
    if (!cipher_allows(c->key->cipher.kind, c->mode, &m, c->in_size))
        return STATUS_INVALID_PARAMETER;
    if (c->encrypt)
        cipher_seal(&c->key->cipher, c->mode, &m, c->out, c->in, c->in_size);
    else if (!cipher_open(&c->key->cipher, c->mode, &m, c->out, c->in, c->in_size))
        return STATUS_AUTH_TAG_MISMATCH;
    return STATUS_SUCCESS;
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

static NTSTATUS crypt_run(struct crypt_call *c, ULONG flags)
{
    if (!c->key)
        return STATUS_INVALID_HANDLE;
    if (c->key->secret)
        return STATUS_NOT_SUPPORTED;
    if (!c->result || flags & ~BCRYPT_BLOCK_PADDING || (!c->in && c->in_size))
        return STATUS_INVALID_PARAMETER;
    c->is_padded = flags & BCRYPT_BLOCK_PADDING;
    c->mode = (enum cipher_mode)atomic_load(&c->key->mode);
    if (c->mode != CIPHER_CBC && c->mode != CIPHER_ECB)
        return crypt_message(c);
    if (!c->in && !c->out)
        return STATUS_INVALID_PARAMETER;
    return c->encrypt ? crypt_encrypt_blocks(c) : crypt_decrypt_blocks(c);
}

NTSTATUS BCryptEncrypt(BCRYPT_KEY_HANDLE hKey, PUCHAR pbInput, ULONG cbInput, VOID *pPaddingInfo, PUCHAR pbIV,
                       ULONG cbIV, PUCHAR pbOutput, ULONG cbOutput, ULONG *pcbResult, ULONG dwFlags)
{
    struct crypt_call c = { true,       cng_lookup("BCryptEncrypt", hKey, CNG_KEY),
                            CIPHER_CBC, pbInput,
                            cbInput,    pPaddingInfo,
                            pbIV,       cbIV,
                            pbOutput,   cbOutput,
                            pcbResult,  false };

    return crypt_run(&c, dwFlags);
}

NTSTATUS BCryptDecrypt(BCRYPT_KEY_HANDLE hKey, PUCHAR pbInput, ULONG cbInput, VOID *pPaddingInfo, PUCHAR pbIV,
                       ULONG cbIV, PUCHAR pbOutput, ULONG cbOutput, ULONG *pcbResult, ULONG dwFlags)
{
    struct crypt_call c = { false,      cng_lookup("BCryptDecrypt", hKey, CNG_KEY),
                            CIPHER_CBC, pbInput,
                            cbInput,    pPaddingInfo,
                            pbIV,       cbIV,
                            pbOutput,   cbOutput,
                            pcbResult,  false };

    return crypt_run(&c, dwFlags);
}
