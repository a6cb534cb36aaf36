/* SPDX-License-Identifier: MIT */
/*
 * Creates the packets of one connection as RoCE v2: see roce.h. The start-up frames become messages of InfiniBand's
 * connection manager, and RDMAP messages become packets of a reliable connection. InfiniBand has nothing that
 * corresponds to an empty FPDU or a Terminate, so these have no packet. A packet with bytes of an FPDU whose CRC is bad
 * has a bad invariant CRC, and a comment.
 *
 * The invariant: each packet of a message except the last has ROCE_MTU bytes of payload. So a Read Request determines
 * the packet sequence numbers of its response. A packet may contain the payload of several FPDUs. It is created when
 * its last byte has been read from the trace.
 */
#include "roce.h"

#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "headers.h"
#include "trace_reader/value.h"

enum {
    ROCE_MTU = 4096, /* maximum number of payload bytes in a packet */
    ROCE_PORT = 4791,
    IP_UDP = 17, /* UDP's number in IP headers */
    UDP_HEADER = 8,
    BTH_SIZE = 12,
    ICRC_SIZE = 4,
    MAX_HEADERS = 32, /* maximum number of header bytes between the BTH and the payload */
    MAD_SIZE = 256,
    CM_PRIVATE_REQUEST = 56, /* maximum number of bytes of private data in a request, after the addresses */
    CM_PRIVATE_REPLY = 196,
    CM_PRIVATE_REJECT = 148,
    READ_REQUEST_SIZE = 28,
    /* FLAG_SOLICITED and FLAG_MIGRATED: bits of the BTH's second byte. */
    FLAG_SOLICITED = 0x80,
    FLAG_MIGRATED = 0x40,
    UD_SEND_ONLY = 0x64,
    RC_READ_REQUEST = 0x0c,
};

enum roce_cm { CM_REQUEST = 0x10, CM_REJECT = 0x12, CM_REPLY = 0x13, CM_READY = 0x14 };

/* RDMAP's opcodes (RFC 5040). */
enum { OP_WRITE, OP_READ_REQUEST, OP_READ_RESPONSE, OP_SEND, OP_SEND_INVALIDATE, OP_SEND_SOLICITED, OP_SEND_BOTH };

enum roce_kind { ROCE_WRITE, ROCE_RESPONSE, ROCE_SEND, ROCE_KINDS };

/* A message of which not all bytes are in packets yet. */
struct roce_message {
    uint8_t *bytes;          /* ROCE_MTU bytes for the next packet; NULL: there is no message */
    uint32_t pending, known; /* the next packet has `pending` bytes so far, of which the first `known` are in `bytes` */
    bool has_begun;          /* the first packet has been created */
    bool has_bad_crc;        /* the next packet has bytes of an FPDU whose CRC is bad */
    uint32_t psn;            /* for a response: the sequence number of its next packet */
    uint32_t stag, length;   /* for a write: its token, and the number of its bytes so far */
    uint64_t to;             /* for a write: its address */
    uint8_t *first;          /* for a write: its first packet, which contains the length; NULL: no packet yet */
    uint32_t first_captured; /* captured bytes of that packet */
    bool first_is_whole;     /* that packet is not truncated, so it has a CRC */
    bool first_is_bad;       /* that packet has a bad CRC */
};

struct roce_end {
    uint32_t qpn, psn; /* `psn`: packet sequence number of the next request */
    struct roce_message messages[ROCE_KINDS];
    uint32_t *reads; /* for each awaited response, its first sequence number; entries before reads_first are used up */
    size_t reads_first, n_reads, reads_room;
};

struct roce {
    uint32_t number;
    struct roce_end local, remote;
};

struct roce_run {
    struct flow *flow;
    uint64_t time_ns;
    flow_emit emit;
    void *context;
    bool from_local; /* true: the local end sends the packets; false: the remote end sends them */
};

/* A packet that is to be created. */
struct roce_packet {
    uint8_t opcode, flags;
    uint32_t target_qpn, psn;
    uint8_t headers[MAX_HEADERS];
    size_t headers_size;
    const uint8_t *payload;
    uint32_t size, known; /* bytes of payload, of which the first `known` are at `payload` */
    bool has_bad_crc;
};

struct roce *roce_create(uint32_t number)
{
    struct roce *roce = calloc(1, sizeof *roce);

    if (roce) {
        roce->number = number;
        roce->local.qpn = (0x100 + 2 * number) & 0xffffff;
        roce->remote.qpn = roce->local.qpn + 1;
    }
    return roce;
}

static void roce_end_free(struct roce_end *end)
{
    for (int kind = 0; kind < ROCE_KINDS; kind++)
        free(end->messages[kind].bytes);
    free(end->reads);
}

void roce_destroy(struct roce *roce)
{
    if (!roce)
        return;
    roce_end_free(&roce->local);
    roce_end_free(&roce->remote);
    free(roce);
}

static struct roce_end *roce_source(const struct roce_run *run)
{
    return run->from_local ? &run->flow->roce->local : &run->flow->roce->remote;
}

static struct roce_end *roce_target(const struct roce_run *run)
{
    return run->from_local ? &run->flow->roce->remote : &run->flow->roce->local;
}

/* ---- packets ---- */

/* Returns the offset of the IP header's end. */
static size_t roce_ip_end(bool is_v6)
{
    return 14 + (is_v6 ? 40 : 20);
}

/*
 * Writes the invariant CRC into the last bytes of a whole packet. The CRC is computed as if all bits were 1 in the
 * fields that routers and switches may change: fields of the IP header, the UDP checksum, and a byte of the BTH. It
 * also includes 8 bytes of ones before the IP header. If `is_bad` is true, inverts one bit of the CRC.
 */
static void roce_put_icrc(uint8_t *packet, size_t size, bool is_v6, bool is_bad)
{
    size_t ip_end = roce_ip_end(is_v6), fixed = ip_end + UDP_HEADER + BTH_SIZE, begin = 14;
    uint8_t masked[8 + 40 + UDP_HEADER + BTH_SIZE], *ip = masked + 8, *udp = ip + ip_end - begin;
    uint32_t sum;

    memset(masked, 0xff, 8);
    memcpy(ip, packet + begin, fixed - begin);
    if (is_v6) {
        ip[0] |= 0x0f;
        memset(ip + 1, 0xff, 3); /* traffic class and flow label */
        ip[7] = 0xff;            /* hop limit */
    } else {
        ip[1] = 0xff;             /* type of service */
        ip[8] = 0xff;             /* time to live */
        memset(ip + 10, 0xff, 2); /* checksum */
    }
    memset(udp + 6, 0xff, 2);
    udp[UDP_HEADER + 4] = 0xff;
    sum = checksum_update(CHECKSUM_CRC32, UINT32_MAX, masked, 8 + fixed - begin);
    sum = ~checksum_update(CHECKSUM_CRC32, sum, packet + fixed, size - ICRC_SIZE - fixed) ^ is_bad;
    for (unsigned i = 0; i < ICRC_SIZE; i++)
        packet[size - ICRC_SIZE + i] = (uint8_t)(sum >> 8 * i);
}

/*
 * Emits a packet, truncated after the known payload. Sets *captured to the number of captured bytes, and *is_whole to
 * true if the packet is not truncated. Returns the stored packet, or NULL if out of memory.
 */
static uint8_t *roce_emit(const struct roce_run *run, const struct roce_packet *p, uint32_t *captured, bool *is_whole)
{
    const struct flow *f = run->flow;
    const struct flow_end *from = run->from_local ? &f->local : &f->remote,
                          *to = run->from_local ? &f->remote : &f->local;
    uint32_t pad = -p->size & 3, body = BTH_SIZE + (uint32_t)p->headers_size + p->size + pad + ICRC_SIZE;
    struct flow_packet made;
    uint8_t *at = made.bytes;

    at = headers_put_ethernet(at, f->is_v6, run->from_local == f->is_initiator);
    at = headers_put_ip(at, f->is_v6, from->host, to->host, IP_UDP, UDP_HEADER + body);
    at = headers_put(at, 0xc000 | (roce_source(run)->qpn & 0x3fff), 2);
    at = headers_put(at, ROCE_PORT, 2);
    at = headers_put(at, UDP_HEADER + body, 2);
    at = headers_put(at, 0, 2); /* no checksum */
    at = headers_put(at, p->opcode, 1);
    at = headers_put(at, FLAG_MIGRATED | p->flags | pad << 4, 1);
    at = headers_put(at, 0xffff, 2); /* partition key */
    at = headers_put(at, p->target_qpn, 4);
    at = headers_put(at, p->psn & 0xffffff, 4);
    at = headers_put_bytes(at, p->headers, p->headers_size);
    made.original = (uint32_t)(at - made.bytes) + p->size + pad + ICRC_SIZE;
    if (p->known)
        at = headers_put_bytes(at, p->payload, p->known);
    *is_whole = p->known == p->size;
    if (*is_whole) {
        at = headers_put_zeros(at, pad + ICRC_SIZE);
        roce_put_icrc(made.bytes, (size_t)(at - made.bytes), f->is_v6, p->has_bad_crc);
    }
    made.comment = p->has_bad_crc ? "the CRC of the FPDU is bad" : NULL;
    *captured = made.captured = (uint32_t)(at - made.bytes);
    return run->emit(run->context, run->flow, run->time_ns, &made);
}

/* ---- start-up frames ---- */

/* Writes a host's address as a GID, or in the format that addresses have in the connection manager's private data. */
static uint8_t *roce_put_host(uint8_t *at, const struct flow *f, const struct flow_end *end, bool is_gid)
{
    if (f->is_v6)
        return headers_put_bytes(at, end->host, 16);
    at = headers_put_zeros(at, is_gid ? 10 : 12);
    if (is_gid)
        at = headers_put(at, 0xffff, 2);
    return headers_put_bytes(at, end->host, 4);
}

/* Writes as much of the private data as there is room for. */
static uint8_t *roce_put_private(uint8_t *at, const struct value *data, size_t room)
{
    return headers_put_bytes(at, data->bytes, data->size < room ? data->size : room);
}

static uint8_t *roce_put_request(uint8_t *at, const struct roce_run *run, uint8_t ird, uint8_t ord,
                                 const struct value *data)
{
    const struct flow *f = run->flow;
    const struct flow_end *from = run->from_local ? &f->local : &f->remote,
                          *to = run->from_local ? &f->remote : &f->local;
    uint32_t qpn = roce_source(run)->qpn;

    at = headers_put(at, qpn, 4); /* communication ID */
    at = headers_put(at, 0, 4);
    at = headers_put(at, 0x01060000 | (uint64_t)to->port, 8); /* service ID: a TCP port */
    at = headers_put(at, qpn, 8);                             /* GUID of the adapter: any number */
    at = headers_put_zeros(at, 8);
    at = headers_put(at, (uint64_t)qpn << 8 | ird, 4);
    at = headers_put(at, ord, 4);
    at = headers_put_zeros(at, 4);
    at = headers_put(at, 0, 4);          /* first packet sequence number, time limit, retries */
    at = headers_put(at, 0xffff, 2);     /* partition key */
    at = headers_put(at, 0x5000, 2);     /* the MTU is 4096 bytes */
    at = headers_put(at, UINT32_MAX, 4); /* no local IDs, only GIDs */
    at = roce_put_host(at, f, from, true);
    at = roce_put_host(at, f, to, true);
    at = headers_put(at, 64, 6);                         /* flow label, rate, traffic class, hop limit */
    at = headers_put_zeros(at, 46);                      /* rest of the path, and no alternate path */
    at = headers_put(at, f->is_v6 ? 0x0060 : 0x0040, 2); /* private data: version, IP's version */
    at = headers_put(at, from->port, 2);
    at = roce_put_host(at, f, from, false);
    at = roce_put_host(at, f, to, false);
    return roce_put_private(at, data, CM_PRIVATE_REQUEST);
}

static uint8_t *roce_put_reply(uint8_t *at, const struct roce_run *run, uint8_t ird, uint8_t ord,
                               const struct value *data)
{
    uint32_t qpn = roce_source(run)->qpn;

    at = headers_put(at, qpn, 4);
    at = headers_put(at, roce_target(run)->qpn, 4);
    at = headers_put_zeros(at, 4);
    at = headers_put(at, (uint64_t)qpn << 8, 4);
    at = headers_put_zeros(at, 8);
    at = headers_put(at, ird, 1);
    at = headers_put(at, ord, 1);
    at = headers_put_zeros(at, 2);
    at = headers_put(at, qpn, 8); /* GUID of the adapter */
    return roce_put_private(at, data, CM_PRIVATE_REPLY);
}

static uint8_t *roce_put_reject(uint8_t *at, const struct roce_run *run, const struct value *data)
{
    at = headers_put(at, roce_source(run)->qpn, 4);
    at = headers_put(at, roce_target(run)->qpn, 4);
    at = headers_put(at, 28, 4); /* rejects a request; reason 28: the consumer's decision */
    at = headers_put_zeros(at, 72);
    return roce_put_private(at, data, CM_PRIVATE_REJECT);
}

/* Emits a message of the connection manager. `end` points to the byte after the last one that was written to `mad`. */
static bool roce_emit_cm(const struct roce_run *run, enum roce_cm attribute, uint8_t *mad, const uint8_t *end)
{
    static const uint8_t datagram[] = { 0x80, 1, 0, 0, 0, 0, 0, 1 }; /* queue key; source queue pair 1 */
    struct roce_packet p = {
        .opcode = UD_SEND_ONLY, .target_qpn = 1, .payload = mad, .size = MAD_SIZE, .known = MAD_SIZE
    };
    uint8_t *at = mad;
    uint32_t captured;
    bool is_whole;

    memset(mad + (end - mad), 0, MAD_SIZE - (size_t)(end - mad));
    at = headers_put(at, 0x01070203, 4); /* base version, class (communication management), class version, send */
    at = headers_put(at, 0, 4);
    at = headers_put(at, run->flow->roce->number + 1, 8); /* transaction ID */
    at = headers_put(at, attribute, 2);
    (void)headers_put(at, 0, 6);
    p.headers_size = (size_t)(headers_put_bytes(p.headers, datagram, sizeof datagram) - p.headers);
    return roce_emit(run, &p, &captured, &is_whole) != NULL;
}

static uint8_t roce_limit(const struct trace_record *r, const char *name)
{
    struct value v;

    if (!value_find(r, name, &v))
        return 0;
    return v.number < UINT8_MAX ? (uint8_t)v.number : UINT8_MAX;
}

/* Sets *data to the private data of a start-up frame, which is at the frame's end. */
static void roce_find_private(const struct trace_record *r, struct value *data)
{
    struct value size;

    *data = (struct value){ .bytes = (const uint8_t *)"" };
    if (!value_find(r, "data_size", &size) || !value_find(r, "bytes", data) || data->field->kind != KIND_BYTES ||
        size.number > data->size) {
        *data = (struct value){ .bytes = (const uint8_t *)"" };
        return;
    }
    data->bytes += data->size - size.number;
    data->size = size.number;
}

static bool roce_start_up(struct roce_run *run, const struct trace_record *r)
{
    uint8_t mad[MAD_SIZE], *body = mad + 24, ird = roce_limit(r, "ird"), ord = roce_limit(r, "ord");
    struct value frame, data;

    if (!value_find(r, "frame", &frame) || !frame.name)
        return true;
    roce_find_private(r, &data);
    if (strcmp(frame.name, "request") == 0)
        return roce_emit_cm(run, CM_REQUEST, mad, roce_put_request(body, run, ird, ord, &data));
    if (strcmp(frame.name, "reject") == 0)
        return roce_emit_cm(run, CM_REJECT, mad, roce_put_reject(body, run, &data));
    if (strcmp(frame.name, "accept") != 0)
        return true;
    if (!roce_emit_cm(run, CM_REPLY, mad, roce_put_reply(body, run, ird, ord, &data)))
        return false;
    run->from_local = !run->from_local;
    body = headers_put(mad + 24, roce_source(run)->qpn, 4);
    return roce_emit_cm(run, CM_READY, mad, headers_put(body, roce_target(run)->qpn, 4));
}

/* ---- messages ---- */

/* A DDP segment, from its event. */
struct roce_segment {
    uint8_t opcode;
    bool is_last, has_bad_crc;
    uint32_t stag, payload, known; /* `payload`: size in bytes, of which the first `known` are at `bytes` */
    uint64_t to;
    const uint8_t *bytes;
};

/*
 * Writes the length of a write into the write's first packet. Called when a further segment has increased the known
 * length.
 */
static void roce_set_write_length(const struct roce_run *run, const struct roce_message *m)
{
    size_t reth = roce_ip_end(run->flow->is_v6) + UDP_HEADER + BTH_SIZE;

    if (!m->first)
        return;
    (void)headers_put(m->first + reth + 12, m->length, 4);
    if (m->first_is_whole)
        roce_put_icrc(m->first, m->first_captured, run->flow->is_v6, m->first_is_bad);
}

/* Writes the headers that a packet of the message has before its payload. */
static void roce_put_headers(struct roce_packet *p, const struct roce_message *m, const struct roce_segment *g,
                             enum roce_kind kind, bool is_last)
{
    uint8_t *at = p->headers;

    if (kind == ROCE_WRITE && !m->has_begun) {
        at = headers_put(at, m->to, 8);
        at = headers_put(at, m->stag, 4);
        at = headers_put(at, m->length, 4);
    } else if (kind == ROCE_RESPONSE && (is_last || !m->has_begun)) {
        at = headers_put(at, 0, 4); /* an acknowledgement */
    } else if (kind == ROCE_SEND && is_last && (g->opcode == OP_SEND_INVALIDATE || g->opcode == OP_SEND_BOTH)) {
        at = headers_put(at, g->stag, 4); /* the token to invalidate */
    }
    p->headers_size = (size_t)(at - p->headers);
}

static uint8_t roce_opcode(enum roce_kind kind, bool is_first, bool is_last, bool invalidates)
{
    /* First, middle, last and only packet of a message. */
    static const uint8_t opcodes[ROCE_KINDS][4] = { { 0x06, 0x07, 0x08, 0x0a },
                                                    { 0x0d, 0x0e, 0x0f, 0x10 },
                                                    { 0x00, 0x01, 0x02, 0x04 } };

    if (kind == ROCE_SEND && is_last && invalidates)
        return is_first ? 0x17 : 0x16;
    return opcodes[kind][is_last ? (is_first ? 3 : 2) : (is_first ? 0 : 1)];
}

/* Emits the message's next packet with the bytes that are pending. */
static bool roce_emit_message(const struct roce_run *run, struct roce_message *m, const struct roce_segment *g,
                              enum roce_kind kind, bool is_last)
{
    bool invalidates = g->opcode == OP_SEND_INVALIDATE || g->opcode == OP_SEND_BOTH, is_whole;
    bool is_solicited = is_last && (g->opcode == OP_SEND_SOLICITED || g->opcode == OP_SEND_BOTH);
    uint32_t *psn = kind == ROCE_RESPONSE ? &m->psn : &roce_source(run)->psn, captured;
    struct roce_packet p = { .opcode = roce_opcode(kind, !m->has_begun, is_last, invalidates),
                             .flags = is_solicited ? FLAG_SOLICITED : 0,
                             .target_qpn = roce_target(run)->qpn,
                             .psn = (*psn)++,
                             .payload = m->bytes,
                             .size = m->pending,
                             .has_bad_crc = m->has_bad_crc };
    uint8_t *stored;

    if (m->known < m->pending && m->pending <= run->flow->max_filled) {
        memset(m->bytes + m->known, 0, m->pending - m->known);
        m->known = m->pending;
    }
    p.known = m->known;
    roce_put_headers(&p, m, g, kind, is_last);
    stored = roce_emit(run, &p, &captured, &is_whole);
    if (kind == ROCE_WRITE && !m->has_begun) {
        m->first = stored;
        m->first_captured = captured;
        m->first_is_whole = is_whole;
        m->first_is_bad = m->has_bad_crc;
    }
    m->has_begun = true;
    m->has_bad_crc = false;
    m->pending = m->known = 0;
    return stored != NULL;
}

/* Begins a message if the segment is its first one. Returns false if out of memory. */
static bool roce_begin_message(const struct roce_run *run, struct roce_message *m, const struct roce_segment *g,
                               enum roce_kind kind)
{
    struct roce_end *reader = roce_target(run);

    if (m->bytes)
        return true;
    *m = (struct roce_message){ .bytes = malloc(ROCE_MTU), .stag = g->stag, .to = g->to, .psn = reader->psn };
    if (kind == ROCE_RESPONSE && reader->n_reads) {
        m->psn = reader->reads[reader->reads_first++];
        reader->n_reads--;
    }
    return m->bytes != NULL;
}

/* Appends a segment to its message, and emits the packets that are complete. */
static bool roce_append(const struct roce_run *run, const struct roce_segment *g, enum roce_kind kind)
{
    struct roce_message *m = &roce_source(run)->messages[kind];
    uint32_t at = 0;
    bool ok = roce_begin_message(run, m, g, kind);

    if (!ok)
        return false;
    m->length += g->payload;
    while (ok && at < g->payload) {
        uint32_t n = g->payload - at < ROCE_MTU - m->pending ? g->payload - at : ROCE_MTU - m->pending;

        if (n == 0) { /* the packet is full, and more bytes follow */
            ok = roce_emit_message(run, m, g, kind, false);
            continue;
        }
        if (m->known == m->pending && at < g->known) { /* a packet is truncated at its first unknown byte */
            uint32_t known = g->known - at < n ? g->known - at : n;

            memcpy(m->bytes + m->known, g->bytes + at, known);
            m->known += known;
        }
        m->has_bad_crc = m->has_bad_crc || g->has_bad_crc;
        m->pending += n;
        at += n;
    }
    /* The loop does not set has_bad_crc for an empty segment. */
    m->has_bad_crc = m->has_bad_crc || (g->is_last && g->has_bad_crc);
    if (ok && g->is_last)
        ok = roce_emit_message(run, m, g, kind, true);
    if (kind == ROCE_WRITE)
        roce_set_write_length(run, m);
    if (g->is_last) {
        free(m->bytes);
        m->bytes = NULL;
    }
    return ok;
}

/* Stores the first sequence number of a read's response. Returns false if out of memory. */
static bool roce_push_read(struct roce_end *end, uint32_t psn)
{
    size_t room = end->reads_room ? 2 * end->reads_room : 16;
    uint32_t *grown = end->reads;

    if (end->n_reads == 0)
        end->reads_first = 0;
    if (end->reads_first + end->n_reads == end->reads_room) {
        grown = reallocarray(end->reads, room, sizeof *grown);
        if (!grown)
            return false;
        end->reads = grown;
        end->reads_room = room;
    }
    end->reads[end->reads_first + end->n_reads++] = psn;
    return true;
}

static uint64_t roce_get(const uint8_t *at, unsigned size)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i++)
        value = value << 8 | at[i];
    return value;
}

static bool roce_request_read(const struct roce_run *run, const struct roce_segment *g)
{
    struct roce_end *end = roce_source(run);
    struct roce_packet p = {
        .opcode = RC_READ_REQUEST, .target_qpn = roce_target(run)->qpn, .psn = end->psn, .has_bad_crc = g->has_bad_crc
    };
    uint8_t *at = p.headers;
    uint32_t size, captured;
    bool is_whole;

    if (g->known < READ_REQUEST_SIZE)
        return true;
    size = (uint32_t)roce_get(g->bytes + 12, 4); /* after token and address of the sink */
    at = headers_put(at, roce_get(g->bytes + 20, 8), 8);
    at = headers_put(at, roce_get(g->bytes + 16, 4), 4);
    at = headers_put(at, size, 4);
    p.headers_size = (size_t)(at - p.headers);
    if (!roce_push_read(end, end->psn))
        return false;
    end->psn += size > ROCE_MTU ? (size - 1) / ROCE_MTU + 1 : 1;
    return roce_emit(run, &p, &captured, &is_whole) != NULL;
}

static bool roce_read_segment(struct roce_segment *g, const struct trace_record *r)
{
    struct value opcode, last, stag, payload, to = { 0 }, crc = { 0 }, bytes;

    if (!value_find(r, "opcode", &opcode) || !value_find(r, "last", &last) || !value_find(r, "stag", &stag) ||
        !value_find(r, "payload", &payload) || payload.number > UINT16_MAX)
        return false;
    (void)value_find(r, "to", &to);
    (void)value_find(r, "crc", &crc);
    *g = (struct roce_segment){ .opcode = (uint8_t)opcode.number,
                                .is_last = last.number != 0,
                                .has_bad_crc = crc.name && strcmp(crc.name, "bad") == 0,
                                .stag = (uint32_t)stag.number,
                                .to = to.number,
                                .payload = (uint32_t)payload.number };
    if (value_find(r, "bytes", &bytes) && bytes.field->kind == KIND_BYTES) {
        g->bytes = bytes.bytes;
        g->known = bytes.size < g->payload ? (uint32_t)bytes.size : g->payload;
    }
    return true;
}

bool roce_handle(struct flow *f, const struct trace_record *r, flow_emit emit, void *context)
{
    struct roce_run run = { f, trace_record_realtime(r), emit, context, false };
    const char *event = r->event ? r->event->name : "";
    struct roce_segment g;
    struct value direction;

    if (strcmp(event, "mpa_sent") == 0 || strcmp(event, "mpa_received") == 0) {
        run.from_local = strcmp(event, "mpa_sent") == 0;
        return roce_start_up(&run, r);
    }
    if ((strcmp(event, "tagged") != 0 && strcmp(event, "untagged") != 0) || !value_find(r, "direction", &direction) ||
        !roce_read_segment(&g, r))
        return true;
    run.from_local = direction.number != 0;
    switch (g.opcode) {
    case OP_WRITE:
        return roce_append(&run, &g, ROCE_WRITE);
    case OP_READ_REQUEST:
        return roce_request_read(&run, &g);
    case OP_READ_RESPONSE:
        return roce_append(&run, &g, ROCE_RESPONSE);
    case OP_SEND:
    case OP_SEND_INVALIDATE:
    case OP_SEND_SOLICITED:
    case OP_SEND_BOTH:
        return roce_append(&run, &g, ROCE_SEND);
    default:
        return true;
    }
}
