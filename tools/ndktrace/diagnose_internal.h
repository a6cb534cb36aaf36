/* SPDX-License-Identifier: MIT */
/* Shared by the files of the diagnosis. Each function writes sentences into the texts of the work. */
#ifndef NDKTRACE_DIAGNOSE_INTERNAL_H
#define NDKTRACE_DIAGNOSE_INTERNAL_H

#include "diagnose.h"
#include "words.h"

struct diagnose_work {
    const struct story *s;
    const struct story_side *side, *other; /* the side whose reason is the cause, and the other one */
    const char *why, *phase;
    size_t wrong;
    bool is_vague; /* the trace's words for the reason are more precise */
    FILE *headline, *what, *advice, *missing;
};

/* Writes for example "at 0.041885 s". */
void diagnose_at(FILE *out, const struct story *s, size_t record);
/* Returns "The client" or "the server", for example. */
const char *diagnose_who(const struct story_side *side, bool is_first);
/* Writes which trace of the other side to record. `why`: what it would show. */
void diagnose_request_other(const struct diagnose_work *w, const char *why);
/* Writes which routines the side's program called between two times, except polling; false if none. */
bool diagnose_list_calls(FILE *out, const struct story *s, const struct story_side *side, uint64_t from_ns,
                         uint64_t until_ns);

/*
 * diagnose_connect.c: until the connection is established. Both return false for a reason that they have no
 * sentences for.
 */
bool diagnose_connect(struct diagnose_work *w);
/* diagnose_stream.c: from then on. */
bool diagnose_stream(struct diagnose_work *w);

/* listeners.c: where programs of the traces listened. */
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
    size_t closed; /* the event that closed it, or END_NONE */
};
/* Finds who listened at the address to which the client's connection went, when it began. */
struct listeners_found listeners_find(const struct story *s, const struct story_side *client);

#endif
