/* SPDX-License-Identifier: MIT */
/*
 * Implements MPA start-up. The initiator has one state table and the responder has another. iw_startup_print_tables
 * prints both tables.
 *
 *   initiator                                        responder
 *
 *    SENDING                                          READING --bad--> CLOSED        (sends no reply)
 *       | sent                                           |   \
 *       v                                            good|    `--refuse--> REFUSING  (reply with R)
 *    READING --reject--> REJECTED                        v                    |
 *       |   \                                         DECIDING                | sent
 *   good|    `--bad, no ird, no rtr--> FAILED   accept /      \ reject        v
 *       v                                             v        v           CLOSED
 *    AGREED                                      ACCEPTING  REJECTING --sent--> CLOSED
 *                                                     | sent
 *                                                     v
 *                                                  AGREED
 *
 * startup_classify_request and startup_classify_reply turn a frame into an input of the table. Only startup_step
 * writes the state. A step cannot fail. After a step, startup_step checks the invariants:
 *   1. Bytes are requested from the caller only in a state that reads, and never beyond the end of the frame.
 *   2. Bytes to send are returned only in a state that writes. No state both reads and writes.
 *   3. After agreement the revision is at most 2 and the limits are at most the adapter's. With peer-to-peer, which
 *      needs revision 2, exactly one ready-to-receive form is selected; otherwise none.
 *   4. The reply that the initiator has read has the bit R in REJECTED, and does not have it in AGREED.
 *
 * Choices that the RFCs leave open, and answers to peers that break the RFCs:
 *   - The responder does not answer an unknown revision: RFC 5044 requires the receiver to close and report. The
 *     initiator accepts a reply with a lower revision than the request's; a reply with a higher revision is malformed.
 *   - R in a request has no meaning and is ignored, like reserved bits.
 *   - C from either side enables CRC. M is not supported: a request with M is rejected, a reply with M is malformed.
 *   - The responder selects one form that both sides have. If there is none, it rejects and lists its own forms in the
 *     reply. Unlike the initiator, the responder cannot send a Terminate in this case, because it sends no FPDU before
 *     its reply.
 *   - To the initiator, a reply without A means client-server. If a reply has several forms, the initiator selects one.
 *   - A ready-to-receive read is avoided if no reads are allowed and there is another form.
 *   - The responder's reply has the effective limits, so that both sides use the same limits.
 */
#include "iwarp/startup.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEVER = 0, /* not a state: the input cannot occur */
    MAX_REVISION = 2,
    MAX_LIMIT = MPA_LIMIT_NONE - 1,
};

enum initiator_state { I_SENDING = 1, I_READING, I_AGREED, I_REJECTED, I_FAILED, I_STATES };
enum initiator_input { I_SENT, I_GOOD, I_REJECT, I_BAD, I_NO_IRD, I_NO_RTR, I_INPUTS };
enum responder_state { R_READING = 1, R_DECIDING, R_ACCEPTING, R_REJECTING, R_REFUSING, R_AGREED, R_CLOSED, R_STATES };
enum responder_input { R_GOOD, R_REFUSE, R_BAD, R_ACCEPT, R_REJECT, R_SENT, R_INPUTS };

struct cell {
    uint8_t next;
    uint8_t event; /* enum iw_startup_event */
};

struct state {
    const char *name;
    bool reads, writes, agreed;
};

struct machine {
    const char *name;
    const struct state *states;
    const char *const *inputs;
    const struct cell *cells; /* a row of input_count cells for each state; row 0 is not used */
    unsigned state_count, input_count;
    unsigned bad, sent; /* this machine's inputs "bad" and "sent", as indices of `inputs` */
};

struct iw_startup {
    const struct machine *machine;
    unsigned state;
    unsigned rtr;                /* set of enum mpa_rtr: the forms offered (initiator) or accepted (responder) */
    enum iw_startup_fault fault; /* responder: what is wrong with a malformed request */
    struct iw_startup_config config;
    struct iw_startup_result result; /* the limits begin as this side's maximum and only decrease */
    struct mpa_frame peer;           /* its private data is in `frame`, until this side's frame overwrites it */
    size_t in_len, in_need, out_len, out_sent;
    uint8_t frame[MPA_MAX_FRAME]; /* the frame that is being read or sent; no state does both */
};

/* clang-format off */
#define NO { NEVER, IW_STARTUP_NONE }
/* clang-format on */

static const struct state initiator_states[I_STATES] = {
    [I_SENDING] = { .name = "SENDING", .writes = true },
    [I_READING] = { .name = "READING", .reads = true },
    [I_AGREED] = { .name = "AGREED", .agreed = true },
    [I_REJECTED] = { .name = "REJECTED" },
    [I_FAILED] = { .name = "FAILED" },
};

static const char *const initiator_inputs[I_INPUTS] = {
    [I_SENT] = "sent", [I_GOOD] = "good",     [I_REJECT] = "reject",
    [I_BAD] = "bad",   [I_NO_IRD] = "no ird", [I_NO_RTR] = "no rtr",
};

static const struct cell initiator_cells[I_STATES][I_INPUTS] = {
    [I_SENDING] = {
        [I_SENT] = { I_READING, IW_STARTUP_NONE },
        [I_GOOD] = NO, [I_REJECT] = NO, [I_BAD] = NO, [I_NO_IRD] = NO, [I_NO_RTR] = NO,
    },
    [I_READING] = {
        [I_SENT] = NO,
        [I_GOOD] = { I_AGREED, IW_STARTUP_ACCEPTED },
        [I_REJECT] = { I_REJECTED, IW_STARTUP_REJECTED },
        [I_BAD] = { I_FAILED, IW_STARTUP_MALFORMED },
        [I_NO_IRD] = { I_FAILED, IW_STARTUP_NO_IRD },
        [I_NO_RTR] = { I_FAILED, IW_STARTUP_NO_RTR },
    },
    [I_AGREED] = { NO, NO, NO, NO, NO, NO },
    [I_REJECTED] = { NO, NO, NO, NO, NO, NO },
    [I_FAILED] = { NO, NO, NO, NO, NO, NO },
};

static const struct machine initiator = {
    "initiator", initiator_states, initiator_inputs, initiator_cells[0], I_STATES, I_INPUTS, I_BAD, I_SENT,
};

static const struct state responder_states[R_STATES] = {
    [R_READING] = { .name = "READING", .reads = true },
    [R_DECIDING] = { .name = "DECIDING" },
    [R_ACCEPTING] = { .name = "ACCEPTING", .writes = true, .agreed = true },
    [R_REJECTING] = { .name = "REJECTING", .writes = true },
    [R_REFUSING] = { .name = "REFUSING", .writes = true },
    [R_AGREED] = { .name = "AGREED", .agreed = true },
    [R_CLOSED] = { .name = "CLOSED" },
};

static const char *const responder_inputs[R_INPUTS] = {
    [R_GOOD] = "good",     [R_REFUSE] = "refuse", [R_BAD] = "bad",
    [R_ACCEPT] = "accept", [R_REJECT] = "reject", [R_SENT] = "sent",
};

static const struct cell responder_cells[R_STATES][R_INPUTS] = {
    [R_READING] = {
        [R_GOOD] = { R_DECIDING, IW_STARTUP_REQUEST },
        [R_REFUSE] = { R_REFUSING, IW_STARTUP_MALFORMED },
        [R_BAD] = { R_CLOSED, IW_STARTUP_MALFORMED },
        [R_ACCEPT] = NO, [R_REJECT] = NO, [R_SENT] = NO,
    },
    [R_DECIDING] = {
        [R_GOOD] = NO, [R_REFUSE] = NO, [R_BAD] = NO,
        [R_ACCEPT] = { R_ACCEPTING, IW_STARTUP_NONE },
        [R_REJECT] = { R_REJECTING, IW_STARTUP_NONE },
        [R_SENT] = NO,
    },
    [R_ACCEPTING] = { NO, NO, NO, NO, NO, [R_SENT] = { R_AGREED, IW_STARTUP_SENT } },
    [R_REJECTING] = { NO, NO, NO, NO, NO, [R_SENT] = { R_CLOSED, IW_STARTUP_SENT } },
    [R_REFUSING] = { NO, NO, NO, NO, NO, [R_SENT] = { R_CLOSED, IW_STARTUP_SENT } },
    [R_AGREED] = { NO, NO, NO, NO, NO, NO },
    [R_CLOSED] = { NO, NO, NO, NO, NO, NO },
};

static const struct machine responder = {
    "responder", responder_states, responder_inputs, responder_cells[0], R_STATES, R_INPUTS, R_BAD, R_SENT,
};

static const struct state *startup_state(const struct iw_startup *s)
{
    return &s->machine->states[s->state];
}

static bool startup_is_one_form(unsigned rtr)
{
    return rtr == MPA_RTR_ZERO_FPDU || rtr == MPA_RTR_WRITE || rtr == MPA_RTR_READ;
}

static void startup_check_invariants(const struct iw_startup *s)
{
    const struct state *state = startup_state(s);
    const struct iw_startup_result *r = &s->result;

    assert(s->in_len <= s->in_need && s->in_need <= sizeof s->frame);
    assert(s->out_sent <= s->out_len && s->out_len <= sizeof s->frame);
    assert(!state->reads || s->in_len < s->in_need);
    assert(state->writes == (s->out_sent < s->out_len));
    assert(!(state->reads && state->writes));
    assert(r->ird <= MAX_LIMIT && r->ord <= MAX_LIMIT);
    if (s->machine == &initiator)
        assert((s->state == I_REJECTED) <= s->peer.rejected && (s->state == I_AGREED) <= !s->peer.rejected);
    if (!state->agreed)
        return;
    assert(r->revision <= MAX_REVISION);
    assert(r->peer_to_peer ? r->revision == MAX_REVISION && startup_is_one_form(r->rtr) : r->rtr == MPA_RTR_NONE);
    (void)r;
}

static enum iw_startup_event startup_step(struct iw_startup *s, unsigned input)
{
    const struct machine *m = s->machine;
    const struct cell *cell = &m->cells[s->state * m->input_count + input];

    if (cell->next == NEVER)
        abort(); /* the caller broke the order of calls */
    s->state = cell->next;
    startup_check_invariants(s);
    return (enum iw_startup_event)cell->event;
}

static uint16_t startup_min(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

/* Returns `limit`, but at most the adapter's limit, and never MPA_LIMIT_NONE. */
static uint16_t startup_cap_limit(uint16_t limit, uint16_t adapter)
{
    return startup_min(startup_min(limit, adapter), MAX_LIMIT);
}

/* Returns the effective limit. MPA_LIMIT_NONE from the peer is larger than any own limit, so the own limit remains. */
static uint16_t startup_common_limit(uint16_t own, uint16_t peer)
{
    return startup_min(own, peer);
}

/*
 * Returns the preferred ready-to-receive form of the set, or MPA_RTR_NONE. `reads` is the most reads that the
 * initiator may have in flight.
 */
static enum mpa_rtr startup_pick_form(unsigned set, uint16_t reads)
{
    static const enum mpa_rtr preference[] = { MPA_RTR_ZERO_FPDU, MPA_RTR_WRITE, MPA_RTR_READ };

    if (reads == 0 && set & ~(unsigned)MPA_RTR_READ)
        set &= ~(unsigned)MPA_RTR_READ;
    for (size_t i = 0; i < sizeof preference / sizeof preference[0]; i++) {
        if (set & preference[i])
            return preference[i];
    }
    return MPA_RTR_NONE;
}

static struct iw_startup *startup_create(const struct machine *m, const struct iw_startup_config *c)
{
    struct iw_startup *s = malloc(sizeof *s);

    if (!s)
        return NULL;
    memset(s, 0, offsetof(struct iw_startup, frame));
    s->machine = m;
    s->state = 1;
    s->config = *c;
    s->rtr = c->rtr;
    s->in_need = MPA_FRAME_HEADER;
    return s;
}

static void startup_set_frame(struct iw_startup *s, struct mpa_frame *f, const void *private_data, size_t len)
{
    f->private_data = private_data;
    f->private_len = len;
    s->out_len = mpa_frame_encode(f, s->frame, sizeof s->frame);
    s->peer.private_data = NULL;
    s->peer.private_len = 0;
    assert(s->out_len > 0);
}

struct iw_startup *iw_startup_initiator(const struct iw_startup_config *c, uint16_t ird, uint16_t ord,
                                        const void *private_data, size_t len)
{
    struct iw_startup *s = startup_create(&initiator, c);

    if (!s)
        return NULL;
    s->result.ird = startup_cap_limit(ird, c->max_ird);
    s->result.ord = startup_cap_limit(ord, c->max_ord);
    if (s->result.ord == 0 && s->rtr != MPA_RTR_READ)
        s->rtr &= ~(unsigned)MPA_RTR_READ;
    struct mpa_frame f = {
        .revision = c->revision,
        .crc = c->crc,
        .enhanced = c->revision >= 2,
        .peer_to_peer = s->rtr != 0,
        .rtr = s->rtr,
        .ird = s->result.ird,
        .ord = s->result.ord,
    };
    startup_set_frame(s, &f, private_data, len);
    startup_check_invariants(s);
    return s;
}

struct iw_startup *iw_startup_responder(const struct iw_startup_config *c)
{
    struct iw_startup *s = startup_create(&responder, c);

    if (!s)
        return NULL;
    s->result.ird = startup_cap_limit(MAX_LIMIT, c->max_ird);
    s->result.ord = startup_cap_limit(MAX_LIMIT, c->max_ord);
    startup_check_invariants(s);
    return s;
}

void iw_startup_free(struct iw_startup *s)
{
    free(s);
}

/* Lowers this side's inbound limit to the peer's outbound limit, and the outbound limit to the peer's inbound limit. */
static void startup_merge_limits(struct iw_startup *s)
{
    if (!s->peer.has_limits)
        return;
    s->result.ird = startup_common_limit(s->result.ird, s->peer.ord);
    s->result.ord = startup_common_limit(s->result.ord, s->peer.ird);
}

/* Returns a reply to the peer's request. The caller adds the fields that accept or reject the request. */
static struct mpa_frame startup_reply_frame(const struct iw_startup *s)
{
    return (struct mpa_frame){
        .reply = true,
        .crc = s->peer.crc || s->config.crc,
        .revision = s->peer.revision,
        .enhanced = s->peer.enhanced,
        .ird = s->result.ird,
        .ord = s->result.ord,
    };
}

/*
 * Makes the reject for a request that is not passed to the consumer. The reject lists the ready-to-receive forms that
 * this side accepts.
 */
static enum responder_input startup_refuse(struct iw_startup *s, enum iw_startup_fault fault)
{
    struct mpa_frame f = startup_reply_frame(s);

    s->fault = fault;
    f.rejected = true;
    f.peer_to_peer = s->peer.peer_to_peer;
    f.rtr = s->peer.peer_to_peer ? s->rtr : 0;
    startup_set_frame(s, &f, NULL, 0);
    return R_REFUSE;
}

static enum responder_input startup_classify_request(struct iw_startup *s)
{
    const struct mpa_frame *f = &s->peer;

    if (f->revision > MAX_REVISION) {
        s->fault = IW_FAULT_REVISION;
        return R_BAD;
    }
    startup_merge_limits(s);
    if (f->markers)
        return startup_refuse(s, IW_FAULT_MARKERS);
    if (f->enhanced && !f->has_limits)
        return startup_refuse(s, IW_FAULT_NO_LIMITS);
    if (f->private_len > s->config.max_private)
        return startup_refuse(s, IW_FAULT_PRIVATE_DATA);
    if (f->peer_to_peer && !(f->rtr & s->rtr))
        return startup_refuse(s, IW_FAULT_NO_FORM);
    return R_GOOD;
}

static bool startup_is_bad_reply(const struct iw_startup *s)
{
    const struct mpa_frame *f = &s->peer;

    return f->revision > s->config.revision || f->markers || (f->enhanced && !f->has_limits);
}

static enum initiator_input startup_classify_reply(struct iw_startup *s)
{
    const struct mpa_frame *f = &s->peer;
    struct iw_startup_result *r = &s->result;
    bool demands = f->has_limits && f->ord != MPA_LIMIT_NONE && f->ord > r->ird;
    unsigned forms = f->rtr & s->rtr;

    if (f->revision > MAX_REVISION)
        return I_BAD;
    if (f->rejected)
        return I_REJECT;
    if (startup_is_bad_reply(s))
        return I_BAD;
    r->revision = f->revision;
    r->crc = s->config.crc || f->crc;
    startup_merge_limits(s);
    if (demands)
        return I_NO_IRD;
    if (f->peer_to_peer && !forms)
        return I_NO_RTR;
    r->peer_to_peer = f->peer_to_peer;
    r->rtr = f->peer_to_peer ? startup_pick_form(forms, r->ord) : MPA_RTR_NONE;
    return I_GOOD;
}

size_t iw_startup_rx_want(struct iw_startup *s, uint8_t **at)
{
    if (!startup_state(s)->reads)
        return 0;
    *at = s->frame + s->in_len;
    return s->in_need - s->in_len;
}

const uint8_t *iw_startup_rx_frame(const struct iw_startup *s, size_t *len)
{
    *len = s->in_len;
    return s->frame;
}

enum iw_startup_event iw_startup_rx_done(struct iw_startup *s, size_t n)
{
    if (n == 0)
        return IW_STARTUP_NONE;
    assert(startup_state(s)->reads && n <= s->in_need - s->in_len);
    s->in_len += n;
    switch (mpa_frame_decode(&s->peer, s->machine == &initiator, s->frame, s->in_len, &s->in_need)) {
    case MPA_MORE:
        return IW_STARTUP_NONE;
    case MPA_BAD_KEY:
    case MPA_BAD_LENGTH:
        break;
    case MPA_DECODED:
        return startup_step(s, s->machine == &initiator ? (unsigned)startup_classify_reply(s)
                                                        : (unsigned)startup_classify_request(s));
    }
    memset(&s->peer, 0, sizeof s->peer);
    return startup_step(s, s->machine->bad);
}

size_t iw_startup_tx_want(struct iw_startup *s, const uint8_t **at)
{
    if (!startup_state(s)->writes)
        return 0;
    *at = s->frame + s->out_sent;
    return s->out_len - s->out_sent;
}

enum iw_startup_event iw_startup_tx_done(struct iw_startup *s, size_t n)
{
    if (n == 0)
        return IW_STARTUP_NONE;
    assert(startup_state(s)->writes && n <= s->out_len - s->out_sent);
    s->out_sent += n;
    return s->out_sent == s->out_len ? startup_step(s, s->machine->sent) : IW_STARTUP_NONE;
}

void iw_startup_accept(struct iw_startup *s, uint16_t ird, uint16_t ord, const void *private_data, size_t len)
{
    struct iw_startup_result *r = &s->result;

    r->ird = startup_min(ird, r->ird);
    r->ord = startup_min(ord, r->ord);
    struct mpa_frame f = startup_reply_frame(s);
    r->revision = f.revision;
    r->crc = f.crc;
    r->peer_to_peer = s->peer.peer_to_peer;
    r->rtr = r->peer_to_peer ? startup_pick_form(s->peer.rtr & s->rtr, r->ird) : MPA_RTR_NONE;
    f.peer_to_peer = r->peer_to_peer;
    f.rtr = (unsigned)r->rtr;
    startup_set_frame(s, &f, private_data, len);
    startup_step(s, R_ACCEPT);
}

void iw_startup_reject(struct iw_startup *s, const void *private_data, size_t len)
{
    struct mpa_frame f = startup_reply_frame(s);

    f.rejected = true;
    startup_set_frame(s, &f, private_data, len);
    startup_step(s, R_REJECT);
}

void iw_startup_limits(const struct iw_startup *s, uint16_t *ird, uint16_t *ord)
{
    *ird = s->result.ird;
    *ord = s->result.ord;
}

enum iw_startup_fault iw_startup_fault(const struct iw_startup *s)
{
    /* If the frame could not be decoded, `fault` is still 0, which is IW_FAULT_FRAME. */
    return s->fault;
}

const uint8_t *iw_startup_private(const struct iw_startup *s, size_t *len)
{
    *len = s->peer.private_len;
    return s->peer.private_data;
}

void iw_startup_result(const struct iw_startup *s, struct iw_startup_result *r)
{
    *r = s->result;
}

static const char *startup_event_name(enum iw_startup_event e)
{
    switch (e) {
    case IW_STARTUP_NONE:
        return "";
    case IW_STARTUP_REQUEST:
        return " / REQUEST";
    case IW_STARTUP_SENT:
        return " / SENT";
    case IW_STARTUP_ACCEPTED:
        return " / ACCEPTED";
    case IW_STARTUP_REJECTED:
        return " / REJECTED";
    case IW_STARTUP_MALFORMED:
        return " / MALFORMED";
    case IW_STARTUP_NO_IRD:
        return " / NO_IRD";
    case IW_STARTUP_NO_RTR:
        return " / NO_RTR";
    }
    return "";
}

static void startup_print_machine(FILE *out, const struct machine *m)
{
    fprintf(out, "### MPA start-up: %s\n\n| state |", m->name);
    for (unsigned i = 0; i < m->input_count; i++)
        fprintf(out, " %s |", m->inputs[i]);
    fprintf(out, "\n|---|");
    for (unsigned i = 0; i < m->input_count; i++)
        fprintf(out, "---|");
    fprintf(out, "\n");
    for (unsigned s = 1; s < m->state_count; s++) {
        fprintf(out, "| %s |", m->states[s].name);
        for (unsigned i = 0; i < m->input_count; i++) {
            const struct cell *c = &m->cells[s * m->input_count + i];
            if (c->next == NEVER)
                fprintf(out, " - |");
            else
                fprintf(out, " %s%s |", m->states[c->next].name, startup_event_name((enum iw_startup_event)c->event));
        }
        fprintf(out, "\n");
    }
    fprintf(out, "\n");
}

void iw_startup_print_tables(FILE *out)
{
    startup_print_machine(out, &initiator);
    startup_print_machine(out, &responder);
}
