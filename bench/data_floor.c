/* SPDX-License-Identifier: MIT */
/*
 * The floor: a link (link.h) with only the minimal cost of iWARP's wire format. The floor frames each message as iWARP
 * does (MPA, DDP, RDMAP, CRC32c at both ends), receives into a staging area, verifies the CRC, and copies the
 * payload from the staging area. The floor has no queues, registrations or locks. It has a second thread that only
 * sleeps, because an implementation with notifications needs a second thread. The floor checks a header field only if
 * a wrong value could cause an access to wrong memory.
 *
 * Both ends poll. The floor sends a single request at once. It sends a burst (requests that are posted with `more`) at
 * the next poll, so that one call sends a whole window. One call also sends all answers to the requests that one recv()
 * returned.
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
    STAGE = 256 * 1024 + 65536, /* room for an incomplete FPDU and the bytes of one recv */
    FRAMES = 800 * 1024,        /* headers, trailers and copied payload that wait to be sent */
    PIECES = 512,
    COPY_BELOW = 512,
    QUICK_ACK = 192 * 1024, /* as in OpenNDK: after receiving this many bytes without sending, acknowledges at once */
    EARLY = 24 * 1024,      /* as in OpenNDK: sends this much of a long message before it frames the rest */
};

struct floor {
    int fd;
    bool crc, gathering;
    size_t max_ulpdu; /* bytes */
    uint32_t msn[2];  /* the last MSN of the sends, and of the read requests */
    uint8_t *stage, *frames;
    size_t staged, framed;
    unsigned pieces, waiting;   /* waiting: number of unsent requests; a request completes when it is sent */
    size_t received_in_row;     /* bytes received since the last send */
    struct iovec piece[PIECES]; /* bytes to send; adjacent bytes share one piece */
    sem_t never;
};

/* ---- sending ---- */

static void floor_add_piece(struct floor *f, void *at, size_t len)
{
    struct iovec *last = f->pieces ? &f->piece[f->pieces - 1] : NULL;

    if (last && (uint8_t *)last->iov_base + last->iov_len == at)
        last->iov_len += len;
    else if (len)
        f->piece[f->pieces++] = (struct iovec){ at, len };
}

static void floor_flush(struct floor *f)
{
    struct iovec *piece = f->piece;

    while (f->pieces) {
        struct msghdr m = { .msg_iov = piece, .msg_iovlen = f->pieces };
        ssize_t n = f->pieces == 1 ? send(f->fd, piece->iov_base, piece->iov_len, MSG_NOSIGNAL)
                                   : sendmsg(f->fd, &m, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            bench_die("send: %s", strerror(errno));
        f->received_in_row = 0;
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

/*
 * Adds payload, padding and CRC to the FPDU at `start`. The caller must have written the headers, which have `headers`
 * bytes. If the payload is short or `copies` is true, copies the payload. Otherwise the payload will be sent from the
 * caller's memory.
 */
static void floor_add_fpdu(struct floor *f, uint8_t *start, size_t headers, const uint8_t *payload, size_t len,
                           bool copies)
{
    uint8_t *at = start + headers;
    size_t ulpdu = headers - MPA_FPDU_LENGTH + len, rest = mpa_fpdu_size(ulpdu) - MPA_FPDU_LENGTH - ulpdu;
    uint32_t sum = f->crc ? crc32c_update(CRC32C_INIT, start, headers) : 0;

    if (len <= COPY_BELOW) {
        memcpy(at, payload, len);
        at += len;
        floor_add_piece(f, start, (size_t)(at - start));
    } else if (copies) {
        sum = crc32c_copy(sum, at, payload, len);
        at += len;
        floor_add_piece(f, start, (size_t)(at - start));
    } else {
        floor_add_piece(f, start, headers);
        floor_add_piece(f, (void *)(uintptr_t)payload, len);
        sum = f->crc ? crc32c_update(sum, payload, len) : 0;
    }
    memset(at, 0, rest); /* padding and CRC */
    if (f->crc) {
        uint8_t *from = len <= COPY_BELOW ? at - len : at; /* bytes that the CRC does not include yet */
        size_t pad = rest - MPA_FPDU_CRC;

        crc32c_final(crc32c_update(sum, from, (size_t)(at - from) + pad), at + pad);
    }
    floor_add_piece(f, at, rest);
    f->framed = (size_t)(at + rest - f->frames);
}

/*
 * Adds a message as one or more FPDUs. Copies the data if the message is a read response and CRCs are used, because the
 * application could change the data after the CRC was computed.
 */
static void floor_add_message(struct floor *f, struct ddp_header h, const uint8_t *payload, size_t len)
{
    size_t header = h.tagged ? DDP_TAGGED_HEADER : DDP_UNTAGGED_HEADER;
    bool copies = f->crc && h.opcode == RDMAP_READ_RESP;

    for (size_t sent = 0; !h.last;) {
        size_t part = len - sent < f->max_ulpdu - header ? len - sent : f->max_ulpdu - header;

        h.last = sent + part == len;
        floor_add_fpdu(f, f->frames + f->framed, ddp_fpdu_begin(&h, header + part, f->frames + f->framed),
                       payload + sent, part, copies);
        sent += part;
        h.to += part;
        h.mo += (uint32_t)part;
        if (f->framed > FRAMES - f->max_ulpdu - 2 * COPY_BELOW || f->pieces > PIECES - 4 ||
            (sent >= EARLY && sent - part < EARLY && len - sent >= EARLY))
            floor_flush(f);
    }
}

static void floor_add_read(struct floor *f, const struct link *l)
{
    struct ddp_header h = { .opcode = RDMAP_READ_REQ, .queue = DDP_QUEUE_READ, .msn = ++f->msn[1] };
    struct rdmap_read_request r = { .sink_stag = 1,
                                    .sink_to = (uintptr_t)link_landing(l),
                                    .length = (uint32_t)l->size,
                                    .source_stag = (uint32_t)l->peer.token,
                                    .source_to = l->peer.address };
    uint8_t *start = f->frames + f->framed;

    h.last = true;
    rdmap_read_fpdu(&h, &r, start);
    floor_add_fpdu(f, start, RDMAP_READ_FPDU, start, 0, false);
}

static void floor_send(struct link *l)
{
    struct floor *f = l->own;

    floor_flush(f);
    l->completed += f->waiting;
    f->waiting = 0;
    f->gathering = false;
}

static void floor_post(struct link *l, enum link_op op, bool more)
{
    struct floor *f = l->own;
    struct ddp_header send = { .opcode = RDMAP_SEND_SE, .queue = DDP_QUEUE_SEND };
    struct ddp_header write = {
        .tagged = true, .opcode = RDMAP_WRITE, .stag = (uint32_t)l->peer.token, .to = l->peer.address + LINK_AREA
    };

    if (op == LINK_READ) {
        floor_add_read(f, l);
    } else {
        if (op == LINK_SEND)
            send.msn = ++f->msn[0];
        floor_add_message(f, op == LINK_SEND ? send : write, link_source(l), op == LINK_SEND ? l->message : l->size);
        f->waiting++;
    }
    f->gathering |= more;
    if (!f->gathering)
        floor_send(l);
}

/* ---- receiving ---- */

static uint8_t *floor_memory(struct link *l, uint64_t to, size_t len)
{
    uint64_t at = to - (uintptr_t)l->memory;

    if (at > LINK_BYTES || len > LINK_BYTES - at)
        bench_die("the peer accesses other memory");
    return l->memory + at;
}

static void floor_answer_read(struct link *l, const uint8_t *request, size_t len)
{
    struct rdmap_read_request r;
    struct ddp_header h = { .tagged = true, .opcode = RDMAP_READ_RESP };

    if (!rdmap_read_decode(&r, request, len))
        bench_die("the peer sent an invalid read request");
    h.stag = r.sink_stag;
    h.to = r.sink_to;
    floor_add_message(l->own, h, floor_memory(l, r.source_to, r.length), r.length);
}

static void floor_handle_ulpdu(struct link *l, const uint8_t *ulpdu, size_t len)
{
    struct ddp_header h;
    size_t header;

    if (!ddp_header_decode(&h, ulpdu, len, &header))
        bench_die("the peer sent an invalid header");
    ulpdu += header;
    len -= header;
    if (h.opcode == RDMAP_READ_REQ) {
        floor_answer_read(l, ulpdu, len);
        return;
    }
    memcpy(floor_memory(l, h.tagged ? h.to : (uintptr_t)link_messages(l) + h.mo, len), ulpdu, len);
    if (h.last && h.opcode == RDMAP_READ_RESP)
        l->completed++;
    else if (h.last && !h.tagged)
        l->received++;
}

/*
 * Handles the FPDU at `at`. Returns the size of the FPDU, or 0 if the `len` bytes at `at` are only a part of the FPDU.
 */
static size_t floor_handle_fpdu(struct link *l, const uint8_t *at, size_t len)
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
    floor_handle_ulpdu(l, at + MPA_FPDU_LENGTH, ulpdu);
    return size;
}

static void floor_count_received(struct floor *f, size_t bytes)
{
    int on = 1;

    if (f->received_in_row < QUICK_ACK && f->received_in_row + bytes >= QUICK_ACK)
        (void)setsockopt(f->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
    f->received_in_row += bytes;
}

static void floor_poll(struct link *l)
{
    struct floor *f = l->own;
    size_t done = 0, size;
    ssize_t n;

    floor_send(l);
    n = recv(f->fd, f->stage + f->staged, STAGE - f->staged, 0);
    if (n == 0 && !atomic_load(&l->ending))
        bench_die("the peer has closed the connection");
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        bench_die("recv: %s", strerror(errno));
    if (n <= 0)
        return;
    f->staged += (size_t)n;
    floor_count_received(f, (size_t)n);
    while ((size = floor_handle_fpdu(l, f->stage + done, f->staged - done)) > 0)
        done += size;
    floor_flush(f);
    f->staged -= done;
    if (done && f->staged)
        memmove(f->stage, f->stage + done, f->staged);
}

/* Does nothing, because floor_poll copies every message to link_messages without a posted receive. */
static void floor_receive(struct link *l)
{
    (void)l;
}

/* ---- both ends ---- */

static void *floor_sleep(void *never)
{
    while (sem_wait(never))
        continue;
    return NULL;
}

static int floor_connect(struct link *l, int control)
{
    struct tcp_side *s;
    uint16_t port;

    if (l->client) {
        if (!bench_receive(control, &port, sizeof port))
            bench_die("the second process does not listen");
        return tcp_connect_blocking(port);
    }
    s = tcp_side_open(1);
    tcp_side_listen(s, &port);
    bench_send(control, &port, sizeof port);
    return tcp_accept_blocking(s);
}

static void floor_open(struct link *l, int control)
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
    f->fd = floor_connect(l, control);
    if (f->fd < 0 || fcntl(f->fd, F_SETFL, O_NONBLOCK) || getsockopt(f->fd, IPPROTO_TCP, TCP_MAXSEG, &segment, &len))
        bench_die("a connection: %s", strerror(errno));
    f->max_ulpdu = mpa_max_ulpdu((size_t)segment);
    sem_init(&f->never, 0, 0);
    if (pthread_create(&thread, NULL, floor_sleep, &f->never))
        bench_die("no thread");
    link_exchange(l, control, (struct link_target){ (uintptr_t)l->memory, 1 });
}

static void floor_close(struct link *l, int control)
{
    struct floor *f = l->own;

    (void)control;
    shutdown(f->fd, SHUT_WR);
    while (recv(f->fd, f->stage, STAGE, 0) != 0)
        continue;
    close(f->fd);
}

const struct link_ops floor_ops = { .kind = "the floor",
                                    .open = floor_open,
                                    .receive = floor_receive,
                                    .post = floor_post,
                                    .poll = floor_poll,
                                    .close = floor_close };
