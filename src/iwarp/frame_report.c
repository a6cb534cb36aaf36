/* SPDX-License-Identifier: MIT */
/* Reports FPDUs to the owner, which may record them. The invariant: nothing in this file changes the queue pair. */
#include "iwarp/qp_internal.h"

void iw_qp_report_frames(struct iw_qp *qp)
{
    qp->reports_frames = true;
}

void frame_report_now(struct iw_qp *qp, bool is_sent, enum iw_frame_crc crc, const uint8_t *bytes, size_t len,
                      uint32_t ulpdu)
{
    struct iw_frame f = { .is_sent = is_sent, .crc = crc, .ulpdu = ulpdu, .bytes = bytes, .len = len };
    size_t size;

    f.has_header = ddp_header_decode(&f.header, bytes, len, &size);
    /* Copies only the header of a tagged segment or a send, because its payload may lie elsewhere. */
    if (f.has_header && (f.header.tagged || f.header.queue == DDP_QUEUE_SEND))
        f.len = size;
    else if (f.len > DDP_UNTAGGED_HEADER + TERMINATE_MAX_PAYLOAD)
        f.len = DDP_UNTAGGED_HEADER + TERMINATE_MAX_PAYLOAD;
    qp->events->frame(qp, &f);
}
