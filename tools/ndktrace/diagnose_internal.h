/* SPDX-License-Identifier: MIT */
/* Shared by the files of the diagnosis. Each function writes sentences into the texts of the work. */
#ifndef NDKTRACE_DIAGNOSE_INTERNAL_H
#define NDKTRACE_DIAGNOSE_INTERNAL_H

#include "diagnose.h"
#include "words.h"

struct diagnose_work {
    const struct story *s;
    const struct story_side *side, *other; /* the side whose reason is the cause, and the other side */
    const char *why, *phase;
    size_t wrong;
    bool is_vague; /* the trace's words for the reason are more precise */
    FILE *headline, *what, *advice, *missing;
};

/* Writes for example "at 0.041885 s". */
void diagnose_at(FILE *out, const struct story *s, size_t record);
/* Returns "The client" or "the server", for example. */
const char *diagnose_who(const struct story_side *side, bool is_first);
/* Writes that the other side's trace should be recorded, too. `why`: what that trace would show. */
void diagnose_request_other(const struct diagnose_work *w, const char *why);
/*
 * Writes which routines the side's program called between two times. Omits routines that only poll. Returns false if
 * there is none.
 */
bool diagnose_list_calls(FILE *out, const struct story *s, const struct story_side *side, uint64_t from_ns,
                         uint64_t until_ns);

/*
 * In diagnose_connect.c, for failures until the connection is established. Like diagnose_stream, returns false and
 * writes nothing if the function has no sentences for the reason.
 */
bool diagnose_connect(struct diagnose_work *w);
/* In diagnose_stream.c, for failures of an established connection. */
bool diagnose_stream(struct diagnose_work *w);

/* In listeners.c: where the programs of the traces listened. */
enum listeners_state {
    LISTENERS_NONE,  /* no other trace has a listener */
    LISTENERS_OTHER, /* at other addresses only */
    LISTENERS_LATER, /* at the address, but later */
    LISTENERS_CLOSED,
    LISTENERS_FAILED, /* NdkListen failed */
    LISTENERS_OPEN,
};
struct listeners_found {
    enum listeners_state state;
    size_t record; /* the event `listening` */
    size_t closed; /* the event that closed the listener, or END_NONE */
};
/*
 * Finds the listener at the address to which the client connected, and the listener's state when the connection began.
 */
struct listeners_found listeners_find(const struct story *s, const struct story_side *client);

#endif
