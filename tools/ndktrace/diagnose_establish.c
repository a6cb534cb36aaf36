/* SPDX-License-Identifier: MIT */
/*
 * Diagnoses connections that failed before they were established, but after the request had reached the server's
 * program: see diagnose_internal.h.
 */
#include <string.h>

#include "diagnose_internal.h"

/*
 * Returns the routine that the server's program called to accept. Returns "NdkAccept" if the traces do not show the
 * call.
 */
static const char *diagnose_accept_routine(const struct diagnose_work *w)
{
    const struct call *accept = story_call(w->s, w->s->sides[STORY_SERVER].calls.accept);

    return accept ? accept->routine : "NdkAccept";
}

/* Writes which routines the client's program called when it should have called NdkCompleteConnect. */
static void diagnose_instead(const struct diagnose_work *w, const struct story_side *client, size_t since, size_t until)
{
    if (!client->has_calls)
        return;
    fputs(" Instead it called ", w->what);
    if (!diagnose_list_calls(w->what, w->s, client, trace_record_realtime(story_record(w->s, since)),
                             trace_record_realtime(story_record(w->s, until))))
        fputs("no NDK function", w->what);
    fputs(".", w->what);
}

/* Writes that the client's program probably waited for a message from the server, and why this is a deadlock. */
static void diagnose_write_waiting(const struct diagnose_work *w, const struct story_side *client, size_t until)
{
    uint64_t until_ns = trace_record_realtime(story_record(w->s, until));
    bool is_armed = false;

    for (size_t i = 0; i < w->s->calls->count; i++) {
        const struct call *c = &w->s->calls->calls[i];

        is_armed = is_armed ||
                   (c->file == client->end->file && strcmp(c->routine, "NdkArmCq") == 0 && c->begin_ns <= until_ns);
    }
    fprintf(w->what,
            " It had posted receives%s, so probably it waited for a message of the server. But the server's %s had not "
            "completed, so the server could not send one: each side waited for the other.",
            is_armed ? " and armed a completion queue (NdkArmCq)" : "", diagnose_accept_routine(w));
}

/* Diagnoses a timeout: the client's NdkConnect has completed, but its program has not called NdkCompleteConnect. */
static void diagnose_no_complete(struct diagnose_work *w, const struct story_side *client, size_t until)
{
    const struct call *connect = story_call(w->s, client->calls.connect);
    bool is_waiting = client->qp && story_count_posts(w->s, client->end->file, client->qp, "NdkReceive", UINT64_MAX);
    size_t since = connect && connect->completed != END_NONE ? connect->completed : client->reply;

    fputs("the client's program did not call NdkCompleteConnect", w->headline);
    if (is_waiting)
        fputs(" (probably it waited for a message first: a deadlock)", w->headline);
    if (since == client->reply) {
        fputs(" The client received the server's accept ", w->what);
        diagnose_at(w->what, w->s, since);
    } else {
        fputs(" The client's NdkConnect completed ", w->what);
        diagnose_at(w->what, w->s, since);
    }
    fputs(", but the client's program did not call NdkCompleteConnect.", w->what);
    diagnose_set_cause(w, client, since, "NdkCompleteConnect should follow now.");
    diagnose_instead(w, client, since, until);
    if (is_waiting)
        diagnose_write_waiting(w, client, until);
    fputs(
        "The client's program must call NdkCompleteConnect as soon as NdkConnect has completed, before it waits for a "
        "message. Only then does the server's accept complete. A longer time limit does not help.\n",
        w->advice);
}

void diagnose_establish_timeout(struct diagnose_work *w)
{
    const struct story_side *client = w->side->role == STORY_CLIENT ? w->side : w->other;

    w->wrong = w->side->limit_expired;
    if (client->end && !(client->answer == END_NONE && client->reply != END_NONE))
        fputs("the client's first frame did not arrive", w->headline);
    if (!client->end)
        fputs("the client did not complete the connection", w->headline);
    if (w->side->role == STORY_CLIENT) {
        fputs("The client's program called NdkCompleteConnect ", w->what);
        diagnose_at(w->what, w->s, w->side->answer != END_NONE ? w->side->answer : w->side->begin);
        fputs(", but the first frame of the connection was not sent, or not answered by the server", w->what);
        diagnose_write_limit(w);
        fputs(".", w->what);
        if (!w->other->end)
            diagnose_request_other(w, "whether the frame arrived");
        return;
    }
    fprintf(w->what, "The server's program accepted the client (%s), and the server sent its MPA reply ",
            diagnose_accept_routine(w));
    diagnose_at(w->what, w->s, w->side->reply);
    fputs(". Then it waited for the client's first frame, which the client sends when its program calls "
          "NdkCompleteConnect. No such frame arrived",
          w->what);
    diagnose_write_limit(w);
    fprintf(w->what, ". %s completes only after this frame.", diagnose_accept_routine(w));
    if (!client->end)
        diagnose_request_other(w, "whether the client's program called NdkCompleteConnect");
    else if (client->answer == END_NONE && client->reply != END_NONE)
        diagnose_no_complete(w, client, w->side->limit_expired);
    else if (client->reply == END_NONE)
        fputs(" The server's reply did not arrive at the client.", w->what);
    else
        fputs(" The client's program did call NdkCompleteConnect, but its frame did not arrive.", w->what);
}

/* Diagnoses a loss of the connection after the client's NdkConnect had completed and before NdkCompleteConnect. */
void diagnose_lost_replied(struct diagnose_work *w)
{
    fputs("the client's program did not call NdkCompleteConnect in time", w->headline);
    fputs("The server accepted the connection, and the client's NdkConnect completed after its reply had arrived ",
          w->what);
    diagnose_at(w->what, w->s, w->side->reply);
    fputs(". The client's program then had to call NdkCompleteConnect. It had not done so for ", w->what);
    words_duration(w->what, diagnose_between(w->s, w->side->reply, w->side->outcome));
    fprintf(w->what, ", when the server ended the connection (%s).", w->why);
    diagnose_instead(w, w->side, w->side->reply, w->side->outcome);
    diagnose_set_cause(w, w->side, w->side->reply, "NdkCompleteConnect should follow soon.");
    fputs(" Servers wait for NdkCompleteConnect only for a limited time. With OpenNDK it is 10 s, unless "
          "ONDK_ESTABLISH_MS sets it.",
          w->what);
    fputs("The client's program must call NdkCompleteConnect as soon as NdkConnect has completed.\n", w->advice);
    diagnose_request_other(w, "why the server ended the connection");
}

/* Diagnoses a request that the client ended before the server's program had accepted or rejected it. */
void diagnose_unanswered(struct diagnose_work *w)
{
    fputs("the client ended its request before the server's program had accepted it", w->headline);
    fputs("The client's MPA request (the frame with which an iWARP connection begins) arrived at the server ", w->what);
    diagnose_at(w->what, w->s, w->side->request);
    fputs(", and was reported to the server's program. The program called neither NdkAccept nor NdkReject for ",
          w->what);
    words_duration(w->what, diagnose_between(w->s, w->side->request, w->side->outcome));
    fputs(". Then the client ended the connection.", w->what);
    fputs(
        "If the client gave up because of its time limit, the server's program is too slow: it must call NdkAccept or "
        "NdkReject soon after its connect event callback.\n",
        w->advice);
    if (!w->other->end)
        diagnose_request_other(w, "whether the client gave up because of its time limit, or was ended");
}
