/* SPDX-License-Identifier: MIT */
/*
 * Declares the Terminate message (RFC 5040 section 4.8; RFC 6581 adds MPA codes) and the errors that it reports. The
 * invariant: each value of enum wire_error, except WIRE_OK, is the code that is sent on the wire.
 */
#ifndef WIRE_TERMINATE_H
#define WIRE_TERMINATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ddp.h"

/* Layer in bits 15 to 12, error type in bits 11 to 8, code in bits 7 to 0, as on the wire. */
#define TERMINATE_CODE(layer, type, code) ((uint16_t)((layer) << 12 | (type) << 8 | (code)))

enum wire_error {
    WIRE_OK = 0x10000, /* needs more than 16 bits, so no peer can send it */

    /* RDMAP; error types: 0 local catastrophic, 1 remote protection, 2 remote operation */
    WIRE_RDMAP_CATASTROPHIC = TERMINATE_CODE(0, 0, 0x00),
    WIRE_RDMAP_INVALID_STAG = TERMINATE_CODE(0, 1, 0x00),
    WIRE_RDMAP_BOUNDS = TERMINATE_CODE(0, 1, 0x01),
    WIRE_RDMAP_ACCESS = TERMINATE_CODE(0, 1, 0x02),
    WIRE_RDMAP_STAG_NOT_ASSOCIATED = TERMINATE_CODE(0, 1, 0x03),
    WIRE_RDMAP_TO_WRAP = TERMINATE_CODE(0, 1, 0x04),
    WIRE_RDMAP_STAG_NOT_INVALIDATED = TERMINATE_CODE(0, 1, 0x09),
    WIRE_RDMAP_PROTECTION = TERMINATE_CODE(0, 1, 0xff),
    WIRE_RDMAP_VERSION = TERMINATE_CODE(0, 2, 0x05),
    WIRE_RDMAP_OPCODE = TERMINATE_CODE(0, 2, 0x06),
    WIRE_RDMAP_STREAM_CATASTROPHIC = TERMINATE_CODE(0, 2, 0x07),
    WIRE_RDMAP_GLOBAL_CATASTROPHIC = TERMINATE_CODE(0, 2, 0x08),
    WIRE_RDMAP_CANNOT_INVALIDATE = TERMINATE_CODE(0, 2, 0x09),
    WIRE_RDMAP_OPERATION = TERMINATE_CODE(0, 2, 0xff),

    /* DDP; error types: 0 local catastrophic, 1 tagged buffer, 2 untagged buffer */
    WIRE_DDP_CATASTROPHIC = TERMINATE_CODE(1, 0, 0x00),
    WIRE_DDP_TAGGED_STAG = TERMINATE_CODE(1, 1, 0x00),
    WIRE_DDP_TAGGED_BOUNDS = TERMINATE_CODE(1, 1, 0x01),
    WIRE_DDP_TAGGED_STREAM = TERMINATE_CODE(1, 1, 0x02),
    WIRE_DDP_TAGGED_WRAP = TERMINATE_CODE(1, 1, 0x03),
    WIRE_DDP_TAGGED_VERSION = TERMINATE_CODE(1, 1, 0x04),
    WIRE_DDP_UNTAGGED_QN = TERMINATE_CODE(1, 2, 0x01),
    WIRE_DDP_UNTAGGED_NO_BUFFER = TERMINATE_CODE(1, 2, 0x02),
    WIRE_DDP_UNTAGGED_MSN_RANGE = TERMINATE_CODE(1, 2, 0x03),
    WIRE_DDP_UNTAGGED_MO = TERMINATE_CODE(1, 2, 0x04),
    WIRE_DDP_UNTAGGED_TOO_LONG = TERMINATE_CODE(1, 2, 0x05),
    WIRE_DDP_UNTAGGED_VERSION = TERMINATE_CODE(1, 2, 0x06),

    /* MPA, which is the lower layer protocol (LLP) */
    WIRE_MPA_TCP_LOST = TERMINATE_CODE(2, 0, 0x01),
    WIRE_MPA_CRC = TERMINATE_CODE(2, 0, 0x02),
    WIRE_MPA_MARKER = TERMINATE_CODE(2, 0, 0x03),
    WIRE_MPA_FRAME = TERMINATE_CODE(2, 0, 0x04),
    WIRE_MPA_LOCAL_CATASTROPHIC = TERMINATE_CODE(2, 0, 0x05),
    WIRE_MPA_INSUFFICIENT_IRD = TERMINATE_CODE(2, 0, 0x06),
    WIRE_MPA_NO_RTR = TERMINATE_CODE(2, 0, 0x07),
};

enum {
    /* bytes: control 4, DDP segment length 2, DDP header 18, RDMAP header (of a Read Request) 28 */
    TERMINATE_MAX_PAYLOAD = 4 + 2 + DDP_UNTAGGED_HEADER + RDMAP_READ_REQUEST,
};

struct terminate {
    enum wire_error error;
    bool has_header;      /* segment_len, header and header_len are valid */
    uint16_t segment_len; /* of the terminated DDP segment */
    /* One of three forms: empty, the segment's DDP header, or its DDP header and its Read Request header. */
    uint8_t header[DDP_UNTAGGED_HEADER + RDMAP_READ_REQUEST];
    size_t header_len;
};

/*
 * Encodes the payload of a Terminate message: the bytes after the message's own DDP header. Returns the payload's size.
 * Returns 0 if `size` is too small, the error is WIRE_OK, or header_len fits none of the three forms of t->header.
 */
size_t terminate_encode(const struct terminate *t, uint8_t *bytes, size_t size);
/*
 * Decodes the payload of a Terminate. Returns false if the payload is shorter than its bits M, D and R require. Sets
 * t->error to the payload's 16-bit code, which may be a value that enum wire_error does not list.
 */
bool terminate_decode(struct terminate *t, const uint8_t *bytes, size_t len);

#endif
