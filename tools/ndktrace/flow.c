/* SPDX-License-Identifier: MIT */
/* Creates the packets of one connection: see flow.h. */
#include "flow.h"

#include <string.h>

#include "fpdu.h"
#include "headers.h"
#include "trace_reader/value.h"

enum {
    FLAG_FIN = 1,
    FLAG_SYN = 2,
    FLAG_RST = 4,
    FLAG_PSH = 8,
    FLAG_ACK = 16,
    IP_TCP = 6, /* TCP's number in IP headers */
    TCP_HEADER = 20,
    SYN_OPTIONS = 8, /* size of the TCP options in a SYN: maximum segment size and window scale */
    /* After this many bytes, flow_send_data creates an acknowledgement, because traces contain none. */
    MAX_UNACKED = 256 * 1024,
    /* Maximum payload in bytes. A larger FPDU becomes two packets, because IP's length field has 16 bits. */
    MAX_SEGMENT = 60000,
};

struct flow_run {
    struct flow *flow;
    uint64_t time_ns;
    flow_emit emit;
    void *context;
};

/* ---- headers ---- */

/* Writes a TCP header. The checksum is 0, as in a packet that was captured on the sending host. */
static uint8_t *flow_put_tcp(uint8_t *at, const struct flow_end *from, const struct flow_end *to, unsigned flags)
{
    bool syn = flags & FLAG_SYN;

    at = headers_put(at, from->port, 2);
    at = headers_put(at, to->port, 2);
    at = headers_put(at, from->sequence, 4);
    at = headers_put(at, flags & FLAG_ACK ? to->sequence : 0, 4);
    at = headers_put(at, (uint64_t)(TCP_HEADER + (syn ? SYN_OPTIONS : 0)) / 4 << 12 | flags, 2);
    at = headers_put(at, 0xffff0000, 4); /* window, checksum */
    at = headers_put(at, 0, 2);
    return syn ? headers_put(at, 0x0204ffff0103030e, 8) : at;
}

/* ---- packets ---- */

/*
 * Emits one packet with `size` bytes of payload. Only the first `known` bytes, at `data`, are known; the packet is
 * truncated after them.
 */
static void flow_emit_packet(const struct flow_run *run, bool from_local, unsigned flags, const uint8_t *data,
                             uint32_t known, uint32_t size)
{
    struct flow *f = run->flow;
    struct flow_end *from = from_local ? &f->local : &f->remote, *to = from_local ? &f->remote : &f->local;
    size_t tcp = TCP_HEADER + (flags & FLAG_SYN ? SYN_OPTIONS : 0);
    struct flow_packet made;
    uint8_t *at = made.bytes;

    if (from->has_finished && !(flags & FLAG_RST))
        return;
    at = headers_put_ethernet(at, f->is_v6, from_local == f->is_initiator);
    at = headers_put_ip(at, f->is_v6, from->host, to->host, IP_TCP, tcp + size);
    at = flow_put_tcp(at, from, to, flags);
    if (known > FLOW_MAX_CAPTURED - 128)
        known = FLOW_MAX_CAPTURED - 128;
    if (known)
        at = headers_put_bytes(at, data, known);
    made.comment = NULL;
    made.captured = (uint32_t)(at - made.bytes);
    made.original = made.captured - known + size;
    from->sequence += size + (flags & (FLAG_SYN | FLAG_FIN) ? 1 : 0);
    from->has_finished = from->has_finished || flags & (FLAG_FIN | FLAG_RST);
    to->acked = to->sequence;
    (void)run->emit(run->context, f, run->time_ns, &made);
}

static void flow_send_syn(const struct flow_run *run)
{
    if (!run->flow->has_syn)
        flow_emit_packet(run, run->flow->is_initiator, FLAG_SYN, NULL, 0, 0);
    run->flow->has_syn = true;
}

static void flow_complete_handshake(const struct flow_run *run)
{
    struct flow *f = run->flow;

    flow_send_syn(run);
    if (f->has_syn_ack)
        return;
    f->has_syn_ack = true;
    flow_emit_packet(run, !f->is_initiator, FLAG_SYN | FLAG_ACK, NULL, 0, 0);
    flow_emit_packet(run, f->is_initiator, FLAG_ACK, NULL, 0, 0);
}

static void flow_send_data(const struct flow_run *run, bool from_local, const uint8_t *data, uint32_t known,
                           uint32_t size)
{
    const struct flow_end *from = from_local ? &run->flow->local : &run->flow->remote;

    flow_complete_handshake(run);
    do {
        uint32_t n = size < MAX_SEGMENT ? size : MAX_SEGMENT, k = known < n ? known : n;

        flow_emit_packet(run, from_local, FLAG_PSH | FLAG_ACK, data, k, n);
        if (from->sequence - from->acked > MAX_UNACKED)
            flow_emit_packet(run, !from_local, FLAG_ACK, NULL, 0, 0);
        data += k;
        known -= k;
        size -= n;
    } while (size);
}

/* ---- events ---- */

static bool flow_read_end(struct flow_end *end, const struct trace_record *r, const char *name, bool *is_v6)
{
    struct value v;

    if (!value_find(r, name, &v) || v.field->kind != KIND_ADDR || (v.bytes[0] != 4 && v.bytes[0] != 6))
        return false;
    *is_v6 = v.bytes[0] == 6;
    end->port = (uint16_t)(v.bytes[2] << 8 | v.bytes[3]);
    memcpy(end->host, v.bytes + 4, sizeof end->host);
    return true;
}

bool flow_begin(struct flow *f, const struct trace_record *r)
{
    struct value role;

    memset(f, 0, sizeof *f);
    f->file = r->file;
    f->id = r->id;
    f->is_initiator = value_find(r, "role", &role) && role.number == 1;
    return flow_read_end(&f->local, r, "local", &f->is_v6) && flow_read_end(&f->remote, r, "remote", &f->is_v6);
}

static int flow_compare_end(const struct flow_end *a, const struct flow_end *b)
{
    return a->port != b->port ? (int)a->port - (int)b->port : memcmp(a->host, b->host, sizeof a->host);
}

int flow_compare_ends(const void *left, const void *right)
{
    const struct flow *a = left, *b = right;
    int order = (2 * a->is_initiator + a->is_v6) - (2 * b->is_initiator + b->is_v6);

    if (order == 0)
        order = flow_compare_end(&a->local, &b->local);
    return order ? order : flow_compare_end(&a->remote, &b->remote);
}

struct flow flow_other_end(const struct flow *f)
{
    return (struct flow){ .is_initiator = !f->is_initiator, .is_v6 = f->is_v6, .local = f->remote, .remote = f->local };
}

static bool flow_value_is(const struct trace_record *r, const char *field, const char *name)
{
    struct value v;

    return value_find(r, field, &v) && v.name && strcmp(v.name, name) == 0;
}

/* Handles an event of the state machine. Emits only the packets that open, close or reset the connection. */
static void flow_handle_state(const struct flow_run *run, const struct trace_record *r)
{
    struct flow *f = run->flow;

    if (flow_value_is(r, "event", "start"))
        flow_send_syn(run);
    if (flow_value_is(r, "event", "tcp-up"))
        flow_complete_handshake(run);
    if (flow_value_is(r, "why", "refused") && !f->has_syn_ack) {
        flow_send_syn(run);
        flow_emit_packet(run, false, FLAG_RST | FLAG_ACK, NULL, 0, 0);
    }
    if (f->has_syn_ack && flow_value_is(r, "event", "notice"))
        flow_emit_packet(run, false, FLAG_FIN | FLAG_ACK, NULL, 0, 0);
    if (f->has_syn_ack && flow_value_is(r, "event", "drained"))
        flow_emit_packet(run, true, FLAG_FIN | FLAG_ACK, NULL, 0, 0);
    if (f->has_syn_ack && flow_value_is(r, "event", "lost") && flow_value_is(r, "why", "peer-reset"))
        flow_emit_packet(run, false, FLAG_RST | FLAG_ACK, NULL, 0, 0);
}

void flow_handle(struct flow *f, const struct trace_record *r, flow_emit emit, void *context)
{
    struct flow_run run = { f, trace_record_realtime(r), emit, context };
    const char *event = r->event ? r->event->name : "";
    struct value bytes;
    struct fpdu fpdu;

    if (strcmp(event, "connection") == 0 && !f->is_initiator)
        flow_complete_handshake(&run);
    else if (strcmp(event, "state") == 0)
        flow_handle_state(&run, r);
    else if (strcmp(event, "mpa_sent") == 0 || strcmp(event, "mpa_received") == 0) {
        if (value_find(r, "bytes", &bytes))
            flow_send_data(&run, strcmp(event, "mpa_sent") == 0, bytes.bytes, (uint32_t)bytes.size,
                           (uint32_t)bytes.size);
    } else if (fpdu_make(r, f->max_filled, &fpdu))
        flow_send_data(&run, fpdu.is_sent, fpdu.bytes, fpdu.known, fpdu.size);
}
