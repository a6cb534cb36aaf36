/* SPDX-License-Identifier: MIT */
/*
 * Keys and encryption of CNG, with the test vectors of NIST SP 800-38A (ECB, CBC), of the specification of GCM, of NIST
 * SP 800-38C (CCM) and of RFC 8439 (ChaCha20-Poly1305).
 */
#include "cng_kit.h"

enum { BLOCK = 16 };

static const char plain[] =
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff6"
    "9f2445df4f9b17ad2b417be66c3710";
static const char counting[] = "000102030405060708090a0b0c0d0e0f";

static const struct {
    const char *key, *ecb, *cbc;
} blocks[] = {
    { "2b7e151628aed2a6abf7158809cf4f3c",
      "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f"
      "8223"
      "207104725dd4",
      "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b273bed6b8e3c1743b7116e69e222295163ff1caa1681fac09"
      "120e"
      "ca307586e1a7" },
    { "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
      "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eefef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72"
      "fb16"
      "691603c18e0e",
      "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a571b242012fb7ae07fa9baac3df102e008b0e27988598881"
      "d920"
      "a9e64f5615cd" },
    { "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
      "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff"
      "067d"
      "8d8f9e24ecc7",
      "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fc"
      "da6c"
      "19078c6a9d1b" },
};

static BCRYPT_KEY_HANDLE new_key(BCRYPT_ALG_HANDLE provider, const char *hex)
{
    struct bytes secret = bytes_of(hex);
    BCRYPT_KEY_HANDLE key;

    assert_int_equal(BCryptGenerateSymmetricKey(provider, &key, NULL, 0, secret.at, secret.size, 0), STATUS_SUCCESS);
    free(secret.at);
    return key;
}

static void destroy_key(BCRYPT_KEY_HANDLE key)
{
    assert_int_equal(BCryptDestroyKey(key), STATUS_SUCCESS);
}

static void sets_mode(BCRYPT_HANDLE handle, LPCWSTR mode, NTSTATUS status)
{
    assert_int_equal(BCryptSetProperty(handle, BCRYPT_CHAINING_MODE, (PUCHAR)(uintptr_t)mode, BLOCK * sizeof(WCHAR), 0),
                     status);
}

static void mode_is(BCRYPT_HANDLE handle, LPCWSTR mode)
{
    WCHAR text[32];
    ULONG size;

    assert_int_equal(BCryptGetProperty(handle, BCRYPT_CHAINING_MODE, (PUCHAR)text, sizeof text - 1, &size, 0),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(BCryptGetProperty(handle, BCRYPT_CHAINING_MODE, (PUCHAR)text, sizeof text, &size, 0),
                     STATUS_SUCCESS);
    assert_int_equal(size, 64);
    assert_int_equal(wcscmp(text, mode), 0);
}

/* ---- ECB and CBC ------------------------------------------------------------------------------------------------- */

typedef NTSTATUS crypt(BCRYPT_KEY_HANDLE, PUCHAR, ULONG, VOID *, PUCHAR, ULONG, PUCHAR, ULONG, ULONG *, ULONG);

/* Runs the routine once with two buffers and once in place. iv_hex is NULL in mode ECB. */
static void turns(crypt *routine, BCRYPT_KEY_HANDLE key, const char *iv_hex, ULONG flags, const char *in_hex,
                  const char *out_hex)
{
    struct bytes in = bytes_of(in_hex), out = bytes_new(strlen(out_hex) / 2);
    ULONG most = in.size > out.size ? in.size : out.size, size = 0;
    struct bytes place = bytes_new(most), iv = bytes_of(iv_hex ? iv_hex : "");
    PUCHAR vector = iv_hex ? iv.at : NULL;

    assert_int_equal(routine(key, in.at, in.size, NULL, vector, iv.size, NULL, 0, &size, flags), STATUS_SUCCESS);
    assert_true(size >= out.size);
    assert_int_equal(routine(key, in.at, in.size, NULL, vector, iv.size, out.at, out.size - 1, &size, flags),
                     STATUS_BUFFER_TOO_SMALL);
    assert_true(size >= out.size);
    assert_int_equal(routine(key, in.at, in.size, NULL, vector, iv.size, out.at, out.size, &size, flags),
                     STATUS_SUCCESS);
    bytes_are(out.at, size, out_hex);
    if (iv_hex) { /* that of the next block: the last one of the ciphertext */
        struct bytes cipher = routine == BCryptEncrypt ? out : in;

        assert_memory_equal(iv.at, cipher.at + cipher.size - BLOCK, BLOCK);
        free(iv.at);
        iv = bytes_of(iv_hex);
        vector = iv.at;
    }
    memcpy(place.at, in.at, in.size);
    assert_int_equal(routine(key, place.at, in.size, NULL, vector, iv.size, place.at, most, &size, flags),
                     STATUS_SUCCESS);
    bytes_are(place.at, size, out_hex);
    free(in.at);
    free(out.at);
    free(place.at);
    free(iv.at);
}

static void test_blocks(void **state)
{
    struct report *r = report_start();
    uint32_t left = live_count();

    (void)state;
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        BCRYPT_KEY_HANDLE ecb = new_key(BCRYPT_AES_ECB_ALG_HANDLE, blocks[i].key);
        BCRYPT_KEY_HANDLE cbc = new_key(BCRYPT_AES_CBC_ALG_HANDLE, blocks[i].key);

        assert_int_equal(property_of(cbc, BCRYPT_KEY_LENGTH), strlen(blocks[i].key) * 4);
        turns(BCryptEncrypt, ecb, NULL, 0, plain, blocks[i].ecb);
        turns(BCryptDecrypt, ecb, NULL, 0, blocks[i].ecb, plain);
        turns(BCryptEncrypt, cbc, counting, 0, plain, blocks[i].cbc);
        turns(BCryptDecrypt, cbc, counting, 0, blocks[i].cbc, plain);
        destroy_key(ecb);
        destroy_key(cbc);
    }
    assert_int_equal(live_count(), left);
    report_is_empty(r);
}

/* Every length of up to three blocks, padded, comes back; and what encryption has made is the same without padding. */
static void test_padding(void **state)
{
    BCRYPT_KEY_HANDLE keys[] = { new_key(BCRYPT_AES_CBC_ALG_HANDLE, counting),
                                 new_key(BCRYPT_AES_ECB_ALG_HANDLE, counting) };

    (void)state;
    for (int i = 0; i < 2; i++)
        for (ULONG n = 0; n <= 3 * BLOCK; n++) {
            ULONG padded = (n / BLOCK + 1) * BLOCK, size = 0;
            struct bytes in = bytes_new(n), cipher = bytes_new(padded), back = bytes_new(padded), out = bytes_new(n);
            UCHAR iv[BLOCK] = { 1 };
            PUCHAR vector = i ? NULL : iv;

            memset(in.at, 0x5a, n);
            assert_int_equal(BCryptEncrypt(keys[i], in.at, n, NULL, vector, BLOCK, cipher.at, padded - 1, &size,
                                           BCRYPT_BLOCK_PADDING),
                             STATUS_BUFFER_TOO_SMALL);
            assert_int_equal(size, padded);
            assert_int_equal(
                BCryptEncrypt(keys[i], in.at, n, NULL, vector, BLOCK, cipher.at, padded, &size, BCRYPT_BLOCK_PADDING),
                STATUS_SUCCESS);
            memset(iv, 0, sizeof iv);
            iv[0] = 1;
            assert_int_equal(BCryptDecrypt(keys[i], cipher.at, padded, NULL, vector, BLOCK, back.at, padded, &size, 0),
                             STATUS_SUCCESS);
            assert_memory_equal(back.at, in.at, n);
            for (ULONG j = n; j < padded; j++)
                assert_int_equal(back.at[j], padded - n);
            memset(iv, 0, sizeof iv);
            iv[0] = 1;
            assert_int_equal(
                BCryptDecrypt(keys[i], cipher.at, padded, NULL, vector, BLOCK, out.at, n, &size, BCRYPT_BLOCK_PADDING),
                STATUS_SUCCESS);
            assert_int_equal(size, n);
            assert_memory_equal(out.at, in.at, n);
            free(in.at);
            free(cipher.at);
            free(back.at);
            free(out.at);
        }
    destroy_key(keys[0]);
    destroy_key(keys[1]);
}

/* What Windows does with sizes and vectors that do not fit. */
static void test_block_arguments(void **state)
{
    BCRYPT_KEY_HANDLE cbc = new_key(BCRYPT_AES_CBC_ALG_HANDLE, counting);
    BCRYPT_KEY_HANDLE ecb = new_key(BCRYPT_AES_ECB_ALG_HANDLE, counting);
    UCHAR in[32] = { 0 }, iv[BLOCK] = { 0 }, out[48];
    ULONG size;

    (void)state;
    assert_int_equal(BCryptEncrypt(cbc, in, 17, NULL, iv, BLOCK, out, sizeof out, &size, 0),
                     STATUS_INVALID_BUFFER_SIZE);
    assert_int_equal(size, 17);
    assert_int_equal(BCryptDecrypt(cbc, in, 17, NULL, iv, BLOCK, out, sizeof out, &size, BCRYPT_BLOCK_PADDING),
                     STATUS_INVALID_BUFFER_SIZE);
    assert_int_equal(BCryptDecrypt(cbc, in, 0, NULL, iv, BLOCK, out, sizeof out, &size, BCRYPT_BLOCK_PADDING),
                     STATUS_INVALID_BUFFER_SIZE);
    assert_int_equal(BCryptDecrypt(cbc, in, 32, NULL, iv, BLOCK, out, 15, &size, BCRYPT_BLOCK_PADDING),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(size, 32);
    assert_int_equal(BCryptEncrypt(cbc, in, BLOCK, NULL, iv, BLOCK - 1, out, sizeof out, &size, 0),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptEncrypt(ecb, in, BLOCK, NULL, iv, BLOCK, out, sizeof out, &size, 0),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptEncrypt(cbc, in, BLOCK, NULL, iv, BLOCK, out, sizeof out, NULL, 0),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptEncrypt(cbc, in, BLOCK, NULL, iv, BLOCK, out, sizeof out, &size, 2),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptEncrypt(cbc, NULL, BLOCK, NULL, iv, BLOCK, out, sizeof out, &size, 0),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptEncrypt(cbc, NULL, 0, NULL, iv, BLOCK, NULL, 0, &size, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptEncrypt(cbc, in, MAXULONG, NULL, iv, BLOCK, NULL, 0, &size, BCRYPT_BLOCK_PADDING),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptEncrypt(NULL, in, BLOCK, NULL, iv, BLOCK, out, sizeof out, &size, 0), STATUS_INVALID_HANDLE);
    destroy_key(cbc);
    destroy_key(ecb);
}

/* The three ways in which padding is wrong: too long, zero, not all bytes alike. The output stays as it was. */
static void test_wrong_padding(void **state)
{
    static const char *const last[] = { "000102030405060708090a0b0c0d0e11", "000102030405060708090a0b0c0d0e00",
                                        "000102030405060708090a0b0c0d0303" };
    BCRYPT_KEY_HANDLE key = new_key(BCRYPT_AES_ECB_ALG_HANDLE, counting);
    UCHAR cipher[BLOCK], out[BLOCK];
    ULONG size;

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct bytes block = bytes_of(last[i]);

        assert_int_equal(BCryptEncrypt(key, block.at, BLOCK, NULL, NULL, 0, cipher, BLOCK, &size, 0), STATUS_SUCCESS);
        memset(out, 0x77, sizeof out);
        assert_int_equal(BCryptDecrypt(key, cipher, BLOCK, NULL, NULL, 0, out, BLOCK, &size, BCRYPT_BLOCK_PADDING),
                         STATUS_UNSUCCESSFUL);
        assert_int_equal(out[0], 0x77);
        free(block.at);
    }
    destroy_key(key);
}

/* A key's own vector: zero, then that of the next block, or what the driver sets. */
static void test_own_vector(void **state)
{
    BCRYPT_KEY_HANDLE key = new_key(BCRYPT_AES_CBC_ALG_HANDLE, blocks[0].key), copy;
    struct bytes in = bytes_of(plain), iv = bytes_of(counting);
    UCHAR out[64], zero_iv[BLOCK] = { 0 }, zero_out[64];
    ULONG size;

    (void)state;
    assert_int_equal(BCryptEncrypt(key, in.at, 64, NULL, zero_iv, BLOCK, zero_out, 64, &size, 0), STATUS_SUCCESS);
    destroy_key(key);
    key = new_key(BCRYPT_AES_CBC_ALG_HANDLE, blocks[0].key);
    assert_int_equal(BCryptEncrypt(key, in.at, 32, NULL, NULL, 0, out, 32, &size, 0), STATUS_SUCCESS);
    assert_int_equal(BCryptDuplicateKey(key, &copy, NULL, 0, 0), STATUS_SUCCESS);
    assert_int_equal(BCryptEncrypt(copy, in.at + 32, 32, NULL, NULL, 0, out + 32, 32, &size, 0), STATUS_SUCCESS);
    assert_memory_equal(out, zero_out, 64);
    assert_int_equal(BCryptSetProperty(key, BCRYPT_INITIALIZATION_VECTOR, iv.at, BLOCK - 1, 0),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptSetProperty(key, BCRYPT_INITIALIZATION_VECTOR, iv.at, BLOCK, 0), STATUS_SUCCESS);
    assert_int_equal(BCryptGetProperty(key, BCRYPT_INITIALIZATION_VECTOR, out, BLOCK, &size, 0), STATUS_SUCCESS);
    assert_memory_equal(out, iv.at, BLOCK);
    assert_int_equal(BCryptEncrypt(key, in.at, 64, NULL, NULL, 0, out, 64, &size, 0), STATUS_SUCCESS);
    bytes_are(out, 64, blocks[0].cbc);
    destroy_key(key);
    destroy_key(copy);
    free(in.at);
    free(iv.at);
}

/* ---- Authenticated modes ----------------------------------------------------------------------------------------- */

#define GCM_KEY "feffe9928665731c6d6a8f9467308308"
#define GCM_AUTH "feedfacedeadbeeffeedfacedeadbeefabaddad2"
#define GCM_NONCE "cafebabefacedbaddecaf888"
static const char gcm_plain[] =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b5"
    "25b16aedf5aa0de657ba637b39";

/* Test cases 1, 4, 10 and 16 of GCM; examples 1 and 2 of CCM; RFC 8439, 2.8.2. */
static const struct message {
    BCRYPT_ALG_HANDLE provider;
    const char *key, *nonce, *auth, *plain, *cipher, *tag;
} messages[] = {
    { BCRYPT_AES_GCM_ALG_HANDLE, "00000000000000000000000000000000", "000000000000000000000000", "", "", "",
      "58e2fccefa7e3061367f1d57a4e7455a" },
    { BCRYPT_AES_GCM_ALG_HANDLE, GCM_KEY, GCM_NONCE, GCM_AUTH, gcm_plain,
      "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac97"
      "3d58"
      "e091",
      "5bc94fbc3221a5db94fae95ae7121a47" },
    { BCRYPT_AES_GCM_ALG_HANDLE, GCM_KEY "feffe9928665731c", GCM_NONCE, GCM_AUTH, gcm_plain,
      "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9"
      "ccda"
      "2710",
      "2519498e80f1478f37ba55bd6d27618c" },
    { BCRYPT_AES_GCM_ALG_HANDLE, GCM_KEY GCM_KEY, GCM_NONCE, GCM_AUTH, gcm_plain,
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0a"
      "bcc9"
      "f662",
      "76fc6ece0f4e1768cddf8853bb2d551b" },
    { BCRYPT_AES_CCM_ALG_HANDLE, "404142434445464748494a4b4c4d4e4f", "10111213141516", "0001020304050607", "20212223",
      "7162015b", "4dac255d" },
    { BCRYPT_AES_CCM_ALG_HANDLE, "404142434445464748494a4b4c4d4e4f", "1011121314151617",
      "000102030405060708090a0b0c0d0e0f", "202122232425262728292a2b2c2d2e2f", "d2a1f0e051ea5f62081a7792073d593d",
      "1fc64fbfaccd" },
    { BCRYPT_CHACHA20_POLY1305_ALG_HANDLE, "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
      "070000004041424344454647", "50515253c0c1c2c3c4c5c6c7",
      "4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a204966204920636f756c64206f6666"
      "6572"
      "20796f75206f6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73637265656e20776f756c642062652069742"
      "e",
      "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e060b29"
      "05d6"
      "a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b611"
      "6",
      "1ae10b594f09e26a7e902ecbd0600691" },
};

/* A message with its buffers. */
struct sealed {
    BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO info;
    struct bytes nonce, auth, tag, plain, out;
};

static struct sealed sealed_of(const struct message *m)
{
    struct sealed s = { .nonce = bytes_of(m->nonce),
                        .auth = bytes_of(m->auth),
                        .tag = bytes_of(m->tag),
                        .plain = bytes_of(m->plain),
                        .out = bytes_new(strlen(m->plain) / 2) };

    BCRYPT_INIT_AUTH_MODE_INFO(s.info);
    s.info.pbNonce = s.nonce.at;
    s.info.cbNonce = s.nonce.size;
    s.info.pbAuthData = s.auth.at;
    s.info.cbAuthData = s.auth.size;
    s.info.pbTag = s.tag.at;
    s.info.cbTag = s.tag.size;
    return s;
}

static void sealed_free(const struct sealed *s)
{
    free(s->nonce.at);
    free(s->auth.at);
    free(s->tag.at);
    free(s->plain.at);
    free(s->out.at);
}

/* Decrypts in place. */
static NTSTATUS opens(BCRYPT_KEY_HANDLE key, struct sealed *s)
{
    ULONG size = 0;
    NTSTATUS status = BCryptDecrypt(key, s->out.at, s->out.size, &s->info, NULL, 0, s->out.at, s->out.size, &size, 0);

    assert_int_equal(size, s->out.size);
    return status;
}

static void test_messages(void **state)
{
    struct report *r = report_start();

    (void)state;
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        BCRYPT_KEY_HANDLE key = new_key(messages[i].provider, messages[i].key);
        struct sealed s = sealed_of(&messages[i]);
        struct bytes zeros = bytes_new(s.out.size);
        ULONG size;

        memset(s.tag.at, 0, s.tag.size);
        assert_int_equal(BCryptEncrypt(key, s.plain.at, s.plain.size, &s.info, NULL, 0, s.out.at, s.out.size, &size, 0),
                         STATUS_SUCCESS);
        bytes_are(s.out.at, size, messages[i].cipher);
        bytes_are(s.tag.at, s.tag.size, messages[i].tag);
        assert_int_equal(opens(key, &s), STATUS_SUCCESS);
        bytes_are(s.out.at, s.out.size, messages[i].plain);
        s.tag.at[0] ^= 1;
        assert_int_equal(opens(key, &s), STATUS_AUTH_TAG_MISMATCH);
        if (s.out.size)
            assert_memory_equal(s.out.at, zeros.at, s.out.size);
        s.tag.at[0] ^= 1;
        s.nonce.at[0] ^= 1;
        assert_int_equal(opens(key, &s), STATUS_AUTH_TAG_MISMATCH);
        sealed_free(&s);
        free(zeros.at);
        destroy_key(key);
    }
    report_is_empty(r);
}

static void test_message_arguments(void **state)
{
    const struct message *m = &messages[1];
    BCRYPT_KEY_HANDLE key = new_key(m->provider, m->key);
    struct sealed s = sealed_of(m);
    UCHAR iv[BLOCK], tag[BLOCK];
    ULONG size;

    (void)state;
#define ENCRYPTS(in, out, out_size, flags)                                                                             \
    BCryptEncrypt(key, in, s.plain.size, &s.info, NULL, 0, out, out_size, &size, flags)
    assert_int_equal(ENCRYPTS(s.plain.at, NULL, 0, 0), STATUS_SUCCESS);
    assert_int_equal(size, s.plain.size);
    assert_int_equal(ENCRYPTS(s.plain.at, s.out.at, s.out.size - 1, 0), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ENCRYPTS(s.plain.at, s.out.at, s.out.size, BCRYPT_BLOCK_PADDING), STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptEncrypt(key, s.plain.at, 1, NULL, iv, BLOCK, s.out.at, 1, &size, 0),
                     STATUS_INVALID_PARAMETER);
    s.info.cbNonce--;
    assert_int_equal(ENCRYPTS(s.plain.at, s.out.at, s.out.size, 0), STATUS_INVALID_PARAMETER);
    s.info.cbNonce++;
    for (ULONG n = 0; n <= 20; n++) {
        s.info.cbTag = n;
        s.info.pbTag = n <= BLOCK ? tag : NULL;
        assert_int_equal(ENCRYPTS(s.plain.at, s.out.at, s.out.size, 0),
                         n >= 12 && n <= 16 ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER);
    }
    s.info.pbTag = s.tag.at;
    s.info.cbTag = 12;
    bytes_are(s.out.at, s.out.size, m->cipher);
    assert_int_equal(opens(key, &s), STATUS_SUCCESS);
    s.info.pbNonce = NULL;
    assert_int_equal(opens(key, &s), STATUS_INVALID_PARAMETER);
    s.info.pbNonce = s.nonce.at;
    s.info.dwInfoVersion = 2;
    assert_int_equal(opens(key, &s), STATUS_INVALID_PARAMETER);
    s.info.dwInfoVersion = 1;
    s.info.cbSize--;
    assert_int_equal(opens(key, &s), STATUS_INVALID_PARAMETER);
    sealed_free(&s);
    destroy_key(key);
}

/* The message in parts of `part` bytes. Returns the status of the last call. */
static NTSTATUS chains(crypt *routine, BCRYPT_KEY_HANDLE key, struct sealed *s, PUCHAR in, PUCHAR out, ULONG part)
{
    UCHAR iv[BLOCK] = { 0 }, mac[BLOCK] = { 0 };
    ULONG done = 0, size;
    NTSTATUS status;

    s->info.pbMacContext = mac;
    s->info.cbMacContext = sizeof mac;
    s->info.cbAAD = 0;
    s->info.cbData = 0;
    s->info.dwFlags = BCRYPT_AUTH_MODE_CHAIN_CALLS_FLAG;
    for (; s->plain.size - done > part; done += part) {
        assert_int_equal(routine(key, in + done, part, &s->info, iv, BLOCK, out + done, part, &size, 0),
                         STATUS_SUCCESS);
        assert_int_equal(s->info.dwFlags, BCRYPT_AUTH_MODE_CHAIN_CALLS_FLAG | BCRYPT_AUTH_MODE_IN_PROGRESS_FLAG);
    }
    s->info.dwFlags &= ~(ULONG)BCRYPT_AUTH_MODE_CHAIN_CALLS_FLAG;
    part = s->plain.size - done;
    status = routine(key, in + done, part, &s->info, iv, BLOCK, out + done, part, &size, 0);
    assert_int_equal(s->info.dwFlags, 0);
    return status;
}

static void test_chain(void **state)
{
    UCHAR iv[BLOCK] = { 0 }, mac[BLOCK] = { 0 };
    BCRYPT_KEY_HANDLE key = new_key(BCRYPT_AES_GCM_ALG_HANDLE, messages[3].key);
    struct sealed s = sealed_of(&messages[3]);
    ULONG size;

    (void)state;
    for (ULONG part = BLOCK; part <= 4 * BLOCK; part += BLOCK) {
        memset(s.tag.at, 0, s.tag.size);
        assert_int_equal(chains(BCryptEncrypt, key, &s, s.plain.at, s.out.at, part), STATUS_SUCCESS);
        bytes_are(s.out.at, s.out.size, messages[3].cipher);
        bytes_are(s.tag.at, s.tag.size, messages[3].tag);
        assert_int_equal(chains(BCryptDecrypt, key, &s, s.out.at, s.out.at, part), STATUS_SUCCESS);
        bytes_are(s.out.at, s.out.size, gcm_plain);
        s.tag.at[3] ^= 0x40;
        assert_int_equal(chains(BCryptDecrypt, key, &s, s.out.at, s.out.at, part), STATUS_AUTH_TAG_MISMATCH);
    }
    s.info.dwFlags = BCRYPT_AUTH_MODE_CHAIN_CALLS_FLAG;
    s.info.pbMacContext = mac;
    assert_int_equal(BCryptEncrypt(key, s.plain.at, 15, &s.info, iv, BLOCK, s.out.at, 15, &size, 0),
                     STATUS_INVALID_BUFFER_SIZE);
    assert_int_equal(BCryptEncrypt(key, s.plain.at, 16, &s.info, NULL, 0, s.out.at, 16, &size, 0),
                     STATUS_INVALID_PARAMETER);
    s.info.cbMacContext--;
    assert_int_equal(BCryptEncrypt(key, s.plain.at, 16, &s.info, iv, BLOCK, s.out.at, 16, &size, 0),
                     STATUS_INVALID_PARAMETER);
    sets_mode(key, BCRYPT_CHAIN_MODE_CCM, STATUS_SUCCESS);
    assert_int_equal(BCryptEncrypt(key, s.plain.at, 16, &s.info, iv, BLOCK, s.out.at, 16, &size, 0),
                     STATUS_NOT_SUPPORTED);
    sealed_free(&s);
    destroy_key(key);
}

/* ---- Keys and modes ---------------------------------------------------------------------------------------------- */

static void test_modes(void **state)
{
    BCRYPT_ALG_HANDLE aes = open_provider(BCRYPT_AES_ALGORITHM, 0);
    BCRYPT_ALG_HANDLE chacha = open_provider(BCRYPT_CHACHA20_POLY1305_ALGORITHM, 0);
    BCRYPT_AUTH_TAG_LENGTHS_STRUCT tags;
    BCRYPT_KEY_LENGTHS_STRUCT keys;
    BCRYPT_KEY_HANDLE key;
    ULONG size;

    (void)state;
    mode_is(aes, BCRYPT_CHAIN_MODE_CBC);
    assert_int_equal(property_of(aes, BCRYPT_BLOCK_LENGTH), BLOCK);
    assert_int_equal(BCryptGetProperty(aes, BCRYPT_KEY_LENGTHS, (PUCHAR)&keys, sizeof keys, &size, 0), STATUS_SUCCESS);
    assert_true(keys.dwMinLength == 128 && keys.dwMaxLength == 256 && keys.dwIncrement == 64);
    assert_int_equal(BCryptGetProperty(aes, BCRYPT_AUTH_TAG_LENGTH, (PUCHAR)&tags, sizeof tags, &size, 0),
                     STATUS_NOT_SUPPORTED);
    key = new_key(aes, counting);
    sets_mode(aes, BCRYPT_CHAIN_MODE_GCM, STATUS_SUCCESS);
    mode_is(aes, BCRYPT_CHAIN_MODE_GCM);
    mode_is(key, BCRYPT_CHAIN_MODE_CBC);
    assert_int_equal(BCryptGetProperty(aes, BCRYPT_AUTH_TAG_LENGTH, (PUCHAR)&tags, sizeof tags, &size, 0),
                     STATUS_SUCCESS);
    assert_true(tags.dwMinLength == 12 && tags.dwMaxLength == 16 && tags.dwIncrement == 1);
    sets_mode(aes, BCRYPT_CHAIN_MODE_NA, STATUS_NOT_SUPPORTED);
    sets_mode(aes, BCRYPT_CHAIN_MODE_CFB, STATUS_NOT_SUPPORTED);
    sets_mode(key, BCRYPT_CHAIN_MODE_GCM, STATUS_SUCCESS);
    mode_is(key, BCRYPT_CHAIN_MODE_GCM);
    assert_int_equal(BCryptGetProperty(key, BCRYPT_AUTH_TAG_LENGTH, (PUCHAR)&tags, sizeof tags, &size, 0),
                     STATUS_NOT_SUPPORTED);
    destroy_key(key);
    mode_is(chacha, BCRYPT_CHAIN_MODE_NA);
    sets_mode(chacha, BCRYPT_CHAIN_MODE_NA, STATUS_SUCCESS);
    sets_mode(chacha, BCRYPT_CHAIN_MODE_CBC, STATUS_NOT_SUPPORTED);
    sets_mode(BCRYPT_AES_CBC_ALG_HANDLE, BCRYPT_CHAIN_MODE_ECB, STATUS_NOT_SUPPORTED);
    assert_int_equal(BCryptSetProperty(aes, BCRYPT_KEY_LENGTH, (PUCHAR)&size, sizeof size, 0), STATUS_NOT_SUPPORTED);
    close_provider(aes);
    close_provider(chacha);
}

/* A key that changes its mode to GCM makes its table then. */
static void test_mode_of_key(void **state)
{
    BCRYPT_KEY_HANDLE key = new_key(BCRYPT_AES_CBC_ALG_HANDLE, messages[1].key);
    struct sealed s = sealed_of(&messages[1]);
    ULONG size;

    (void)state;
    sets_mode(key, BCRYPT_CHAIN_MODE_GCM, STATUS_SUCCESS);
    assert_int_equal(BCryptEncrypt(key, s.plain.at, s.plain.size, &s.info, NULL, 0, s.out.at, s.out.size, &size, 0),
                     STATUS_SUCCESS);
    bytes_are(s.out.at, size, messages[1].cipher);
    sealed_free(&s);
    destroy_key(key);
}

static void test_secrets(void **state)
{
    ULONG size = property_of(BCRYPT_AES_CBC_ALG_HANDLE, BCRYPT_OBJECT_LENGTH);
    struct bytes secret = bytes_new(33), buffer = bytes_new(size);
    BCRYPT_KEY_HANDLE key = NULL;

    (void)state;
    for (ULONG n = 0; n <= 33; n++) {
        bool good = n == 16 || n == 24 || n >= 32;

        assert_int_equal(BCryptGenerateSymmetricKey(BCRYPT_AES_CBC_ALG_HANDLE, &key, buffer.at, size, secret.at, n, 0),
                         good ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER);
        if (good) {
            assert_int_equal(property_of(key, BCRYPT_KEY_STRENGTH), n == 33 ? 256 : n * 8);
            destroy_key(key);
        }
    }
    assert_int_equal(BCryptGenerateSymmetricKey(BCRYPT_AES_CBC_ALG_HANDLE, &key, buffer.at, size - 1, secret.at, 16, 0),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(BCryptGenerateSymmetricKey(BCRYPT_AES_CBC_ALG_HANDLE, &key, NULL, size, secret.at, 16, 0),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptGenerateSymmetricKey(BCRYPT_CHACHA20_POLY1305_ALG_HANDLE, &key, NULL, 0, secret.at, 16, 0),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(BCryptGenerateSymmetricKey(BCRYPT_SHA1_ALG_HANDLE, &key, NULL, 0, secret.at, 16, 0),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(BCryptGenerateSymmetricKey(NULL, &key, NULL, 0, secret.at, 16, 0), STATUS_INVALID_HANDLE);
    free(secret.at);
    free(buffer.at);
}

static NTSTATUS imports(const UCHAR *blob, ULONG size, BCRYPT_KEY_HANDLE *key)
{
    struct bytes exact = bytes_new(size);
    NTSTATUS status;

    memcpy(exact.at, blob, size);
    status = BCryptImportKey(BCRYPT_AES_CBC_ALG_HANDLE, NULL, BCRYPT_KEY_DATA_BLOB, key, NULL, 0, exact.at, size, 0);
    free(exact.at);
    return status;
}

static void test_blob(void **state)
{
    BCRYPT_KEY_HANDLE key = new_key(BCRYPT_AES_CBC_ALG_HANDLE, blocks[1].key), again;
    BCRYPT_KEY_DATA_BLOB_HEADER *header;
    struct bytes blob;
    ULONG size;

    (void)state;
    assert_int_equal(BCryptExportKey(key, NULL, BCRYPT_KEY_DATA_BLOB, NULL, 0, &size, 0), STATUS_SUCCESS);
    assert_int_equal(size, sizeof *header + 24);
    blob = bytes_new(size);
    assert_int_equal(BCryptExportKey(key, NULL, BCRYPT_KEY_DATA_BLOB, blob.at, size - 1, &size, 0),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(BCryptExportKey(key, NULL, BCRYPT_KEY_DATA_BLOB, blob.at, size, &size, 0), STATUS_SUCCESS);
    assert_int_equal(BCryptExportKey(key, NULL, BCRYPT_OPAQUE_KEY_BLOB, blob.at, size, &size, 0), STATUS_NOT_SUPPORTED);
    bytes_are(blob.at + sizeof *header, 24, blocks[1].key);
    destroy_key(key);
    assert_int_equal(imports(blob.at, size, &again), STATUS_SUCCESS);
    turns(BCryptEncrypt, again, counting, 0, plain, blocks[1].cbc);
    destroy_key(again);
    for (ULONG n = 0; n < size; n++)
        assert_int_equal(imports(blob.at, n, &again), STATUS_INVALID_PARAMETER);
    header = (BCRYPT_KEY_DATA_BLOB_HEADER *)(void *)blob.at;
    header->cbKeyData = MAXULONG;
    assert_int_equal(imports(blob.at, size, &again), STATUS_INVALID_PARAMETER);
    header->cbKeyData = 24;
    header->dwVersion++;
    assert_int_equal(imports(blob.at, size, &again), STATUS_INVALID_PARAMETER);
    header->dwVersion--;
    header->dwMagic++;
    assert_int_equal(imports(blob.at, size, &again), STATUS_INVALID_PARAMETER);
    free(blob.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_own_vector),    cmocka_unit_test(test_block_arguments),
        cmocka_unit_test(test_wrong_padding), cmocka_unit_test(test_messages),
        cmocka_unit_test(test_chain),         cmocka_unit_test(test_message_arguments),
        cmocka_unit_test(test_modes),         cmocka_unit_test(test_mode_of_key),
        cmocka_unit_test(test_secrets),       cmocka_unit_test(test_blob),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
