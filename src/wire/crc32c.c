/* SPDX-License-Identifier: MIT */
/*
 * Computes CRC32c by one of three methods. The invariant: crc32c_copy sums the bytes of the copy. So the sum matches
 * the copy even if the source changes meanwhile.
 *
 *   up to 255 bytes        SSE4.2's instruction: three cycles for eight bytes. The other methods take at least 40 to 60
 *                          cycles, and the pieces of small messages are short.
 *   VPCLMULQDQ exists      folding: carry-less multiplication of 256 bits at a time, below
 *   otherwise              ISA-L, whose dispatcher selects a variant at the first call
 *
 * ISA-L multiplies 512 bits at a time if the processor can, which is faster in a loop. But if 512-bit instructions ran
 * only now and then, between system calls, the processor ran the code after them more slowly: a message of 256 bytes
 * took 0.4 us longer. So ISA-L is used only without VPCLMULQDQ.
 *
 * The first two methods copy and sum in one pass, from the same registers, so the multiplications overlap with the
 * memory accesses. With ISA-L, the bytes are copied first and the copy is summed.
 */
#include "wire/crc32c.h"

#include <isa-l/crc.h>
#include <stdbool.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

/* crc32_iscsi takes the length as an int. */
#define MAX_ISAL_CHUNK ((size_t)1 << 30)

#ifdef __x86_64__

/*
 * Data longer than MAX_SHORT has at least two blocks of FOLD_SIZE. So crc32c_fold, which folds each block into the next
 * one, folds at least once.
 */
enum { VECTOR_SIZE = 32, VECTORS = 4, FOLD_SIZE = VECTORS * VECTOR_SIZE, MAX_SHORT = 2 * FOLD_SIZE - 1 };

#define TARGET_SSE42 __attribute__((target("sse4.2")))
#define TARGET_VPCLMUL __attribute__((target("avx2,vpclmulqdq")))
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/*
 * Loads an unaligned number. If `copies` is true, also stores it at the same offset of the copy. The asm keeps the
 * compiler from loading the source a second time.
 */
#define LOAD_AND_COPY(type, at)                                                                                        \
    ({                                                                                                                 \
        type value;                                                                                                    \
        memcpy(&value, from + (at), sizeof value);                                                                     \
        __asm__("" : "+r"(value));                                                                                     \
        if (copies)                                                                                                    \
            memcpy(to + (at), &value, sizeof value);                                                                   \
        value;                                                                                                         \
    })

TARGET_SSE42 ALWAYS_INLINE uint32_t crc32c_short(bool copies, uint32_t crc, uint8_t *to, const uint8_t *from,
                                                 size_t len)
{
    size_t at = 0;

    for (; len - at >= 8; at += 8)
        crc = (uint32_t)_mm_crc32_u64(crc, LOAD_AND_COPY(uint64_t, at));
    if (len & 4) {
        crc = _mm_crc32_u32(crc, LOAD_AND_COPY(uint32_t, at));
        at += 4;
    }
    if (len & 2) {
        crc = _mm_crc32_u16(crc, LOAD_AND_COPY(uint16_t, at));
        at += 2;
    }
    return len & 1 ? _mm_crc32_u8(crc, LOAD_AND_COPY(uint8_t, at)) : crc;
}

TARGET_SSE42 static uint32_t crc32c_update_short(uint32_t crc, const uint8_t *from, size_t len)
{
    return crc32c_short(false, crc, NULL, from, len);
}

TARGET_SSE42 static uint32_t crc32c_copy_short(uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
    return crc32c_short(true, crc, to, from, len);
}

static bool crc32c_is_short(size_t len)
{
    return len <= MAX_SHORT && __builtin_cpu_supports("sse4.2");
}

/*
 * Folding. A block of n bytes, multiplied by a power of x modulo the polynomial, can be added to the n bytes behind it
 * without changing the sum of the whole. So each block is folded into the next block, until one block has the sum of
 * all blocks.
 * Each 16 bytes of a block are multiplied in two halves of eight bytes. The first half is multiplied by x^(8n+32), and
 * the second half by x^(8n-32), both modulo 11edc6f41. The exponents differ by 64, because the first half is 64 bits
 * farther from the end. The constants are bit-reflected, because the sum and the data are. They are also shifted by
 * one bit, to undo the shift in the product of two reflected numbers.
 */
#define FOLD_FIRST 0x6992cea2
#define FOLD_OTHERS 0xd3b6092

/* Keeps a vector in one register. Otherwise GCC copies vectors from memory to memory in two halves. */
TARGET_VPCLMUL ALWAYS_INLINE __m256i vector_pinned(__m256i v)
{
    __asm__("" : "+x"(v));
    return v;
}

TARGET_VPCLMUL ALWAYS_INLINE void vector_store(uint8_t *to, __m256i v)
{
    _mm256_storeu_si256((__m256i *)(void *)to, vector_pinned(v));
}

TARGET_VPCLMUL ALWAYS_INLINE __m256i vector_load(bool copies, uint8_t *to, const uint8_t *from, size_t at)
{
    __m256i v = vector_pinned(_mm256_loadu_si256((const __m256i *)(const void *)(from + at)));

    if (copies)
        vector_store(to + at, v);
    return v;
}

/* Continues the sum `crc` by folding, and copies the bytes if `copies` is true. Requires len >= FOLD_SIZE. */
TARGET_VPCLMUL ALWAYS_INLINE uint32_t crc32c_fold(bool copies, uint32_t crc, uint8_t *to, const uint8_t *from,
                                                  size_t len)
{
    const __m256i by = _mm256_broadcastsi128_si256(_mm_set_epi64x(FOLD_OTHERS, FOLD_FIRST));
    __m256i sum[VECTORS];
    uint8_t folded[FOLD_SIZE];
    size_t at = FOLD_SIZE;

    for (size_t i = 0; i < VECTORS; i++)
        sum[i] = vector_load(copies, to, from, VECTOR_SIZE * i);
    sum[0] = _mm256_xor_si256(sum[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)crc)));
    for (; len - at >= FOLD_SIZE; at += FOLD_SIZE) {
        for (size_t i = 0; i < VECTORS; i++) {
            __m256i next = vector_load(copies, to, from, at + VECTOR_SIZE * i);
            __m256i first = _mm256_clmulepi64_epi128(sum[i], by, 0x00);
            __m256i others = _mm256_clmulepi64_epi128(sum[i], by, 0x11);
            sum[i] = _mm256_xor_si256(_mm256_xor_si256(first, others), next);
        }
    }
    for (size_t i = 0; i < VECTORS; i++)
        vector_store(folded + VECTOR_SIZE * i, sum[i]);
    crc = crc32c_short(false, 0, NULL, folded, FOLD_SIZE);
    return crc32c_short(copies, crc, copies ? to + at : NULL, from + at, len - at);
}

TARGET_VPCLMUL static uint32_t crc32c_update_folding(uint32_t crc, const uint8_t *from, size_t len)
{
    return crc32c_fold(false, crc, NULL, from, len);
}

TARGET_VPCLMUL static uint32_t crc32c_copy_folding(uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
    return crc32c_fold(true, crc, to, from, len);
}

static bool crc32c_can_fold(size_t len)
{
    return len > MAX_SHORT && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
}

#else

static uint32_t crc32c_update_short(uint32_t crc, const uint8_t *from, size_t len)
{
    (void)from, (void)len;
    return crc;
}

static uint32_t crc32c_copy_short(uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
    (void)to, (void)from, (void)len;
    return crc;
}

static bool crc32c_is_short(size_t len)
{
    return len == 0;
}

static uint32_t crc32c_update_folding(uint32_t crc, const uint8_t *from, size_t len)
{
    (void)from, (void)len;
    return crc;
}

static uint32_t crc32c_copy_folding(uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
    (void)to, (void)from, (void)len;
    return crc;
}

static bool crc32c_can_fold(size_t len)
{
    (void)len;
    return false;
}

#endif

uint32_t crc32c_update(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *at = data;

    if (crc32c_is_short(len))
        return crc32c_update_short(crc, at, len);
    if (crc32c_can_fold(len))
        return crc32c_update_folding(crc, at, len);
    while (len > 0) {
        size_t n = len < MAX_ISAL_CHUNK ? len : MAX_ISAL_CHUNK;
        /* crc32_iscsi takes and returns the sum without inversion. It does not write to its buffer. */
        crc = crc32_iscsi((unsigned char *)(uintptr_t)at, (int)n, crc);
        at += n;
        len -= n;
    }
    return crc;
}

uint32_t crc32c_copy(uint32_t crc, void *to, const void *from, size_t len)
{
    if (crc32c_is_short(len))
        return crc32c_copy_short(crc, to, from, len);
    if (crc32c_can_fold(len))
        return crc32c_copy_folding(crc, to, from, len);
    memcpy(to, from, len);
    __asm__("" ::: "memory"); /* makes crc32c_update read the copy, not registers with values of the source */
    return crc32c_update(crc, to, len);
}

void crc32c_final(uint32_t crc, uint8_t out[4])
{
    uint32_t sum = ~crc;

    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(sum >> (8 * i));
}
