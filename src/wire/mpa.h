/* SPDX-License-Identifier: MIT */
/*
 * MPA (RFC 5044, RFC 6581): the start-up frames and the framing of FPDUs. The invariant: these functions keep no state.
 */
#ifndef WIRE_MPA_H
#define WIRE_MPA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MPA_FRAME_HEADER = 20,      /* key 16, flags 1, revision 1, private data length 2 */
    MPA_MAX_PRIVATE_DATA = 512, /* the limit of RFC 5044; includes IRD and ORD */
    MPA_MAX_FRAME = MPA_FRAME_HEADER + MPA_MAX_PRIVATE_DATA,
    MPA_LIMITS = 4,          /* bytes of IRD and ORD, which an enhanced (S) frame has */
    MPA_LIMIT_NONE = 0x3fff, /* no limit is stated in IRD or ORD */
    MPA_FPDU_LENGTH = 2,
    MPA_FPDU_CRC = 4,
    MPA_FPDU_OVERHEAD = 2 + 3 + 4, /* length, at most 3 bytes of padding, CRC */
};

/* The ready-to-receive forms of RFC 6581. A set of forms has one bit for each form. */
enum mpa_rtr {
    MPA_RTR_NONE = 0,
    MPA_RTR_ZERO_FPDU = 1, /* B: an empty FPDU, which has no DDP header */
    MPA_RTR_WRITE = 2,     /* C: zero-length RDMA write */
    MPA_RTR_READ = 4,      /* D: zero-length RDMA read */
};

struct mpa_frame {
    bool reply;
    bool markers;  /* flag M */
    bool crc;      /* flag C */
    bool rejected; /* flag R, only in replies */
    bool enhanced; /* flag S, which announces IRD and ORD before the private data */
    uint8_t revision;
    bool has_limits;             /* flag S is set, and the frame has the four bytes of IRD and ORD */
    bool peer_to_peer;           /* flag A */
    unsigned rtr;                /* set of enum mpa_rtr: flags B, C, D */
    uint16_t ird, ord;           /* 14 bits */
    const uint8_t *private_data; /* the user's part; points into the decoded bytes */
    size_t private_len;
};

enum mpa_decode {
    MPA_DECODED,
    MPA_MORE,       /* the frame is incomplete; *need is its size, or the header's size if the header is incomplete */
    MPA_BAD_KEY,    /* reported at the first wrong byte */
    MPA_BAD_LENGTH, /* the private data is longer than MPA_MAX_PRIVATE_DATA */
};

/*
 * Decodes a request, or a reply if `reply` is true, from `len` bytes. Bytes may follow the frame. The caller must check
 * revision and flags. Reserved bits are ignored; S is reserved before revision 2. If a frame has S but less than four
 * bytes of private data, sets f->enhanced and clears f->has_limits.
 */
enum mpa_decode mpa_frame_decode(struct mpa_frame *f, bool reply, const uint8_t *bytes, size_t len, size_t *need);
/*
 * Returns the frame's size. Returns 0 if the frame is larger than `size`, or if private data and limits together exceed
 * MPA_MAX_PRIVATE_DATA. Enhanced frames always contain the limits.
 */
size_t mpa_frame_encode(const struct mpa_frame *f, uint8_t *bytes, size_t size);

/* Returns the size of an FPDU whose ULPDU has this length: 2 + length + padding + 4. */
static inline size_t mpa_fpdu_size(size_t ulpdu)
{
    return ((MPA_FPDU_LENGTH + ulpdu + 3) & ~(size_t)3) + MPA_FPDU_CRC;
}

/* Returns the largest ULPDU whose FPDU fits into a segment of emss bytes, but at least 128 and at most 65,526. */
size_t mpa_max_ulpdu(size_t emss);

#endif
