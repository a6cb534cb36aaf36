/* SPDX-License-Identifier: MIT */
/* A peer made by hand: see peer.h. */
#include "peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/crc32c.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

enum { READ_LIMIT = 1, MAX_SEGMENT = 8192 };

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons(port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void begin(struct peer *p, int fd)
{
    int on = 1;

    *p = (struct peer){ .fd = fd };
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int peer_listen(uint16_t port)
{
    struct sockaddr_in at = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 16) == 0)
        return fd;
    close(fd);
    return -1;
}

bool peer_accept(struct peer *p, int listener)
{
    begin(p, accept(listener, NULL, NULL));
    return p->fd >= 0;
}

bool peer_connect(struct peer *p, uint16_t port)
{
    struct sockaddr_in to = loopback(port);

    begin(p, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (p->fd >= 0 && connect(p->fd, (struct sockaddr *)&to, sizeof to) == 0)
        return true;
    peer_close(p);
    return false;
}

void peer_close(struct peer *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

void peer_reset(struct peer *p)
{
    struct linger hard = { .l_onoff = 1, .l_linger = 0 };

    if (p->fd >= 0)
        setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    peer_close(p);
}

void peer_half_close(struct peer *p)
{
    if (p->fd >= 0)
        shutdown(p->fd, SHUT_WR);
}

bool peer_wait_end(struct peer *p)
{
    uint8_t bytes[4096];
    ssize_t n = -1;

    while (p->fd >= 0 && (n = recv(p->fd, bytes, sizeof bytes, 0)) > 0)
        ;
    return n == 0;
}

void peer_wait_byte(struct peer *p)
{
    uint8_t byte;

    (void)recv(p->fd, &byte, 1, MSG_PEEK);
}

/* ---- Bytes ---- */

static bool send_bytes(struct peer *p, const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(p->fd, bytes, len, MSG_NOSIGNAL);

        if (n <= 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

static bool receive_bytes(struct peer *p, uint8_t *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(p->fd, bytes, len, 0);

        if (n <= 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

/* ---- Start-up ---- */

static size_t encode_frame(uint8_t bytes[MPA_MAX_FRAME], bool reply, bool rejected, uint16_t reads)
{
    struct mpa_frame f = { .reply = reply,
                           .crc = true,
                           .rejected = rejected,
                           .enhanced = true,
                           .revision = 2,
                           .has_limits = true,
                           .peer_to_peer = true,
                           .rtr = MPA_RTR_ZERO_FPDU,
                           .ird = reads,
                           .ord = reads };

    return mpa_frame_encode(&f, bytes, MPA_MAX_FRAME);
}

bool peer_send_request(struct peer *p)
{
    uint8_t bytes[MPA_MAX_FRAME];

    return send_bytes(p, bytes, encode_frame(bytes, false, false, READ_LIMIT));
}

bool peer_send_half_request(struct peer *p)
{
    uint8_t bytes[MPA_MAX_FRAME];

    return send_bytes(p, bytes, encode_frame(bytes, false, false, READ_LIMIT) / 2);
}

bool peer_send_reply(struct peer *p, enum peer_reply kind)
{
    uint8_t bytes[MPA_MAX_FRAME];
    size_t len = encode_frame(bytes, true, kind == PEER_REJECT, p->reads);

    if (kind == PEER_GARBAGE)
        memset(bytes, 'x', len);
    return send_bytes(p, bytes, kind == PEER_HALF_REPLY ? len / 2 : len);
}

static bool receive_frame(struct peer *p, bool reply, struct mpa_frame *f)
{
    uint8_t bytes[MPA_MAX_FRAME];
    size_t have = 0, need = MPA_FRAME_HEADER;

    while (receive_bytes(p, bytes + have, need - have)) {
        enum mpa_decode d = mpa_frame_decode(f, reply, bytes, have = need, &need);

        if (d != MPA_MORE)
            return d == MPA_DECODED;
    }
    return false;
}

bool peer_receive_request(struct peer *p)
{
    struct mpa_frame f;

    if (!receive_frame(p, false, &f))
        return false;
    p->reads = f.ird < f.ord ? f.ird : f.ord;
    return true;
}

bool peer_receive_reply(struct peer *p)
{
    struct mpa_frame f;

    return receive_frame(p, true, &f) && !f.rejected;
}

/* ---- FPDUs ---- */

/* The FPDU around header and payload; returns its size. */
static size_t encode_fpdu(uint8_t *fpdu, const struct ddp_header *h, const void *payload, size_t len)
{
    size_t at = MPA_FPDU_LENGTH, size, ulpdu;

    at += h ? ddp_header_encode(h, fpdu + at, DDP_MAX_HEADER) : 0;
    if (len > 0)
        memcpy(fpdu + at, payload, len);
    ulpdu = at + len - MPA_FPDU_LENGTH;
    fpdu[0] = (uint8_t)(ulpdu >> 8);
    fpdu[1] = (uint8_t)ulpdu;
    size = mpa_fpdu_size(ulpdu);
    memset(fpdu + at + len, 0, size - MPA_FPDU_CRC - at - len);
    crc32c_final(crc32c_update(CRC32C_INIT, fpdu, size - MPA_FPDU_CRC), fpdu + size - MPA_FPDU_CRC);
    return size;
}

static bool send_fpdu(struct peer *p, const struct ddp_header *h, const void *payload, size_t len)
{
    uint8_t fpdu[MAX_SEGMENT + 64];

    return send_bytes(p, fpdu, encode_fpdu(fpdu, h, payload, len));
}

static struct ddp_header next_message(struct peer *p, bool last)
{
    return (struct ddp_header){ .last = last, .opcode = RDMAP_SEND, .queue = DDP_QUEUE_SEND, .msn = ++p->msn };
}

bool peer_send_ready(struct peer *p)
{
    return send_fpdu(p, NULL, NULL, 0);
}

bool peer_send_message(struct peer *p, const void *payload, size_t len)
{
    struct ddp_header h = next_message(p, true);

    return send_fpdu(p, &h, payload, len);
}

bool peer_send_first_segment(struct peer *p, const void *payload, size_t len)
{
    struct ddp_header h = next_message(p, false);

    return send_fpdu(p, &h, payload, len);
}

bool peer_send_half_message(struct peer *p, const void *payload, size_t len)
{
    struct ddp_header h = next_message(p, true);
    uint8_t fpdu[MAX_SEGMENT + 64];

    return send_bytes(p, fpdu, encode_fpdu(fpdu, &h, payload, len) / 2);
}

bool peer_send_invalidating(struct peer *p, uint32_t stag, const void *payload, size_t len)
{
    struct ddp_header h = next_message(p, true);

    h.opcode = RDMAP_SEND_INV;
    h.stag = stag;
    return send_fpdu(p, &h, payload, len);
}

bool peer_send_response(struct peer *p, uint32_t stag, uint64_t to, const void *payload, size_t len, bool last)
{
    struct ddp_header h = { .tagged = true, .last = last, .opcode = RDMAP_READ_RESP, .stag = stag, .to = to };

    return send_fpdu(p, &h, payload, len);
}

bool peer_send_garbage(struct peer *p)
{
    uint8_t bytes[64];

    memset(bytes, 0x55, sizeof bytes);
    bytes[0] = bytes[1] = 0;
    return send_bytes(p, bytes, sizeof bytes);
}

bool peer_receive(struct peer *p, struct peer_fpdu *f)
{
    struct ddp_header h;
    size_t len, header;

    do {
        if (!receive_bytes(p, f->bytes, MPA_FPDU_LENGTH))
            return false;
        len = (size_t)f->bytes[0] << 8 | f->bytes[1];
        if (mpa_fpdu_size(len) > sizeof f->bytes ||
            !receive_bytes(p, f->bytes + MPA_FPDU_LENGTH, mpa_fpdu_size(len) - MPA_FPDU_LENGTH))
            return false;
    } while (len == 0); /* ready-to-receive */
    if (!ddp_header_decode(&h, f->bytes + MPA_FPDU_LENGTH, len, &header))
        return false;
    f->tagged = h.tagged;
    f->opcode = h.opcode;
    f->stag = h.stag;
    f->to = h.to;
    f->payload = f->bytes + MPA_FPDU_LENGTH + header;
    f->len = len - header;
    return true;
}
