/* SPDX-License-Identifier: MIT */
/*
 * MPA start-up: the initiator and the responder, a table each. iw_startup_print_tables prints them.
 *
 *   initiator                                        responder
 *
 *    SENDING                                          READING --bad--> CLOSED        (no reply)
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
 * What a frame amounts to is decided before the step (judge_request, judge_reply); a step cannot fail. step() is the
 * one place that writes the state, and checks the invariants after it:
 *   1. Bytes are read in the states marked for reading, exactly up to the frame's end, and in no other.
 *   2. Bytes are written in the states marked for writing, and in no other; never both.
 *   3. Where both sides have agreed, the revision is 2 at most, and there is exactly one ready-to-receive form with
 *      peer-to-peer (which needs revision 2), none without; limits are the adapter's at most.
 *   4. REJECTED holds a reply with R; nothing else that ends well does.
 *
 * Where the RFCs leave a choice, or a peer breaks them:
 *   - A revision that is not ours is not answered: RFC 5044 has the receiver close and report. A reply in a lower
 *     revision than asked for is taken for what it is, in a higher one it is malformed.
 *   - R in a request has no meaning and is ignored, as reserved bits are.
 *   - C on either side puts CRC on. M cannot be served: a request with it gets a reject, a reply with it is malformed.
 *   - The responder picks one form out of those that both know. Are there none, it rejects, with its own forms in the
 *     reply; a Terminate, which RFC 6581 has for the initiator, needs FPDUs, and a responder has none yet.
 *   - The initiator takes a reply without A as client-server, and one with several forms as a choice.
 *   - A ready-to-receive read without any reads allowed is avoided where there is another form.
 *   - The responder states the effective limits, so that both sides come to the same.
 */
#include "iwarp/startup.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEVER = 0, /* no state; in a table: this input does not occur in this state */
    HIGHEST_REVISION = 2,
    LIMIT_MAX = MPA_LIMIT_NONE - 1,
};

enum initiator_state { I_SENDING = 1, I_READING, I_AGREED, I_REJECTED, I_FAILED, I_STATES };
enum initiator_input { I_SENT, I_GOOD, I_REJECT, I_BAD, I_NO_IRD, I_NO_RTR, I_INPUTS };
enum responder_state {
    R_READING = 1, R_DECIDING, R_ACCEPTING, R_REJECTING, R_REFUSING, R_AGREED, R_CLOSED, R_STATES
};
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
    const struct cell *cells; /* state by state, from 1 on */
    unsigned state_count, input_count;
    unsigned bad, sent; /* the inputs that do not depend on a frame's meaning */
};

struct iw_startup {
    const struct machine *machine;
    unsigned state;
    unsigned rtr; /* forms offered (initiator) or accepted (responder) */
    struct iw_startup_config config;
    struct iw_startup_result result; /* limits: from the start the best that can still be agreed on */
    struct mpa_frame peer;           /* private data points into frame, until our own frame takes its place */
    size_t in_len, in_need, out_len, out_sent;
    uint8_t frame[MPA_MAX_FRAME];    /* theirs or ours: nobody reads and writes at a time */
};

#define NO { NEVER, IW_STARTUP_NONE }

static const struct state initiator_states[I_STATES] = {
    [I_SENDING] = { .name = "SENDING", .writes = true },
    [I_READING] = { .name = "READING", .reads = true },
    [I_AGREED] = { .name = "AGREED", .agreed = true },
    [I_REJECTED] = { .name = "REJECTED" },
    [I_FAILED] = { .name = "FAILED" },
};

static const char *const initiator_inputs[I_INPUTS] = {
    [I_SENT] = "sent", [I_GOOD] = "good", [I_REJECT] = "reject",
    [I_BAD] = "bad", [I_NO_IRD] = "no ird", [I_NO_RTR] = "no rtr",
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
    [R_GOOD] = "good", [R_REFUSE] = "refuse", [R_BAD] = "bad",
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

static const struct state *state_of(const struct iw_startup *s)
{
    return &s->machine->states[s->state];
}

static bool one_form(unsigned rtr)
{
    return rtr == MPA_RTR_ZERO_FPDU || rtr == MPA_RTR_WRITE || rtr == MPA_RTR_READ;
}

static void check_invariants(const struct iw_startup *s)
{
    const struct state *state = state_of(s);
    const struct iw_startup_result *r = &s->result;

    assert(s->in_len <= s->in_need && s->in_need <= sizeof s->frame);
    assert(s->out_sent <= s->out_len && s->out_len <= sizeof s->frame);
    assert(!state->reads || s->in_len < s->in_need);
    assert(state->writes == (s->out_sent < s->out_len));
    assert(!(state->reads && state->writes));
    assert(r->ird <= LIMIT_MAX && r->ord <= LIMIT_MAX);
    if (s->machine == &initiator)
        assert((s->state == I_REJECTED) <= s->peer.rejected && (s->state == I_AGREED) <= !s->peer.rejected);
    if (!state->agreed)
        return;
    assert(r->revision <= HIGHEST_REVISION);
    assert(r->peer_to_peer ? r->revision == HIGHEST_REVISION && one_form(r->rtr) : r->rtr == MPA_RTR_NONE);
    (void)r;
}

static enum iw_startup_event step(struct iw_startup *s, unsigned input)
{
    const struct machine *m = s->machine;
    const struct cell *cell = &m->cells[s->state * m->input_count + input];

    if (cell->next == NEVER)
        abort(); /* called out of turn */
    s->state = cell->next;
    check_invariants(s);
    return (enum iw_startup_event)cell->event;
}

static uint16_t least(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

/* A limit of ours: the adapter's at most, and never the value that means none. */
static uint16_t own_limit(uint16_t wish, uint16_t adapter)
{
    return least(least(wish, adapter), LIMIT_MAX);
}

/* The effective limit. A peer that states none states more than any limit of ours, which leaves ours. */
static uint16_t common_limit(uint16_t own, uint16_t peer)
{
    return least(own, peer);
}

/* One form of the set (NONE of none). reads: how many reads may be in flight from initiator to responder. */
static enum mpa_rtr pick_form(unsigned set, uint16_t reads)
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

static void put_frame(struct iw_startup *s, struct mpa_frame *f, const void *private_data, size_t len)
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
    s->result.ird = own_limit(ird, c->max_ird);
    s->result.ord = own_limit(ord, c->max_ord);
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
    put_frame(s, &f, private_data, len);
    check_invariants(s);
    return s;
}

struct iw_startup *iw_startup_responder(const struct iw_startup_config *c)
{
    struct iw_startup *s = startup_create(&responder, c);

    if (!s)
        return NULL;
    s->result.ird = own_limit(LIMIT_MAX, c->max_ird);
    s->result.ord = own_limit(LIMIT_MAX, c->max_ord);
    check_invariants(s);
    return s;
}

void iw_startup_free(struct iw_startup *s)
{
    free(s);
}

/* What the peer's frame states is folded into the limits; each side's inbound is the other's outbound. */
static void fold_limits(struct iw_startup *s)
{
    if (!s->peer.has_limits)
        return;
    s->result.ird = common_limit(s->result.ird, s->peer.ord);
    s->result.ord = common_limit(s->result.ord, s->peer.ird);
}

/* A reply in the request's terms; the caller adds what makes it a yes or a no. */
static struct mpa_frame reply_frame(const struct iw_startup *s)
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

/* A reject that no consumer made: it tells the peer at once, and which forms would do. */
static enum responder_input refuse(struct iw_startup *s)
{
    struct mpa_frame f = reply_frame(s);

    f.rejected = true;
    f.peer_to_peer = s->peer.peer_to_peer;
    f.rtr = s->peer.peer_to_peer ? s->rtr : 0;
    put_frame(s, &f, NULL, 0);
    return R_REFUSE;
}

static enum responder_input judge_request(struct iw_startup *s)
{
    const struct mpa_frame *f = &s->peer;

    if (f->revision > HIGHEST_REVISION)
        return R_BAD;
    fold_limits(s);
    if (f->markers)
        return refuse(s);
    if (f->enhanced && !f->has_limits)
        return refuse(s);
    if (f->private_len > s->config.max_private)
        return refuse(s);
    if (f->peer_to_peer && !(f->rtr & s->rtr))
        return refuse(s);
    return R_GOOD;
}

static bool reply_is_bad(const struct iw_startup *s)
{
    const struct mpa_frame *f = &s->peer;

    return f->revision > s->config.revision || f->markers || (f->enhanced && !f->has_limits);
}

static enum initiator_input judge_reply(struct iw_startup *s)
{
    const struct mpa_frame *f = &s->peer;
    struct iw_startup_result *r = &s->result;
    bool demands = f->has_limits && f->ord != MPA_LIMIT_NONE && f->ord > r->ird;
    unsigned forms = f->rtr & s->rtr;

    if (f->revision > HIGHEST_REVISION)
        return I_BAD;
    if (f->rejected)
        return I_REJECT;
    if (reply_is_bad(s))
        return I_BAD;
    r->revision = f->revision;
    r->crc = s->config.crc || f->crc;
    fold_limits(s);
    if (demands)
        return I_NO_IRD;
    if (f->peer_to_peer && !forms)
        return I_NO_RTR;
    r->peer_to_peer = f->peer_to_peer;
    r->rtr = f->peer_to_peer ? pick_form(forms, r->ord) : MPA_RTR_NONE;
    return I_GOOD;
}

size_t iw_startup_rx_want(struct iw_startup *s, uint8_t **at)
{
    if (!state_of(s)->reads)
        return 0;
    *at = s->frame + s->in_len;
    return s->in_need - s->in_len;
}

enum iw_startup_event iw_startup_rx_done(struct iw_startup *s, size_t n)
{
    if (n == 0)
        return IW_STARTUP_NONE;
    assert(state_of(s)->reads && n <= s->in_need - s->in_len);
    s->in_len += n;
    switch (mpa_frame_decode(&s->peer, s->machine == &initiator, s->frame, s->in_len, &s->in_need)) {
    case MPA_MORE:
        return IW_STARTUP_NONE;
    case MPA_BAD_KEY:
    case MPA_BAD_LENGTH:
        break;
    case MPA_DECODED:
        return step(s, s->machine == &initiator ? (unsigned)judge_reply(s) : (unsigned)judge_request(s));
    }
    memset(&s->peer, 0, sizeof s->peer);
    return step(s, s->machine->bad);
}

size_t iw_startup_tx_want(struct iw_startup *s, const uint8_t **at)
{
    if (!state_of(s)->writes)
        return 0;
    *at = s->frame + s->out_sent;
    return s->out_len - s->out_sent;
}

enum iw_startup_event iw_startup_tx_done(struct iw_startup *s, size_t n)
{
    if (n == 0)
        return IW_STARTUP_NONE;
    assert(state_of(s)->writes && n <= s->out_len - s->out_sent);
    s->out_sent += n;
    return s->out_sent == s->out_len ? step(s, s->machine->sent) : IW_STARTUP_NONE;
}

void iw_startup_accept(struct iw_startup *s, uint16_t ird, uint16_t ord, const void *private_data, size_t len)
{
    struct iw_startup_result *r = &s->result;

    r->ird = least(ird, r->ird);
    r->ord = least(ord, r->ord);
    struct mpa_frame f = reply_frame(s);
    r->revision = f.revision;
    r->crc = f.crc;
    r->peer_to_peer = s->peer.peer_to_peer;
    r->rtr = r->peer_to_peer ? pick_form(s->peer.rtr & s->rtr, r->ird) : MPA_RTR_NONE;
    f.peer_to_peer = r->peer_to_peer;
    f.rtr = (unsigned)r->rtr;
    put_frame(s, &f, private_data, len);
    step(s, R_ACCEPT);
}

void iw_startup_reject(struct iw_startup *s, const void *private_data, size_t len)
{
    struct mpa_frame f = reply_frame(s);

    f.rejected = true;
    put_frame(s, &f, private_data, len);
    step(s, R_REJECT);
}

void iw_startup_limits(const struct iw_startup *s, uint16_t *ird, uint16_t *ord)
{
    *ird = s->result.ird;
    *ord = s->result.ord;
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

static const char *event_name(enum iw_startup_event e)
{
    switch (e) {
    case IW_STARTUP_NONE: return "";
    case IW_STARTUP_REQUEST: return " / REQUEST";
    case IW_STARTUP_SENT: return " / SENT";
    case IW_STARTUP_ACCEPTED: return " / ACCEPTED";
    case IW_STARTUP_REJECTED: return " / REJECTED";
    case IW_STARTUP_MALFORMED: return " / MALFORMED";
    case IW_STARTUP_NO_IRD: return " / NO_IRD";
    case IW_STARTUP_NO_RTR: return " / NO_RTR";
    }
    return "";
}

static void print_machine(FILE *out, const struct machine *m)
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
                fprintf(out, " %s%s |", m->states[c->next].name, event_name((enum iw_startup_event)c->event));
        }
        fprintf(out, "\n");
    }
    fprintf(out, "\n");
}

void iw_startup_print_tables(FILE *out)
{
    print_machine(out, &initiator);
    print_machine(out, &responder);
}
