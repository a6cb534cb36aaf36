/* SPDX-License-Identifier: MIT */
/*
 * Fills and verifies the contents of messages for --check. The contents depend on the queue pair and on the message's
 * number.
 */
#ifndef NDKPERF_PATTERN_H
#define NDKPERF_PATTERN_H

#include <stdint.h>

/* Fills a message. Its bytes depend on the queue pair's index `lane` and on the message's number `message`. */
void pattern_fill(uint8_t *at, uint32_t len, uint32_t lane, uint64_t message);
/*
 * Returns the offset of the first byte that differs from the bytes that pattern_fill writes. Returns `len` if none
 * differs.
 */
uint32_t pattern_differs(const uint8_t *at, uint32_t len, uint32_t lane, uint64_t message);
/* Returns the last byte of a message that the peer writes by RDMA. This end polls the byte to detect the write. */
uint8_t written_mark(const uint8_t *at);
/* Returns a number that the peer writes by RDMA without a notification. */
uint32_t written_count(const uint32_t *at);
/*
 * Works like pattern_differs, for a message whose last byte has arrived. Earlier bytes may become visible after the
 * last byte, so the function waits for them, at most 1 s.
 */
uint32_t written_differs(const uint8_t *at, uint32_t len, uint32_t lane, uint64_t message);

#endif
