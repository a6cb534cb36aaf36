/* SPDX-License-Identifier: MIT */
/*
 * MPA (RFC 5044, RFC 6581): the start-up frames, and the framing of FPDUs. Pure encoding and decoding: no state.
 */
#ifndef WIRE_MPA_H
#define WIRE_MPA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MPA_FRAME_HEADER = 20,       /* key 16, flags 1, revision 1, private data length 2 */
    MPA_PRIVATE_MAX = 512,       /* RFC 5044, IRD and ORD included */
    MPA_FRAME_MAX = MPA_FRAME_HEADER + MPA_PRIVATE_MAX,
    MPA_LIMITS = 4,              /* the IRD and ORD words of an enhanced (S) frame */
    MPA_LIMIT_NONE = 0x3fff,     /* "no limit stated" in IRD or ORD */
    MPA_FPDU_LENGTH = 2,
    MPA_FPDU_CRC = 4,
    MPA_FPDU_OVERHEAD = 2 + 3 + 4, /* length, most padding, CRC */
};

/* The ready-to-receive forms of RFC 6581, as a set. */
enum mpa_rtr {
    MPA_RTR_NONE = 0,
    MPA_RTR_ZERO_FPDU = 1, /* B: zero-length FPDU (a zero-length send) */
    MPA_RTR_WRITE = 2,     /* C: zero-length RDMA write */
    MPA_RTR_READ = 4,      /* D: zero-length RDMA read */
};

struct mpa_frame {
    bool reply;
    bool markers;  /* M */
    bool crc;      /* C */
    bool rejected; /* R, replies only */
    bool enhanced; /* S: IRD and ORD precede the private data */
    uint8_t revision;
    bool has_limits;   /* S with the four bytes present */
    bool peer_to_peer; /* A */
    unsigned rtr;      /* set of enum mpa_rtr: flags B, C, D */
    uint16_t ird, ord; /* 14 bits */
    const uint8_t *private_data; /* the user's part; points into the decoded bytes */
    size_t private_len;
};

enum mpa_decode {
    MPA_DECODED,
    MPA_MORE,         /* *need tells how many bytes the whole frame has, as far as known by now */
    MPA_BAD_KEY,      /* told at the first wrong byte */
    MPA_BAD_LENGTH,   /* private data beyond MPA_PRIVATE_MAX */
};

/*
 * Decodes a request (reply false) or a reply from the first len bytes; more than the frame may be there. Revisions and
 * flags are the caller's to judge; reserved bits are ignored, and S is one of them before revision 2. S with fewer than
 * four bytes: enhanced without has_limits.
 */
enum mpa_decode mpa_frame_decode(struct mpa_frame *f, bool reply, const uint8_t *bytes, size_t len, size_t *need);
/*
 * Returns the size; 0 where it does not fit into size, or the private data (limits included) into MPA_PRIVATE_MAX.
 * Enhanced frames always carry the limits.
 */
size_t mpa_frame_encode(const struct mpa_frame *f, uint8_t *bytes, size_t size);

/* An FPDU of a ULPDU of this length: 2 + length + padding + 4. */
static inline size_t mpa_fpdu_size(size_t ulpdu)
{
    return ((MPA_FPDU_LENGTH + ulpdu + 3) & ~(size_t)3) + MPA_FPDU_CRC;
}

/* The largest ULPDU whose FPDU fits into a segment of emss bytes (at least 128, at most 65,526). */
size_t mpa_max_ulpdu(size_t emss);

#endif
