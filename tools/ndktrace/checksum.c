/* SPDX-License-Identifier: MIT */
/* Computes the 32-bit CRCs of synthetic packets: see checksum.h. */
#include "checksum.h"

uint32_t checksum_update(enum checksum_kind kind, uint32_t sum, const uint8_t *bytes, size_t size)
{
    static const uint32_t polynomials[CHECKSUM_KINDS] = { 0x82f63b78, 0xedb88320 }; /* reflected */
    static uint32_t tables[CHECKSUM_KINDS][256]; /* the last element is 0 until the table has been made */
    uint32_t *table = tables[kind];

    for (uint32_t i = 0; i < 256 && !table[255]; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? polynomials[kind] : 0);
    }
    for (size_t i = 0; i < size; i++)
        sum = sum >> 8 ^ table[(sum ^ bytes[i]) & 0xff];
    return sum;
}
