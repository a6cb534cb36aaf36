/* SPDX-License-Identifier: MIT */
/*
 * The texts of `ndktrace explain` about a failed connection and about failed calls. `ndktrace html` shows the same
 * texts. Paragraphs end with '\n'. A space at which no line may end is WORDS_SPACE (words.h).
 */
#ifndef NDKTRACE_EXPLAIN_TEXTS_H
#define NDKTRACE_EXPLAIN_TEXTS_H

#include "story.h"

struct explain_texts {
    const struct story_side *side; /* the side whose reason is the cause */
    size_t wrong;                  /* the record of the first event that went wrong, or END_NONE */
    struct story_cause cause;      /* what led to it */
    char *headline;                /* the cause in half a sentence */
    char *what;                    /* what went wrong */
    char *reason;                  /* the reason that the side's provider reports */
    char *consequence;             /* what the other side found; "" if nothing */
    char *change;                  /* what to change: a paragraph, or "" */
    char *advice;                  /* what else to check; "" if nothing */
    char *missing;                 /* what the traces do not have; "" if nothing is missing */
};

/* Makes the texts of a connection that failed at one of its sides or at both. Returns false if out of memory. */
bool explain_texts_make(struct explain_texts *t, const struct story *s);
void explain_texts_free(struct explain_texts *t);

/* Calls of one process that failed with one status in one routine. */
struct explain_kind {
    const struct call *first;
    size_t count;
};
enum { EXPLAIN_MAX_KINDS = 32 };

/*
 * Finds the failed calls that belong to none of the connections in `failed`. Writes at most EXPLAIN_MAX_KINDS kinds of
 * such calls. Returns the number of kinds.
 */
size_t explain_find_kinds(struct explain_kind *kinds, const struct calls *calls, const struct story *failed,
                          size_t n_failed);
/* Returns the record that has the status of the kind's first call. */
size_t explain_kind_record(const struct explain_kind *kind);
/* Writes for example "NdkRead returned STATUS_NOT_SUPPORTED". */
void explain_kind_headline(FILE *out, const struct explain_kind *kind);
/*
 * Explains the kind's first call: writes the cause to the stream `what`, and advice to the stream `change`, if known.
 */
void explain_kind_texts(FILE *what, FILE *change, const struct traces *traces, const struct calls *calls,
                        const struct explain_kind *kind);
/* Returns the event that led to the failure of the kind's first call. */
struct story_cause explain_kind_cause(const struct traces *traces, const struct calls *calls,
                                      const struct explain_kind *kind);

#endif
