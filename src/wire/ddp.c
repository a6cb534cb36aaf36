/* SPDX-License-Identifier: MIT */
/*
 * DDP and RDMAP headers.
 *
 *   byte 0, DDP:    T tagged, L last, four reserved bits, two bits of version
 *   byte 1, RDMAP:  two bits of version, two reserved bits, four bits of opcode
 *
 * Reserved bits are sent as zero and not looked at. Whether versions, queue and opcode are right is the stream's to
 * judge, because each mistake has its own Terminate.
 */
#include "wire/ddp.h"

#include "base/cursor.h"

enum {
    DDP_T = 0x80,
    DDP_L = 0x40,
    DDP_VERSION_MASK = 0x03,
    RDMAP_VERSION_SHIFT = 6,
    RDMAP_OPCODE_MASK = 0x0f,
};

bool ddp_header_decode(struct ddp_header *h, const uint8_t *bytes, size_t len, size_t *size)
{
    struct cursor_in c = cursor_in(bytes, len);
    uint8_t ddp = cursor_get8(&c);
    uint8_t rdmap = cursor_get8(&c);

    *h = (struct ddp_header){
        .tagged = ddp & DDP_T,
        .last = ddp & DDP_L,
        .ddp_version = ddp & DDP_VERSION_MASK,
        .rdmap_version = rdmap >> RDMAP_VERSION_SHIFT,
        .opcode = rdmap & RDMAP_OPCODE_MASK,
        .stag = cursor_get32(&c),
    };
    if (h->tagged) {
        h->to = cursor_get64(&c);
    } else {
        h->queue = cursor_get32(&c);
        h->msn = cursor_get32(&c);
        h->mo = cursor_get32(&c);
    }
    *size = h->tagged ? DDP_TAGGED_HEADER : DDP_UNTAGGED_HEADER;
    return !c.failed;
}

size_t ddp_header_encode(const struct ddp_header *h, uint8_t *bytes, size_t size)
{
    struct cursor_out c = cursor_out(bytes, size);

    cursor_put8(&c, (uint8_t)((h->tagged ? DDP_T : 0) | (h->last ? DDP_L : 0) | DDP_VERSION));
    cursor_put8(&c, (uint8_t)(RDMAP_VERSION << RDMAP_VERSION_SHIFT | (h->opcode & RDMAP_OPCODE_MASK)));
    cursor_put32(&c, h->stag);
    if (h->tagged) {
        cursor_put64(&c, h->to);
    } else {
        cursor_put32(&c, h->queue);
        cursor_put32(&c, h->msn);
        cursor_put32(&c, h->mo);
    }
    return c.failed ? 0 : size - c.left;
}

bool rdmap_read_decode(struct rdmap_read_request *r, const uint8_t *bytes, size_t len)
{
    struct cursor_in c = cursor_in(bytes, len);

    r->sink_stag = cursor_get32(&c);
    r->sink_to = cursor_get64(&c);
    r->length = cursor_get32(&c);
    r->source_stag = cursor_get32(&c);
    r->source_to = cursor_get64(&c);
    return !c.failed && c.left == 0;
}

size_t rdmap_read_encode(const struct rdmap_read_request *r, uint8_t *bytes, size_t size)
{
    struct cursor_out c = cursor_out(bytes, size);

    cursor_put32(&c, r->sink_stag);
    cursor_put64(&c, r->sink_to);
    cursor_put32(&c, r->length);
    cursor_put32(&c, r->source_stag);
    cursor_put64(&c, r->source_to);
    return c.failed ? 0 : size - c.left;
}
