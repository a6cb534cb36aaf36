/* SPDX-License-Identifier: MIT */
/* Writes the headers of synthetic packets. Each function returns the place after what it has written. */
#ifndef NDKTRACE_HEADERS_H
#define NDKTRACE_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes a number of `size` bytes, at most 8, in network byte order. */
uint8_t *headers_put(uint8_t *at, uint64_t value, unsigned size);
uint8_t *headers_put_bytes(uint8_t *at, const void *bytes, size_t size);
uint8_t *headers_put_zeros(uint8_t *at, size_t size);
uint8_t *headers_put_ethernet(uint8_t *at, bool is_v6, bool from_initiator);
/*
 * Writes an IPv4 or IPv6 header. `from` and `to` are the hosts' addresses, `protocol` is the number of the protocol in
 * the packet, for example 6 for TCP, and `size` is the number of bytes after the header.
 */
uint8_t *headers_put_ip(uint8_t *at, bool is_v6, const uint8_t *from, const uint8_t *to, uint8_t protocol, size_t size);

#endif
