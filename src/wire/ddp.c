/* SPDX-License-Identifier: MIT */
/*
 * Encodes and decodes DDP and RDMAP headers. The invariant: decoding checks only the length. The stream checks
 * versions, queue and opcode, because each error has its own Terminate code.
 *
 *   byte 0, DDP:    T tagged, L last, four reserved bits, two bits of version
 *   byte 1, RDMAP:  two bits of version, two reserved bits, four bits of opcode
 *
 * Reserved bits are sent as zero and ignored when received.
 */
#include "wire/ddp.h"

#include <endian.h>
#include <string.h>

#include "base/cursor.h"
#include "wire/mpa.h"

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

static uint16_t ddp_control_word(const struct ddp_header *h)
{
    unsigned ddp = (h->tagged ? DDP_T : 0u) | (h->last ? DDP_L : 0u) | DDP_VERSION;

    return (uint16_t)(ddp << 8 | RDMAP_VERSION << RDMAP_VERSION_SHIFT | (h->opcode & RDMAP_OPCODE_MASK));
}

size_t ddp_header_encode(const struct ddp_header *h, uint8_t *bytes, size_t size)
{
    struct cursor_out c = cursor_out(bytes, size);

    cursor_put16(&c, ddp_control_word(h));
    cursor_put32(&c, h->stag);
    if (h->tagged) {
        cursor_put64(&c, h->to);
    } else {
        cursor_put32(&c, h->queue);
        cursor_put32(&c, h->msn);
        cursor_put32(&c, h->mo);
    }
    return c.failed ? 0 : size - c.remaining;
}

static void store_be32(uint8_t *at, uint32_t v)
{
    v = htobe32(v);
    memcpy(at, &v, sizeof v);
}

static void store_be32_pair(uint8_t *at, uint32_t first, uint32_t second)
{
    uint64_t both = htobe64((uint64_t)first << 32 | second);

    memcpy(at, &both, sizeof both);
}

static void store_be64(uint8_t *at, uint64_t v)
{
    store_be32_pair(at, (uint32_t)(v >> 32), (uint32_t)v);
}

size_t ddp_fpdu_begin(const struct ddp_header *h, size_t ulpdu, uint8_t fpdu[DDP_MAX_FPDU_BEGIN])
{
    store_be32_pair(fpdu, (uint32_t)ulpdu << 16 | ddp_control_word(h), h->stag);
    if (h->tagged) {
        store_be64(fpdu + 8, h->to);
        return MPA_FPDU_LENGTH + DDP_TAGGED_HEADER;
    }
    store_be32_pair(fpdu + 8, h->queue, h->msn);
    store_be32(fpdu + 16, h->mo);
    return MPA_FPDU_LENGTH + DDP_UNTAGGED_HEADER;
}

bool rdmap_read_decode(struct rdmap_read_request *r, const uint8_t *bytes, size_t len)
{
    struct cursor_in c = cursor_in(bytes, len);

    r->sink_stag = cursor_get32(&c);
    r->sink_to = cursor_get64(&c);
    r->length = cursor_get32(&c);
    r->source_stag = cursor_get32(&c);
    r->source_to = cursor_get64(&c);
    return !c.failed && c.remaining == 0;
}

size_t rdmap_read_encode(const struct rdmap_read_request *r, uint8_t *bytes, size_t size)
{
    struct cursor_out c = cursor_out(bytes, size);

    cursor_put32(&c, r->sink_stag);
    cursor_put64(&c, r->sink_to);
    cursor_put32(&c, r->length);
    cursor_put32(&c, r->source_stag);
    cursor_put64(&c, r->source_to);
    return c.failed ? 0 : size - c.remaining;
}

void rdmap_read_fpdu(const struct ddp_header *h, const struct rdmap_read_request *r, uint8_t fpdu[RDMAP_READ_FPDU])
{
    (void)ddp_fpdu_begin(h, DDP_UNTAGGED_HEADER + RDMAP_READ_REQUEST, fpdu);
    store_be32_pair(fpdu + 16, h->mo, r->sink_stag);
    store_be64(fpdu + 24, r->sink_to);
    store_be32_pair(fpdu + 32, r->length, r->source_stag);
    store_be64(fpdu + 40, r->source_to);
}
