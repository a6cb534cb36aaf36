/* SPDX-License-Identifier: MIT */
/*
 * Declarations that the files of the diagnosis share. Each function writes sentences to the streams in struct
 * diagnose_work.
 */
#ifndef NDKTRACE_DIAGNOSE_INTERNAL_H
#define NDKTRACE_DIAGNOSE_INTERNAL_H

#include "diagnose.h"
#include "listeners.h"
#include "words.h"

struct diagnose_work {
    const struct story *s;
    const struct story_side *side, *other; /* `side` is the side whose reason is the cause; `other` is the other side */
    const char *why, *phase;
    size_t wrong;
    struct story_cause cause;
    bool is_vague; /* the opposite of diagnosis.is_specific */
    FILE *headline, *what, *advice, *missing, *consequence;
};

/* Writes the record's time, for example "at 0.041885 s". */
void diagnose_at(FILE *out, const struct story *s, size_t record);
/*
 * Stores the event that led to the failure. Does nothing if `record` is END_NONE. `note` is as in struct story_cause.
 */
void diagnose_set_cause(struct diagnose_work *w, const struct story_side *side, size_t record, const char *note);
/* Returns the side's name, for example "the server". If `is_first` is true, the name begins with a capital letter. */
const char *diagnose_who(const struct story_side *side, bool is_first);
/*
 * Writes the advice to record the other side's trace, too. `why` is a text that describes what that trace would show.
 */
void diagnose_request_other(const struct diagnose_work *w, const char *why);
/* Works like diagnose_request_other, but for a server that possibly does not run. */
void diagnose_request_listener(const struct diagnose_work *w, const char *why);
/* Writes the advice to record the packets of the other side, because that side does not use OpenNDK. */
void diagnose_request_packets(const struct diagnose_work *w, const char *why);
/*
 * Writes which routines the side's program called between two times. Omits routines that only poll. Returns false if
 * the program called no other routine.
 */
bool diagnose_list_calls(FILE *out, const struct story *s, const struct story_side *side, uint64_t from_ns,
                         uint64_t until_ns);

/*
 * Diagnoses a failure before the connection was established. Returns false and writes nothing if the reason is not one
 * that this function handles. In diagnose_connect.c.
 */
bool diagnose_connect(struct diagnose_work *w);
/* Works like diagnose_connect, but for a failure of an established connection. In diagnose_stream.c. */
bool diagnose_stream(struct diagnose_work *w);

/*
 * Functions of diagnose_connect.c. diagnose_between returns the seconds between two records. diagnose_write_limit
 * writes which time limit of the side has expired.
 */
double diagnose_between(const struct story *s, size_t from, size_t to);
void diagnose_write_limit(const struct diagnose_work *w);

/* Functions of diagnose_establish.c. The table of reasons in diagnose_connect.c uses them. */
void diagnose_establish_timeout(struct diagnose_work *w);
void diagnose_lost_replied(struct diagnose_work *w);
void diagnose_unanswered(struct diagnose_work *w);

/*
 * The frame that made a side send a Terminate. `sender` sent the frame, and `finder` found the error in the frame.
 * `sent` and `received` are the records of the frame by these two sides, or END_NONE if the traces do not have the
 * record.
 */
struct diagnose_culprit {
    const struct story_side *sender, *finder;
    size_t sent, received;
    const char *opcode;
};

/*
 * Functions of diagnose_stream.c for diagnose_memory.c. diagnose_frame returns a record of the frame, and
 * diagnose_frame_index the index of this record. The other two functions write a sentence each.
 */
const struct trace_record *diagnose_frame(const struct diagnose_work *w, const struct diagnose_culprit *c);
size_t diagnose_frame_index(const struct diagnose_culprit *c);
void diagnose_write_frame(const struct diagnose_work *w, const struct diagnose_culprit *c);
void diagnose_write_terminate(const struct diagnose_work *w, const struct diagnose_culprit *c);

/* Functions of diagnose_memory.c. The table of Terminates in diagnose_stream.c uses them. */
void diagnose_bounds(struct diagnose_work *w, const struct diagnose_culprit *c);
void diagnose_invalid_token(struct diagnose_work *w, const struct diagnose_culprit *c);
void diagnose_right(struct diagnose_work *w, const struct diagnose_culprit *c);

#endif
