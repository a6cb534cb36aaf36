/* SPDX-License-Identifier: MIT */
/*
 * The attack `garbage`: before and after the reply, framed and unframed. Each kind has the Terminate that the RFCs
 * require, or requires the stream to end without one. Any other end counts as unexpected.
 */
#include <stdio.h>
#include <string.h>

#include "hostile/attacks.h"
#include "wire/terminate.h"

enum {
    ENDS = 0x10000,     /* no Terminate: the stream has not begun, or has ended */
    ANYTHING = 0x10001, /* depends on random bytes */
};
enum { STAGE_REQUEST, STAGE_STREAM };

struct kind {
    const char *name;
    int stage;
    unsigned expected; /* a Terminate's code, ENDS or ANYTHING */
    unsigned other;    /* 0, or another valid one */
    void (*send)(struct peer *);
};

/* ---- before the reply ---- */

static void request_noise(struct peer *p)
{
    uint8_t bytes[600];
    size_t len = 1 + seeded_below(sizeof bytes - 1);

    seeded_fill(bytes, len);
    bytes[0] = 0xff; /* no key begins with this byte */
    peer_send(p, bytes, len);
}

/* A request with one field replaced. */
static void request_with(struct peer *p, size_t offset, uint8_t value)
{
    uint8_t frame[MPA_MAX_FRAME];
    size_t len = frame_mpa(frame, false, true, NULL, 0);

    frame[offset] = value;
    peer_send(p, frame, len);
}

static void request_reply_key(struct peer *p)
{
    request_with(p, 9, 'p'); /* "MPA ID Rep Frame" */
}

static void request_too_long(struct peer *p)
{
    request_with(p, 18, 0xff);
}

static void request_revision(struct peer *p)
{
    request_with(p, 17, (uint8_t)(3 + seeded_below(250)));
}

/* Sends a whole frame behind the request, usually before the reply arrives. */
static void request_with_more(struct peer *p)
{
    uint8_t bytes[64];

    seeded_fill(bytes, sizeof bytes);
    bytes[0] = 0;
    bytes[1] = 16;
    peer_request(p);
    peer_send(p, bytes, sizeof bytes);
}

/* Sends a part of a request and closes the connection. */
static void request_cut(struct peer *p)
{
    uint8_t frame[MPA_MAX_FRAME];
    size_t len = frame_mpa(frame, false, true, NULL, 0);

    peer_send(p, frame, 1 + seeded_below((uint32_t)len - 1));
    peer_half_close(p);
}

/* ---- in the stream ---- */

static void send_ulpdu(struct peer *p, const struct ddp_header *h, size_t len)
{
    uint8_t ulpdu[FRAME_MAX_ULPDU], payload[FRAME_MAX_PAYLOAD];

    seeded_fill(payload, len);
    peer_send_ulpdu(p, ulpdu, frame_ulpdu(ulpdu, h, payload, len));
}

/* More bytes than the largest FPDU, so that one is complete for any length at the start. */
static void stream_noise(struct peer *p)
{
    static uint8_t bytes[2 * 65536];

    seeded_fill(bytes, sizeof bytes);
    bytes[0] |= 1; /* so that the first bytes are not a ready-to-receive message */
    peer_send(p, bytes, sizeof bytes);
}

static void stream_crc(struct peer *p)
{
    uint8_t ulpdu[FRAME_MAX_ULPDU], fpdu[FRAME_MAX_FPDU], payload[64];
    struct ddp_header h = frame_send_header(1, 0, true);
    size_t size;

    seeded_fill(payload, sizeof payload);
    size = frame_fpdu(fpdu, ulpdu, frame_ulpdu(ulpdu, &h, payload, sizeof payload), true);
    fpdu[2 + seeded_below((uint32_t)size - 2)] ^= (uint8_t)(1 << seeded_below(8));
    peer_send(p, fpdu, size);
}

static void stream_cut(struct peer *p)
{
    uint8_t ulpdu[FRAME_MAX_ULPDU], fpdu[FRAME_MAX_FPDU], payload[64];
    struct ddp_header h = frame_send_header(1, 0, true);
    size_t size;

    seeded_fill(payload, sizeof payload);
    size = frame_fpdu(fpdu, ulpdu, frame_ulpdu(ulpdu, &h, payload, sizeof payload), true);
    peer_send(p, fpdu, 1 + seeded_below((uint32_t)size - 1));
    peer_half_close(p);
}

/* A ULPDU shorter than a header. */
static void stream_short(struct peer *p)
{
    uint8_t ulpdu[DDP_UNTAGGED_HEADER];

    memset(ulpdu, 0, sizeof ulpdu);
    ulpdu[0] = 0x41;
    ulpdu[1] = 0x43;
    peer_send_ulpdu(p, ulpdu, 2 + seeded_below(DDP_UNTAGGED_HEADER - 2));
}

/* The first empty FPDU was the ready-to-receive; another one has no meaning. */
static void stream_empty(struct peer *p)
{
    peer_send_ulpdu(p, NULL, 0);
}

static void stream_untagged_version(struct peer *p)
{
    struct ddp_header h = frame_send_header(1, 0, true);

    h.ddp_version = (uint8_t)(seeded_below(3) + 2) & 3;
    send_ulpdu(p, &h, 8);
}

static void stream_tagged_version(struct peer *p)
{
    struct ddp_header h = frame_write_header(p->memory.token, p->memory.address, true);

    h.ddp_version = 0;
    send_ulpdu(p, &h, 8);
}

static void stream_rdmap_version(struct peer *p)
{
    struct ddp_header h = frame_send_header(1, 0, true);

    h.rdmap_version = 2;
    send_ulpdu(p, &h, 8);
}

static void stream_opcode(struct peer *p)
{
    struct ddp_header h = frame_send_header(1, 0, true);

    h.opcode = (uint8_t)(8 + seeded_below(8));
    send_ulpdu(p, &h, 8);
}

static void stream_tagged_opcode(struct peer *p)
{
    struct ddp_header h = frame_write_header(p->memory.token, p->memory.address, true);

    h.opcode = RDMAP_SEND;
    send_ulpdu(p, &h, 8);
}

static void stream_queue(struct peer *p)
{
    struct ddp_header h = frame_send_header(1, 0, true);

    h.queue = 3 + seeded_below(0xfffffff0u);
    send_ulpdu(p, &h, 8);
}

static void stream_msn(struct peer *p)
{
    struct ddp_header h = frame_send_header(2 + seeded_below(0xfffffff0u), 0, true);

    send_ulpdu(p, &h, 8);
}

static void stream_mo(struct peer *p)
{
    struct ddp_header h = frame_send_header(1, 1 + seeded_below(0xfffffff0u), true);

    send_ulpdu(p, &h, 8);
}

static void stream_too_long(struct peer *p)
{
    struct ddp_header h = frame_send_header(1, 0, true);

    send_ulpdu(p, &h, FRAME_MAX_PAYLOAD);
}

/* Returns a token that does not exist. */
static uint32_t wrong_token(const struct peer *p)
{
    uint32_t token = p->memory.token ^ (1u + seeded_below(0xffu));

    return token == p->memory.fixed_token ? token ^ 0x55aa0000u : token;
}

static void write_token(struct peer *p)
{
    struct ddp_header h = frame_write_header(wrong_token(p), p->memory.address, true);

    send_ulpdu(p, &h, 8);
}

static void write_before(struct peer *p)
{
    struct ddp_header h = frame_write_header(p->memory.token, p->memory.address - 1, true);

    send_ulpdu(p, &h, 8);
}

static void write_behind(struct peer *p)
{
    struct ddp_header h = frame_write_header(p->memory.token, p->memory.address + p->memory.length - 7, true);

    send_ulpdu(p, &h, 8);
}

static void write_wrap(struct peer *p)
{
    struct ddp_header h = frame_write_header(p->memory.token, UINT64_MAX - 3, true);

    send_ulpdu(p, &h, 8);
}

static void write_fixed(struct peer *p)
{
    struct ddp_header h = frame_write_header(p->memory.fixed_token, p->memory.fixed_address, true);

    send_ulpdu(p, &h, 8);
}

static void send_read(struct peer *p, uint32_t token, uint64_t from, uint32_t len)
{
    uint8_t ulpdu[DDP_MAX_HEADER + RDMAP_READ_REQUEST];
    struct rdmap_read_request r = { .sink_stag = 1, .length = len, .source_stag = token, .source_to = from };

    peer_send_ulpdu(p, ulpdu, frame_read(ulpdu, p->read_msn++, &r));
}

static void read_token(struct peer *p)
{
    send_read(p, wrong_token(p), p->memory.address, 8);
}

static void read_behind(struct peer *p)
{
    send_read(p, p->memory.fixed_token, p->memory.fixed_address + p->memory.length - 7, 8);
}

static void read_huge(struct peer *p)
{
    send_read(p, p->memory.fixed_token, p->memory.fixed_address, UINT32_MAX);
}

static void read_msn(struct peer *p)
{
    p->read_msn = 7;
    send_read(p, p->memory.fixed_token, p->memory.fixed_address, 8);
}

static void read_short(struct peer *p)
{
    struct ddp_header h = frame_read_header(1);

    send_ulpdu(p, &h, RDMAP_READ_REQUEST - 1);
}

static void read_response(struct peer *p)
{
    struct ddp_header h = frame_write_header(p->memory.token, p->memory.address, true);

    h.opcode = RDMAP_READ_RESP;
    send_ulpdu(p, &h, 8);
}

static void send_invalidate(struct peer *p)
{
    struct ddp_header h = frame_send_header(1, 0, true);

    h.opcode = RDMAP_SEND_INV;
    h.stag = p->memory.token; /* a normal registration: only its owner ends it */
    send_ulpdu(p, &h, 8);
}

static void peers_terminate(struct peer *p)
{
    uint8_t ulpdu[FRAME_MAX_ULPDU], payload[TERMINATE_MAX_PAYLOAD];
    struct terminate t = { .error = WIRE_DDP_CATASTROPHIC };
    struct ddp_header h = frame_send_header(1, 0, true);

    h.opcode = RDMAP_TERMINATE;
    h.queue = DDP_QUEUE_TERMINATE;
    peer_send_ulpdu(p, ulpdu, frame_ulpdu(ulpdu, &h, payload, terminate_encode(&t, payload, sizeof payload)));
}

static void terminate_long(struct peer *p)
{
    struct ddp_header h = frame_send_header(1, 0, true);

    h.opcode = RDMAP_TERMINATE;
    h.queue = DDP_QUEUE_TERMINATE;
    send_ulpdu(p, &h, TERMINATE_MAX_PAYLOAD + 1);
}

/* Sends frames with valid checksums and some header bits inverted, and closes the connection. */
static void mutated(struct peer *p)
{
    uint8_t ulpdu[FRAME_MAX_ULPDU], payload[256];

    seeded_fill(payload, sizeof payload);
    for (int i = 0; i < 16; i++) {
        struct ddp_header h = i % 2 ? frame_write_header(p->memory.token, p->memory.address, true)
                                    : frame_send_header(p->msn++, 0, true);
        size_t len = frame_ulpdu(ulpdu, &h, payload, seeded_below(sizeof payload));

        for (uint32_t flips = seeded_below(3); flips; flips--)
            ulpdu[seeded_below(DDP_TAGGED_HEADER)] ^= (uint8_t)(1 << seeded_below(8));
        peer_send_ulpdu(p, ulpdu, len);
    }
    peer_half_close(p);
}

static const struct kind kinds[] = {
    { "request: noise", STAGE_REQUEST, ENDS, 0, request_noise },
    { "request: the reply's key", STAGE_REQUEST, ENDS, 0, request_reply_key },
    { "request: too much private data", STAGE_REQUEST, ENDS, 0, request_too_long },
    { "request: revision", STAGE_REQUEST, ENDS, 0, request_revision },
    { "request: bytes behind it", STAGE_REQUEST, ANYTHING, 0, request_with_more },
    { "request: cut", STAGE_REQUEST, ENDS, 0, request_cut },
    { "stream: noise", STAGE_STREAM, WIRE_MPA_CRC, 0, stream_noise },
    { "stream: checksum", STAGE_STREAM, WIRE_MPA_CRC, 0, stream_crc },
    { "stream: cut", STAGE_STREAM, ENDS, 0, stream_cut },
    { "stream: shorter than a header", STAGE_STREAM, WIRE_RDMAP_STREAM_CATASTROPHIC, 0, stream_short },
    { "stream: empty", STAGE_STREAM, WIRE_RDMAP_STREAM_CATASTROPHIC, 0, stream_empty },
    { "stream: DDP version, untagged", STAGE_STREAM, WIRE_DDP_UNTAGGED_VERSION, 0, stream_untagged_version },
    { "stream: DDP version, tagged", STAGE_STREAM, WIRE_DDP_TAGGED_VERSION, 0, stream_tagged_version },
    { "stream: RDMAP version", STAGE_STREAM, WIRE_RDMAP_VERSION, 0, stream_rdmap_version },
    { "stream: opcode", STAGE_STREAM, WIRE_RDMAP_OPCODE, 0, stream_opcode },
    { "stream: a send that is tagged", STAGE_STREAM, WIRE_RDMAP_OPCODE, 0, stream_tagged_opcode },
    { "stream: queue", STAGE_STREAM, WIRE_DDP_UNTAGGED_QN, 0, stream_queue },
    { "stream: MSN", STAGE_STREAM, WIRE_DDP_UNTAGGED_MSN_RANGE, 0, stream_msn },
    { "stream: MO", STAGE_STREAM, WIRE_DDP_UNTAGGED_MO, 0, stream_mo },
    { "stream: longer than the receive", STAGE_STREAM, WIRE_DDP_UNTAGGED_TOO_LONG, 0, stream_too_long },
    { "write: token", STAGE_STREAM, WIRE_DDP_TAGGED_STAG, WIRE_DDP_TAGGED_STREAM, write_token },
    { "write: before the region", STAGE_STREAM, WIRE_DDP_TAGGED_BOUNDS, 0, write_before },
    { "write: behind the region", STAGE_STREAM, WIRE_DDP_TAGGED_BOUNDS, 0, write_behind },
    { "write: beyond 64 bits", STAGE_STREAM, WIRE_DDP_TAGGED_WRAP, 0, write_wrap },
    { "write: without the right", STAGE_STREAM, WIRE_RDMAP_ACCESS, 0, write_fixed },
    { "read: token", STAGE_STREAM, WIRE_RDMAP_INVALID_STAG, WIRE_RDMAP_STAG_NOT_ASSOCIATED, read_token },
    { "read: behind the region", STAGE_STREAM, WIRE_RDMAP_BOUNDS, 0, read_behind },
    { "read: 4 GB", STAGE_STREAM, WIRE_RDMAP_BOUNDS, 0, read_huge },
    { "read: MSN", STAGE_STREAM, WIRE_DDP_UNTAGGED_MSN_RANGE, 0, read_msn },
    { "read: short", STAGE_STREAM, WIRE_RDMAP_STREAM_CATASTROPHIC, 0, read_short },
    { "read: a response to nothing", STAGE_STREAM, WIRE_DDP_TAGGED_STAG, 0, read_response },
    { "send: invalidates what it may not", STAGE_STREAM, WIRE_RDMAP_CANNOT_INVALIDATE, 0, send_invalidate },
    { "terminate: the peer's", STAGE_STREAM, ENDS, 0, peers_terminate },
    { "terminate: too long", STAGE_STREAM, WIRE_DDP_UNTAGGED_TOO_LONG, 0, terminate_long },
    { "frames with turned bits", STAGE_STREAM, ANYTHING, 0, mutated },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* A service whose private data has no tokens gets only the kinds that need none. */
static const struct kind *kind_of(const struct peer *p)
{
    return &kinds[options.how >= 0 ? (unsigned)options.how % KINDS : p->number % KINDS];
}

static void garbage_connected(struct peer *p)
{
    const struct kind *k = kind_of(p);

    if (k->stage == STAGE_REQUEST)
        k->send(p);
    else
        peer_request(p);
}

static void garbage_opened(struct peer *p)
{
    const struct kind *k = kind_of(p);

    if (k->stage == STAGE_STREAM)
        k->send(p);
}

static bool is_expected(const struct peer *p, const struct kind *k)
{
    if (k->expected == ANYTHING)
        return true;
    if (k->expected == ENDS)
        return !p->has_terminate;
    return p->has_terminate && (p->terminate == k->expected || (k->other && p->terminate == k->other));
}

static void garbage_ended(struct peer *p, const char *how)
{
    const struct kind *k = kind_of(p);

    /* A service that is not victim.c sends no tokens, so the kinds that need them may end in any way. */
    if (is_expected(p, k) || (!p->memory.token && k->stage == STAGE_STREAM))
        return;
    if (totals.unexpected++ < 20)
        fprintf(stderr, "hostile: connection %u, %s: ended by %s\n", p->number, k->name, how);
}

const struct attack garbage = {
    .name = "garbage",
    .text = "requests, streams and frames that break a rule each, one --how for each rule; names the wrong answers",
    .connected = garbage_connected,
    .opened = garbage_opened,
    .ended = garbage_ended,
};
