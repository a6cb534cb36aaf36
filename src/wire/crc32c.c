/* SPDX-License-Identifier: MIT */
/*
 * CRC32c by ISA-L. crc32_iscsi takes and returns the running sum as it is, without inversion on either end, so that it
 * can be continued over scattered bytes; the inversions are ours (CRC32C_INIT and crc32c_final). Its dispatcher picks
 * the variant for the processor at the first call: SSE4.2's instruction with carry-less multiplication where there is.
 *
 * That takes 40 to 60 cycles however short the data; the bare instruction, three for eight octets, is faster up to some
 * 200 of them, and small messages consist of nothing else.
 *
 * ISA-L cannot copy on the way. Where the processor multiplies 512 bits at a time, crc32c_copy does: it multiplies
 * while the memory is waited for.
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

enum { SHORT = 192 };

/* Unaligned octets as a number of their own length. */
#define LOAD(type, at) ({ type value; memcpy(&value, at, sizeof value); value; })

__attribute__((target("sse4.2"))) static uint32_t update_short(uint32_t crc, const uint8_t *at, size_t len)
{
    for (; len >= 8; len -= 8, at += 8)
        crc = (uint32_t)_mm_crc32_u64(crc, LOAD(uint64_t, at));
    if (len & 4) {
        crc = _mm_crc32_u32(crc, LOAD(uint32_t, at));
        at += 4;
    }
    if (len & 2) {
        crc = _mm_crc32_u16(crc, LOAD(uint16_t, at));
        at += 2;
    }
    return len & 1 ? _mm_crc32_u8(crc, *at) : crc;
}

static bool is_short(size_t len)
{
    return len <= SHORT && __builtin_cpu_supports("sse4.2");
}

/*
 * Folding. Octets ahead of others are worth their own product with a power of x, modulo the polynomial, at the place
 * of those others: so 256 of them are multiplied and added to the next 256, again and again, until 256 are left, whose
 * sum is that of all. Of each 16 octets the first eight are multiplied with x^(2048+32), the others with x^(2048-32),
 * both modulo 11edc6f41; reflected, as the bits are here, and shifted by one, as is the product of two reflected.
 */
enum { FOLD = 256, VECTOR = 64, VECTORS = FOLD / VECTOR, FOLD_FROM = 1024 };
#define FOLD_FIRST 0xdcb17aa4
#define FOLD_OTHERS 0xb9e02b86
#define FOLDING __attribute__((target("avx512f,vpclmulqdq")))

/* One load serves both, though the compiler could do with two. */
FOLDING static inline __m512i copy_vector(uint8_t *to, const uint8_t *from)
{
    __m512i v = _mm512_loadu_si512(from);

    __asm__("" : "+v"(v));
    _mm512_storeu_si512(to, v);
    return v;
}

/* At least FOLD octets. */
FOLDING static uint32_t copy_folding(uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
    const __m512i by = _mm512_broadcast_i32x4(_mm_set_epi64x(FOLD_OTHERS, FOLD_FIRST));
    __m512i sum[VECTORS];
    uint8_t left[FOLD];
    size_t at = FOLD;

    for (int i = 0; i < VECTORS; i++)
        sum[i] = copy_vector(to + VECTOR * i, from + VECTOR * i);
    sum[0] = _mm512_xor_si512(sum[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    for (; len - at >= FOLD; at += FOLD) {
        for (int i = 0; i < VECTORS; i++) {
            __m512i next = copy_vector(to + at + VECTOR * i, from + at + VECTOR * i);
            __m512i first = _mm512_clmulepi64_epi128(sum[i], by, 0x00);
            __m512i others = _mm512_clmulepi64_epi128(sum[i], by, 0x11);
            sum[i] = _mm512_xor_si512(_mm512_xor_si512(first, others), next);
        }
    }
    for (int i = 0; i < VECTORS; i++)
        _mm512_storeu_si512(left + VECTOR * i, sum[i]);
    memcpy(to + at, from + at, len - at);
    return crc32c_update(crc32c_update(0, left, FOLD), to + at, len - at);
}

static bool can_fold(size_t len)
{
    return len >= FOLD_FROM && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
}

#else

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

static uint32_t update_short(uint32_t crc, const uint8_t *at, size_t len)
{
    (void)at, (void)len;
    return crc;
}

static bool is_short(size_t len)
{
    return len == 0;
}

#endif

uint32_t crc32c_update(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *at = data;

    if (is_short(len))
        return update_short(crc, at, len);
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
    if (can_fold(len) && !MUTANT(wir_03_source_summed))
        return copy_folding(crc, to, from, len);
    copy_octets(to, from, len);
    return crc32c_update(crc, MUTANT(wir_03_source_summed) ? from : to, len);
}

void crc32c_final(uint32_t crc, uint8_t out[4])
{
    uint32_t sum = MUTANT(wir_03_crc_not_inverted) ? crc : ~crc;

    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(sum >> (8 * i));
}
