/* SPDX-License-Identifier: MIT */
/*
 * Cryptography API: Next Generation (CNG): hashes, HMAC, AES, key derivation and random numbers. The library is
 * libopenndk-wdk-cng, which computes with nettle.
 *
 * Asymmetric keys, signatures and key agreement are missing: BCryptOpenAlgorithmProvider returns STATUS_NOT_FOUND for
 * their algorithms, and for DES, 3DES, RC2 and RC4. The only implementation is MS_PRIMITIVE_PROVIDER.
 *
 * Every handle must be released: a provider with BCryptCloseAlgorithmProvider, a hash with BCryptDestroyHash, a key
 * with BCryptDestroyKey. If a provider was opened with BCRYPT_PROV_DISPATCH, its hashes and keys must be destroyed
 * first.
 *
 * BCryptOpenAlgorithmProvider and BCryptCloseAlgorithmProvider require PASSIVE_LEVEL. All other routines require
 * IRQL <= DISPATCH_LEVEL with a provider that was opened with BCRYPT_PROV_DISPATCH, or with its hashes and keys.
 * Otherwise, and with the pseudo handles, they require PASSIVE_LEVEL. BCryptHash and BCryptDeriveKeyPBKDF2 follow the
 * same rule.
 *
 * Each routine returns STATUS_INVALID_HANDLE for an invalid handle. While checks are on, an invalid handle that is not
 * NULL is also reported. Several threads may use a provider or a key at the same time, but not a hash.
 */
#ifndef ONDK_WDK_BCRYPT_H
#define ONDK_WDK_BCRYPT_H
#define __BCRYPT_H__ /* Windows' own guard, for which drivers ask */

#include "ntdef.h"

EXTERN_C_START

#define BCRYPT_SUCCESS(status) ((NTSTATUS)(status) >= 0)

typedef PVOID BCRYPT_HANDLE;
typedef PVOID BCRYPT_ALG_HANDLE;
typedef PVOID BCRYPT_KEY_HANDLE;
typedef PVOID BCRYPT_HASH_HANDLE;
typedef PVOID BCRYPT_SECRET_HANDLE;

#define BCRYPT_OBJECT_ALIGNMENT 16

/* ---- Providers --------------------------------------------------------------------------------------------------- */

#define MS_PRIMITIVE_PROVIDER L"Microsoft Primitive Provider"

#define BCRYPT_MD2_ALGORITHM L"MD2"
#define BCRYPT_MD4_ALGORITHM L"MD4"
#define BCRYPT_MD5_ALGORITHM L"MD5"
#define BCRYPT_SHA1_ALGORITHM L"SHA1"
#define BCRYPT_SHA256_ALGORITHM L"SHA256"
#define BCRYPT_SHA384_ALGORITHM L"SHA384"
#define BCRYPT_SHA512_ALGORITHM L"SHA512"
#define BCRYPT_SHA3_256_ALGORITHM L"SHA3-256"
#define BCRYPT_SHA3_384_ALGORITHM L"SHA3-384"
#define BCRYPT_SHA3_512_ALGORITHM L"SHA3-512"
#define BCRYPT_AES_ALGORITHM L"AES"
#define BCRYPT_CHACHA20_POLY1305_ALGORITHM L"CHACHA20_POLY1305"
#define BCRYPT_RNG_ALGORITHM L"RNG"
#define BCRYPT_SP800108_CTR_HMAC_ALGORITHM L"SP800_108_CTR_HMAC"
#define BCRYPT_PBKDF2_ALGORITHM L"PBKDF2"

/* Not available: BCryptOpenAlgorithmProvider returns STATUS_NOT_FOUND. */
#define BCRYPT_AES_CMAC_ALGORITHM L"AES-CMAC"
#define BCRYPT_AES_GMAC_ALGORITHM L"AES-GMAC"
#define BCRYPT_XTS_AES_ALGORITHM L"XTS-AES"
#define BCRYPT_DES_ALGORITHM L"DES"
#define BCRYPT_DESX_ALGORITHM L"DESX"
#define BCRYPT_3DES_ALGORITHM L"3DES"
#define BCRYPT_3DES_112_ALGORITHM L"3DES_112"
#define BCRYPT_RC2_ALGORITHM L"RC2"
#define BCRYPT_RC4_ALGORITHM L"RC4"
#define BCRYPT_RSA_ALGORITHM L"RSA"
#define BCRYPT_DH_ALGORITHM L"DH"
#define BCRYPT_DSA_ALGORITHM L"DSA"
#define BCRYPT_ECDSA_P256_ALGORITHM L"ECDSA_P256"
#define BCRYPT_ECDSA_P384_ALGORITHM L"ECDSA_P384"
#define BCRYPT_ECDSA_P521_ALGORITHM L"ECDSA_P521"
#define BCRYPT_ECDH_P256_ALGORITHM L"ECDH_P256"
#define BCRYPT_ECDH_P384_ALGORITHM L"ECDH_P384"
#define BCRYPT_ECDH_P521_ALGORITHM L"ECDH_P521"
#define BCRYPT_CAPI_KDF_ALGORITHM L"CAPI_KDF"
#define BCRYPT_SP80056A_CONCAT_ALGORITHM L"SP800_56A_CONCAT"
#define BCRYPT_HKDF_ALGORITHM L"HKDF"

/* The pseudo handles: providers that need not be opened. Their properties cannot be set. Only at PASSIVE_LEVEL. */
#define BCRYPT_MD2_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000001)
#define BCRYPT_MD4_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000011)
#define BCRYPT_MD5_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000021)
#define BCRYPT_SHA1_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000031)
#define BCRYPT_SHA256_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000041)
#define BCRYPT_SHA384_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000051)
#define BCRYPT_SHA512_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000061)
#define BCRYPT_RNG_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000081)
#define BCRYPT_HMAC_MD5_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000091)
#define BCRYPT_HMAC_SHA1_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000000a1)
#define BCRYPT_HMAC_SHA256_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000000b1)
#define BCRYPT_HMAC_SHA384_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000000c1)
#define BCRYPT_HMAC_SHA512_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000000d1)
#define BCRYPT_HMAC_MD2_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000121)
#define BCRYPT_HMAC_MD4_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000131)
#define BCRYPT_AES_CBC_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000001a1)
#define BCRYPT_AES_ECB_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000001b1)
#define BCRYPT_AES_CCM_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000001d1)
#define BCRYPT_AES_GCM_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000001e1)
#define BCRYPT_PBKDF2_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000331)
#define BCRYPT_SP800108_CTR_HMAC_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000341)
#define BCRYPT_CHACHA20_POLY1305_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000003a1)
#define BCRYPT_SHA3_256_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000003b1)
#define BCRYPT_SHA3_384_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000003c1)
#define BCRYPT_SHA3_512_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000003d1)
#define BCRYPT_HMAC_SHA3_256_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000003e1)
#define BCRYPT_HMAC_SHA3_384_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x000003f1)
#define BCRYPT_HMAC_SHA3_512_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x00000401)

#define BCRYPT_PROV_DISPATCH 0x00000001
#define BCRYPT_ALG_HANDLE_HMAC_FLAG 0x00000008
#define BCRYPT_HASH_REUSABLE_FLAG 0x00000020

/*
 * Opens the provider of an algorithm. Without BCRYPT_PROV_DISPATCH the provider is only for PASSIVE_LEVEL.
 * BCRYPT_ALG_HANDLE_HMAC_FLAG makes the hashes of the provider HMACs; with BCRYPT_HASH_REUSABLE_FLAG they are reusable.
 * Both are only for hash algorithms. Returns STATUS_NOT_FOUND for an unknown algorithm or implementation,
 * STATUS_INVALID_PARAMETER for other flags, and STATUS_NO_MEMORY.
 */
NTKERNELAPI NTSTATUS BCryptOpenAlgorithmProvider(_Out_ BCRYPT_ALG_HANDLE *phAlgorithm, _In_ LPCWSTR pszAlgId,
                                                 _In_opt_ LPCWSTR pszImplementation, _In_ ULONG dwFlags);
/*
 * Closes a provider. If it was not opened with BCRYPT_PROV_DISPATCH, its hashes and keys stay valid. Does not close a
 * pseudo handle (STATUS_INVALID_HANDLE).
 */
NTKERNELAPI NTSTATUS BCryptCloseAlgorithmProvider(_Inout_ BCRYPT_ALG_HANDLE hAlgorithm, _In_ ULONG dwFlags);

/* ---- Properties -------------------------------------------------------------------------------------------------- */

#define BCRYPT_ALGORITHM_NAME L"AlgorithmName"
#define BCRYPT_AUTH_TAG_LENGTH L"AuthTagLength"
#define BCRYPT_BLOCK_LENGTH L"BlockLength"
#define BCRYPT_BLOCK_SIZE_LIST L"BlockSizeList"
#define BCRYPT_CHAINING_MODE L"ChainingMode"
#define BCRYPT_HASH_BLOCK_LENGTH L"HashBlockLength"
#define BCRYPT_HASH_LENGTH L"HashDigestLength"
#define BCRYPT_INITIALIZATION_VECTOR L"IV"
#define BCRYPT_IS_KEYED_HASH L"IsKeyedHash"
#define BCRYPT_IS_REUSABLE_HASH L"IsReusableHash"
#define BCRYPT_KEY_LENGTH L"KeyLength"
#define BCRYPT_KEY_LENGTHS L"KeyLengths"
#define BCRYPT_KEY_STRENGTH L"KeyStrength"
#define BCRYPT_OBJECT_LENGTH L"ObjectLength"
#define BCRYPT_PRIMITIVE_TYPE L"PrimitiveType"
#define BCRYPT_PROVIDER_HANDLE L"ProviderHandle"
/* Not supported here. */
#define BCRYPT_EFFECTIVE_KEY_LENGTH L"EffectiveKeyLength"
#define BCRYPT_HASH_OID_LIST L"HashOIDList"
#define BCRYPT_KEY_OBJECT_LENGTH L"KeyObjectLength"
#define BCRYPT_MESSAGE_BLOCK_LENGTH L"MessageBlockLength"
#define BCRYPT_MULTI_OBJECT_LENGTH L"MultiObjectLength"
#define BCRYPT_PADDING_SCHEMES L"PaddingSchemes"
#define BCRYPT_SIGNATURE_LENGTH L"SignatureLength"

/* The values of BCRYPT_CHAINING_MODE. BCRYPT_CHAIN_MODE_CFB is not supported here. */
#define BCRYPT_CHAIN_MODE_NA L"ChainingModeN/A"
#define BCRYPT_CHAIN_MODE_CBC L"ChainingModeCBC"
#define BCRYPT_CHAIN_MODE_ECB L"ChainingModeECB"
#define BCRYPT_CHAIN_MODE_CFB L"ChainingModeCFB"
#define BCRYPT_CHAIN_MODE_CCM L"ChainingModeCCM"
#define BCRYPT_CHAIN_MODE_GCM L"ChainingModeGCM"

/* The values of BCRYPT_PRIMITIVE_TYPE. */
#define BCRYPT_CIPHER_INTERFACE 0x00000001
#define BCRYPT_HASH_INTERFACE 0x00000002
#define BCRYPT_RNG_INTERFACE 0x00000006
#define BCRYPT_KEY_DERIVATION_INTERFACE 0x00000007

typedef struct __BCRYPT_KEY_LENGTHS_STRUCT {
    ULONG dwMinLength;
    ULONG dwMaxLength;
    ULONG dwIncrement;
} BCRYPT_KEY_LENGTHS_STRUCT, BCRYPT_AUTH_TAG_LENGTHS_STRUCT;

/*
 * Returns a property of a provider, hash or key. If pbOutput is NULL, *pcbResult receives the size that is needed.
 * Returns STATUS_NOT_SUPPORTED if the object has no such property, and STATUS_BUFFER_TOO_SMALL. The size of a
 * BCRYPT_CHAINING_MODE is always 64 bytes. BCRYPT_AUTH_TAG_LENGTH is a property of a provider in mode CCM or GCM.
 */
NTKERNELAPI NTSTATUS BCryptGetProperty(_In_ BCRYPT_HANDLE hObject, _In_ LPCWSTR pszProperty,
                                       _Out_writes_bytes_to_opt_(cbOutput, *pcbResult) PUCHAR pbOutput,
                                       _In_ ULONG cbOutput, _Out_ ULONG *pcbResult, _In_ ULONG dwFlags);
/*
 * Sets BCRYPT_CHAINING_MODE of a provider, for keys that are created later, or of a key; or
 * BCRYPT_INITIALIZATION_VECTOR of a key. Returns STATUS_NOT_SUPPORTED for every other property, for a mode that the
 * algorithm does not have, and for pseudo handles.
 */
NTKERNELAPI NTSTATUS BCryptSetProperty(_Inout_ BCRYPT_HANDLE hObject, _In_ LPCWSTR pszProperty,
                                       _In_reads_bytes_(cbInput) PUCHAR pbInput, _In_ ULONG cbInput,
                                       _In_ ULONG dwFlags);

/* ---- Hashes and HMAC --------------------------------------------------------------------------------------------- */

/*
 * Creates a hash, or an HMAC with the key pbSecret. The hash is in the buffer of BCRYPT_OBJECT_LENGTH bytes, which must
 * stay allocated until BCryptDestroyHash, or in memory of its own if pbHashObject is NULL and cbHashObject is 0.
 * Returns STATUS_NOT_SUPPORTED if the algorithm is no hash, STATUS_BUFFER_TOO_SMALL, and STATUS_INVALID_PARAMETER for a
 * key without BCRYPT_ALG_HANDLE_HMAC_FLAG.
 */
NTKERNELAPI NTSTATUS BCryptCreateHash(_Inout_ BCRYPT_ALG_HANDLE hAlgorithm, _Out_ BCRYPT_HASH_HANDLE *phHash,
                                      _Out_writes_bytes_opt_(cbHashObject) PUCHAR pbHashObject, _In_ ULONG cbHashObject,
                                      _In_reads_bytes_opt_(cbSecret) PUCHAR pbSecret, _In_ ULONG cbSecret,
                                      _In_ ULONG dwFlags);
/* Adds data to the hash. */
NTKERNELAPI NTSTATUS BCryptHashData(_Inout_ BCRYPT_HASH_HANDLE hHash, _In_reads_bytes_(cbInput) PUCHAR pbInput,
                                    _In_ ULONG cbInput, _In_ ULONG dwFlags);
/*
 * Returns the hash value. Returns STATUS_INVALID_PARAMETER if cbOutput is not BCRYPT_HASH_LENGTH. A reusable hash then
 * begins anew, an HMAC with the same key. Any other hash can then only be destroyed; the routines that use the hash
 * return STATUS_INVALID_HANDLE.
 */
NTKERNELAPI NTSTATUS BCryptFinishHash(_Inout_ BCRYPT_HASH_HANDLE hHash,
                                      _Out_writes_bytes_all_(cbOutput) PUCHAR pbOutput, _In_ ULONG cbOutput,
                                      _In_ ULONG dwFlags);
/* Creates a copy of a hash with the data that was added so far. The buffer is like that of BCryptCreateHash. */
NTKERNELAPI NTSTATUS BCryptDuplicateHash(_In_ BCRYPT_HASH_HANDLE hHash, _Out_ BCRYPT_HASH_HANDLE *phNewHash,
                                         _Out_writes_bytes_opt_(cbHashObject) PUCHAR pbHashObject,
                                         _In_ ULONG cbHashObject, _In_ ULONG dwFlags);
NTKERNELAPI NTSTATUS BCryptDestroyHash(_Inout_ BCRYPT_HASH_HANDLE hHash);
/* Computes the hash or HMAC of one buffer, without a hash object. */
NTKERNELAPI NTSTATUS BCryptHash(_Inout_ BCRYPT_ALG_HANDLE hAlgorithm, _In_reads_bytes_opt_(cbSecret) PUCHAR pbSecret,
                                _In_ ULONG cbSecret, _In_reads_bytes_(cbInput) PUCHAR pbInput, _In_ ULONG cbInput,
                                _Out_writes_bytes_all_(cbOutput) PUCHAR pbOutput, _In_ ULONG cbOutput);

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

#define BCRYPT_KEY_DATA_BLOB L"KeyDataBlob"
#define BCRYPT_OPAQUE_KEY_BLOB L"OpaqueKeyBlob"        /* not supported here */
#define BCRYPT_AES_WRAP_KEY_BLOB L"Rfc3565KeyWrapBlob" /* not supported here */

#define BCRYPT_KEY_DATA_BLOB_MAGIC 0x4d42444b
#define BCRYPT_KEY_DATA_BLOB_VERSION1 0x1

typedef struct _BCRYPT_KEY_DATA_BLOB_HEADER {
    ULONG dwMagic;
    ULONG dwVersion;
    ULONG cbKeyData;
} BCRYPT_KEY_DATA_BLOB_HEADER, *PBCRYPT_KEY_DATA_BLOB_HEADER;

/*
 * Creates a key. A secret that is longer than the algorithm's longest key is cut; any other wrong size returns
 * STATUS_INVALID_PARAMETER. A key derivation algorithm accepts any size. The key is in the buffer of
 * BCRYPT_OBJECT_LENGTH bytes, which must stay allocated until BCryptDestroyKey, or in memory of its own if pbKeyObject
 * is NULL and cbKeyObject is 0. Returns STATUS_BUFFER_TOO_SMALL, and STATUS_NOT_SUPPORTED if the algorithm has no keys.
 */
NTKERNELAPI NTSTATUS BCryptGenerateSymmetricKey(_Inout_ BCRYPT_ALG_HANDLE hAlgorithm, _Out_ BCRYPT_KEY_HANDLE *phKey,
                                                _Out_writes_bytes_opt_(cbKeyObject) PUCHAR pbKeyObject,
                                                _In_ ULONG cbKeyObject, _In_reads_bytes_(cbSecret) PUCHAR pbSecret,
                                                _In_ ULONG cbSecret, _In_ ULONG dwFlags);
/* Creates a copy of a key, with its chaining mode and initialization vector. */
NTKERNELAPI NTSTATUS BCryptDuplicateKey(_In_ BCRYPT_KEY_HANDLE hKey, _Out_ BCRYPT_KEY_HANDLE *phNewKey,
                                        _Out_writes_bytes_opt_(cbKeyObject) PUCHAR pbKeyObject, _In_ ULONG cbKeyObject,
                                        _In_ ULONG dwFlags);
/* Creates a key from a BCRYPT_KEY_DATA_BLOB. Other types return STATUS_NOT_SUPPORTED. hImportKey must be NULL. */
NTKERNELAPI NTSTATUS BCryptImportKey(_In_ BCRYPT_ALG_HANDLE hAlgorithm, _In_opt_ BCRYPT_KEY_HANDLE hImportKey,
                                     _In_ LPCWSTR pszBlobType, _Out_ BCRYPT_KEY_HANDLE *phKey,
                                     _Out_writes_bytes_opt_(cbKeyObject) PUCHAR pbKeyObject, _In_ ULONG cbKeyObject,
                                     _In_reads_bytes_(cbInput) PUCHAR pbInput, _In_ ULONG cbInput, _In_ ULONG dwFlags);
/* Stores a cipher's key as a BCRYPT_KEY_DATA_BLOB. hExportKey must be NULL. */
NTKERNELAPI NTSTATUS BCryptExportKey(_In_ BCRYPT_KEY_HANDLE hKey, _In_opt_ BCRYPT_KEY_HANDLE hExportKey,
                                     _In_ LPCWSTR pszBlobType,
                                     _Out_writes_bytes_to_opt_(cbOutput, *pcbResult) PUCHAR pbOutput,
                                     _In_ ULONG cbOutput, _Out_ ULONG *pcbResult, _In_ ULONG dwFlags);
NTKERNELAPI NTSTATUS BCryptDestroyKey(_Inout_ BCRYPT_KEY_HANDLE hKey);

/* ---- Encryption -------------------------------------------------------------------------------------------------- */

#define BCRYPT_BLOCK_PADDING 0x00000001

#define BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO_VERSION 1
#define BCRYPT_AUTH_MODE_CHAIN_CALLS_FLAG 0x00000001
#define BCRYPT_AUTH_MODE_IN_PROGRESS_FLAG 0x00000002

typedef struct _BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO {
    ULONG cbSize;
    ULONG dwInfoVersion;
    PUCHAR pbNonce;
    ULONG cbNonce;
    PUCHAR pbAuthData;
    ULONG cbAuthData;
    PUCHAR pbTag;
    ULONG cbTag;
    PUCHAR pbMacContext;
    ULONG cbMacContext;
    ULONG cbAAD;
    ULONGLONG cbData;
    ULONG dwFlags;
} BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO, *PBCRYPT_AUTHENTICATED_CIPHER_MODE_INFO;

#define BCRYPT_INIT_AUTH_MODE_INFO(info)                                                                               \
    RtlZeroMemory(&(info), sizeof(BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO));                                             \
    (info).cbSize = sizeof(BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO);                                                     \
    (info).dwInfoVersion = BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO_VERSION

/*
 * Encrypt and decrypt with a cipher's key. pbInput and pbOutput may be the same buffer. *pcbResult receives the size of
 * the output. If pbOutput is NULL, nothing else is done. Return STATUS_BUFFER_TOO_SMALL, and STATUS_NOT_SUPPORTED for
 * the key of a key derivation algorithm.
 *
 * Modes CBC and ECB: without BCRYPT_BLOCK_PADDING the size of the input must be a multiple of BCRYPT_BLOCK_LENGTH
 * (STATUS_INVALID_BUFFER_SIZE). pbIV is the initialization vector of mode CBC, and receives that of the next block. If
 * it is NULL, the key's own vector is used: that of BCRYPT_INITIALIZATION_VECTOR, or after a call the one of its next
 * block; at first it is zero. Mode ECB has no vector (STATUS_INVALID_PARAMETER). A decryption of data with wrong
 * padding returns STATUS_UNSUCCESSFUL.
 *
 * Modes GCM and CCM, and CHACHA20_POLY1305: pPaddingInfo is a BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO. If pbInput and
 * pbOutput are NULL, the data is empty. The nonce of GCM and CHACHA20_POLY1305 has 12 bytes, that of CCM 7 to 13. A tag
 * has 12 to 16 bytes (GCM), 4 to 16 (CCM, even) or 16. If the tag is wrong, BCryptDecrypt zeroes the output and returns
 * STATUS_AUTH_TAG_MISMATCH. In mode GCM data may be passed in several calls with BCRYPT_AUTH_MODE_CHAIN_CALLS_FLAG;
 * pbMacContext and pbIV are then buffers of 16 bytes, each call but the last has a multiple of 16 bytes, and the
 * authenticated data is that of the first call. Decrypted data of a chain is not zeroed. Other modes return
 * STATUS_NOT_SUPPORTED for a chain.
 */
NTKERNELAPI NTSTATUS BCryptEncrypt(_Inout_ BCRYPT_KEY_HANDLE hKey, _In_reads_bytes_opt_(cbInput) PUCHAR pbInput,
                                   _In_ ULONG cbInput, _In_opt_ VOID *pPaddingInfo,
                                   _Inout_updates_bytes_opt_(cbIV) PUCHAR pbIV, _In_ ULONG cbIV,
                                   _Out_writes_bytes_to_opt_(cbOutput, *pcbResult) PUCHAR pbOutput, _In_ ULONG cbOutput,
                                   _Out_ ULONG *pcbResult, _In_ ULONG dwFlags);
NTKERNELAPI NTSTATUS BCryptDecrypt(_Inout_ BCRYPT_KEY_HANDLE hKey, _In_reads_bytes_opt_(cbInput) PUCHAR pbInput,
                                   _In_ ULONG cbInput, _In_opt_ VOID *pPaddingInfo,
                                   _Inout_updates_bytes_opt_(cbIV) PUCHAR pbIV, _In_ ULONG cbIV,
                                   _Out_writes_bytes_to_opt_(cbOutput, *pcbResult) PUCHAR pbOutput, _In_ ULONG cbOutput,
                                   _Out_ ULONG *pcbResult, _In_ ULONG dwFlags);

/* ---- Key derivation ---------------------------------------------------------------------------------------------- */

#define BCRYPTBUFFER_VERSION 0

typedef struct _BCryptBuffer {
    ULONG cbBuffer;
    ULONG BufferType;
    PVOID pvBuffer;
} BCryptBuffer, *PBCryptBuffer;

typedef struct _BCryptBufferDesc {
    ULONG ulVersion;
    ULONG cBuffers;
    PBCryptBuffer pBuffers;
} BCryptBufferDesc, *PBCryptBufferDesc;

#define KDF_HASH_ALGORITHM 0x0
#define KDF_LABEL 0xd
#define KDF_CONTEXT 0xe
#define KDF_SALT 0xf
#define KDF_ITERATION_COUNT 0x10
#define KDF_GENERIC_PARAMETER 0x11

/*
 * Derives bytes from a password with PBKDF2 (RFC 2898). hPrf is a provider of a hash algorithm that was opened with
 * BCRYPT_ALG_HANDLE_HMAC_FLAG. Returns STATUS_INVALID_PARAMETER for 0 iterations, for an output of 0 bytes, for flags,
 * and for any other provider.
 */
NTKERNELAPI NTSTATUS BCryptDeriveKeyPBKDF2(_In_ BCRYPT_ALG_HANDLE hPrf,
                                           _In_reads_bytes_opt_(cbPassword) PUCHAR pbPassword, _In_ ULONG cbPassword,
                                           _In_reads_bytes_opt_(cbSalt) PUCHAR pbSalt, _In_ ULONG cbSalt,
                                           _In_ ULONGLONG cIterations,
                                           _Out_writes_bytes_(cbDerivedKey) PUCHAR pbDerivedKey,
                                           _In_ ULONG cbDerivedKey, _In_ ULONG dwFlags);
/*
 * Derives bytes from a key of BCRYPT_SP800108_CTR_HMAC_ALGORITHM or BCRYPT_PBKDF2_ALGORITHM. pParameterList contains
 * the hash algorithm and:
 *   BCRYPT_SP800108_CTR_HMAC_ALGORITHM  the label and the context, or both in a KDF_GENERIC_PARAMETER with a zero byte
 *                                       between them
 *   BCRYPT_PBKDF2_ALGORITHM             the salt, which may be a KDF_GENERIC_PARAMETER, and optionally the 64-bit
 *                                       iteration count; the default is 10000
 * Returns STATUS_INVALID_PARAMETER if a parameter is missing or belongs to the other algorithm, and
 * STATUS_NOT_SUPPORTED for an unknown hash algorithm.
 */
NTKERNELAPI NTSTATUS BCryptKeyDerivation(_In_ BCRYPT_KEY_HANDLE hKey, _In_opt_ BCryptBufferDesc *pParameterList,
                                         _Out_writes_bytes_to_(cbDerivedKey, *pcbResult) PUCHAR pbDerivedKey,
                                         _In_ ULONG cbDerivedKey, _Out_ ULONG *pcbResult, _In_ ULONG dwFlags);

/* ---- Random numbers ---------------------------------------------------------------------------------------------- */

#define BCRYPT_RNG_USE_ENTROPY_IN_BUFFER 0x00000001 /* no effect, as on Windows 8 and later */
#define BCRYPT_USE_SYSTEM_PREFERRED_RNG 0x00000002

/*
 * Fills the buffer with random bytes of the host's kernel. hAlgorithm is a provider of BCRYPT_RNG_ALGORITHM, or NULL
 * with BCRYPT_USE_SYSTEM_PREFERRED_RNG, which requires PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS BCryptGenRandom(_In_opt_ BCRYPT_ALG_HANDLE hAlgorithm,
                                     _Out_writes_bytes_(cbBuffer) PUCHAR pbBuffer, _In_ ULONG cbBuffer,
                                     _In_ ULONG dwFlags);

/* Stores FALSE: no policy restricts the algorithms. PASSIVE_LEVEL. */
NTKERNELAPI NTSTATUS BCryptGetFipsAlgorithmMode(_Out_ BOOLEAN *pfEnabled);

EXTERN_C_END

#endif
