/* SPDX-License-Identifier: MIT */
/*
 * Writes the texts of `ndktrace explain` about failed connections and failed calls. `ndktrace html` shows the same
 * texts. Each paragraph ends with a line feed. WORDS_SPACE (words.h) is a space at which no line may be broken.
 */
#ifndef NDKTRACE_EXPLAIN_TEXTS_H
#define NDKTRACE_EXPLAIN_TEXTS_H

#include "story.h"

struct explain_texts {
    const struct story_side *side; /* the side whose reason is the cause of the failure */
    size_t wrong;                  /* the first event that went wrong, as in struct diagnosis */
    struct story_cause cause;      /* the event that led to the failure */
    char *headline;                /* the cause in half a sentence, for a title */
    char *what;                    /* what went wrong */
    char *reason;                  /* the reason that the side's provider reports */
    char *consequence;             /* what the other side reported; "" if it reported nothing */
    char *change;                  /* what to change: one paragraph, or "" */
    char *advice;                  /* what else to check; "" if there is nothing */
    char *missing;                 /* which events the traces lack; "" if they lack none */
};

/* Writes the texts for a connection that failed at one side or at both sides. Returns false if out of memory. */
bool explain_texts_make(struct explain_texts *t, const struct story *s);
void explain_texts_free(struct explain_texts *t);

/* The failed calls of one process with the same routine and the same status. */
struct explain_kind {
    const struct call *first;
    size_t count;
};
enum { EXPLAIN_MAX_KINDS = 32 };

/*
 * Groups the failed calls that belong to none of the connections in `failed` by process, routine and status. Stores at
 * most EXPLAIN_MAX_KINDS groups in `kinds`. Returns the number of groups.
 */
size_t explain_find_kinds(struct explain_kind *kinds, const struct calls *calls, const struct story *failed,
                          size_t n_failed);
/* Returns the record that contains the status of the kind's first call. */
size_t explain_kind_record(const struct explain_kind *kind);
/* Writes a title for the kind, for example "NdkRead returned STATUS_NOT_SUPPORTED". */
void explain_kind_headline(FILE *out, const struct explain_kind *kind);
/*
 * Explains the first call of this kind: writes the cause to the stream `what`, and advice, if there is any, to the
 * stream `change`.
 */
void explain_kind_texts(FILE *what, FILE *change, const struct traces *traces, const struct calls *calls,
                        const struct explain_kind *kind);
/*
 * Returns the event because of which the first call of this kind failed. If the event is not known, the result's
 * `record` is END_NONE.
 */
struct story_cause explain_kind_cause(const struct traces *traces, const struct calls *calls,
                                      const struct explain_kind *kind);

#endif
