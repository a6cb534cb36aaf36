/* SPDX-License-Identifier: MIT */
/*
 * The least that the wire format can cost: one connection that frames each message as iWARP does (MPA, DDP, RDMAP,
 * CRC32c at both ends), receives into a staging area, verifies, and copies from there. No queues, registrations, locks,
 * or anything else that an interface promises; but a second thread, which sleeps, as whoever may have to tell of a
 * message has one. Nothing of a frame is judged beyond what keeps this process's memory safe. Both ends look on. A
 * request leaves at once, but requests that others were said to follow wait for the next look, so that a window of them
 * leaves in one call; and all answers to what one call brought leave in one.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "link.h"
#include "tcp_side.h"
#include "wire/crc32c.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

enum {
    STAGE = 256 * 1024 + 65536, /* what one call may bring, behind an incomplete FPDU */
    FRAMES = 800 * 1024,        /* headers, trailers and payload that is copied, until they have left */
    PIECES = 512,
    COPY_BELOW = 512,
    LONG_ANSWER = 192 * 1024,   /* as the library: so much came in a row is acknowledged at once */
    EARLY = 24 * 1024,          /* as the library: a long message's beginning leaves while the rest is made */
};

struct floor {
    int fd;
    bool crc, gathering;
    size_t most;                /* octets of a ULPDU */
    uint32_t msn[2];            /* of the sends, of the read requests */
    uint8_t *stage, *frames;
    size_t staged, framed;
    unsigned pieces, waiting;   /* requests that have not left, nor completed therefore */
    size_t heard;               /* octets in a row, since something was sent */
    struct iovec piece[PIECES]; /* neighbours in frames are one */
    sem_t never;
};

/* ---- sending ---- */

static void add_piece(struct floor *f, void *at, size_t len)
{
    struct iovec *last = f->pieces ? &f->piece[f->pieces - 1] : NULL;

    if (last && (uint8_t *)last->iov_base + last->iov_len == at)
        last->iov_len += len;
    else if (len)
        f->piece[f->pieces++] = (struct iovec){ at, len };
}

static void leave(struct floor *f)
{
    struct iovec *piece = f->piece;

    while (f->pieces) {
        struct msghdr m = { .msg_iov = piece, .msg_iovlen = f->pieces };
        ssize_t n = f->pieces == 1 ? send(f->fd, piece->iov_base, piece->iov_len, MSG_NOSIGNAL)
                                   : sendmsg(f->fd, &m, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            bench_die("send: %s", strerror(errno));
        f->heard = 0;
        for (size_t left = n > 0 ? (size_t)n : 0; left;) {
            size_t part = left < piece->iov_len ? left : piece->iov_len;

            piece->iov_base = (uint8_t *)piece->iov_base + part;
            piece->iov_len -= part;
            left -= part;
            if (!piece->iov_len) {
                piece++;
                f->pieces--;
            }
        }
    }
    f->framed = 0;
}

/* Headers of so many octets are at start already. Short payload is copied behind them; summed apart: ddp_fpdu_begin. */
static void frame(struct floor *f, uint8_t *start, size_t headers, const uint8_t *payload, size_t len, bool copies)
{
    uint8_t *at = start + headers;
    size_t ulpdu = headers - MPA_FPDU_LENGTH + len, rest = mpa_fpdu_size(ulpdu) - MPA_FPDU_LENGTH - ulpdu;
    uint32_t sum = f->crc ? crc32c_update(CRC32C_INIT, start, headers) : 0;

    if (len <= COPY_BELOW) {
        memcpy(at, payload, len);
        at += len;
        add_piece(f, start, (size_t)(at - start));
    } else if (copies) {
        sum = crc32c_copy(sum, at, payload, len);
        at += len;
        add_piece(f, start, (size_t)(at - start));
    } else {
        add_piece(f, start, headers);
        add_piece(f, (void *)(uintptr_t)payload, len);
        sum = f->crc ? crc32c_update(sum, payload, len) : 0;
    }
    memset(at, 0, rest); /* padding and checksum */
    if (f->crc) {
        uint8_t *from = len <= COPY_BELOW ? at - len : at; /* what has not been summed yet */
        size_t pad = rest - MPA_FPDU_CRC;

        crc32c_final(crc32c_update(sum, from, (size_t)(at - from) + pad), at + pad);
    }
    add_piece(f, at, rest);
    f->framed = (size_t)(at + rest - f->frames);
}

/* What a peer reads may be written meanwhile: with a checksum it is copied first. */
static void message(struct floor *f, struct ddp_header h, const uint8_t *payload, size_t len)
{
    size_t header = h.tagged ? DDP_TAGGED_HEADER : DDP_UNTAGGED_HEADER;
    bool copies = f->crc && h.opcode == RDMAP_READ_RESP;

    for (size_t sent = 0; !h.last;) {
        size_t part = len - sent < f->most - header ? len - sent : f->most - header;

        h.last = sent + part == len;
        frame(f, f->frames + f->framed, ddp_fpdu_begin(&h, header + part, f->frames + f->framed), payload + sent, part,
              copies);
        sent += part;
        h.to += part;
        h.mo += (uint32_t)part;
        if (f->framed > FRAMES - f->most - 2 * COPY_BELOW || f->pieces > PIECES - 4 ||
            (sent >= EARLY && sent - part < EARLY && len - sent >= EARLY))
            leave(f);
    }
}

static void frame_read_request(struct floor *f, const struct link *l)
{
    struct ddp_header h = { .opcode = RDMAP_READ_REQ, .queue = DDP_QUEUE_READ, .msn = ++f->msn[1] };
    struct rdmap_read_request r = { .sink_stag = 1, .sink_to = (uintptr_t)link_landing(l), .length = (uint32_t)l->size,
                                    .source_stag = (uint32_t)l->peer.token, .source_to = l->peer.address };
    uint8_t *start = f->frames + f->framed;

    h.last = true;
    rdmap_read_fpdu(&h, &r, start);
    frame(f, start, RDMAP_READ_FPDU, start, 0, false);
}

static void leave_all(struct link *l)
{
    struct floor *f = l->own;

    leave(f);
    l->completed += f->waiting;
    f->waiting = 0;
    f->gathering = false;
}

static void post(struct link *l, enum link_op op, bool more)
{
    struct floor *f = l->own;
    struct ddp_header send = { .opcode = RDMAP_SEND_SE, .queue = DDP_QUEUE_SEND };
    struct ddp_header write = { .tagged = true, .opcode = RDMAP_WRITE, .stag = (uint32_t)l->peer.token,
                                .to = l->peer.address + LINK_AREA };

    if (op == LINK_READ) {
        frame_read_request(f, l);
    } else {
        if (op == LINK_SEND)
            send.msn = ++f->msn[0];
        message(f, op == LINK_SEND ? send : write, link_source(l), op == LINK_SEND ? l->message : l->size);
        f->waiting++;
    }
    f->gathering |= more;
    if (!f->gathering)
        leave_all(l);
}

/* ---- receiving ---- */

static uint8_t *within(struct link *l, uint64_t to, size_t len)
{
    uint64_t at = to - (uintptr_t)l->memory;

    if (at > LINK_BYTES || len > LINK_BYTES - at)
        bench_die("the peer names memory that is not there");
    return l->memory + at;
}

static void answer(struct link *l, const uint8_t *request, size_t len)
{
    struct rdmap_read_request r;
    struct ddp_header h = { .tagged = true, .opcode = RDMAP_READ_RESP };

    if (!rdmap_read_decode(&r, request, len))
        bench_die("the peer asks for something else");
    h.stag = r.sink_stag;
    h.to = r.sink_to;
    message(l->own, h, within(l, r.source_to, r.length), r.length);
}

static void take(struct link *l, const uint8_t *ulpdu, size_t len)
{
    struct ddp_header h;
    size_t header;

    if (!ddp_header_decode(&h, ulpdu, len, &header))
        bench_die("the peer sends something else");
    ulpdu += header;
    len -= header;
    if (h.opcode == RDMAP_READ_REQ) {
        answer(l, ulpdu, len);
        return;
    }
    memcpy(within(l, h.tagged ? h.to : (uintptr_t)link_messages(l) + h.mo, len), ulpdu, len);
    if (h.last && h.opcode == RDMAP_READ_RESP)
        l->completed++;
    else if (h.last && !h.tagged)
        l->received++;
}

/* The FPDU at the start of so many octets; 0: it is not all there. */
static size_t take_fpdu(struct link *l, const uint8_t *at, size_t len)
{
    const struct floor *f = l->own;
    size_t ulpdu, size;
    uint8_t sum[MPA_FPDU_CRC];

    if (len < MPA_FPDU_LENGTH)
        return 0;
    ulpdu = (size_t)at[0] << 8 | at[1];
    size = mpa_fpdu_size(ulpdu);
    if (size > len)
        return 0;
    if (f->crc) {
        crc32c_final(crc32c_update(CRC32C_INIT, at, size - MPA_FPDU_CRC), sum);
        if (memcmp(sum, at + size - MPA_FPDU_CRC, sizeof sum) != 0)
            bench_die("a checksum is wrong");
    }
    take(l, at + MPA_FPDU_LENGTH, ulpdu);
    return size;
}

static void hear(struct floor *f, size_t octets)
{
    int on = 1;

    if (f->heard < LONG_ANSWER && f->heard + octets >= LONG_ANSWER)
        (void)setsockopt(f->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
    f->heard += octets;
}

static void poll_once(struct link *l)
{
    struct floor *f = l->own;
    size_t done = 0, size;
    ssize_t n;

    leave_all(l);
    n = recv(f->fd, f->stage + f->staged, STAGE - f->staged, 0);
    if (n == 0 && !atomic_load(&l->ending))
        bench_die("the peer has gone");
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        bench_die("recv: %s", strerror(errno));
    if (n <= 0)
        return;
    f->staged += (size_t)n;
    hear(f, (size_t)n);
    while ((size = take_fpdu(l, f->stage + done, f->staged - done)) > 0)
        done += size;
    leave(f);
    f->staged -= done;
    if (done && f->staged)
        memmove(f->stage, f->stage + done, f->staged);
}

/* Messages go where they always go. */
static void receive(struct link *l)
{
    (void)l;
}

/* ---- both ends ---- */

static void *sleep_on(void *never)
{
    while (sem_wait(never))
        continue;
    return NULL;
}

static int connect_ends(struct link *l, int control)
{
    struct tcp_side *s;
    uint16_t port;

    if (l->client) {
        if (!bench_hear(control, &port, sizeof port))
            bench_die("the second process does not serve");
        return tcp_connect_blocking(port);
    }
    s = tcp_side_open(1);
    tcp_side_listen(s, &port);
    bench_tell(control, &port, sizeof port);
    return tcp_accept_blocking(s);
}

static void open_end(struct link *l, int control)
{
    struct floor *f = bench_pages(sizeof *f);
    const char *crc = getenv("ONDK_CRC");
    int segment = 0;
    socklen_t len = sizeof segment;
    pthread_t thread;

    l->own = f;
    f->crc = !crc || strcmp(crc, "0") != 0;
    f->stage = bench_pages(STAGE);
    f->frames = bench_pages(FRAMES);
    f->fd = connect_ends(l, control);
    if (f->fd < 0 || fcntl(f->fd, F_SETFL, O_NONBLOCK) ||
        getsockopt(f->fd, IPPROTO_TCP, TCP_MAXSEG, &segment, &len))
        bench_die("a connection: %s", strerror(errno));
    f->most = mpa_max_ulpdu((size_t)segment);
    sem_init(&f->never, 0, 0);
    if (pthread_create(&thread, NULL, sleep_on, &f->never))
        bench_die("no thread");
    link_exchange(l, control, (struct link_target){ (uintptr_t)l->memory, 1 });
}

static void close_end(struct link *l, int control)
{
    struct floor *f = l->own;

    (void)control;
    shutdown(f->fd, SHUT_WR);
    while (recv(f->fd, f->stage, STAGE, 0) != 0)
        continue;
    close(f->fd);
}

const struct link_ops floor_ops = { .kind = "the floor", .open = open_end, .receive = receive, .post = post,
                                    .poll = poll_once, .close = close_end };
