/* SPDX-License-Identifier: MIT */
/* FPDUs and start-up frames as bytes: see frames.h. */
#include "hostile/frames.h"

#include <string.h>

#include "wire/crc32c.h"

size_t frame_fpdu(uint8_t *out, const uint8_t *ulpdu, size_t len, bool crc)
{
    size_t size = mpa_fpdu_size(len), covered = size - MPA_FPDU_CRC;

    memset(out, 0, size);
    out[0] = (uint8_t)(len >> 8);
    out[1] = (uint8_t)len;
    if (len)
        memcpy(out + MPA_FPDU_LENGTH, ulpdu, len);
    if (crc)
        crc32c_final(crc32c_update(CRC32C_INIT, out, covered), out + covered);
    return size;
}

bool frame_crc_is_right(const uint8_t *fpdu, size_t size)
{
    uint8_t crc[MPA_FPDU_CRC];

    crc32c_final(crc32c_update(CRC32C_INIT, fpdu, size - MPA_FPDU_CRC), crc);
    return memcmp(crc, fpdu + size - MPA_FPDU_CRC, sizeof crc) == 0;
}

static struct ddp_header untagged(uint8_t opcode, uint32_t queue, uint32_t msn)
{
    return (struct ddp_header){ .last = true,
                                .ddp_version = DDP_VERSION,
                                .rdmap_version = RDMAP_VERSION,
                                .opcode = opcode,
                                .queue = queue,
                                .msn = msn };
}

struct ddp_header frame_send_header(uint32_t msn, uint32_t mo, bool last)
{
    struct ddp_header h = untagged(RDMAP_SEND, DDP_QUEUE_SEND, msn);

    h.mo = mo;
    h.last = last;
    return h;
}

struct ddp_header frame_read_header(uint32_t msn)
{
    return untagged(RDMAP_READ_REQ, DDP_QUEUE_READ, msn);
}

struct ddp_header frame_write_header(uint32_t stag, uint64_t to, bool last)
{
    return (struct ddp_header){ .tagged = true,
                                .last = last,
                                .ddp_version = DDP_VERSION,
                                .rdmap_version = RDMAP_VERSION,
                                .opcode = RDMAP_WRITE,
                                .stag = stag,
                                .to = to };
}

size_t frame_ulpdu(uint8_t *out, const struct ddp_header *h, const void *payload, size_t len)
{
    size_t size = ddp_header_encode(h, out, DDP_MAX_HEADER);

    /* The encoder writes valid versions. The header's versions replace them. */
    out[0] = (uint8_t)((out[0] & ~3) | (h->ddp_version & 3));
    out[1] = (uint8_t)((out[1] & 0x3f) | h->rdmap_version << 6);
    if (len)
        memcpy(out + size, payload, len);
    return size + len;
}

size_t frame_read(uint8_t *out, uint32_t msn, const struct rdmap_read_request *r)
{
    struct ddp_header h = frame_read_header(msn);
    uint8_t payload[RDMAP_READ_REQUEST];

    rdmap_read_encode(r, payload, sizeof payload);
    return frame_ulpdu(out, &h, payload, sizeof payload);
}

size_t frame_mpa(uint8_t *out, bool reply, bool crc, const void *private_data, size_t len)
{
    struct mpa_frame f = { .reply = reply,
                           .crc = crc,
                           .enhanced = true,
                           .revision = 2,
                           .has_limits = true,
                           .peer_to_peer = true,
                           .rtr = MPA_RTR_ZERO_FPDU,
                           .ird = 8,
                           .ord = 8,
                           .private_data = private_data,
                           .private_len = len };

    return mpa_frame_encode(&f, out, MPA_MAX_FRAME);
}
