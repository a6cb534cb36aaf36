/* SPDX-License-Identifier: MIT */
/*
 * Reports FPDUs to the owner, which may record them. The invariant: this file changes nothing of the queue pair except
 * the settings of the reports.
 */
#include "iwarp/qp_internal.h"

void iw_qp_report_frames(struct iw_qp *qp, uint32_t max_payload)
{
    qp->reports_frames = true;
    qp->max_payload = max_payload;
}

static bool frame_is_control(const struct ddp_header *h)
{
    return !h->tagged && h->queue != DDP_QUEUE_SEND;
}

/* Returns the number of payload bytes that the report of this segment contains: see iw_qp_report_frames. */
static uint32_t frame_reported_payload(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload)
{
    uint32_t max = qp->max_payload;

    if (frame_is_control(h) && max < TERMINATE_MAX_PAYLOAD)
        max = TERMINATE_MAX_PAYLOAD;
    return payload < max ? payload : max;
}

void frame_report_received_now(struct iw_qp *qp, enum iw_frame_crc crc, const uint8_t *bytes, size_t len,
                               uint32_t ulpdu)
{
    struct iw_frame f = { .crc = crc, .ulpdu = ulpdu, .bytes = bytes };
    size_t size;

    f.has_header = ddp_header_decode(&f.header, bytes, len, &size);
    if (f.has_header) {
        f.payload = bytes + size;
        f.payload_len = frame_reported_payload(qp, &f.header, (uint32_t)(len - size));
    }
    qp->events->frame(qp, &f);
}

void frame_report_sent(struct iw_qp *qp, struct iw_scratch *s, const uint8_t *fpdu, size_t begin)
{
    struct iw_frame f = { .is_sent = true,
                          .crc = qp->crc ? IW_CRC_GOOD : IW_CRC_NONE,
                          .ulpdu = (uint32_t)fpdu[0] << 8 | fpdu[1],
                          .bytes = fpdu + MPA_FPDU_LENGTH };
    uint8_t *copy = NULL;
    size_t size;

    f.has_header = ddp_header_decode(&f.header, f.bytes, f.ulpdu, &size);
    if (f.has_header) {
        f.payload = f.bytes + size;
        f.payload_len = frame_reported_payload(qp, &f.header, f.ulpdu - (uint32_t)size);
    }
    if (f.payload_len > 0 && !frame_is_control(&f.header)) {
        begin += MPA_FPDU_LENGTH + size;
        copy = scratch_alloc_buffer(s);
        f.payload_len = copy ? (uint32_t)tx_batch_copy(&s->batch, begin, begin + f.payload_len, copy) : 0;
        f.payload = copy;
    }
    qp->events->frame(qp, &f);
    scratch_free_buffer(s, copy);
}
