/* SPDX-License-Identifier: MIT */
/*
 * Why a connection failed: which side noticed it first, the first event that went wrong, and what to do. The texts of
 * reasons come from the library's schema in the trace. All other sentences are made from the events of both sides.
 */
#ifndef NDKTRACE_DIAGNOSE_H
#define NDKTRACE_DIAGNOSE_H

#include "story.h"

struct diagnosis {
    const struct story_side *side; /* the side whose reason is the cause; not NULL */
    size_t wrong;                  /* the first event that went wrong, or END_NONE if something is missing */
    struct story_cause cause;      /* what led to it */
    char *headline;                /* the cause in half a sentence */
    char *what, *advice,
        *missing;      /* sentences; "" if there are none. The first line of `advice` is the change to make */
    char *consequence; /* what the other side found; "" if nothing */
    bool is_specific;  /* the sentences are more precise than the trace's words for the reason */
    const struct schema_name *reason, *terminate; /* the trace's words for the reason; NULL if there are none */
};

/* Diagnoses a connection that failed at one of its sides or at both. Returns false if out of memory. */
bool diagnose(struct diagnosis *d, const struct story *s);
void diagnose_free(struct diagnosis *d);

#endif
