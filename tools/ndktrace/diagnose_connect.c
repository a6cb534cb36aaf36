/* SPDX-License-Identifier: MIT */
/* Diagnoses connections that failed before they were established: see diagnose_internal.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose_internal.h"
#include "trace_reader/value.h"

double diagnose_between(const struct story *s, size_t from, size_t to)
{
    return story_seconds(s, to) - story_seconds(s, from);
}

/* Returns the time limit that expired, in milliseconds. */
static uint64_t diagnose_limit_ms(const struct diagnose_work *w)
{
    const struct story_side *side = w->side;
    const size_t *next = w->s->traces->align.ends.next;
    uint64_t ms = 0;

    for (size_t i = side->end->first; i != END_NONE && i < side->limit_expired; i = next[i])
        if (strcmp(ends_event_name(story_record(w->s, i)), "limit") == 0 &&
            strcmp(story_name(w->s, i, "state"), story_name(w->s, side->limit_expired, "state")) == 0)
            ms = story_number(w->s, i, "ms");
    return ms;
}

void diagnose_write_limit(const struct diagnose_work *w)
{
    static const struct {
        const char *why, *setting;
    } settings[] = { { "connect-timeout", "ONDK_CONNECT_MS" },
                     { "reply-timeout", "ONDK_REPLY_MS" },
                     { "request-timeout", "ONDK_REQUEST_MS" },
                     { "establish-timeout", "ONDK_ESTABLISH_MS" } };

    fprintf(w->what, " within %" PRIu64 WORDS_SPACE "ms", diagnose_limit_ms(w));
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (strcmp(settings[i].why, w->why) == 0)
            fprintf(w->what, " (%s of %s)", settings[i].setting, story_who(w->side));
}

/* Writes what the traces show about listeners at the server's address. Returns the state of the listener. */
static enum listeners_state diagnose_listeners(struct diagnose_work *w)
{
    struct listeners_found found = listeners_find(w->s, w->side);
    FILE *out = w->what;

    if (found.state == LISTENERS_NONE)
        return found.state;
    fputs(" ", out);
    words_process(out, story_record(w->s, found.record)->file);
    switch (found.state) {
    case LISTENERS_OTHER:
        fputs(" listened at ", out);
        words_address(out, w->s, found.record, "local");
        fputs(", not at this address.", out);
        break;
    case LISTENERS_LATER:
        fputs(" began to listen at the address only ", out);
        words_duration(out, diagnose_between(w->s, w->side->begin, found.record));
        fputs(" later, ", out);
        diagnose_at(out, w->s, found.record);
        fputs(".", out);
        diagnose_set_cause(w, w->other, found.record, NULL);
        break;
    case LISTENERS_CLOSED:
        fputs(" had listened at the address, but closed its listener before, ", out);
        diagnose_at(out, w->s, found.closed);
        fputs(".", out);
        diagnose_set_cause(w, w->other, found.closed, NULL);
        break;
    case LISTENERS_FAILED:
        fprintf(out, " tried to listen at the address, but NdkListen failed (%s).",
                story_name(w->s, found.record, "why"));
        diagnose_set_cause(w, w->other, found.record, NULL);
        break;
    case LISTENERS_OPEN:
    case LISTENERS_NONE:
        fputs(" had been listening at the address since ", out);
        fprintf(out, "%.6f" WORDS_SPACE "s, but its trace has nothing of this connection.",
                story_seconds(w->s, found.record));
        break;
    }
    return found.state;
}

static void diagnose_refused_headline(const struct diagnose_work *w, enum listeners_state state)
{
    static const char *const headlines[] = {
        [LISTENERS_NONE] =
            "the server's host refused the connection (TCP reset); most likely no program listens at that address",
        [LISTENERS_OTHER] = "no program listened at this address; the server listened at another one",
        [LISTENERS_LATER] = "the server did not listen yet",
        [LISTENERS_CLOSED] = "the server had closed its listener",
        [LISTENERS_FAILED] = "the server did not listen, because its NdkListen had failed",
        [LISTENERS_OPEN] = "the TCP connection was refused, although the server's program listened",
    };

    fputs(headlines[state], w->headline);
}

static void diagnose_refused(struct diagnose_work *w)
{
    enum listeners_state state;

    fputs("The client asked ", w->what);
    words_address(w->what, w->s, w->side->begin, "remote");
    fputs(" for a TCP connection ", w->what);
    diagnose_at(w->what, w->s, w->side->begin);
    fputs(". The host of that address answered with a TCP reset, so no iWARP frame was sent.", w->what);
    state = diagnose_listeners(w);
    diagnose_refused_headline(w, state);
    switch (state) {
    case LISTENERS_OPEN:
        fputs(
            "Check whether the server's program had paused its listener (NdkControlConnectEvents). Otherwise something "
            "else refused in its place: a firewall that rejects (nft list ruleset), or another host or network "
            "namespace that has the same address.\n",
            w->advice);
        break;
    case LISTENERS_OTHER:
        fputs("Let the client connect to the address at which the server listens, or the server listen at this one.\n",
              w->advice);
        break;
    case LISTENERS_LATER:
        fputs("Start the client after the server, or let it try again.\n", w->advice);
        break;
    case LISTENERS_CLOSED:
    case LISTENERS_FAILED:
        fputs("Find out in the server's program why it does not listen at that time.\n", w->advice);
        break;
    case LISTENERS_NONE:
        fputs(" Almost always this means that no program listened at this port of this address. A firewall that "
              "rejects, or a listener that its program has paused, looks the same from the client.",
              w->what);
        fputs("Start the server, or correct the address. \"ss -tln\" or \"ndkstat\" on the server's host shows where "
              "programs listen.\nIf the server listens there, check that no firewall rejects the connection (nft list "
              "ruleset), and that the program has not paused its listener.\n",
              w->advice);
        diagnose_request_listener(w, "where its program listened, and whether it had paused its listener");
        break;
    }
}

/* Writes the port to which the client connected, or "of the server" if the traces do not show the port. */
static void diagnose_port(const struct diagnose_work *w)
{
    struct words text;
    char *address = NULL;

    if (words_open(&text)) {
        words_address(text.file, w->s, w->side->begin, "remote");
        address = words_close(&text);
    }
    fputs(address && strrchr(address, ':') ? strrchr(address, ':') + 1 : "of the server", w->missing);
    free(address);
}

static void diagnose_connect_timeout(struct diagnose_work *w)
{
    enum listeners_state state;

    w->wrong = w->side->limit_expired;
    fputs("the server's host did not answer the client's TCP connection request", w->headline);
    fputs("The client asked ", w->what);
    words_address(w->what, w->s, w->side->begin, "remote");
    fputs(" for a TCP connection ", w->what);
    diagnose_at(w->what, w->s, w->side->begin);
    fputs(", and no answer arrived", w->what);
    diagnose_write_limit(w);
    fputs(".", w->what);
    state = diagnose_listeners(w);
    fputs(" Almost always a firewall drops the packets, or ", w->what);
    fputs(state == LISTENERS_OPEN ? "the network does not forward them." : "no host that is up has the address.",
          w->what);
    if (state != LISTENERS_OPEN)
        fputs(" A host that is up and has no such server answers with a refusal, unless a firewall drops that.",
              w->what);
    fputs("Find what drops the packets: check the firewall (\"nft list ruleset\", \"iptables -L -v\") on both hosts "
          "and on "
          "the routers between them. Try ping from the client's host.\n",
          w->advice);
    fputs("The traces do not show whether the client's packets reached the server's host: to the client, a lost "
          "answer or a full queue of the listening socket looks the same. Record the packets there with tcpdump (tcp "
          "port ",
          w->missing);
    diagnose_port(w);
    fputs(").\n", w->missing);
}

/* ---- the server does not answer ---- */

/* Diagnoses a timeout: the server's program received the request, but called neither NdkAccept nor NdkReject. */
static void diagnose_no_accept(struct diagnose_work *w, const struct story_side *server, size_t until)
{
    const struct call *event = story_call(w->s, server->calls.connect_event);
    const struct call *accept = story_call(w->s, server->calls.accept);

    fputs(accept ? "the server's program accepted the request too late"
                 : "the server's program never answered the request (neither NdkAccept nor NdkReject)",
          w->headline);
    fputs(" The request arrived at the server ", w->what);
    diagnose_at(w->what, w->s, server->request);
    if (event) {
        fputs(", and the server's program got it in its connect event callback ", w->what);
        diagnose_at(w->what, w->s, event->record);
    } else if (!server->has_calls) {
        fputs(", and was reported to the server's program", w->what);
    }
    if (accept) {
        fputs(". The program called NdkAccept only ", w->what);
        diagnose_at(w->what, w->s, accept->record);
        fputs(", too late.", w->what);
        diagnose_set_cause(w, server, accept->record, "That was too late.");
        return;
    }
    fputs(". But the program called neither NdkAccept nor NdkReject. The client's NdkConnect waits for one of them.",
          w->what);
    if (server->has_calls && event) {
        diagnose_set_cause(w, server, event->record, "Neither NdkAccept nor NdkReject follows.");
        fputs(" Until the timeout the server's program called ", w->what);
        if (!diagnose_list_calls(w->what, w->s, server, event->begin_ns,
                                 trace_record_realtime(story_record(w->s, until))))
            fputs("no NDK function", w->what);
        fputs(".", w->what);
    }
    fputs("The server's program must call NdkAccept or NdkReject with the new connector, in its connect event callback "
          "or soon after it. Check whether the thread that should do so waits for something else.\n",
          w->advice);
}

static void diagnose_reply_timeout(struct diagnose_work *w)
{
    const struct story_side *server = w->other;

    w->wrong = w->side->limit_expired;
    fputs("TCP was connected, and the client sent its MPA request (the frame with which an iWARP connection begins) ",
          w->what);
    diagnose_at(w->what, w->s, w->side->request);
    fputs(". No MPA reply arrived", w->what);
    diagnose_write_limit(w);
    fputs(".", w->what);
    if (!server->end || server->request == END_NONE || server->reply != END_NONE)
        fputs("the server did not answer the client's request in time", w->headline);
    if (server->end && server->request != END_NONE && server->reply == END_NONE) {
        diagnose_no_accept(w, server, w->side->limit_expired);
    } else if (server->end && server->reply != END_NONE) {
        fputs(" The server sent its reply ", w->what);
        diagnose_at(w->what, w->s, server->reply);
        fputs(", which was too late or was lost.", w->what);
    } else if (server->end) {
        fputs(" The server's process has accepted the TCP connection, but no complete request arrived there.", w->what);
    } else if (diagnose_listeners(w) == LISTENERS_OPEN) {
        fputs(" The server's kernel has accepted TCP without the process.", w->what);
        fputs("Check whether the server's process is stopped (SIGSTOP, a debugger), or another program has the port.\n",
              w->advice);
    } else {
        fputs(" A process or a kernel at that address accepts TCP connections, but no program there has answered.",
              w->what);
        diagnose_request_other(w, "whether the request arrived, and whether the server's program called NdkAccept");
    }
}

/* ---- the server refuses ---- */

static void diagnose_rejected(struct diagnose_work *w)
{
    w->wrong = w->side->reply != END_NONE ? w->side->reply : w->side->outcome;
    fputs("the server rejected the client's request", w->headline);
    fputs("The client sent its MPA request (the frame with which an iWARP connection begins) ", w->what);
    diagnose_at(w->what, w->s, w->side->request);
    fputs(", and the server answered with a reject ", w->what);
    diagnose_at(w->what, w->s, w->wrong);
    fprintf(w->what,
            ", with %" PRIu64
            " bytes of private data. Either the server's program called NdkReject, or the NDK provider "
            "below it refused the request, for example because it has too much private data, or because too many "
            "requests wait for the program.",
            story_number(w->s, w->side->reply, "data_size"));
    diagnose_request_other(w, "which of these it was");
}

/*
 * Writes the size of the request's private data, and the server's limit if the trace has it. Older versions do not
 * record the limit.
 */
static void diagnose_private_data(const struct diagnose_work *w)
{
    const struct story_side *server = w->side;
    uint64_t size = story_number(w->s, server->request, "data_size"), max = 0;
    size_t limit = END_NONE;

    for (size_t i = server->end->first; i != END_NONE && i <= server->outcome; i = w->s->traces->align.ends.next[i])
        if (strcmp(ends_event_name(story_record(w->s, i)), "private_data_limit") == 0)
            limit = i;
    fputs(" It has ", w->what);
    words_count(w->what, size, "byte");
    fputs(" of private data, the data that the client's program passes to NdkConnect.", w->what);
    if (limit == END_NONE) {
        fputs(" That is more than the server allows (its ONDK_MAX_PRIVATE).", w->what);
        return;
    }
    max = story_number(w->s, limit, "max_size");
    fprintf(w->what, " The server allows at most %" PRIu64 " (its ONDK_MAX_PRIVATE).", max);
    fprintf(w->advice, "Let the client's program pass at most %" PRIu64 WORDS_SPACE "bytes to NdkConnect", max);
    if (size <= 508)
        fprintf(w->advice, ", or set ONDK_MAX_PRIVATE=%" PRIu64 " or more for the server's program", size);
    fputs(".\n", w->advice);
}

/* Writes what was wrong with the request, if the reason is about the request. */
static void diagnose_request_details(const struct diagnose_work *w)
{
    size_t request = w->side->request;

    if (strcmp(w->why, "request-private-data") == 0) {
        diagnose_private_data(w);
    } else if (strcmp(w->why, "bad-revision") == 0) {
        fprintf(w->what,
                " It has MPA revision %" PRIu64 ". The revision is the version of the protocol: 0, 1 and 2 exist.",
                story_number(w->s, request, "revision"));
        fputs("On the client's host, set the MPA revision of the client's iWARP software to 2 or 1.\n", w->advice);
    } else if (strcmp(w->why, "unsupported-request") == 0) {
        fputs(" It requires MPA markers, an option that this server does not support.", w->what);
    }
}

static void diagnose_request_headline(const struct diagnose_work *w)
{
    static const struct {
        const char *why, *headline;
    } known[] = {
        { "request-private-data", "the client's request has too much private data for the server" },
        { "bad-revision", "the client's request has a protocol version that does not exist" },
        { "unsupported-request", "the client requires an option that the server does not support" },
        { "backlog-full", "too many requests wait for the server's program" },
        { "listener-paused", "the server's program has paused its listener" },
        { "listener-closed", "the server's program closed its listener" },
        { "local-reject", "the server's program rejected the client" },
    };
    const char *headline = "the server refused the client's request";

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].why, w->why) == 0)
            headline = known[i].headline;
    fputs(headline, w->headline);
}

/* Diagnoses a refusal: the server's side refused or dropped the client before the server's program had accepted. */
static void diagnose_server_refused(struct diagnose_work *w)
{
    const struct call *reject = story_call(w->s, w->side->calls.reject);
    const struct call *connect = story_call(w->s, w->other->calls.connect);
    bool is_dropped = w->side->reply == END_NONE;

    w->wrong = w->side->request != END_NONE ? w->side->request : w->side->outcome;
    diagnose_request_headline(w);
    fputs("The client's MPA request (the frame with which an iWARP connection begins) arrived at the server ", w->what);
    diagnose_at(w->what, w->s, w->wrong);
    fputs(".", w->what);
    diagnose_request_details(w);
    if (connect && strncmp(w->why, "request-", 8) == 0)
        diagnose_set_cause(w, w->other, connect->record, NULL);
    if (strcmp(w->why, "local-reject") == 0) {
        fputs(" The server's program called NdkReject", w->what);
        if (reject) {
            fputs(" ", w->what);
            diagnose_at(w->what, w->s, reject->record);
            w->wrong = reject->record;
        }
        fputs(".", w->what);
        fputs("Nothing in the network. The log of the server's program should have its reason.\n", w->advice);
    } else {
        fprintf(w->what, " So the server's NDK provider %s, before the server's program got the request.",
                is_dropped ? "ended the connection" : "refused it");
    }
    if (strcmp(w->why, "bad-revision") == 0)
        fputs(" OpenNDK sends no other revision, so almost certainly the client is other software.", w->what);
    if (!w->other->end && strcmp(w->why, "bad-revision") == 0)
        diagnose_request_packets(w, "what this client sent, and what it did then");
    else if (!w->other->end)
        diagnose_request_other(w, "which program sent this request, and what it did then");
}

/* ---- a peer that is not iWARP ---- */

/* Returns true if the record's bytes begin with a method or a status line of HTTP. */
static bool diagnose_is_http(const struct story *s, size_t record)
{
    static const char *const begins[] = { "HTTP/", "GET ", "POST ", "HEAD ", "PUT ", "OPTIONS " };
    struct value v;

    if (record == END_NONE || !value_find(story_record(s, record), "bytes", &v) || v.field->kind != KIND_BYTES)
        return false;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (v.size >= strlen(begins[i]) && memcmp(v.bytes, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static void diagnose_not_iwarp(struct diagnose_work *w)
{
    bool is_server = w->side->role == STORY_SERVER;
    size_t frame = is_server ? w->side->request : w->side->reply;
    bool is_http = diagnose_is_http(w->s, frame);

    w->wrong = frame != END_NONE ? frame : w->side->outcome;
    if (is_http)
        fputs(is_server ? "an HTTP client connected, not an iWARP client"
                        : "an HTTP server answered, not an iWARP server",
              w->headline);
    else
        fprintf(w->headline, "%s does not speak iWARP", diagnose_who(w->other, false));
    fprintf(w->what, "%s was connected by TCP, but the bytes that arrived ", diagnose_who(w->side, true));
    diagnose_at(w->what, w->s, w->wrong);
    if (frame != END_NONE) {
        fputs(", which begin with ", w->what);
        words_bytes(w->what, w->s, frame);
        fputs(",", w->what);
    }
    fprintf(w->what, " are no %s.",
            is_server ? "MPA request (the frame with which an iWARP connection begins)"
                      : "answer to the client's MPA request");
    if (!is_http)
        fprintf(w->what, " So %s speaks another protocol, or its frame is damaged.", diagnose_who(w->other, false));
    if (is_http && !is_server)
        fputs(" So an HTTP server listens there.", w->what);
    if (is_http && !is_server)
        fputs(
            "Correct the address or the port, or start an iWARP server there instead of the HTTP server. \"ss -tlnp\" "
            "on the server's host shows which program listens at a port.\n",
            w->advice);
}

static void diagnose_request_timeout(struct diagnose_work *w)
{
    w->wrong = w->side->limit_expired;
    fputs("a client connected by TCP and sent no request", w->headline);
    fputs("A client connected by TCP ", w->what);
    diagnose_at(w->what, w->s, w->side->begin);
    fputs(", but did not send a complete MPA request (the frame with which an iWARP connection begins)", w->what);
    diagnose_write_limit(w);
    fputs(".", w->what);
    if (!w->other->end)
        diagnose_request_other(w, "whether it is an NDK client at all");
}

/* ---- limits ---- */

static void diagnose_read_limits(struct diagnose_work *w)
{
    w->wrong = w->side->reply != END_NONE ? w->side->reply : w->side->outcome;
    fputs("the server asks for more reads in flight than the client allows", w->headline);
    fputs("The server's MPA reply arrived at the client ", w->what);
    diagnose_at(w->what, w->s, w->wrong);
    fprintf(w->what,
            ". It asks for %" PRIu64
            " RDMA reads of the server in flight at a time, but the client's request allows only "
            "%" PRIu64 " (its InboundReadLimit).",
            story_number(w->s, w->side->reply, "ord"), story_number(w->s, w->side->request, "ird"));
}

bool diagnose_connect(struct diagnose_work *w)
{
    static const struct {
        const char *why, *phase; /* phase NULL: any phase */
        void (*write)(struct diagnose_work *);
    } known[] = {
        { "refused", NULL, diagnose_refused },
        { "connect-timeout", NULL, diagnose_connect_timeout },
        { "reply-timeout", NULL, diagnose_reply_timeout },
        { "rejected", NULL, diagnose_rejected },
        { "bad-reply", NULL, diagnose_not_iwarp },
        { "bad-request", NULL, diagnose_not_iwarp },
        { "read-limits", NULL, diagnose_read_limits },
        { "request-timeout", NULL, diagnose_request_timeout },
        { "bad-revision", NULL, diagnose_server_refused },
        { "unsupported-request", NULL, diagnose_server_refused },
        { "request-no-limits", NULL, diagnose_server_refused },
        { "request-private-data", NULL, diagnose_server_refused },
        { "request-no-ready-form", NULL, diagnose_server_refused },
        { "backlog-full", NULL, diagnose_server_refused },
        { "listener-paused", NULL, diagnose_server_refused },
        { "listener-closed", NULL, diagnose_server_refused },
        { "local-reject", NULL, diagnose_server_refused },
        { "establish-timeout", NULL, diagnose_establish_timeout },
        { "unanswered", NULL, diagnose_unanswered },
        { "peer-reset", "replied", diagnose_lost_replied },
        { "peer-gave-up", "replied", diagnose_lost_replied },
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].why, w->why) == 0 && (!known[i].phase || strcmp(known[i].phase, w->phase) == 0)) {
            known[i].write(w);
            return true;
        }
    }
    return false;
}
