/* SPDX-License-Identifier: MIT */
/* The content of messages that --check verifies. It depends on queue pair and message number. */
#ifndef NDKPERF_PATTERN_H
#define NDKPERF_PATTERN_H

#include <stdint.h>

/* Fills a message with bytes that depend on the queue pair's index `lane` and the message's number. */
void pattern_fill(uint8_t *at, uint32_t len, uint32_t lane, uint64_t message);
/* Returns the offset of the first byte that differs from what pattern_fill writes, or len. */
uint32_t pattern_differs(const uint8_t *at, uint32_t len, uint32_t lane, uint64_t message);
/* Reads the last byte of a message that the peer writes by RDMA. This end polls the byte to detect the write. */
uint8_t written_mark(const uint8_t *at);
/* Reads a number that the peer writes without notification. */
uint32_t written_count(const uint32_t *at);
/*
 * Like pattern_differs, for a message whose last byte has arrived. Earlier bytes may become visible after the last
 * byte, so this function waits for them, at most 1 s.
 */
uint32_t written_differs(const uint8_t *at, uint32_t len, uint32_t lane, uint64_t message);

#endif
