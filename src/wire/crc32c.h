/* SPDX-License-Identifier: MIT */
/*
 * Computes CRC32c as MPA uses it, over scattered bytes. The method depends on the length and on the processor's
 * instructions. The invariant: all methods compute the same running sum, so a sum may continue over pieces of any
 * length.
 */
#ifndef WIRE_CRC32C_H
#define WIRE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Returns the running sum `crc`, continued over `data`. A running sum starts with CRC32C_INIT. */
#define CRC32C_INIT 0xffffffffu
uint32_t crc32c_update(uint32_t crc, const void *data, size_t len);
/* Copies the bytes and returns the running sum of the copy, even if another thread changes the source meanwhile. */
uint32_t crc32c_copy(uint32_t crc, void *to, const void *from, size_t len);
/* Writes the four bytes that MPA sends: the inverted sum in little-endian order. */
void crc32c_final(uint32_t crc, uint8_t out[4]);

#endif
