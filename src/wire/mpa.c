/* SPDX-License-Identifier: MIT */
/*
 * Encodes and decodes MPA start-up frames. The invariant: the decoder checks only key and length. The start-up code
 * checks revision and flags, because the answer to wrong values depends on role and settings.
 *
 *   bytes 0-15   key
 *   byte 16      flags, in hexadecimal: M 80, C 40, R 20, S 10 (S from revision 2 on); the other bits are reserved
 *   byte 17      revision
 *   bytes 18-19  length of what follows
 *   only with S  two words of 16 bits, in hexadecimal: first A 8000, B 4000, IRD 3fff; then C 8000, D 4000, ORD 3fff
 *   the rest     the user's private data
 */
#include "wire/mpa.h"

#include <string.h>

#include "base/cursor.h"

enum {
    KEY_SIZE = 16,
    FLAG_M = 0x80,
    FLAG_C = 0x40,
    FLAG_R = 0x20,
    FLAG_S = 0x10,
    LIMIT_MASK = 0x3fff,
    IRD_A = 0x8000,
    IRD_B = 0x4000,
    ORD_C = 0x8000,
    ORD_D = 0x4000,
    ENHANCED_REVISION = 2,
    MIN_ULPDU = 128,
    MAX_ULPDU = 65535 - MPA_FPDU_OVERHEAD,
};

static const uint8_t request_key[] = "MPA ID Req Frame";
static const uint8_t reply_key[] = "MPA ID Rep Frame";

static const uint8_t *mpa_key(bool reply)
{
    return reply ? reply_key : request_key;
}

static void mpa_decode_limits(struct mpa_frame *f, struct cursor_in *c)
{
    uint16_t ird = cursor_get16(c);
    uint16_t ord = cursor_get16(c);

    f->has_limits = true;
    f->peer_to_peer = ird & IRD_A;
    f->rtr = (ird & IRD_B ? MPA_RTR_ZERO_FPDU : 0u) | (ord & ORD_C ? MPA_RTR_WRITE : 0u) |
             (ord & ORD_D ? MPA_RTR_READ : 0u);
    f->ird = ird & LIMIT_MASK;
    f->ord = ord & LIMIT_MASK;
}

enum mpa_decode mpa_frame_decode(struct mpa_frame *f, bool reply, const uint8_t *bytes, size_t len, size_t *need)
{
    struct cursor_in c = cursor_in(bytes, len);
    size_t key_len = len < KEY_SIZE ? len : KEY_SIZE;
    uint16_t private_len;
    uint8_t flags;

    *need = MPA_FRAME_HEADER;
    if (key_len > 0 && memcmp(bytes, mpa_key(reply), key_len) != 0)
        return MPA_BAD_KEY;
    if (len < MPA_FRAME_HEADER)
        return MPA_MORE;
    cursor_get(&c, KEY_SIZE);
    flags = cursor_get8(&c);
    *f = (struct mpa_frame){
        .reply = reply,
        .markers = flags & FLAG_M,
        .crc = flags & FLAG_C,
        .rejected = flags & FLAG_R,
        .revision = cursor_get8(&c),
    };
    f->enhanced = f->revision >= ENHANCED_REVISION && flags & FLAG_S;
    private_len = cursor_get16(&c);
    if (private_len > MPA_MAX_PRIVATE_DATA)
        return MPA_BAD_LENGTH;
    *need = MPA_FRAME_HEADER + (size_t)private_len;
    if (c.remaining < private_len)
        return MPA_MORE;
    c.remaining = private_len;
    if (f->enhanced && private_len >= MPA_LIMITS)
        mpa_decode_limits(f, &c);
    f->private_data = c.at;
    f->private_len = c.remaining;
    return MPA_DECODED;
}

size_t mpa_frame_encode(const struct mpa_frame *f, uint8_t *bytes, size_t size)
{
    struct cursor_out c = cursor_out(bytes, size);
    size_t limits = f->enhanced ? MPA_LIMITS : 0;

    if (f->private_len > MPA_MAX_PRIVATE_DATA - limits)
        return 0;
    cursor_put(&c, mpa_key(f->reply), KEY_SIZE);
    cursor_put8(&c, (uint8_t)((f->markers ? FLAG_M : 0) | (f->crc ? FLAG_C : 0) | (f->rejected ? FLAG_R : 0) |
                              (f->enhanced ? FLAG_S : 0)));
    cursor_put8(&c, f->revision);
    cursor_put16(&c, (uint16_t)(f->private_len + limits));
    if (f->enhanced) {
        cursor_put16(&c, (uint16_t)((f->peer_to_peer ? IRD_A : 0) | (f->rtr & MPA_RTR_ZERO_FPDU ? IRD_B : 0) |
                                    (f->ird & LIMIT_MASK)));
        cursor_put16(&c, (uint16_t)((f->rtr & MPA_RTR_WRITE ? ORD_C : 0) | (f->rtr & MPA_RTR_READ ? ORD_D : 0) |
                                    (f->ord & LIMIT_MASK)));
    }
    cursor_put(&c, f->private_data, f->private_len);
    return c.failed ? 0 : size - c.remaining;
}

size_t mpa_max_ulpdu(size_t emss)
{
    size_t max = emss > MPA_FPDU_CRC ? ((emss - MPA_FPDU_CRC) & ~(size_t)3) : 0;

    max = max > MPA_FPDU_LENGTH ? max - MPA_FPDU_LENGTH : 0;
    if (max < MIN_ULPDU)
        return MIN_ULPDU;
    return max < MAX_ULPDU ? max : MAX_ULPDU;
}
