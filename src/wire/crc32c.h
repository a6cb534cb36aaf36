/* SPDX-License-Identifier: MIT */
/* CRC32c as MPA uses it, over scattered bytes, in the way that suits the processor. */
#ifndef WIRE_CRC32C_H
#define WIRE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The running sum: start with CRC32C_INIT, update over each piece in turn, final once. */
#define CRC32C_INIT 0xffffffffu
uint32_t crc32c_update(uint32_t crc, const void *data, size_t len);
/* Copies as well, and sums the octets of the copy, whatever happens to the others meanwhile. */
uint32_t crc32c_copy(uint32_t crc, void *to, const void *from, size_t len);
/* The four bytes that go on the wire (little-endian of the inverted sum). */
void crc32c_final(uint32_t crc, uint8_t out[4]);

#endif
