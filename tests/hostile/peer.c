/* SPDX-License-Identifier: MIT */
/* One peer's bytes in both directions: see peers.h. A change must not access a peer that has ended. */
#include <errno.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hostile/peers_internal.h"
#include "wire/terminate.h"

enum { READ_AT_ONCE = 65536, FRAMES_AT_ONCE = 64 };

/* ---- the end ---- */

static void count_end(const char *how)
{
    unsigned i = 0;

    while (i < totals.ends_count && strcmp(totals.ends[i].name, how) != 0)
        i++;
    if (i == MAX_ENDS)
        return;
    if (i == totals.ends_count) {
        snprintf(totals.ends[i].name, ENDS_NAME, "%s", how);
        totals.ends_count++;
    }
    totals.ends[i].count++;
}

static void peer_free(struct peer *p)
{
    close(p->fd);
    free(p->out);
    free(p->in);
    p->out = p->in = NULL;
    p->state = PEER_FREE;
    peers_slot_is_free(p);
}

void peer_ended(struct peer *p, const char *how)
{
    char name[ENDS_NAME];
    bool was_open = p->state == PEER_OPEN;

    if (p->has_terminate)
        snprintf(name, sizeof name, "terminate 0x%04x", p->terminate);
    else
        snprintf(name, sizeof name, "%s%s", was_open ? "" : "before reply: ", how);
    count_end(name);
    peer_arrived(p);
    if (running->ended)
        running->ended(p, name);
    peer_free(p);
}

void peer_close(struct peer *p)
{
    totals.closed++;
    peer_arrived(p);
    peer_free(p);
}

void peer_reset(struct peer *p)
{
    struct linger hard = { .l_onoff = 1, .l_linger = 0 };

    setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    peer_close(p);
}

void peer_half_close(struct peer *p)
{
    shutdown(p->fd, SHUT_WR);
}

void peer_stop_reading(struct peer *p)
{
    p->deaf = true;
    peer_watch(p);
}

void peer_drop_bytes(struct peer *p, size_t len)
{
    /* TCP drops them without a copy. */
    if (recv(p->fd, NULL, len, MSG_DONTWAIT | MSG_TRUNC) < 0 && errno != EAGAIN)
        peer_ended(p, "reset");
}

void peer_stop_acknowledging(struct peer *p)
{
    struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = { .len = 1, .filter = &drop };

    if (setsockopt(p->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program))
        totals.failed++;
}

/* ---- sending ---- */

static void keep_rest(struct peer *p, const uint8_t *bytes, size_t len)
{
    if (p->out_len + len > p->out_size) {
        uint8_t *more = realloc(p->out, p->out_len + len);

        if (!more) {
            totals.failed++;
            return;
        }
        p->out = more;
        p->out_size = p->out_len + len;
    }
    memcpy(p->out + p->out_len, bytes, len);
    p->out_len += len;
    peer_watch(p);
}

void peer_send(struct peer *p, const void *bytes, size_t len)
{
    ssize_t sent = 0;

    if (!p->out_len) {
        sent = send(p->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN)
            return; /* the next read returns the reason */
        sent = sent < 0 ? 0 : sent;
        totals.bytes += (size_t)sent;
    }
    if ((size_t)sent < len)
        keep_rest(p, (const uint8_t *)bytes + sent, len - (size_t)sent);
}

bool peer_send_rest(struct peer *p)
{
    ssize_t sent;

    if (!p->out_len)
        return true;
    sent = send(p->fd, p->out, p->out_len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0)
        return false;
    totals.bytes += (size_t)sent;
    p->out_len -= (size_t)sent;
    memmove(p->out, p->out + sent, p->out_len);
    return p->out_len == 0;
}

void peer_send_ulpdu(struct peer *p, const uint8_t *ulpdu, size_t len)
{
    uint8_t fpdu[FRAME_MAX_FPDU];

    totals.frames++;
    peer_send(p, fpdu, frame_fpdu(fpdu, ulpdu, len, p->crc));
}

void peer_send_message(struct peer *p, const void *payload, size_t len)
{
    uint8_t ulpdu[FRAME_MAX_ULPDU];
    struct ddp_header h = frame_send_header(p->msn++, 0, true);

    totals.messages++;
    peer_send_ulpdu(p, ulpdu, frame_ulpdu(ulpdu, &h, payload, len));
}

void peer_request(struct peer *p)
{
    uint8_t frame[MPA_MAX_FRAME];

    p->state = PEER_REQUESTED;
    peer_send(p, frame, frame_mpa(frame, false, !options.no_crc, NULL, 0));
}

static void peer_open(struct peer *p)
{
    p->state = PEER_OPEN;
    p->msn = p->read_msn = 1;
    totals.replied++;
    peer_watch(p);
    if (running->opened)
        running->opened(p);
}

void peer_reply(struct peer *p)
{
    uint8_t frame[MPA_MAX_FRAME];

    peer_send(p, frame, frame_mpa(frame, true, true, NULL, 0));
    p->crc = true;
    peer_open(p);
}

/* ---- receiving ---- */

static uint64_t get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

static void learn_memory(struct peer *p, const struct mpa_frame *f)
{
    if (f->private_len < VICTIM_PRIVATE)
        return;
    p->memory.address = get(f->private_data, 8);
    p->memory.token = (uint32_t)get(f->private_data + 8, 4);
    p->memory.length = (uint32_t)get(f->private_data + 12, 4);
    p->memory.fixed_address = get(f->private_data + 16, 8);
    p->memory.fixed_token = (uint32_t)get(f->private_data + 24, 4);
}

/* Handles a start-up frame. Returns its size, or 0 if it is incomplete or the peer has ended. */
static size_t peer_handle_start_up(struct peer *p)
{
    struct mpa_frame f;
    size_t need = 0;
    enum mpa_decode d = mpa_frame_decode(&f, !running->is_server, p->in, p->in_len, &need);
    size_t size = MPA_FRAME_HEADER + (size_t)get(p->in + 18, 2);

    if (d == MPA_MORE)
        return 0;
    if (d != MPA_DECODED) {
        peer_ended(p, "not a start-up frame");
        return 0;
    }
    if (running->is_server) {
        p->state = PEER_REQUESTED;
        p->in_len -= size;
        memmove(p->in, p->in + size, p->in_len);
        running->requested(p);
        return 0;
    }
    if (f.rejected) {
        totals.rejected++;
        peer_ended(p, "rejected");
        return 0;
    }
    p->crc = f.crc;
    learn_memory(p, &f);
    p->state = PEER_OPEN;
    peer_send_ulpdu(p, NULL, 0); /* ready to receive */
    return size;
}

static void peer_handle_ulpdu(struct peer *p, const uint8_t *ulpdu, size_t len)
{
    struct ddp_header h;
    struct terminate t;
    size_t header;

    totals.received_frames++;
    if (ddp_header_decode(&h, ulpdu, len, &header) && !h.tagged && h.queue == DDP_QUEUE_TERMINATE &&
        terminate_decode(&t, ulpdu + header, len - header)) {
        p->has_terminate = true;
        p->terminate = (uint16_t)t.error;
    } else if (running->received) {
        running->received(p, ulpdu, len);
    }
}

/* Like peer_handle_start_up. */
static size_t peer_handle_fpdu(struct peer *p)
{
    size_t len, size;

    if (p->in_len < MPA_FPDU_LENGTH)
        return 0;
    len = (size_t)get(p->in, 2);
    size = mpa_fpdu_size(len);
    if (p->in_len < size)
        return 0;
    if (p->crc && !frame_crc_is_right(p->in, size))
        totals.wrong_crc++;
    peer_handle_ulpdu(p, p->in + MPA_FPDU_LENGTH, len);
    return p->state == PEER_OPEN ? size : 0;
}

/* Handles one frame. Returns false if it is incomplete or the peer may have ended. */
static bool peer_handle_frame(struct peer *p)
{
    unsigned number = p->number;
    bool starts = p->state != PEER_OPEN;
    size_t size = starts ? peer_handle_start_up(p) : peer_handle_fpdu(p);

    if (!size || p->state == PEER_FREE || p->number != number)
        return false;
    p->in_len -= size;
    memmove(p->in, p->in + size, p->in_len);
    if (starts)
        peer_open(p);
    return p->state == PEER_OPEN && p->number == number;
}

static bool has_room(struct peer *p)
{
    if (p->in_size - p->in_len >= READ_AT_ONCE)
        return true;
    uint8_t *more = realloc(p->in, p->in_len + READ_AT_ONCE);
    if (!more)
        return false;
    p->in = more;
    p->in_size = p->in_len + READ_AT_ONCE;
    return true;
}

void peer_read(struct peer *p)
{
    ssize_t n;

    if (!has_room(p)) {
        totals.failed++;
        return;
    }
    n = recv(p->fd, p->in + p->in_len, p->in_size - p->in_len, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        peer_ended(p, n == 0 ? "eof" : errno == ECONNRESET || errno == EPIPE ? "reset" : strerror(errno));
        return;
    }
    p->in_len += (size_t)n;
    if (p->state == PEER_CONNECTED && !running->is_server) {
        peer_ended(p, "bytes before a request");
        return;
    }
    while (peer_handle_frame(p))
        ;
}
