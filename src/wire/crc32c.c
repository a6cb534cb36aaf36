/* SPDX-License-Identifier: MIT */
/*
 * CRC32c in three ways. Short data by SSE4.2's bare instruction, three cycles for eight octets: anything else takes 40
 * to 60 cycles however little there is, and small messages consist of nothing else.
 *
 * All else by carry-less multiplication: where the processor multiplies 256 bits at a time here, elsewhere by ISA-L,
 * whose dispatcher picks the variant at the first call. crc32_iscsi takes and returns the running sum as it is, without
 * inversion on either end, so that it can be continued over scattered bytes; the inversions are ours (CRC32C_INIT and
 * crc32c_final).
 *
 * Not by ISA-L everywhere, as it multiplies 512 bits where it can: faster in a loop, but a processor that does so only
 * now and then, between system calls, was seen to run what follows at a fraction of its speed. A message of 256 octets
 * took 0.4 us longer.
 *
 * What is copied here is summed on the way, from the registers that it goes through: so the sum is that of the copy
 * whatever happens to the source meanwhile, and multiplying takes place while memory is waited for. Where ISA-L sums,
 * it sums the copy.
 */
#include "wire/crc32c.h"

#include <isa-l/crc.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/copy.h"
#include "base/mutant.h"

/* crc32_iscsi takes an int. */
#define CRC_CHUNK ((size_t)1 << 30)

#ifdef __x86_64__

/* From two folds on there is something to multiply. */
enum { VECTOR = 32, VECTORS = 4, FOLD = VECTORS * VECTOR, SHORT = 2 * FOLD - 1 };

#define SHORTLY __attribute__((target("sse4.2")))
#define FOLDING __attribute__((target("avx2,vpclmulqdq")))
#define ALWAYS static inline __attribute__((always_inline))

/* Unaligned octets as a number of their own length, which goes to the copy, too. The compiler may not load it again. */
#define TAKE(type, at) ({                              \
    type value;                                        \
    memcpy(&value, from + (at), sizeof value);         \
    __asm__("" : "+r"(value));                         \
    if (copies)                                        \
        memcpy(to + (at), &value, sizeof value);       \
    value;                                             \
})

SHORTLY ALWAYS uint32_t sum_short(bool copies, uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
    size_t at = 0;

    for (; len - at >= 8; at += 8)
        crc = (uint32_t)_mm_crc32_u64(crc, TAKE(uint64_t, at));
    if (len & 4) {
        crc = _mm_crc32_u32(crc, TAKE(uint32_t, at));
        at += 4;
    }
    if (len & 2) {
        crc = _mm_crc32_u16(crc, TAKE(uint16_t, at));
        at += 2;
    }
    return len & 1 ? _mm_crc32_u8(crc, TAKE(uint8_t, at)) : crc;
}

SHORTLY static uint32_t update_short(uint32_t crc, const uint8_t *from, size_t len)
{
    return sum_short(false, crc, NULL, from, len);
}

SHORTLY static uint32_t copy_short(uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
    return sum_short(true, crc, to, from, len);
}

static bool is_short(size_t len)
{
    return len <= SHORT && __builtin_cpu_supports("sse4.2");
}

/*
 * Folding. Octets ahead of others are worth their own product with a power of x, modulo the polynomial, at the place
 * of those others: so n of them are multiplied and added to the next n, again and again, until n are left, whose
 * sum is that of all. Of each 16 octets the first eight are multiplied with x^(8n+32), the others with x^(8n-32),
 * both modulo 11edc6f41; reflected, as the bits are here, and shifted by one, as is the product of two reflected.
 */
#define FOLD_FIRST 0x6992cea2
#define FOLD_OTHERS 0xd3b6092

/* Out of a register, which GCC would not do by itself: it copies vectors from memory to memory, in halves. */
FOLDING ALWAYS __m256i pinned(__m256i v)
{
    __asm__("" : "+x"(v));
    return v;
}

FOLDING ALWAYS void put_vector(uint8_t *to, __m256i v)
{
    _mm256_storeu_si256((__m256i *)(void *)to, pinned(v));
}

FOLDING ALWAYS __m256i take_vector(bool copies, uint8_t *to, const uint8_t *from, size_t at)
{
    __m256i v = pinned(_mm256_loadu_si256((const __m256i *)(const void *)(from + at)));

    if (copies)
        put_vector(to + at, v);
    return v;
}

/* At least FOLD octets. */
FOLDING ALWAYS uint32_t fold(bool copies, uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
    const __m256i by = _mm256_broadcastsi128_si256(_mm_set_epi64x(FOLD_OTHERS, FOLD_FIRST));
    __m256i sum[VECTORS];
    uint8_t left[FOLD];
    size_t at = FOLD;

    for (size_t i = 0; i < VECTORS; i++)
        sum[i] = take_vector(copies, to, from, VECTOR * i);
    sum[0] = _mm256_xor_si256(sum[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)crc)));
    for (; len - at >= FOLD; at += FOLD) {
        for (size_t i = 0; i < VECTORS; i++) {
            __m256i next = take_vector(copies, to, from, at + VECTOR * i);
            __m256i first = _mm256_clmulepi64_epi128(sum[i], by, 0x00);
            __m256i others = _mm256_clmulepi64_epi128(sum[i], by, 0x11);
            sum[i] = _mm256_xor_si256(_mm256_xor_si256(first, others), next);
        }
    }
    for (size_t i = 0; i < VECTORS; i++)
        put_vector(left + VECTOR * i, sum[i]);
    crc = sum_short(false, 0, NULL, left, FOLD);
    return sum_short(copies, crc, copies ? to + at : NULL, from + at, len - at);
}

FOLDING static uint32_t update_folding(uint32_t crc, const uint8_t *from, size_t len)
{
    return fold(false, crc, NULL, from, len);
}

FOLDING static uint32_t copy_folding(uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
    return fold(true, crc, to, from, len);
}

static bool can_fold(size_t len)
{
    return len > SHORT && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
}

#else

static uint32_t update_short(uint32_t crc, const uint8_t *from, size_t len)
{
    (void)from, (void)len;
    return crc;
}

static uint32_t copy_short(uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
    (void)to, (void)from, (void)len;
    return crc;
}

static bool is_short(size_t len)
{
    return len == 0;
}

static uint32_t update_folding(uint32_t crc, const uint8_t *from, size_t len)
{
    (void)from, (void)len;
    return crc;
}

static uint32_t copy_folding(uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
    (void)to, (void)from, (void)len;
    return crc;
}

static bool can_fold(size_t len)
{
    (void)len;
    return false;
}

#endif

uint32_t crc32c_update(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *at = data;

    if (is_short(len))
        return update_short(crc, at, len);
    if (can_fold(len))
        return update_folding(crc, at, len);
    while (len > 0) {
        size_t n = len < CRC_CHUNK ? len : CRC_CHUNK;
        /* It only reads; its parameter merely lacks the const. */
        crc = crc32_iscsi((unsigned char *)(uintptr_t)at, (int)n, crc);
        at += n;
        len -= n;
    }
    return crc;
}

uint32_t crc32c_copy(uint32_t crc, void *to, const void *from, size_t len)
{
    bool source_summed = MUTANT(wir_03_source_summed);

    if (is_short(len) && !source_summed)
        return copy_short(crc, to, from, len);
    if (can_fold(len) && !source_summed)
        return copy_folding(crc, to, from, len);
    copy_octets(to, from, len);
    __asm__("" ::: "memory"); /* what is summed is read again */
    return crc32c_update(crc, source_summed ? from : to, len);
}

void crc32c_final(uint32_t crc, uint8_t out[4])
{
    uint32_t sum = MUTANT(wir_03_crc_not_inverted) ? crc : ~crc;

    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(sum >> (8 * i));
}
