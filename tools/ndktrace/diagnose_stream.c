/* SPDX-License-Identifier: MIT */
/*
 * Diagnoses connections that failed after they were established: see diagnose_internal.h. A side that finds an error in
 * a received frame ends the connection with a Terminate, a message that describes the error. This file calls that side
 * the finder.
 */
#include <inttypes.h>
#include <string.h>

#include "diagnose_internal.h"
#include "trace_reader/value.h"

const struct trace_record *diagnose_frame(const struct diagnose_work *w, const struct diagnose_culprit *c)
{
    return story_record(w->s, c->received != END_NONE ? c->received : c->sent);
}

size_t diagnose_frame_index(const struct diagnose_culprit *c)
{
    return c->received != END_NONE ? c->received : c->sent;
}

/* Returns the record of the last frame that the side `finder` received before the side sent its Terminate. */
static size_t diagnose_last_received(const struct story_side *finder)
{
    const struct end_list *list = &finder->end->lists[END_FPDUS_RECEIVED];
    size_t found = END_NONE;

    for (size_t i = 0; i < list->count && list->records[i] < finder->terminate; i++)
        found = list->records[i];
    return found;
}

/* Returns true if the frame's DDP header equals the bytes at `header`, which a Terminate has quoted. */
static bool diagnose_has_header(const struct story *s, size_t record, const uint8_t *header, size_t size)
{
    uint64_t number = 0;
    bool is_tagged = size >= 14 && header[0] & 0x80;

    if (!is_tagged && size < 18)
        return false;
    if (story_number(s, record, "control") != ((uint64_t)header[0] << 8 | header[1]))
        return false;
    /* These bytes are the offset of a tagged header, or the queue and message number of an untagged header. */
    for (size_t i = 6; i < 14; i++)
        number = number << 8 | header[i];
    return is_tagged ? story_number(s, record, "to") == number
                     : (story_number(s, record, "queue") << 32 | story_number(s, record, "msn")) == number;
}

/*
 * The Terminate of the other side quotes a frame that `sender` sent. Returns the record of this frame in the trace of
 * `sender`. Used if the other side has no trace.
 */
static size_t diagnose_quoted(const struct story *s, const struct story_side *sender)
{
    enum { TERMINATE_CONTROL = 4, SEGMENT_LENGTH = 2 };
    const struct end_list *received = &sender->end->lists[END_FPDUS_RECEIVED];
    const struct end_list *sent = &sender->end->lists[END_FPDUS_SENT];
    struct value v;

    for (size_t i = 0; i < received->count; i++) {
        const struct trace_record *r = story_record(s, received->records[i]);

        if (strcmp(story_name(s, received->records[i], "opcode"), "terminate") != 0 || !value_find(r, "bytes", &v) ||
            v.size <= TERMINATE_CONTROL + SEGMENT_LENGTH)
            continue;
        for (size_t k = sent->count; k > 0; k--)
            if (diagnose_has_header(s, sent->records[k - 1], v.bytes + TERMINATE_CONTROL + SEGMENT_LENGTH,
                                    v.size - TERMINATE_CONTROL - SEGMENT_LENGTH))
                return sent->records[k - 1];
    }
    return END_NONE;
}

static struct diagnose_culprit diagnose_find_culprit(const struct diagnose_work *w)
{
    bool is_finder = strcmp(w->why, "peer-terminate") != 0;
    struct diagnose_culprit c = { .finder = is_finder ? w->side : w->other,
                                  .sender = is_finder ? w->other : w->side,
                                  .sent = END_NONE,
                                  .received = END_NONE };

    if (c.finder->end && c.finder->terminate != END_NONE)
        c.received = diagnose_last_received(c.finder);
    if (c.received != END_NONE)
        c.sent = w->s->traces->align.partner[c.received];
    else if (c.sender->end)
        c.sent = diagnose_quoted(w->s, c.sender);
    c.opcode = diagnose_frame_index(&c) == END_NONE ? "" : story_name(w->s, diagnose_frame_index(&c), "opcode");
    return c;
}

/* Writes which side sent the frame, and when the frame arrived. */
void diagnose_write_frame(const struct diagnose_work *w, const struct diagnose_culprit *c)
{
    size_t frame = diagnose_frame_index(c);

    if (frame == END_NONE) {
        fprintf(w->what, "%s found an error in what %s had sent.", diagnose_who(c->finder, true),
                diagnose_who(c->sender, false));
        return;
    }
    fprintf(w->what, "%s sent ", diagnose_who(c->sender, true));
    words_fpdu(w->what, w->s, frame);
    if (c->sent != END_NONE) {
        fputs(" ", w->what);
        diagnose_at(w->what, w->s, c->sent);
    }
    if (c->received != END_NONE) {
        fprintf(w->what, "%s arrived at %s ", c->sent == END_NONE ? ", which" : ". It", diagnose_who(c->finder, false));
        diagnose_at(w->what, w->s, c->received);
    }
    fputs(".", w->what);
}

void diagnose_write_terminate(const struct diagnose_work *w, const struct diagnose_culprit *c)
{
    fprintf(w->what, " So %s ended the connection with a Terminate, the message of iWARP that reports an error.",
            diagnose_who(c->finder, false));
}

/* ---- receives ---- */

/*
 * Returns how many receives the program of the side c->finder had posted before the record. Returns 0 if the trace does
 * not show the number.
 */
static size_t diagnose_count_posted(const struct diagnose_work *w, const struct diagnose_culprit *c, size_t before)
{
    const struct story_side *finder = c->finder;

    if (!finder->end || !finder->has_calls || !finder->qp || before == END_NONE)
        return 0;
    return story_count_posts(w->s, finder->end->file, finder->srq ? finder->srq : finder->qp,
                             finder->srq ? "NdkSrqReceive" : "NdkReceive",
                             trace_record_realtime(story_record(w->s, before)));
}

/* Returns the record of the first message that the side c->finder received, or END_NONE. */
static size_t diagnose_first_message(const struct diagnose_work *w, const struct diagnose_culprit *c)
{
    const struct end_list *list = c->finder->end ? &c->finder->end->lists[END_FPDUS_RECEIVED] : NULL;

    for (size_t i = 0; list && i < list->count; i++)
        if (strncmp(story_name(w->s, list->records[i], "opcode"), "send", 4) == 0)
            return list->records[i];
    return END_NONE;
}

/*
 * Writes how many receives the program of the side c->finder had posted, and how many messages had consumed a receive.
 */
static void diagnose_write_receives(struct diagnose_work *w, const struct diagnose_culprit *c, size_t posted)
{
    const struct story_side *finder = c->finder;
    const struct call *answer = story_call(w->s, finder->role == STORY_SERVER ? finder->calls.accept
                                                                              : finder->calls.complete);
    size_t used;

    if (!finder->end || !finder->has_calls || !finder->qp || c->received == END_NONE)
        return;
    if (posted == 0) {
        diagnose_set_cause(w, finder, answer ? answer->record : END_NONE, "No receive was posted before.");
        fprintf(w->what, " %s's program had not called %s for this %s at all.", diagnose_who(finder, true),
                finder->srq ? "NdkSrqReceive" : "NdkReceive", finder->srq ? "shared receive queue" : "connection");
        return;
    }
    used = story_count_messages(w->s, finder, c->received);
    fprintf(w->what, " %s's program had posted ", diagnose_who(finder, true));
    words_count(w->what, posted, "receive");
    fprintf(w->what, " until then, and ");
    words_count(w->what, used, "earlier message");
    fprintf(w->what, " had used %s up.", used == 1 ? "one" : "them");
}

/* Writes the title and the advice for a message without a receive. */
static void diagnose_advise_receives(const struct diagnose_work *w, const struct diagnose_culprit *c, size_t posted)
{
    const char *finder = diagnose_who(c->finder, false), *sender = diagnose_who(c->sender, false);
    size_t first = diagnose_count_posted(w, c, diagnose_first_message(w, c));

    if (posted == 0 || first == 0 || c->finder->srq) {
        fprintf(w->headline, "%s's program had posted no receive for %s's message", finder, sender);
        fprintf(w->advice,
                "Let %s's program call NdkReceive before %s can send: the first ones before %s, and a new one for each "
                "message that has arrived. Or let %s send no more messages than %s has posted receives.\n",
                finder, sender, c->finder->role == STORY_SERVER ? "NdkAccept" : "NdkCompleteConnect", sender, finder);
        return;
    }
    fprintf(w->headline, "%s's message %" PRIu64 " arrived when %s's ", sender,
            story_number(w->s, diagnose_frame_index(c), "msn"), finder);
    if (posted == 1)
        fputs("only posted receive was used up", w->headline);
    else
        fprintf(w->headline, "%zu posted receives were used up", posted);
    fprintf(w->advice, "Let %s's program post more receives (it had %zu)", finder, first);
    if (posted > first)
        fputs(" before the first message arrives, and a new one as soon as a message has arrived", w->advice);
    fprintf(w->advice, ", or let %s send at most ", sender);
    words_count(w->advice, first, "message");
    fprintf(w->advice, " until %s answers.\n", finder);
}

/*
 * Returns the number of read requests that the side c->finder had received up to and including the faulty frame.
 * Returns 0 if the trace does not show this number.
 */
static size_t diagnose_count_reads(const struct diagnose_work *w, const struct diagnose_culprit *c)
{
    const struct end_list *list = c->finder->end ? &c->finder->end->lists[END_FPDUS_RECEIVED] : NULL;
    size_t n = 0;

    for (size_t i = 0; list && c->received != END_NONE && i < list->count && list->records[i] <= c->received; i++)
        n += strcmp(story_name(w->s, list->records[i], "opcode"), "read-request") == 0;
    return c->finder->end && c->finder->end->has_begin ? n : 0;
}

/* Diagnoses a read request that exceeded the receiver's limit of reads in progress. c->finder is the receiver. */
static void diagnose_too_many_reads(const struct diagnose_work *w, const struct diagnose_culprit *c)
{
    const char *finder = diagnose_who(c->finder, false), *sender = diagnose_who(c->sender, false);
    size_t stream = c->finder->end ? c->finder->stream : c->sender->stream, n = diagnose_count_reads(w, c);
    size_t request = c->finder->end ? c->finder->request : c->sender->request;
    uint64_t limit = story_number(w->s, stream, c->finder->end ? "ird" : "ord");
    bool has_no_limits = request != END_NONE && story_number(w->s, request, "revision") < 2;

    fprintf(w->headline, "%s had too many reads in flight", sender);
    if (n)
        fprintf(w->what, " It was read request number" WORDS_SPACE "%zu of %s.", n, sender);
    if (c->finder->end || !has_no_limits) {
        fprintf(w->what, " As many reads as %s allows were still in progress: it allows ", finder);
        words_count(w->what, limit, "read");
        fputs(" at a time.", w->what);
    }
    if (has_no_limits)
        fprintf(w->what, " MPA revision %" PRIu64 ", which the client uses, does not tell %s this limit.",
                story_number(w->s, request, "revision"), sender);
    diagnose_write_terminate(w, c);
    fputs(" iWARP uses the code of a missing receive (ddp-no-receive) also for too many reads.", w->what);
    fprintf(w->advice, "Let %s's program have fewer reads in flight", sender);
    if (c->finder->end || !has_no_limits) {
        fputs(", at most ", w->advice);
        words_count(w->advice, limit, "read");
    }
    fprintf(w->advice, "%s. Or raise the InboundReadLimit of %s's program.\n",
            has_no_limits ? "" : " (the OutboundReadLimit that NdkGetConnectionData returns)", finder);
}

static void diagnose_no_receive(struct diagnose_work *w, const struct diagnose_culprit *c)
{
    size_t posted = diagnose_count_posted(w, c, c->received);

    diagnose_write_frame(w, c);
    if (strcmp(c->opcode, "read-request") == 0) {
        diagnose_too_many_reads(w, c);
        return;
    }
    fprintf(
        w->what,
        " But there was no receive for it: each message (NdkSend) needs a receive (NdkReceive) that %s's program has "
        "posted before the message arrives.",
        diagnose_who(c->finder, false));
    diagnose_write_receives(w, c, posted);
    diagnose_write_terminate(w, c);
    diagnose_advise_receives(w, c, posted);
}

/*
 * If the sender's program got the result STATUS_SUCCESS for the message that caused the error, writes what this result
 * means: TCP has taken the bytes, but the receiver has not accepted them.
 */
static void diagnose_write_success(const struct diagnose_work *w, const struct diagnose_culprit *c)
{
    const struct trace_records *records = &w->s->traces->records;
    const char *operation = strncmp(c->opcode, "send", 4) == 0 ? "Send"
                            : strcmp(c->opcode, "write") == 0  ? "Write"
                                                               : "";
    const struct call *create = c->sender->end ? story_create_qp(w->s, c->sender) : NULL;

    for (size_t i = c->sent; create && i < records->count; i++) {
        if (records->records[i].file != create->file || strcmp(ends_event_name(story_record(w->s, i)), "result") != 0 ||
            story_number(w->s, i, "object") != story_number(w->s, create->record, "initiator_cq") ||
            story_number(w->s, i, "qp_context") != story_number(w->s, create->record, "qp_context") ||
            !story_name_is(w->s, i, "operation", operation) || story_number(w->s, i, "status") != 0)
            continue;
        fprintf(w->what, " The result STATUS_SUCCESS of Ndk%s, which %s's program got ", operation,
                diagnose_who(c->sender, false));
        diagnose_at(w->what, w->s, i);
        fprintf(w->what, ", only means that TCP has taken the bytes, not that %s has accepted them.",
                diagnose_who(c->finder, false));
        return;
    }
}

static void diagnose_too_long(struct diagnose_work *w, const struct diagnose_culprit *c)
{
    fprintf(w->headline, "%s sent a message that is longer than the receive of %s's program",
            diagnose_who(c->sender, false), diagnose_who(c->finder, false));
    diagnose_write_frame(w, c);
    fprintf(w->what,
            " The message is longer than the receive that %s's program had posted for it (the sum of the "
            "lengths that it passed to NdkReceive).",
            diagnose_who(c->finder, false));
}

/* ---- frames ---- */

static void diagnose_crc(struct diagnose_work *w, const struct diagnose_culprit *c)
{
    struct diagnose_culprit bad = *c;

    if (c->finder->end && c->finder->bad_crc != END_NONE)
        bad.received = c->finder->bad_crc;
    fprintf(w->headline, "a frame of %s arrived with a wrong checksum", diagnose_who(c->sender, false));
    diagnose_write_frame(w, &bad);
    fprintf(
        w->what,
        " Its checksum (CRC32c) does not match its bytes. Either the bytes changed after %s had computed the checksum, "
        "in its memory or on the way, or %s computes the checksum wrongly. The traces do not show which.",
        diagnose_who(c->sender, false), diagnose_who(c->sender, false));
    diagnose_write_terminate(w, c);
    fprintf(w->advice,
            "Find what changes the bytes. First check whether %s's program changes a buffer that it gave to NdkSend or "
            "NdkWrite before that request has completed.\n"
            "Check the network: \"ethtool -S\" counts errors of a network card. For a test, switch its offloads off on "
            "both hosts: \"ethtool -K eth0 rx off tx off tso off gso off gro off\".\n",
            diagnose_who(c->sender, false));
    if (!c->sender->end)
        fprintf(w->advice, "If %s does not use OpenNDK, check its computation of the CRC32c.\n",
                diagnose_who(c->sender, false));
    if (!c->sender->end)
        diagnose_request_other(w, "whether OpenNDK sent the frame, and which request it belongs to");
    if (bad.received != END_NONE)
        w->wrong = bad.received;
}

static void diagnose_other_terminate(struct diagnose_work *w, const struct diagnose_culprit *c)
{
    const struct schema_name *terminate = story_explained(w->s, w->side->outcome, "terminate");

    w->is_vague = true;
    fprintf(w->headline, "%s found an error in what %s had sent", diagnose_who(c->finder, false),
            diagnose_who(c->sender, false));
    diagnose_write_frame(w, c);
    fprintf(w->what, " %s answered it with a Terminate", diagnose_who(c->finder, true));
    if (terminate && terminate->text)
        fprintf(w->what, ": %s", terminate->text);
    else
        fprintf(w->what, " (%s).", story_name(w->s, w->side->outcome, "terminate"));
}

static void diagnose_terminate(struct diagnose_work *w)
{
    static const struct {
        const char *name;
        void (*write)(struct diagnose_work *, const struct diagnose_culprit *);
    } known[] = {
        { "ddp-no-receive", diagnose_no_receive },
        { "ddp-too-long", diagnose_too_long },
        { "ddp-tagged-bounds", diagnose_bounds },
        { "rdmap-bounds", diagnose_bounds },
        { "ddp-tagged-wrap", diagnose_bounds },
        { "rdmap-wrap", diagnose_bounds },
        { "ddp-tagged-stag", diagnose_invalid_token },
        { "rdmap-stag", diagnose_invalid_token },
        { "rdmap-access", diagnose_right },
        { "mpa-crc", diagnose_crc },
    };
    struct diagnose_culprit c = diagnose_find_culprit(w);
    const char *name = story_name(w->s, w->side->outcome, "terminate");
    void (*write)(struct diagnose_work *, const struct diagnose_culprit *) = diagnose_other_terminate;

    if (diagnose_frame_index(&c) != END_NONE)
        w->wrong = diagnose_frame_index(&c);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0)
            write = known[i].write;
    write(w, &c);
    diagnose_write_success(w, &c);
    if (!c.finder->end && strcmp(name, "mpa-crc") != 0)
        diagnose_request_other(w, "what that side's program had posted or registered");
    if (!c.sender->end && strcmp(name, "mpa-crc") != 0)
        diagnose_request_other(w, "which call of that side's program caused it");
}

/* ---- the peer is gone ---- */

/* Writes whether the last frame that w->side sent has arrived at w->other. */
static void diagnose_last_message(const struct diagnose_work *w)
{
    const struct end_list *sent = &w->side->end->lists[END_FPDUS_SENT];
    size_t frame = sent->count ? sent->records[sent->count - 1] : END_NONE, arrived;

    if (frame == END_NONE)
        return;
    arrived = w->s->traces->align.partner[frame];
    fprintf(w->what, " The last frame that %s had sent, ", diagnose_who(w->side, false));
    words_fpdu(w->what, w->s, frame);
    fputs(arrived == END_NONE ? ", is not among the arrived ones in the trace of " : ", arrived at ", w->what);
    fputs(diagnose_who(w->other, false), w->what);
    if (arrived != END_NONE) {
        fputs(" ", w->what);
        diagnose_at(w->what, w->s, arrived);
    }
    fputs(".", w->what);
}

static void diagnose_reset(struct diagnose_work *w)
{
    const struct story_side *other = w->other;
    size_t last = other->end ? story_last_record(w->s, other) : END_NONE;

    fprintf(w->headline,
            other->end && other->outcome == END_NONE ? "%s's process was killed, has crashed, or called exit"
                                                     : "%s ended the connection without NdkDisconnect",
            diagnose_who(other, false));
    fprintf(w->what, "The connection was established. Then, ");
    diagnose_at(w->what, w->s, w->side->outcome);
    fprintf(w->what, ", a TCP reset of %s arrived", diagnose_who(other, false));
    if (!other->end) {
        fputs(
            ". Almost always its process ended, or closed the connection, without NdkDisconnect. A firewall or another "
            "device between the hosts can send a reset, too.",
            w->what);
        fprintf(w->advice,
                "Probably nothing in the network. Find out how %s's process ended: its log, its exit status, a core "
                "dump (coredumpctl), or the "
                "out-of-memory killer (journalctl -k). If it still runs, let its program call NdkDisconnect before it "
                "closes its connector.\n",
                diagnose_who(other, false));
        diagnose_request_other(w, "whether that process was killed or crashed, and what it did before");
        return;
    }
    fputs(".", w->what);
    if (other->outcome != END_NONE || last == END_NONE)
        return;
    w->wrong = STORY_END_OF_TRACE;
    fprintf(w->what, " The trace of %s's process ended earlier, ", diagnose_who(other, false));
    diagnose_at(w->what, w->s, last);
    fprintf(
        w->what,
        ", and does not show that this connection was closed. A program that ends properly closes its objects and its "
        "adapter, and that is in its trace. So this process was killed, has crashed, or called exit or _exit without "
        "closing them, between %.6f" WORDS_SPACE "s and %.6f" WORDS_SPACE "s.",
        story_seconds(w->s, last), story_seconds(w->s, w->side->outcome));
    diagnose_last_message(w);
    fprintf(w->advice,
            "Nothing in the network. Find out how %s's process ended: its exit status, a core dump (coredumpctl), or "
            "the out-of-memory killer (journalctl -k). If it called exit, let it call NdkDisconnect first.\n",
            diagnose_who(other, false));
}

static void diagnose_local_close(struct diagnose_work *w)
{
    const struct call *close = story_call(w->s, w->side->calls.close);

    fprintf(w->headline, "%s's program closed the connection without NdkDisconnect", diagnose_who(w->side, false));
    fprintf(w->what, "%s's program closed the connection%s ", diagnose_who(w->side, true),
            strcmp(w->phase, "established") == 0 ? " without a disconnect" : " before it was established");
    diagnose_at(w->what, w->s, w->side->outcome);
    if (close) {
        fputs(", with NdkCloseConnector", w->what);
        w->wrong = close->record;
    }
    fputs(".", w->what);
    fprintf(w->advice,
            "Let %s's program call NdkDisconnect, and wait for its completion, before it closes the "
            "connector.\n",
            diagnose_who(w->side, false));
}

bool diagnose_stream(struct diagnose_work *w)
{
    if (!story_name_is(w->s, w->side->outcome, "terminate", "none") &&
        *story_name(w->s, w->side->outcome, "terminate")) {
        diagnose_terminate(w);
        return true;
    }
    if (strcmp(w->why, "peer-reset") == 0 && strcmp(w->phase, "established") == 0) {
        diagnose_reset(w);
        return true;
    }
    if (strcmp(w->why, "local-close") == 0) {
        diagnose_local_close(w);
        return true;
    }
    return false;
}
