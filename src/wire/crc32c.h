/* SPDX-License-Identifier: MIT */
/* CRC32c as MPA uses it, over scattered bytes. ISA-L does the work, by carry-less multiplication where there is any. */
#ifndef WIRE_CRC32C_H
#define WIRE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

#define CRC32C_INIT 0xffffffffu
uint32_t crc32c_update(uint32_t crc, const void *data, size_t len);
/* The four bytes that go on the wire (little-endian of the inverted sum). */
void crc32c_final(uint32_t crc, uint8_t out[4]);

#endif
