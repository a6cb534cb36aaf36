/* SPDX-License-Identifier: MIT */
/*
 * DDP and RDMAP headers (RFC 5040, RFC 5041). The ULPDU of an FPDU is one DDP segment: a header, then payload.
 *   tagged:   control 2, STag 4, TO 8
 *   untagged: control 2, RDMAP-reserved (invalidate STag) 4, queue 4, MSN 4, MO 4
 */
#ifndef WIRE_DDP_H
#define WIRE_DDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DDP_TAGGED_HEADER = 14,
    DDP_UNTAGGED_HEADER = 18,
    DDP_MAX_HEADER = 18,
    DDP_VERSION = 1,
    RDMAP_VERSION = 1,
    RDMAP_READ_REQUEST = 28, /* payload of a Read Request */
};

enum ddp_queue {
    DDP_QUEUE_SEND = 0,
    DDP_QUEUE_READ = 1,
    DDP_QUEUE_TERMINATE = 2,
};

enum rdmap_opcode {
    RDMAP_WRITE = 0,
    RDMAP_READ_REQ = 1,
    RDMAP_READ_RESP = 2,
    RDMAP_SEND = 3,
    RDMAP_SEND_INV = 4,
    RDMAP_SEND_SE = 5,
    RDMAP_SEND_SE_INV = 6,
    RDMAP_TERMINATE = 7,
};

struct ddp_header {
    bool tagged;
    bool last;
    uint8_t ddp_version;     /* set by decode; encode ignores it and writes 1 */
    uint8_t rdmap_version;   /* set by decode; encode ignores it and writes 1 */
    uint8_t opcode;          /* enum rdmap_opcode; decode may also set a reserved opcode */
    uint32_t stag;           /* tagged: the target's STag; untagged: the STag to invalidate */
    uint64_t to;             /* only if tagged */
    uint32_t queue, msn, mo; /* only if untagged */
};

/* Sets *size to the length of the header that the first byte announces. Returns false if `len` is less than *size. */
bool ddp_header_decode(struct ddp_header *h, const uint8_t *bytes, size_t len, size_t *size);
/* Returns the header's length, or 0 if the header is longer than `size`. */
size_t ddp_header_encode(const struct ddp_header *h, uint8_t *bytes, size_t size);
/*
 * Writes the beginning of an FPDU: MPA's length field for a ULPDU of this size, then the DDP header. Returns the size
 * of both. Stores eight bytes at a time, like the loads of the checksum. If the stores were smaller, each load would
 * wait until the stores have left the processor's store buffer.
 */
enum { DDP_MAX_FPDU_BEGIN = 20 };
size_t ddp_fpdu_begin(const struct ddp_header *h, size_t ulpdu, uint8_t fpdu[DDP_MAX_FPDU_BEGIN]);

struct rdmap_read_request {
    uint32_t sink_stag;
    uint64_t sink_to;
    uint32_t length;
    uint32_t source_stag;
    uint64_t source_to;
};

/*
 * Decodes the payload of a Read Request. Returns false if `len` is not RDMAP_READ_REQUEST, the size of the payload in
 * bytes.
 */
bool rdmap_read_decode(struct rdmap_read_request *r, const uint8_t *bytes, size_t len);
size_t rdmap_read_encode(const struct rdmap_read_request *r, uint8_t *bytes, size_t size);
/* Writes a Read Request's FPDU without the checksum, in stores of eight bytes. h must be untagged. */
enum { RDMAP_READ_FPDU = 48 };
void rdmap_read_fpdu(const struct ddp_header *h, const struct rdmap_read_request *r, uint8_t fpdu[RDMAP_READ_FPDU]);

#endif
