/* SPDX-License-Identifier: MIT */
/* Writes the headers of synthetic packets: see headers.h. */
#include "headers.h"

#include <string.h>

uint8_t *headers_put(uint8_t *at, uint64_t value, unsigned size)
{
    for (unsigned i = size; i > 0; i--)
        *at++ = (uint8_t)(value >> 8 * (i - 1));
    return at;
}

uint8_t *headers_put_bytes(uint8_t *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

uint8_t *headers_put_zeros(uint8_t *at, size_t size)
{
    memset(at, 0, size);
    return at + size;
}

uint8_t *headers_put_ethernet(uint8_t *at, bool is_v6, bool from_initiator)
{
    at = headers_put(at, from_initiator ? 0x020000000002 : 0x020000000001, 6);
    at = headers_put(at, from_initiator ? 0x020000000001 : 0x020000000002, 6);
    return headers_put(at, is_v6 ? 0x86dd : 0x0800, 2);
}

/* Returns the Internet checksum of an IPv4 header. Requires that the checksum field is 0. */
static uint16_t headers_sum(const uint8_t *header)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < 20; i += 2)
        sum += (uint32_t)header[i] << 8 | header[i + 1];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

uint8_t *headers_put_ip(uint8_t *at, bool is_v6, const uint8_t *from, const uint8_t *to, uint8_t protocol, size_t size)
{
    uint8_t *header = at;

    if (is_v6) {
        at = headers_put(at, 0x60000000, 4);
        at = headers_put(at, size, 2);
        at = headers_put(at, (uint64_t)protocol << 8 | 64, 2); /* next header, hop limit */
        at = headers_put_bytes(at, from, 16);
        return headers_put_bytes(at, to, 16);
    }
    at = headers_put(at, 0x4500, 2);
    at = headers_put(at, size + 20, 2);
    at = headers_put(at, 0x00004000, 4);                            /* do not fragment */
    at = headers_put(at, 0x40000000 | (uint64_t)protocol << 16, 4); /* time to live, protocol, checksum */
    at = headers_put_bytes(at, from, 4);
    at = headers_put_bytes(at, to, 4);
    (void)headers_put(header + 10, headers_sum(header), 2);
    return at;
}
