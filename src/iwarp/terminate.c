/* SPDX-License-Identifier: MIT */
/*
 * Sends and receives Terminates. A Terminate is the last message of a stream. The side that has found an error sends
 * it. It contains the error's code and, for errors of DDP and RDMAP, the headers of the faulty segment.
 */
#include <string.h>

#include "base/cursor.h"
#include "iwarp/qp_internal.h"

enum { LAYER_MPA = 2 };

static unsigned terminate_layer(enum wire_error error)
{
    return (unsigned)error >> 12;
}

static unsigned terminate_type(enum wire_error error)
{
    return (unsigned)error >> 8 & 0xf;
}

/* Copies the DDP header of the segment, and for a Read Request also its RDMAP header. */
static void terminate_header(struct terminate *t, const uint8_t *ulpdu, size_t len, uint32_t ulpdu_len)
{
    struct ddp_header h;
    size_t size;

    t->has_header = true;
    t->segment_len = (uint16_t)ulpdu_len;
    if (!ddp_header_decode(&h, ulpdu, len, &size))
        return;
    if (!h.tagged && h.queue == DDP_QUEUE_READ && h.opcode == RDMAP_READ_REQ && len >= size + RDMAP_READ_REQUEST)
        size += RDMAP_READ_REQUEST;
    memcpy(t->header, ulpdu, size);
    t->header_len = size;
}

static size_t terminate_frame(bool crc, const struct terminate *t, uint8_t fpdu[IW_TERMINATE_FPDU])
{
    struct ddp_header h = {
        .last = true,
        .opcode = RDMAP_TERMINATE,
        .queue = DDP_QUEUE_TERMINATE,
        .msn = 1,
        .mo = 0,
    };
    uint8_t *at = fpdu + MPA_FPDU_LENGTH;
    size_t size = ddp_header_encode(&h, at, DDP_UNTAGGED_HEADER);

    size += terminate_encode(t, at + size, TERMINATE_MAX_PAYLOAD);
    return fpdu_finish(crc, fpdu, size);
}

void terminate_queue(struct iw_qp *qp, enum wire_error error, const uint8_t *ulpdu, size_t len, uint32_t ulpdu_len)
{
    struct terminate t = { .error = error };

    if (ulpdu && terminate_layer(error) != LAYER_MPA)
        terminate_header(&t, ulpdu, len, ulpdu_len);
    qp->terminate_len = (uint32_t)terminate_frame(qp->crc, &t, qp->terminate);
    qp->terminate_sent = 0;
}

size_t iw_terminate_frame(bool crc, enum wire_error error, uint8_t fpdu[IW_TERMINATE_FPDU])
{
    struct terminate t = { .error = error };

    return terminate_frame(crc, &t, fpdu);
}

/*
 * Returns the status of a read that the peer's Terminate refuses. Returns RDMA_STATUS_LOST if the error refuses no
 * read.
 */
static enum rdma_status terminate_read_status(enum wire_error error)
{
    switch (error) {
    case WIRE_RDMAP_BOUNDS:
    case WIRE_RDMAP_TO_WRAP:
    case WIRE_DDP_TAGGED_BOUNDS:
    case WIRE_DDP_TAGGED_WRAP:
        return RDMA_STATUS_REMOTE_RANGE;
    default:
        break;
    }
    /* RDMAP's remote protection errors and DDP's tagged buffer errors both have the type 1. */
    if (terminate_type(error) == 1 && terminate_layer(error) < LAYER_MPA)
        return RDMA_STATUS_REMOTE_ACCESS;
    return RDMA_STATUS_LOST;
}

/* Returns the read in flight whose request has this MSN, or NULL. */
static struct entry *terminate_find_msn(const struct iw_qp *qp, uint32_t msn)
{
    uint32_t reads = qp->tx.reads - (qp->tx.rtr_read ? 1 : 0);
    uint32_t at = qp->tx.read_msn - reads;

    for (uint32_t i = queue_head(&qp->sq); i != qp->tx.next; i++) {
        struct entry *e = queue_at(&qp->sq, i);
        if (e->state == ENTRY_IN_FLIGHT && at++ == msn)
            return e;
    }
    return NULL;
}

/* Returns the read to which the peer's Terminate refers, or NULL. */
static struct entry *terminate_find_read(const struct iw_qp *qp, const struct terminate *t)
{
    struct ddp_header h;
    size_t size;

    if (!t->has_header || !ddp_header_decode(&h, t->header, t->header_len, &size))
        return terminate_layer(t->error) == 0 ? reads_oldest(qp) : NULL;
    if (h.tagged || h.opcode != RDMAP_READ_REQ)
        return NULL;
    return terminate_find_msn(qp, h.msn);
}

void terminate_received(struct iw_qp *qp, const uint8_t *payload, uint32_t len)
{
    struct terminate t;
    struct entry *read;

    /* A Terminate whose headers are missing or cut short still has its code. */
    if (!terminate_decode(&t, payload, len))
        t.has_header = false;
    read = terminate_find_read(qp, &t);
    if (read && terminate_read_status(t.error) != RDMA_STATUS_LOST)
        entry_fail(read, terminate_read_status(t.error), t.error);
    stream_end(qp, IW_END_PEER_TERMINATE, t.error);
}
