/* SPDX-License-Identifier: MIT */
/*
 * CRC32c by ISA-L. crc32_iscsi takes and returns the running sum as it is, without inversion on either end, so that it
 * can be continued over scattered bytes; the inversions are ours (CRC32C_INIT and crc32c_final). Its dispatcher picks
 * the variant for the processor at the first call: SSE4.2's instruction with carry-less multiplication where there is.
 */
#include "wire/crc32c.h"

#include <isa-l/crc.h>

#include "base/mutant.h"

/* crc32_iscsi takes an int. */
#define CRC_CHUNK ((size_t)1 << 30)

uint32_t crc32c_update(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *at = data;

    while (len > 0) {
        size_t n = len < CRC_CHUNK ? len : CRC_CHUNK;
        /* It only reads; its parameter merely lacks the const. */
        crc = crc32_iscsi((unsigned char *)(uintptr_t)at, (int)n, crc);
        at += n;
        len -= n;
    }
    return crc;
}

void crc32c_final(uint32_t crc, uint8_t out[4])
{
    uint32_t sum = MUTANT(wir_03_crc_not_inverted) ? crc : ~crc;

    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(sum >> (8 * i));
}
