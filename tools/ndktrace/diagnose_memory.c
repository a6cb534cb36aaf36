/* SPDX-License-Identifier: MIT */
/*
 * Diagnoses refused accesses to the other side's memory: see diagnose_internal.h. `finder` is the side that owns the
 * memory and refused the access.
 */
#include <inttypes.h>
#include <string.h>

#include "diagnose_internal.h"
#include "trace_reader/value.h"

/*
 * The calls about the region or window of one token. The side that found the error (diagnose_culprit.finder) made them.
 * Each member is the index of a call.
 */
struct diagnose_region {
    size_t token;    /* the last call that returned this token */
    size_t length;   /* the call that registered the region, and shows its length */
    size_t released; /* the call that invalidated the token before the access */
};

/*
 * Searches the calls on the object that began no later than until_ns and whose routine is in `routines`. Returns the
 * last such call, or END_NONE if there is none.
 */
static size_t diagnose_find_call(const struct story *s, const struct trace_file *file, uint64_t object,
                                 const char *const *routines, uint64_t until_ns)
{
    size_t at, n = calls_of_object(s->calls, file, object, &at), found = END_NONE;

    for (size_t i = 0; object && i < n; i++) {
        const struct call *c = &s->calls->calls[s->calls->by_object[at + i]];

        for (size_t k = 0; routines[k]; k++)
            if (strcmp(c->routine, routines[k]) == 0 && c->begin_ns <= until_ns)
                found = s->calls->by_object[at + i];
    }
    return found;
}

static struct diagnose_region diagnose_find_region(const struct diagnose_work *w, const struct diagnose_culprit *c,
                                                   uint64_t token)
{
    static const char *const lengths[] = { "NdkRegisterMr", NULL };
    static const char *const releases[] = { "NdkDeregisterMr", "NdkCloseMr", "NdkCloseMw", NULL };
    struct diagnose_region found = { END_NONE, END_NONE, END_NONE };
    uint64_t until_ns = trace_record_realtime(diagnose_frame(w, c)), object;
    const struct call *giver;

    for (size_t i = 0; i < w->s->calls->count; i++) {
        const struct call *call = &w->s->calls->calls[i];

        if (call->file == c->finder->end->file && strncmp(call->routine, "NdkGetRemoteTokenFrom", 21) == 0 &&
            call->begin_ns <= until_ns && story_number(w->s, call->record, "token") == token)
            found.token = i;
    }
    giver = story_call(w->s, found.token);
    if (!giver)
        return found;
    object = giver->object;
    found.length = diagnose_find_call(w->s, giver->file, object, lengths, until_ns);
    found.released = diagnose_find_call(w->s, giver->file, object, releases, until_ns);
    if (found.released != END_NONE && w->s->calls->calls[found.released].begin_ns < giver->begin_ns)
        found.released = END_NONE;
    return found;
}

static void diagnose_write_excess(const struct diagnose_work *w, const struct diagnose_culprit *c, uint64_t size,
                                  uint64_t length)
{
    fprintf(w->what, ", %" PRIu64 WORDS_SPACE "bytes less than the access needs", size - length);
    fprintf(w->advice,
            "Let %s's program access at most %" PRIu64 " bytes with this token, or let %s's program register %" PRIu64
            " bytes.\n",
            diagnose_who(c->sender, false), length, diagnose_who(c->finder, false), size);
}

/*
 * Writes how the program of the side c->finder registered or released the memory. `size` is the size of the access; 0:
 * not known.
 */
static void diagnose_write_region(struct diagnose_work *w, const struct diagnose_culprit *c, uint64_t token,
                                  uint64_t size)
{
    const struct call *call, *accept = story_call(w->s, c->finder->calls.accept);
    struct diagnose_region region;

    if (!c->finder->end || !c->finder->has_calls || diagnose_frame_index(c) == END_NONE)
        return;
    region = diagnose_find_region(w, c, token);
    call = story_call(w->s, region.token);
    if (!call) {
        fprintf(w->what, " The trace of %s has no call that returned this token.", diagnose_who(c->finder, false));
        return;
    }
    fprintf(w->what, " %s's program got this token from %s ", diagnose_who(c->finder, true), call->routine);
    diagnose_at(w->what, w->s, call->record);
    call = story_call(w->s, region.length);
    if (call) {
        uint64_t length = story_number(w->s, call->record, "length"),
                 address = story_number(w->s, call->record, "address");

        fputs(", for a region of ", w->what);
        words_count(w->what, length, "byte");
        if (address)
            fprintf(w->what, " (0x%" PRIx64 " to 0x%" PRIx64 ", NdkRegisterMr)", address, address + length - 1);
        else
            fputs(" (NdkRegisterMr)", w->what);
        if (size > length)
            diagnose_write_excess(w, c, size, length);
    }
    fputs(".", w->what);
    call = story_call(w->s, region.released);
    if (!call)
        return;
    fprintf(w->what, " But %s's program called %s ", diagnose_who(c->finder, false), call->routine);
    diagnose_at(w->what, w->s, call->record);
    fputs(", which made the token invalid before the access arrived.", w->what);
    if (accept && accept->file == call->file && call->begin_ns < accept->begin_ns)
        fprintf(w->what, " That was before %s's program accepted the connection (%s).", diagnose_who(c->finder, false),
                accept->routine);
    diagnose_set_cause(w, c->finder, call->record, NULL);
    fprintf(w->advice, "Let %s's program keep the region registered until the accesses of %s are over.\n",
            diagnose_who(c->finder, false), diagnose_who(c->sender, false));
}

/*
 * Writes which call of the sender's program caused the access. Returns the size of the access, or 0 if it is not known.
 */
static uint64_t diagnose_write_access(struct diagnose_work *w, const struct diagnose_culprit *c, uint64_t token)
{
    const struct story *s = w->s;
    const char *routine = strcmp(c->opcode, "read-request") == 0 ? "NdkRead" : "NdkWrite";
    const struct call *found = NULL;
    size_t at, n;
    uint64_t to;

    if (!c->sender->end || !c->sender->qp || c->sent == END_NONE)
        return 0;
    to = story_number(s, c->sent, "to");
    n = calls_of_object(s->calls, c->sender->end->file, c->sender->qp, &at);
    for (size_t i = 0; i < n; i++) {
        const struct call *call = &s->calls->calls[s->calls->by_object[at + i]];
        uint64_t begin = story_number(s, call->record, "address"), size = story_number(s, call->record, "bytes");

        if (strcmp(call->routine, routine) == 0 && story_number(s, call->record, "token") == token &&
            (*c->opcode == 'r' || to - begin < size))
            found = call;
    }
    if (!found)
        return 0;
    fprintf(w->what, "%s's program called %s for %" PRIu64 " bytes at address 0x%" PRIx64 " with token 0x%" PRIx64 ", ",
            diagnose_who(c->sender, true), routine, story_number(s, found->record, "bytes"),
            story_number(s, found->record, "address"), token);
    fprintf(w->what, "at" WORDS_SPACE "%.6f" WORDS_SPACE "s. ", story_seconds_of(s, found->begin_ns));
    diagnose_set_cause(w, c->sender, found->record, NULL);
    return story_number(s, found->record, "bytes");
}

/* Returns the token in the frame. A Read Request contains the token in its payload, not in the DDP header. */
static uint64_t diagnose_token(const struct diagnose_work *w, const struct diagnose_culprit *c)
{
    uint64_t token = 0;
    struct value v;

    if (strcmp(c->opcode, "read-request") != 0)
        return story_number(w->s, diagnose_frame_index(c), "stag");
    if (value_find(diagnose_frame(w, c), "bytes", &v) && v.size >= 28)
        for (size_t i = 16; i < 20; i++)
            token = token << 8 | v.bytes[i];
    return token;
}

/*
 * Writes the title of an access with an invalid token. If the program of the side c->finder called a routine that made
 * the token invalid, the title names this routine.
 */
static void diagnose_token_headline(const struct diagnose_work *w, const struct diagnose_culprit *c)
{
    const struct call *released = NULL;

    if (c->finder->end && c->finder->has_calls && diagnose_frame_index(c) != END_NONE)
        released = story_call(w->s, diagnose_find_region(w, c, diagnose_token(w, c)).released);
    if (released)
        fprintf(w->headline, "%s's program closed the memory (%s) that %s then accessed",
                diagnose_who(c->finder, false), released->routine, diagnose_who(c->sender, false));
    else
        fprintf(w->headline, "%s used a token that is not valid", diagnose_who(c->sender, false));
}

static void diagnose_memory(struct diagnose_work *w, const struct diagnose_culprit *c, const char *error,
                            const char *advice)
{
    uint64_t token = diagnose_frame_index(c) == END_NONE ? 0 : diagnose_token(w, c), size;

    size = diagnose_write_access(w, c, token);
    if (!size)
        diagnose_write_frame(w, c);
    fprintf(w->what, "%s", size ? "" : " ");
    fprintf(w->what, error, diagnose_who(c->finder, false));
    diagnose_write_region(w, c, token, size);
    if (size) {
        fprintf(w->what, " The frame that %s refused: ", diagnose_who(c->finder, false));
        words_fpdu(w->what, w->s, diagnose_frame_index(c));
        if (c->received != END_NONE) {
            fprintf(w->what, ", which arrived at %s ", diagnose_who(c->finder, false));
            diagnose_at(w->what, w->s, c->received);
        }
        fputs(".", w->what);
    }
    diagnose_write_terminate(w, c);
    fprintf(w->advice, advice, diagnose_who(c->sender, false), diagnose_who(c->finder, false));
}

void diagnose_bounds(struct diagnose_work *w, const struct diagnose_culprit *c)
{
    fprintf(w->headline, "%s accessed memory outside of the region of its token", diagnose_who(c->sender, false));
    diagnose_memory(
        w, c, "A part of it is outside of the memory region of this token at %s.",
        "Compare the address and the length that %s's program passed to NdkWrite or NdkRead with those of the region "
        "that %s's program had announced.\n");
}

void diagnose_invalid_token(struct diagnose_work *w, const struct diagnose_culprit *c)
{
    diagnose_token_headline(w, c);
    diagnose_memory(w, c, "The token (also called STag, or rkey) was not valid at %s when the access arrived.",
                    "Check that %s's program passes the token that %s's program announced last.\n");
}

void diagnose_right(struct diagnose_work *w, const struct diagnose_culprit *c)
{
    fprintf(w->headline, "%s accessed memory in a way that its region does not allow", diagnose_who(c->sender, false));
    diagnose_memory(w, c, "The memory region does not allow this kind of access at %s.",
                    "Let %2$s's program register the region with the fitting right (NDK_MR_FLAG_ALLOW_REMOTE_READ or "
                    "NDK_MR_FLAG_ALLOW_REMOTE_WRITE), or let %1$s's program use another region.\n");
}
