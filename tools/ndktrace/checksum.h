/* SPDX-License-Identifier: MIT */
/* Computes the 32-bit CRCs of synthetic packets. */
#ifndef NDKTRACE_CHECKSUM_H
#define NDKTRACE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of an FPDU (RFC 3720), and the CRC of a RoCE packet, which is that of Ethernet. */
enum checksum_kind { CHECKSUM_CRC32C, CHECKSUM_CRC32, CHECKSUM_KINDS };

/*
 * Adds bytes to the sum, which begins with UINT32_MAX. The CRC is the complement of the last result; its least
 * significant byte is sent first.
 */
uint32_t checksum_update(enum checksum_kind kind, uint32_t sum, const uint8_t *bytes, size_t size);

#endif
