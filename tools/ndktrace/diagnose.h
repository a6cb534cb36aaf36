/* SPDX-License-Identifier: MIT */
/*
 * Diagnoses why a connection failed: which side noticed the failure first, which event went wrong first, and what to
 * do. The texts for reasons come from the library's schema in the trace. All other sentences are written from the
 * events of both sides.
 */
#ifndef NDKTRACE_DIAGNOSE_H
#define NDKTRACE_DIAGNOSE_H

#include "story.h"

struct diagnosis {
    const struct story_side *side; /* the side whose recorded reason explains the failure; not NULL */
    /* The first event that went wrong, or STORY_END_OF_TRACE; END_NONE: the traces do not contain the event. */
    size_t wrong;
    struct story_cause cause; /* the event that led to the failure */
    char *headline;           /* the cause in half a sentence, for a title */
    /* Each of these three texts consists of sentences, or is "". The first line of `advice` is the change to make. */
    char *what, *advice, *missing;
    char *consequence; /* what the other side reported; "" if it reported nothing */
    bool is_specific;  /* the sentences are more precise than the trace's texts for the reason */
    /* The trace's texts for the reason and for the Terminate; NULL: the trace has none. */
    const struct schema_name *reason, *terminate;
};

/* Diagnoses a connection that failed at one side or at both sides. Returns false if out of memory. */
bool diagnose(struct diagnosis *d, const struct story *s);
void diagnose_free(struct diagnosis *d);

#endif
