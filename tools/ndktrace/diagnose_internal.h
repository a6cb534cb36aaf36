/* SPDX-License-Identifier: MIT */
/* Shared by the files of the diagnosis. Each function writes sentences to the streams of struct diagnose_work. */
#ifndef NDKTRACE_DIAGNOSE_INTERNAL_H
#define NDKTRACE_DIAGNOSE_INTERNAL_H

#include "diagnose.h"
#include "listeners.h"
#include "words.h"

struct diagnose_work {
    const struct story *s;
    const struct story_side *side, *other; /* the side whose reason is the cause, and the other side */
    const char *why, *phase;
    size_t wrong;
    struct story_cause cause;
    bool is_vague; /* the trace's words for the reason are more precise */
    FILE *headline, *what, *advice, *missing, *consequence;
};

/* Writes for example "at 0.041885 s". */
void diagnose_at(FILE *out, const struct story *s, size_t record);
/* Sets the event that led to the failure. Does nothing if the record is END_NONE. `note`: as in struct story_cause. */
void diagnose_set_cause(struct diagnose_work *w, const struct story_side *side, size_t record, const char *note);
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

/* In diagnose_connect.c: returns the seconds between two records; writes which time limit of the side has passed. */
double diagnose_between(const struct story *s, size_t from, size_t to);
void diagnose_write_limit(const struct diagnose_work *w);

/* diagnose_establish.c: for the table of reasons in diagnose_connect.c. */
void diagnose_establish_timeout(struct diagnose_work *w);
void diagnose_lost_replied(struct diagnose_work *w);
void diagnose_unanswered(struct diagnose_work *w);

/*
 * The frame that the Terminate is about. `sent` is its record by the sender, `received` its record by the side that
 * found the error. END_NONE: the traces do not have the record.
 */
struct diagnose_culprit {
    const struct story_side *sender, *finder;
    size_t sent, received;
    const char *opcode;
};

/* diagnose_stream.c, for diagnose_memory.c: the frame as one side recorded it, and sentences about it. */
const struct trace_record *diagnose_frame(const struct diagnose_work *w, const struct diagnose_culprit *c);
size_t diagnose_frame_index(const struct diagnose_culprit *c);
void diagnose_write_frame(const struct diagnose_work *w, const struct diagnose_culprit *c);
void diagnose_write_terminate(const struct diagnose_work *w, const struct diagnose_culprit *c);

/* diagnose_memory.c: for the table of Terminates in diagnose_stream.c. */
void diagnose_bounds(struct diagnose_work *w, const struct diagnose_culprit *c);
void diagnose_invalid_token(struct diagnose_work *w, const struct diagnose_culprit *c);
void diagnose_right(struct diagnose_work *w, const struct diagnose_culprit *c);

#endif
