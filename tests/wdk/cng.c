/* SPDX-License-Identifier: MIT */
/*
 * Hashes, HMAC, key derivation, random numbers and properties of CNG, with the test vectors of FIPS 180-4, FIPS 202,
 * RFC 1319 to 1321, RFC 4231 and RFC 6070; and the rules about handles and IRQLs.
 */
#include "cng_kit.h"

enum { HASH_MOST = 64 };

/* The hash of "abc". */
static const struct {
    LPCWSTR name;
    BCRYPT_ALG_HANDLE pseudo;
    ULONG block;
    const char *abc;
} hashes[] = {
    { BCRYPT_MD2_ALGORITHM, BCRYPT_MD2_ALG_HANDLE, 16, "da853b0d3f88d99b30283a69e6ded6bb" },
    { BCRYPT_MD4_ALGORITHM, BCRYPT_MD4_ALG_HANDLE, 64, "a448017aaf21d8525fc10ae87aa6729d" },
    { BCRYPT_MD5_ALGORITHM, BCRYPT_MD5_ALG_HANDLE, 64, "900150983cd24fb0d6963f7d28e17f72" },
    { BCRYPT_SHA1_ALGORITHM, BCRYPT_SHA1_ALG_HANDLE, 64, "a9993e364706816aba3e25717850c26c9cd0d89d" },
    { BCRYPT_SHA256_ALGORITHM, BCRYPT_SHA256_ALG_HANDLE, 64,
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { BCRYPT_SHA384_ALGORITHM, BCRYPT_SHA384_ALG_HANDLE, 128,
      "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7" },
    { BCRYPT_SHA512_ALGORITHM, BCRYPT_SHA512_ALG_HANDLE, 128,
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e"
      "2a9ac94fa54ca49f" },
    { BCRYPT_SHA3_256_ALGORITHM, BCRYPT_SHA3_256_ALG_HANDLE, 136,
      "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532" },
    { BCRYPT_SHA3_384_ALGORITHM, BCRYPT_SHA3_384_ALG_HANDLE, 104,
      "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b298d88cea927ac7f539f1edf228376d25" },
    { BCRYPT_SHA3_512_ALGORITHM, BCRYPT_SHA3_512_ALG_HANDLE, 72,
      "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e10e116e9192af3c91a7ec57647e3934057340b4cf408d5a5"
      "6592f8274eec53f0" },
};

static void finishes(BCRYPT_HASH_HANDLE hash, const char *expected)
{
    struct bytes value = bytes_new(strlen(expected) / 2);

    assert_int_equal(BCryptFinishHash(hash, value.at, value.size - 1, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptFinishHash(hash, value.at, value.size, 1), STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptFinishHash(hash, value.at, value.size, 0), STATUS_SUCCESS);
    bytes_are(value.at, value.size, expected);
    free(value.at);
}

static void adds(BCRYPT_HASH_HANDLE hash, const char *text)
{
    assert_int_equal(BCryptHashData(hash, (PUCHAR)(uintptr_t)text, (ULONG)strlen(text), 0), STATUS_SUCCESS);
}

/* In the driver's memory, at each alignment; the data in two parts. */
static void hashes_in_buffer(BCRYPT_ALG_HANDLE provider, const char *expected)
{
    ULONG size = property_of(provider, BCRYPT_OBJECT_LENGTH);

    for (ULONG offset = 0; offset < BCRYPT_OBJECT_ALIGNMENT; offset++) {
        struct bytes buffer = bytes_new((size_t)offset + size);
        BCRYPT_HASH_HANDLE hash;

        assert_int_equal(BCryptCreateHash(provider, &hash, buffer.at + offset, size - 1, NULL, 0, 0),
                         STATUS_BUFFER_TOO_SMALL);
        assert_int_equal(BCryptCreateHash(provider, &hash, buffer.at + offset, size, NULL, 0, 0), STATUS_SUCCESS);
        adds(hash, "a");
        adds(hash, "");
        adds(hash, "bc");
        finishes(hash, expected);
        assert_int_equal(BCryptHashData(hash, buffer.at, 1, 0), STATUS_INVALID_HANDLE);
        assert_int_equal(BCryptFinishHash(hash, buffer.at, 1, 0), STATUS_INVALID_HANDLE);
        assert_int_equal(BCryptDestroyHash(hash), STATUS_SUCCESS);
        free(buffer.at);
    }
}

static void test_hashes(void **state)
{
    struct report *r = report_start();
    uint32_t left = live_count();
    UCHAR value[HASH_MOST];

    (void)state;
    for (size_t i = 0; i < sizeof hashes / sizeof hashes[0]; i++) {
        BCRYPT_ALG_HANDLE provider = open_provider(hashes[i].name, 0);
        ULONG size = (ULONG)strlen(hashes[i].abc) / 2;

        assert_int_equal(property_of(provider, BCRYPT_HASH_LENGTH), size);
        assert_int_equal(property_of(provider, BCRYPT_HASH_BLOCK_LENGTH), hashes[i].block);
        hashes_in_buffer(provider, hashes[i].abc);
        assert_int_equal(BCryptHash(provider, NULL, 0, (PUCHAR) "abc", 3, value, size), STATUS_SUCCESS);
        bytes_are(value, size, hashes[i].abc);
        close_provider(provider);
        memset(value, 0, sizeof value);
        assert_int_equal(BCryptHash(hashes[i].pseudo, NULL, 0, (PUCHAR) "abc", 3, value, size), STATUS_SUCCESS);
        bytes_are(value, size, hashes[i].abc);
        assert_int_equal(BCryptHash(hashes[i].pseudo, NULL, 0, (PUCHAR) "abc", 3, value, size + 1),
                         STATUS_INVALID_PARAMETER);
    }
    assert_int_equal(live_count(), left);
    report_is_empty(r);
}

static void test_reusable(void **state)
{
    static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    static const char empty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    BCRYPT_ALG_HANDLE reusable = open_provider(BCRYPT_SHA256_ALGORITHM, BCRYPT_HASH_REUSABLE_FLAG);
    BCRYPT_HASH_HANDLE hash, copy;
    ULONG size = property_of(reusable, BCRYPT_OBJECT_LENGTH);
    struct bytes buffer = bytes_new(size);

    (void)state;
    assert_int_equal(BCryptCreateHash(BCRYPT_SHA256_ALG_HANDLE, &hash, NULL, 0, NULL, 0, BCRYPT_HASH_REUSABLE_FLAG),
                     STATUS_SUCCESS);
    assert_int_equal(property_of(hash, BCRYPT_IS_REUSABLE_HASH), 1);
    adds(hash, "abc");
    finishes(hash, abc);
    finishes(hash, empty);
    assert_int_equal(BCryptDestroyHash(hash), STATUS_SUCCESS);

    assert_int_equal(BCryptCreateHash(reusable, &hash, NULL, 0, NULL, 0, 0), STATUS_SUCCESS);
    adds(hash, "ab");
    assert_int_equal(BCryptDuplicateHash(hash, &copy, buffer.at, size - 1, 0), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(BCryptDuplicateHash(hash, &copy, buffer.at, size, 0), STATUS_SUCCESS);
    adds(copy, "c");
    finishes(copy, abc);
    finishes(copy, empty);
    assert_int_equal(BCryptDestroyHash(copy), STATUS_SUCCESS);
    adds(hash, "c");
    finishes(hash, abc);
    assert_int_equal(BCryptDestroyHash(hash), STATUS_SUCCESS);
    assert_int_equal(BCryptCreateHash(BCRYPT_SHA256_ALG_HANDLE, &hash, NULL, 0, NULL, 0, 0), STATUS_SUCCESS);
    finishes(hash, empty);
    assert_int_equal(BCryptDuplicateHash(hash, &copy, NULL, 0, 0), STATUS_INVALID_HANDLE);
    assert_int_equal(BCryptDestroyHash(hash), STATUS_SUCCESS);
    close_provider(reusable);
    free(buffer.at);
}

/* ---- HMAC -------------------------------------------------------------------------------------------------------- */

/* Test cases 1, 2 and 6 of RFC 4231, and the same inputs for the older algorithms of RFC 2202. */
static const struct {
    LPCWSTR name;
    BCRYPT_ALG_HANDLE pseudo;
    const char *values[3];
} hmacs[] = {
    { BCRYPT_MD5_ALGORITHM,
      BCRYPT_HMAC_MD5_ALG_HANDLE,
      { "5ccec34ea9656392457fa1ac27f08fbc", "750c783e6ab0b503eaa86e310a5db738", "bfecaf4efff90a3a668f3922fec3762d" } },
    { BCRYPT_SHA1_ALGORITHM,
      BCRYPT_HMAC_SHA1_ALG_HANDLE,
      { "b617318655057264e28bc0b6fb378c8ef146be00", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
        "90d0dace1c1bdc957339307803160335bde6df2b" } },
    { BCRYPT_SHA256_ALGORITHM,
      BCRYPT_HMAC_SHA256_ALG_HANDLE,
      { "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" } },
    { BCRYPT_SHA384_ALGORITHM,
      BCRYPT_HMAC_SHA384_ALG_HANDLE,
      { "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6",
        "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
        "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c60c2ef6ab4030fe8296248df163f44952" } },
    { BCRYPT_SHA512_ALGORITHM,
      BCRYPT_HMAC_SHA512_ALG_HANDLE,
      { "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1"
        "7"
        "02e696c203a126854",
        "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b"
        "4"
        "b636e070a38bce737",
        "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0a"
        "e"
        "c8b915a985d786598" } },
};

static void test_hmac(void **state)
{
    static const char *const data[] = { "Hi There", "what do ya want for nothing?",
                                        "Test Using Larger Than Block-Size Key - Hash Key First" };
    UCHAR long_key[131], value[HASH_MOST];
    struct bytes keys[3] = { bytes_of("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"),
                             bytes_of("4a656665"),
                             { long_key, sizeof long_key } };
    BCRYPT_HASH_HANDLE hash;

    (void)state;
    memset(long_key, 0xaa, sizeof long_key);
    for (size_t i = 0; i < sizeof hmacs / sizeof hmacs[0]; i++) {
        BCRYPT_ALG_HANDLE provider = open_provider(hmacs[i].name, BCRYPT_ALG_HANDLE_HMAC_FLAG);

        assert_int_equal(property_of(provider, BCRYPT_IS_KEYED_HASH), 1);
        for (int j = 0; j < 3; j++) {
            ULONG size = property_of(provider, BCRYPT_HASH_LENGTH);

            assert_int_equal(BCryptHash(hmacs[i].pseudo, keys[j].at, keys[j].size, (PUCHAR)(uintptr_t)data[j],
                                        (ULONG)strlen(data[j]), value, size),
                             STATUS_SUCCESS);
            bytes_are(value, size, hmacs[i].values[j]);
            assert_int_equal(
                BCryptCreateHash(provider, &hash, NULL, 0, keys[j].at, keys[j].size, BCRYPT_HASH_REUSABLE_FLAG),
                STATUS_SUCCESS);
            adds(hash, data[j]);
            finishes(hash, hmacs[i].values[j]);
            adds(hash, data[j]);
            finishes(hash, hmacs[i].values[j]);
            assert_int_equal(BCryptDestroyHash(hash), STATUS_SUCCESS);
        }
        close_provider(provider);
    }
    assert_int_equal(BCryptHash(BCRYPT_SHA1_ALG_HANDLE, long_key, 1, long_key, 1, value, 20), STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptCreateHash(BCRYPT_SHA1_ALG_HANDLE, &hash, NULL, 0, long_key, 1, 0),
                     STATUS_INVALID_PARAMETER);
    free(keys[0].at);
    free(keys[1].at);
}

/* ---- Key derivation ---------------------------------------------------------------------------------------------- */

static void derives(BCRYPT_ALG_HANDLE prf, const char *password, size_t password_size, const char *salt,
                    size_t salt_size, ULONGLONG iterations, const char *expected)
{
    struct bytes out = bytes_new(strlen(expected) / 2);

    assert_int_equal(BCryptDeriveKeyPBKDF2(prf, (PUCHAR)(uintptr_t)password, (ULONG)password_size,
                                           (PUCHAR)(uintptr_t)salt, (ULONG)salt_size, iterations, out.at, out.size, 0),
                     STATUS_SUCCESS);
    bytes_are(out.at, out.size, expected);
    free(out.at);
}

/* RFC 6070; the last from RFC 7914. */
static void test_pbkdf2(void **state)
{
    BCRYPT_ALG_HANDLE sha1 = open_provider(BCRYPT_SHA1_ALGORITHM, BCRYPT_ALG_HANDLE_HMAC_FLAG);
    UCHAR out[4];

    (void)state;
    derives(sha1, "password", 8, "salt", 4, 1, "0c60c80f961f0e71f3a9b524af6012062fe037a6");
    derives(sha1, "password", 8, "salt", 4, 2, "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957");
    derives(sha1, "password", 8, "salt", 4, 4096, "4b007901b765489abead49d926f721d065a429c1");
    derives(sha1, "passwordPASSWORDpassword", 24, "saltSALTsaltSALTsaltSALTsaltSALTsalt", 36, 4096,
            "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038");
    derives(sha1, "pass\0word", 9, "sa\0lt", 5, 4096, "56fa6aa75548099dcc37d7f03425e0c3");
    derives(
        BCRYPT_HMAC_SHA256_ALG_HANDLE, "passwd", 6, "salt", 4, 1,
        "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc49ca9cccf179b645991664b39d77ef317c71b845b1e30b"
        "d509112041d3a19783");
    assert_int_equal(BCryptDeriveKeyPBKDF2(sha1, NULL, 0, NULL, 0, 0, out, sizeof out, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptDeriveKeyPBKDF2(sha1, NULL, 0, NULL, 0, 1, out, sizeof out, 1), STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptDeriveKeyPBKDF2(BCRYPT_SHA1_ALG_HANDLE, NULL, 0, NULL, 0, 1, out, sizeof out, 0),
                     STATUS_INVALID_PARAMETER);
    close_provider(sha1);
}

static BCRYPT_KEY_HANDLE kdf_key(BCRYPT_ALG_HANDLE provider, const char *hex)
{
    struct bytes secret = bytes_of(hex);
    BCRYPT_KEY_HANDLE key;

    assert_int_equal(BCryptGenerateSymmetricKey(provider, &key, NULL, 0, secret.at, secret.size, 0), STATUS_SUCCESS);
    free(secret.at);
    return key;
}

static NTSTATUS derive(BCRYPT_KEY_HANDLE key, BCryptBuffer *buffers, ULONG count, PUCHAR out, ULONG size)
{
    BCryptBufferDesc list = { BCRYPTBUFFER_VERSION, count, buffers };
    ULONG derived = 0;
    NTSTATUS status = BCryptKeyDerivation(key, &list, out, size, &derived, 0);

    assert_int_equal(derived, NT_SUCCESS(status) ? size : 0);
    return status;
}

#define HASH_PARAMETER(name)                                                                                           \
    {                                                                                                                  \
        sizeof(name), KDF_HASH_ALGORITHM, (PVOID)(uintptr_t)(name)                                                     \
    }
#define TEXT_PARAMETER(type, text)                                                                                     \
    {                                                                                                                  \
        sizeof(text) - 1, (type), (PVOID)(uintptr_t)(text)                                                             \
    }

/* The values were computed with Python's hmac. */
static void test_kbkdf(void **state)
{
    static const char expected[] = "64d34e59ecb8feadd86656ccf7a9e048ca0fa85596b3ad1167984bde52ebe3547322d4d2dfd04b7a";
    BCryptBuffer parameters[] = { HASH_PARAMETER(BCRYPT_SHA256_ALGORITHM), TEXT_PARAMETER(KDF_LABEL, "label"),
                                  TEXT_PARAMETER(KDF_CONTEXT, "context") };
    BCryptBuffer both[] = { HASH_PARAMETER(BCRYPT_SHA256_ALGORITHM),
                            TEXT_PARAMETER(KDF_GENERIC_PARAMETER, "label\0context"),
                            TEXT_PARAMETER(KDF_SALT, "label") };
    BCRYPT_KEY_HANDLE key = kdf_key(BCRYPT_SP800108_CTR_HMAC_ALG_HANDLE, "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b");
    BCryptBuffer twice[4];
    ULONG size;
    UCHAR out[40];

    (void)state;
    assert_int_equal(derive(key, parameters, 3, out, sizeof out), STATUS_SUCCESS);
    bytes_are(out, sizeof out, expected);
    memset(out, 0, sizeof out);
    assert_int_equal(derive(key, both, 2, out, sizeof out), STATUS_SUCCESS);
    bytes_are(out, sizeof out, expected);
    assert_int_equal(derive(key, both, 3, out, sizeof out), STATUS_INVALID_PARAMETER);
    assert_int_equal(derive(key, parameters, 2, out, sizeof out), STATUS_INVALID_PARAMETER);
    assert_int_equal(derive(key, parameters + 1, 2, out, sizeof out), STATUS_INVALID_PARAMETER);
    memcpy(twice, parameters, sizeof parameters);
    twice[3] = parameters[2];
    assert_int_equal(derive(key, twice, 4, out, sizeof out), STATUS_INVALID_PARAMETER);
    parameters[1].BufferType = 0x7f;
    assert_int_equal(derive(key, parameters, 3, out, sizeof out), STATUS_INVALID_PARAMETER);
    parameters[1].BufferType = KDF_LABEL;
    parameters[0].cbBuffer -= sizeof(WCHAR); /* not terminated */
    assert_int_equal(derive(key, parameters, 3, out, sizeof out), STATUS_INVALID_PARAMETER);
    parameters[0] = (BCryptBuffer)HASH_PARAMETER(BCRYPT_AES_ALGORITHM);
    assert_int_equal(derive(key, parameters, 3, out, sizeof out), STATUS_NOT_SUPPORTED);
    assert_int_equal(BCryptEncrypt(key, out, 16, NULL, NULL, 0, out, 16, &size, 0), STATUS_NOT_SUPPORTED);
    assert_int_equal(BCryptDestroyKey(key), STATUS_SUCCESS);
}

static void test_pbkdf2_key(void **state)
{
    ULONGLONG iterations = 4096;
    BCryptBuffer parameters[] = { HASH_PARAMETER(BCRYPT_SHA1_ALGORITHM),
                                  TEXT_PARAMETER(KDF_SALT, "salt"),
                                  { sizeof iterations, KDF_ITERATION_COUNT, &iterations } };
    BCryptBuffer by_default[] = { HASH_PARAMETER(BCRYPT_SHA256_ALGORITHM),
                                  TEXT_PARAMETER(KDF_GENERIC_PARAMETER, "salt") };
    BCRYPT_KEY_HANDLE key = kdf_key(BCRYPT_PBKDF2_ALG_HANDLE, "70617373776f7264"), copy;
    UCHAR out[32];

    (void)state;
    assert_int_equal(derive(key, parameters, 3, out, 20), STATUS_SUCCESS);
    bytes_are(out, 20, "4b007901b765489abead49d926f721d065a429c1");
    assert_int_equal(BCryptDuplicateKey(key, &copy, NULL, 0, 0), STATUS_SUCCESS);
    assert_int_equal(BCryptDestroyKey(key), STATUS_SUCCESS);
    assert_int_equal(derive(copy, by_default, 2, out, sizeof out), STATUS_SUCCESS);
    bytes_are(out, sizeof out, "5ec02b91a4b59c6f59dd5fbe4ca649ece4fa8568cdb8ba36cf41426e8805522b");
    iterations = 0;
    assert_int_equal(derive(copy, parameters, 3, out, 20), STATUS_INVALID_PARAMETER);
    parameters[2].cbBuffer = 1;
    assert_int_equal(derive(copy, parameters, 3, out, 20), STATUS_INVALID_PARAMETER);
    parameters[1].BufferType = KDF_LABEL;
    assert_int_equal(derive(copy, parameters, 2, out, 20), STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptDestroyKey(copy), STATUS_SUCCESS);
}

/* ---- Random numbers ---------------------------------------------------------------------------------------------- */

static void test_random(void **state)
{
    static const UCHAR zeros[16];
    BCRYPT_ALG_HANDLE rng = open_provider(BCRYPT_RNG_ALGORITHM, BCRYPT_PROV_DISPATCH);
    UCHAR one[48] = { 0 }, other[48] = { 0 };
    BOOLEAN fips = TRUE;
    ULONG size;
    KIRQL irql;

    (void)state;
    assert_int_equal(BCryptGenRandom(NULL, one + 16, 16, BCRYPT_USE_SYSTEM_PREFERRED_RNG), STATUS_SUCCESS);
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    assert_int_equal(BCryptGenRandom(rng, other + 16, 16, BCRYPT_RNG_USE_ENTROPY_IN_BUFFER), STATUS_SUCCESS);
    KeLowerIrql(irql);
    assert_memory_not_equal(one + 16, other + 16, 16);
    assert_memory_not_equal(one + 16, zeros, 16);
    assert_memory_equal(one, zeros, 16);
    assert_memory_equal(one + 32, zeros, 16);
    assert_int_equal(BCryptGenRandom(BCRYPT_RNG_ALG_HANDLE, one, sizeof one, 0), STATUS_SUCCESS);
    assert_memory_not_equal(one, zeros, 16);
    assert_memory_not_equal(one + 32, zeros, 16);
    assert_int_equal(BCryptGenRandom(NULL, NULL, 0, BCRYPT_USE_SYSTEM_PREFERRED_RNG), STATUS_SUCCESS);
    assert_int_equal(BCryptGenRandom(NULL, NULL, 1, BCRYPT_USE_SYSTEM_PREFERRED_RNG), STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptGenRandom(rng, one, 1, BCRYPT_USE_SYSTEM_PREFERRED_RNG), STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptGenRandom(rng, one, 1, 4), STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptGenRandom(NULL, one, 1, 0), STATUS_INVALID_HANDLE);
    assert_int_equal(BCryptGenRandom(BCRYPT_SHA1_ALG_HANDLE, one, 1, 0), STATUS_INVALID_HANDLE);
    assert_int_equal(BCryptGetProperty(rng, BCRYPT_OBJECT_LENGTH, NULL, 0, &size, 0), STATUS_NOT_SUPPORTED);
    assert_int_equal(BCryptCreateHash(rng, (PVOID *)&one, NULL, 0, NULL, 0, 0), STATUS_NOT_SUPPORTED);
    close_provider(rng);
    assert_int_equal(BCryptGetFipsAlgorithmMode(&fips), STATUS_SUCCESS);
    assert_false(fips);
}

/* ---- Providers and properties ------------------------------------------------------------------------------------ */

static void test_open(void **state)
{
    BCRYPT_ALG_HANDLE provider = NULL;
    ULONG size = 0, value = 0;
    WCHAR name[8];

    (void)state;
    assert_int_equal(BCryptOpenAlgorithmProvider(&provider, L"SHA2", NULL, 0), STATUS_NOT_FOUND);
    assert_int_equal(BCryptOpenAlgorithmProvider(&provider, BCRYPT_RSA_ALGORITHM, NULL, 0), STATUS_NOT_FOUND);
    assert_int_equal(BCryptOpenAlgorithmProvider(&provider, BCRYPT_SHA1_ALGORITHM, L"Mine", 0), STATUS_NOT_FOUND);
    assert_int_equal(BCryptOpenAlgorithmProvider(&provider, BCRYPT_SHA1_ALGORITHM, NULL, 2), STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptOpenAlgorithmProvider(&provider, BCRYPT_AES_ALGORITHM, NULL, BCRYPT_ALG_HANDLE_HMAC_FLAG),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptOpenAlgorithmProvider(NULL, BCRYPT_AES_ALGORITHM, NULL, 0), STATUS_INVALID_PARAMETER);
    assert_null(provider);
    assert_int_equal(BCryptOpenAlgorithmProvider(&provider, BCRYPT_SHA1_ALGORITHM, MS_PRIMITIVE_PROVIDER, 0),
                     STATUS_SUCCESS);
    assert_int_equal(BCryptGetProperty(provider, BCRYPT_ALGORITHM_NAME, NULL, 0, &size, 0), STATUS_SUCCESS);
    assert_int_equal(size, sizeof L"SHA1");
    assert_int_equal(BCryptGetProperty(provider, BCRYPT_ALGORITHM_NAME, (PUCHAR)name, size - 1, &size, 0),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(BCryptGetProperty(provider, BCRYPT_ALGORITHM_NAME, (PUCHAR)name, sizeof name, &size, 0),
                     STATUS_SUCCESS);
    assert_memory_equal(name, L"SHA1", sizeof L"SHA1");
    assert_int_equal(property_of(provider, BCRYPT_PRIMITIVE_TYPE), BCRYPT_HASH_INTERFACE);
    assert_int_equal(property_of(provider, BCRYPT_IS_KEYED_HASH), 0);
    assert_int_equal(property_of(provider, BCRYPT_IS_REUSABLE_HASH), 0);
    assert_int_equal(BCryptGetProperty(provider, L"Colour", (PUCHAR)&value, sizeof value, &size, 0),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(BCryptGetProperty(provider, BCRYPT_BLOCK_LENGTH, (PUCHAR)&value, sizeof value, &size, 0),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(BCryptGetProperty(provider, NULL, (PUCHAR)&value, sizeof value, &size, 0),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptGetProperty(provider, BCRYPT_HASH_LENGTH, (PUCHAR)&value, sizeof value, NULL, 0),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptGetProperty(NULL, BCRYPT_HASH_LENGTH, (PUCHAR)&value, sizeof value, &size, 0),
                     STATUS_INVALID_HANDLE);
    assert_int_equal(BCryptSetProperty(provider, BCRYPT_CHAINING_MODE, (PUCHAR)BCRYPT_CHAIN_MODE_CBC,
                                       sizeof BCRYPT_CHAIN_MODE_CBC, 0),
                     STATUS_NOT_SUPPORTED);
    close_provider(provider);
    assert_int_equal(BCryptCloseAlgorithmProvider(NULL, 0), STATUS_INVALID_HANDLE);
    assert_int_equal(BCryptCloseAlgorithmProvider(BCRYPT_SHA1_ALG_HANDLE, 0), STATUS_INVALID_HANDLE);
}

/* A hash outlives its provider, if that is not for DISPATCH_LEVEL. */
static void test_lifetime(void **state)
{
    struct report *r = report_start();
    uint32_t left = live_count();
    BCRYPT_ALG_HANDLE provider = open_provider(BCRYPT_SHA1_ALGORITHM, 0);
    BCRYPT_HASH_HANDLE hash;
    BCRYPT_ALG_HANDLE of = NULL;
    ULONG size;

    (void)state;
    assert_int_equal(BCryptCreateHash(provider, &hash, NULL, 0, NULL, 0, 0), STATUS_SUCCESS);
    assert_int_equal(live_count(), left + 2);
    assert_int_equal(BCryptGetProperty(hash, BCRYPT_PROVIDER_HANDLE, (PUCHAR)&of, sizeof of, &size, 0), STATUS_SUCCESS);
    assert_ptr_equal(of, provider);
    close_provider(provider);
    adds(hash, "abc");
    finishes(hash, "a9993e364706816aba3e25717850c26c9cd0d89d");
    assert_int_equal(BCryptDestroyHash(hash), STATUS_SUCCESS);
    assert_int_equal(live_count(), left);
    report_is_empty(r);
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

/* The memory of a hash that was not destroyed is used for something else, and then for a hash again. */
static void test_buffer_overwritten(void **state)
{
    BCRYPT_ALG_HANDLE provider = BCRYPT_SHA1_ALG_HANDLE; /* whose reference cannot leak with the hash */
    BCRYPT_HASH_HANDLE hash;
    ULONG size = property_of(provider, BCRYPT_OBJECT_LENGTH);
    PUCHAR buffer = ExAllocatePoolWithTag(NonPagedPoolNx, size, 'gnCt');
    struct report *r;

    (void)state;
    assert_int_equal(BCryptCreateHash(provider, &hash, buffer, size, NULL, 0, 0), STATUS_SUCCESS);
    memset(buffer, 0x55, size);
    r = report_start();
    assert_int_equal(BCryptCreateHash(provider, &hash, buffer, size, NULL, 0, 0), STATUS_SUCCESS);
    report_is(r, "object-reinitialized in BCryptCreateHash");
    assert_int_equal(BCryptDestroyHash(hash), STATUS_SUCCESS);
    ExFreePool(buffer);
}

static void test_handle_rules(void **state)
{
    BCRYPT_ALG_HANDLE provider = open_provider(BCRYPT_SHA1_ALGORITHM, BCRYPT_PROV_DISPATCH);
    BCRYPT_HASH_HANDLE hash, again;
    ULONG size = property_of(provider, BCRYPT_OBJECT_LENGTH);
    PUCHAR buffer = ExAllocatePoolWithTag(NonPagedPoolNx, size, 'gnCt');
    struct report *r;

    (void)state;
    assert_int_equal(BCryptCreateHash(provider, &hash, buffer, size, NULL, 0, 0), STATUS_SUCCESS);
    r = report_start();
    assert_int_equal(BCryptDestroyKey(hash), STATUS_INVALID_HANDLE);
    report_says(r, "cng-handle in BCryptDestroyKey", "is not a valid BCRYPT_KEY_HANDLE");
    r = report_start();
    assert_int_equal(BCryptCreateHash(provider, &again, buffer, size, NULL, 0, 0), STATUS_SUCCESS);
    report_is(r, "object-reinitialized in BCryptCreateHash");
    assert_ptr_equal(hash, again);
    r = report_start();
    close_provider(provider);
    report_says(r, "cng-handle in BCryptCloseAlgorithmProvider", "1 hash(es) or key(s)");
    r = report_start();
    assert_int_equal(BCryptCloseAlgorithmProvider(provider, 0), STATUS_INVALID_HANDLE);
    report_is(r, "cng-handle in BCryptCloseAlgorithmProvider");
    r = report_start();
    inuse_check("ExFreePool", buffer, size);
    report_says(r, "object-freed-in-use in ExFreePool", "hash or key that was not destroyed");
    r = report_start();
    assert_int_equal(BCryptHashData((BCRYPT_HASH_HANDLE)(uintptr_t)0x123456, buffer, 1, 0), STATUS_INVALID_HANDLE);
    report_is(r, "cng-handle in BCryptHashData");
    r = report_start();
    assert_int_equal(BCryptDestroyHash(hash), STATUS_SUCCESS);
    ExFreePool(buffer);
    report_is_empty(r);
    assert_int_equal(BCryptCreateHash(BCRYPT_SHA1_ALG_HANDLE, &hash, NULL, 0, NULL, 0, 0), STATUS_SUCCESS);
    assert_int_equal(BCryptDestroyHash(hash), STATUS_SUCCESS);
    r = report_start();
    assert_int_equal(BCryptDestroyHash(hash), STATUS_INVALID_HANDLE);
    report_says(r, "cng-handle in BCryptDestroyHash", "or was released");
}

/* The IRQL that a provider allows holds for its hashes, too. */
static void test_irql(void **state)
{
    BCRYPT_ALG_HANDLE passive = open_provider(BCRYPT_SHA1_ALGORITHM, 0);
    BCRYPT_ALG_HANDLE dispatch = open_provider(BCRYPT_SHA1_ALGORITHM, BCRYPT_PROV_DISPATCH), other;
    BCRYPT_HASH_HANDLE hash;
    UCHAR value[20];
    struct report *r;
    KIRQL irql;

    (void)state;
    assert_int_equal(BCryptCreateHash(passive, &hash, NULL, 0, NULL, 0, 0), STATUS_SUCCESS);
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    r = report_start();
    adds(hash, "abc");
    report_is(r, "irql-too-high in BCryptHashData");
    r = report_start();
    assert_int_equal(BCryptHash(BCRYPT_SHA1_ALG_HANDLE, NULL, 0, value, 0, value, sizeof value), STATUS_SUCCESS);
    report_is(r, "irql-too-high in BCryptHash");
    r = report_start();
    assert_int_equal(BCryptGenRandom(NULL, value, sizeof value, BCRYPT_USE_SYSTEM_PREFERRED_RNG), STATUS_SUCCESS);
    report_is(r, "irql-too-high in BCryptGenRandom");
    r = report_start();
    assert_int_equal(BCryptOpenAlgorithmProvider(&other, BCRYPT_MD5_ALGORITHM, NULL, BCRYPT_PROV_DISPATCH),
                     STATUS_SUCCESS);
    report_is(r, "irql-too-high in BCryptOpenAlgorithmProvider");
    r = report_start();
    close_provider(other);
    report_is(r, "irql-too-high in BCryptCloseAlgorithmProvider");
    KeLowerIrql(irql);
    assert_int_equal(BCryptDestroyHash(hash), STATUS_SUCCESS);
    r = report_start();
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    assert_int_equal(BCryptCreateHash(dispatch, &hash, NULL, 0, NULL, 0, 0), STATUS_SUCCESS);
    adds(hash, "abc");
    finishes(hash, "a9993e364706816aba3e25717850c26c9cd0d89d");
    assert_int_equal(BCryptDestroyHash(hash), STATUS_SUCCESS);
    KeLowerIrql(irql);
    report_is_empty(r);
    close_provider(passive);
    close_provider(dispatch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hashes),
        cmocka_unit_test(test_reusable),
        cmocka_unit_test(test_hmac),
        cmocka_unit_test(test_pbkdf2),
        cmocka_unit_test(test_kbkdf),
        cmocka_unit_test(test_pbkdf2_key),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_lifetime),
        cmocka_unit_test(test_handle_rules),
        cmocka_unit_test(test_buffer_overwritten),
        cmocka_unit_test(test_irql),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
