/* SPDX-License-Identifier: MIT */
/*
 * Records events of connections in the trace. Converts members of connections to fields of events, and registers the
 * names of the fields' values. The invariant: nothing in this file changes a connection.
 */
#include "fabric/iwarp/conn_trace.h"

#include <stddef.h>
#include <string.h>

enum { TRACE_MAX_GARBAGE = 64 }; /* maximum number of recorded bytes if the input is no frame */

static struct trace_addr conn_trace_addr(const struct addr *a)
{
    struct trace_addr field = { 0 };

    if (a && a->sa.sa_family == AF_INET) {
        field.family = 4;
        memcpy(field.port, &a->v4.sin_port, sizeof field.port);
        memcpy(field.host, &a->v4.sin_addr, sizeof a->v4.sin_addr);
    } else if (a && a->sa.sa_family == AF_INET6) {
        field.family = 6;
        memcpy(field.port, &a->v6.sin6_port, sizeof field.port);
        memcpy(field.host, &a->v6.sin6_addr, sizeof a->v6.sin6_addr);
        field.scope = a->v6.sin6_scope_id;
    }
    return field;
}

void conn_trace_listening_now(const struct fabric_listener *l, const struct addr *local, enum fabric_reason why)
{
    TRACE(listening, 0, .object = (uintptr_t)l->owner, .interface = l->fabric->if_index,
          .local = conn_trace_addr(local), .why = (uint16_t)why);
}

void conn_trace_refused_now(const struct addr *local, const struct addr *remote, enum fabric_reason why)
{
    TRACE(refused, 0, .local = conn_trace_addr(local), .remote = conn_trace_addr(remote), .why = (uint16_t)why);
}

void conn_trace_begin_now(struct fabric_conn *c)
{
    c->traced_by = (uint8_t)trace_recorders();
    TRACE(connection, c->number, .role = c->active, .object = (uintptr_t)c->owner, .interface = c->fabric->if_index,
          .local = conn_trace_addr(&c->local), .remote = conn_trace_addr(&c->remote));
}

void conn_trace_follow_now(struct fabric_conn *c)
{
    if (c->remote.sa.sa_family == AF_UNSPEC)
        return; /* NdkConnect has not been called */
    c->traced_by = (uint8_t)trace_recorders();
    TRACE(ongoing, c->number, .role = c->active, .object = (uintptr_t)c->owner, .interface = c->fabric->if_index,
          .local = conn_trace_addr(&c->local), .remote = conn_trace_addr(&c->remote), .state = (uint8_t)c->state);
    if (c->streams)
        iw_qp_report_frames(c->qp->iw, trace_payload_limit());
}

void conn_trace_terminate_now(const struct fabric_conn *c, bool is_sent, uint16_t code)
{
    TRACE(terminate, c->number, .direction = is_sent, .layer = (uint8_t)(code >> 12), .type = code >> 8 & 15,
          .code = (uint8_t)code, .name = code);
}

/*
 * Returns the time for the event of a frame. For a sent frame this is the time when the write to the socket began. For
 * a received frame, or if tracing began during the write, this is the present time.
 */
static uint64_t conn_trace_frame_time(const struct fabric_conn *c, bool is_sent)
{
    return is_sent && c->send_began_ns ? c->send_began_ns : trace_now_ns();
}

/* ---- start-up frames ---- */

enum conn_trace_frame_kind { FRAME_REQUEST, FRAME_ACCEPT, FRAME_REJECT, FRAME_INVALID };

struct conn_trace_mpa {
    struct trace_fields_mpa_sent fields;
    uint8_t bytes[MPA_MAX_FRAME];
} __attribute__((packed));
_Static_assert(sizeof(struct trace_fields_mpa_sent) == sizeof(struct trace_fields_mpa_received) &&
                   sizeof(struct conn_trace_mpa) <= TRACE_MAX_FIELDS,
               "both directions have the same fields");

static void conn_trace_set_frame(struct trace_fields_mpa_sent *fields, const struct mpa_frame *f)
{
    fields->frame = f->rejected && f->reply ? FRAME_REJECT : f->reply ? FRAME_ACCEPT : FRAME_REQUEST;
    fields->revision = f->revision;
    fields->crc = f->crc;
    fields->markers = f->markers;
    fields->enhanced = f->enhanced;
    fields->ird = f->ird;
    fields->ord = f->ord;
    fields->ready = (uint8_t)f->rtr;
    fields->data_size = (uint16_t)f->private_len;
}

void conn_trace_frame_now(const struct fabric_conn *c, bool is_sent, const uint8_t *bytes, size_t len)
{
    bool is_reply = c->active != is_sent; /* the initiator sends the request */
    struct conn_trace_mpa event = { .fields = { .frame = FRAME_INVALID } };
    struct mpa_frame frame = { .reply = is_reply };
    size_t need;

    switch (mpa_frame_decode(&frame, is_reply, bytes, len, &need)) {
    case MPA_MORE:
        return;
    case MPA_DECODED:
        conn_trace_set_frame(&event.fields, &frame);
        len = need < len ? need : len;
        break;
    case MPA_BAD_KEY:
    case MPA_BAD_LENGTH:
        if (is_sent)
            return; /* this is the rest of a frame whose beginning has been recorded */
        len = len < TRACE_MAX_GARBAGE ? len : TRACE_MAX_GARBAGE;
        break;
    }
    event.fields.bytes = (uint16_t)len;
    memcpy(event.bytes, bytes, len);
    trace_append_at(conn_trace_frame_time(c, is_sent), is_sent ? TRACE_TYPE_mpa_sent : TRACE_TYPE_mpa_received,
                    c->number, &event, sizeof event.fields + len);
}

/* ---- FPDUs ---- */

static uint16_t conn_trace_control(const struct iw_frame *f)
{
    return (uint16_t)(f->bytes[0] << 8 | f->bytes[1]);
}

static void conn_trace_tagged(const struct fabric_conn *c, const struct iw_frame *f)
{
    const struct ddp_header *h = &f->header;
    const struct trace_fields_tagged fields = { .direction = f->is_sent,
                                                .opcode = h->opcode,
                                                .last = h->last,
                                                .stag = h->stag,
                                                .to = h->to,
                                                .payload = f->ulpdu - DDP_TAGGED_HEADER,
                                                .crc = (uint8_t)f->crc,
                                                .control = conn_trace_control(f),
                                                .bytes = (uint16_t)f->payload_len };

    trace_append_bytes_at(conn_trace_frame_time(c, f->is_sent), TRACE_TYPE_tagged, c->number, &fields, sizeof fields,
                          f->payload, f->payload_len);
}

static void conn_trace_untagged(const struct fabric_conn *c, const struct iw_frame *f)
{
    const struct ddp_header *h = &f->header;
    const struct trace_fields_untagged fields = { .direction = f->is_sent,
                                                  .opcode = h->opcode,
                                                  .last = h->last,
                                                  .queue = h->queue,
                                                  .msn = h->msn,
                                                  .offset = h->mo,
                                                  .stag = h->stag,
                                                  .payload = f->ulpdu - DDP_UNTAGGED_HEADER,
                                                  .crc = (uint8_t)f->crc,
                                                  .control = conn_trace_control(f),
                                                  .bytes = (uint16_t)f->payload_len };

    trace_append_bytes_at(conn_trace_frame_time(c, f->is_sent), TRACE_TYPE_untagged, c->number, &fields, sizeof fields,
                          f->payload, f->payload_len);
}

void conn_trace_fpdu(const struct fabric_conn *c, const struct iw_frame *f)
{
    if (!f->has_header)
        TRACE_AT(conn_trace_frame_time(c, f->is_sent), no_segment, c->number, .direction = f->is_sent,
                 .length = f->ulpdu, .crc = (uint8_t)f->crc);
    else if (f->header.tagged)
        conn_trace_tagged(c, f);
    else
        conn_trace_untagged(c, f);
}

void conn_trace_lone_terminate_now(const struct fabric_conn *c, const uint8_t *fpdu)
{
    uint32_t ulpdu = (uint32_t)fpdu[0] << 8 | fpdu[1];
    struct iw_frame f = { .is_sent = true,
                          .crc = c->result.crc ? IW_CRC_GOOD : IW_CRC_NONE,
                          .ulpdu = ulpdu,
                          .bytes = fpdu + MPA_FPDU_LENGTH };
    size_t size;

    f.has_header = ddp_header_decode(&f.header, f.bytes, ulpdu, &size);
    if (f.has_header) {
        f.payload = f.bytes + size;
        f.payload_len = ulpdu - (uint32_t)size;
    }
    conn_trace_fpdu(c, &f);
}

/* ---- names ---- */

static const char *names_get(const char *const *names, unsigned count, unsigned index, unsigned *value)
{
    *value = index;
    return index < count ? names[index] : NULL;
}

#define NAMES(list, ...)                                                                                               \
    static const char *names_next_##list(unsigned index, unsigned *value)                                              \
    {                                                                                                                  \
        static const char *const names[] = { __VA_ARGS__ };                                                            \
        return names_get(names, sizeof names / sizeof names[0], index, value);                                         \
    }

NAMES(role, "accepted", "initiated")
NAMES(outcome, "established", "ended", "failed", "refused")
NAMES(mpa_frame, "request", "accept", "reject", "invalid")
NAMES(direction, "received", "sent")
NAMES(opcode, "write", "read-request", "read-response", "send", "send-invalidate", "send-solicited",
      "send-solicited-invalidate", "terminate")
NAMES(crc, "not-used", "good", "bad")
NAMES(ready_forms, "none", "empty-fpdu", "write", "empty-fpdu,write", "read", "empty-fpdu,read", "write,read",
      "empty-fpdu,write,read")
_Static_assert(MPA_RTR_ZERO_FPDU == 1 && MPA_RTR_WRITE == 2 && MPA_RTR_READ == 4, "the order of the names");
_Static_assert(FABRIC_OUTCOME_ESTABLISHED == 0 && FABRIC_OUTCOME_REFUSED == 3, "the order of the names");

static const char *names_next_state(unsigned index, unsigned *value)
{
    *value = index;
    return index < CONN_STATES ? conn_state_name((enum conn_state)index) : NULL;
}

static const char *names_next_event(unsigned index, unsigned *value)
{
    *value = index;
    return index < CONN_EVENTS ? conn_event_name((enum conn_event)index) : NULL;
}

static const char *names_next_reason(unsigned index, unsigned *value)
{
    *value = index;
    return index < FABRIC_REASON_COUNT ? fabric_reason_name((enum fabric_reason)index) : NULL;
}

static const char *names_next_phase(unsigned index, unsigned *value)
{
    *value = index;
    return index < FABRIC_PHASES ? fabric_phase_name((enum fabric_phase)index) : NULL;
}

static const char *names_next_terminate(unsigned index, unsigned *value)
{
    unsigned count;
    const struct fabric_terminate *codes = fabric_terminates(&count);

    if (index == count) {
        *value = FABRIC_NO_TERMINATE;
        return "none";
    }
    *value = index < count ? codes[index].code : 0;
    return index < count ? codes[index].name : NULL;
}

static bool texts_next_terminate(unsigned index, struct trace_text *text)
{
    unsigned count;
    const struct fabric_terminate *codes = fabric_terminates(&count);

    if (index < count)
        *text = (struct trace_text){ codes[index].code, codes[index].text, codes[index].advice };
    return index < count;
}

__attribute__((constructor)) static void conn_trace_set_names(void)
{
    trace_set_texts(TRACE_NAMES_terminate, texts_next_terminate);
    trace_set_names(TRACE_NAMES_role, names_next_role);
    trace_set_names(TRACE_NAMES_state, names_next_state);
    trace_set_names(TRACE_NAMES_event, names_next_event);
    trace_set_names(TRACE_NAMES_reason, names_next_reason);
    trace_set_names(TRACE_NAMES_phase, names_next_phase);
    trace_set_names(TRACE_NAMES_outcome, names_next_outcome);
    trace_set_names(TRACE_NAMES_terminate, names_next_terminate);
    trace_set_names(TRACE_NAMES_mpa_frame, names_next_mpa_frame);
    trace_set_names(TRACE_NAMES_ready_forms, names_next_ready_forms);
    trace_set_names(TRACE_NAMES_direction, names_next_direction);
    trace_set_names(TRACE_NAMES_opcode, names_next_opcode);
    trace_set_names(TRACE_NAMES_crc, names_next_crc);
}
