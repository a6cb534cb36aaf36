/* SPDX-License-Identifier: MIT */
/*
 * Encodes and decodes the payload of a Terminate message. The invariant: the encoder writes one of the three forms that
 * RFC 5040 has: no header, a DDP header, or a DDP header and a Read Request header.
 *
 *   bytes 0-1  layer 4 bits, error type 4 bits, error code 8 bits
 *   bytes 2-3  M: the segment length is valid; D: a DDP header follows; R: an RDMAP header follows; reserved
 *   bytes 4-5  the length of the terminated DDP segment, if any of M, D, R is set
 *   then       the segment's DDP header (D), then its Read Request header (R)
 */
#include "wire/terminate.h"

#include <string.h>

#include "base/cursor.h"

enum {
    HDRCT_M = 0x8000,
    HDRCT_D = 0x4000,
    HDRCT_R = 0x2000,
    HDRCT = HDRCT_M | HDRCT_D | HDRCT_R,
    DDP_T = 0x80,
};

static size_t terminate_ddp_header_size(uint8_t first)
{
    return first & DDP_T ? DDP_TAGGED_HEADER : DDP_UNTAGGED_HEADER;
}

/* Computes the bits M, D and R of t. Returns false if header_len fits none of the three forms of t->header. */
static bool terminate_hdrct(const struct terminate *t, uint16_t *hdrct)
{
    size_t ddp;

    *hdrct = 0;
    if (!t->has_header)
        return true;
    *hdrct = HDRCT_M;
    if (t->header_len == 0)
        return true;
    ddp = terminate_ddp_header_size(t->header[0]);
    *hdrct |= HDRCT_D;
    if (t->header_len == ddp)
        return true;
    *hdrct |= HDRCT_R;
    return t->header_len == ddp + RDMAP_READ_REQUEST;
}

size_t terminate_encode(const struct terminate *t, uint8_t *bytes, size_t size)
{
    struct cursor_out c = cursor_out(bytes, size);
    uint16_t hdrct;

    if ((unsigned)t->error > 0xffffu || !terminate_hdrct(t, &hdrct))
        return 0;
    cursor_put16(&c, (uint16_t)t->error);
    cursor_put16(&c, hdrct);
    if (t->has_header) {
        cursor_put16(&c, t->segment_len);
        cursor_put(&c, t->header, t->header_len);
    }
    return c.failed ? 0 : size - c.remaining;
}

bool terminate_decode(struct terminate *t, const uint8_t *bytes, size_t len)
{
    struct cursor_in c = cursor_in(bytes, len);
    uint16_t hdrct;

    memset(t, 0, sizeof *t);
    t->error = (enum wire_error)cursor_get16(&c);
    hdrct = cursor_get16(&c);
    t->has_header = hdrct & HDRCT;
    if (t->has_header)
        t->segment_len = cursor_get16(&c);
    if (hdrct & HDRCT_D)
        t->header_len = c.remaining > 0 ? terminate_ddp_header_size(c.at[0]) : DDP_UNTAGGED_HEADER;
    if (hdrct & HDRCT_R)
        t->header_len += RDMAP_READ_REQUEST;
    const uint8_t *header = cursor_get(&c, t->header_len);
    if (!header)
        return false;
    memcpy(t->header, header, t->header_len);
    return true;
}
