/* SPDX-License-Identifier: MIT */
/* FPDUs and start-up frames as bytes, on the encoders of src/wire. No state. */
#ifndef HOSTILE_FRAMES_H
#define HOSTILE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ddp.h"
#include "wire/mpa.h"

enum {
    FRAME_MAX_PAYLOAD = 2048,
    FRAME_MAX_ULPDU = DDP_MAX_HEADER + FRAME_MAX_PAYLOAD,
    FRAME_MAX_FPDU = FRAME_MAX_ULPDU + MPA_FPDU_OVERHEAD,
    FRAME_EMPTY = 8, /* size of an empty FPDU */
};

/*
 * Encodes an FPDU with a ULPDU; the CRC field is zero if crc is off. Returns its size, at most len + MPA_FPDU_OVERHEAD.
 */
size_t frame_fpdu(uint8_t *out, const uint8_t *ulpdu, size_t len, bool crc);
/* Returns true if the CRC field of an FPDU of this size is right. */
bool frame_crc_is_right(const uint8_t *fpdu, size_t size);

/* A header without faults: valid versions, and an opcode that matches the queue. */
struct ddp_header frame_send_header(uint32_t msn, uint32_t mo, bool last);
struct ddp_header frame_read_header(uint32_t msn);
struct ddp_header frame_write_header(uint32_t stag, uint64_t to, bool last);
/* Encodes header and payload as a ULPDU with the versions that are in the header. Returns its length. */
size_t frame_ulpdu(uint8_t *out, const struct ddp_header *h, const void *payload, size_t len);
/* Encodes the ULPDU of a Read Request. */
size_t frame_read(uint8_t *out, uint32_t msn, const struct rdmap_read_request *r);

/* Encodes a revision 2 request or reply. A request offers the empty FPDU as ready-to-receive, a reply chooses it. */
size_t frame_mpa(uint8_t *out, bool reply, bool crc, const void *private_data, size_t len);

#endif
