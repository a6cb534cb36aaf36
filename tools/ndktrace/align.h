/* SPDX-License-Identifier: MIT */
/*
 * Aligns the clocks of trace files. Finds connections of which the files have both ends, and the frames that one end
 * sent and the other end received. A frame that arrives before it was sent shows that the clocks differ. As in NTP, the
 * computed offset is the one that makes the least delay equal in both directions. This offset is wrong by at most half
 * the sum of the two least delays.
 *
 * The first file is the reference. The invariant: after align_create, trace_record_realtime of all files' records is
 * comparable, and the records are sorted by it.
 */
#ifndef NDKTRACE_ALIGN_H
#define NDKTRACE_ALIGN_H

#include <stdio.h>

#include "ends.h"

enum align_method {
    ALIGN_REFERENCE, /* the first file, or a file that shares no connection with the others: not changed */
    ALIGN_SAME,      /* the file has the same clock as an aligned file: exact */
    ALIGN_MEASURED,  /* from frames of both directions */
    ALIGN_ONE_WAY,   /* from frames of one direction: the least offset with which none arrives too early */
};

struct align_clock {
    enum align_method method;
    int64_t offset_ns; /* how far the file's clock is ahead of the first file's */
    /* If has_estimate: the offset that was computed from the frames, even if the method is ALIGN_SAME. */
    bool has_estimate;
    int64_t estimate_ns, uncertainty_ns;
    size_t n_frames; /* the number of frames that the estimate was computed from */
    size_t n_early;  /* frames that still seem to arrive before they were sent, because the clocks drift */
};

struct align {
    struct ends ends;
    size_t *partner; /* for each record of a frame, the index of the other end's record of that frame, or END_NONE */
    size_t n_files;
    struct align_clock *clocks; /* one for each file */
};

/* Sorts the records by the aligned time, and sets offset_ns of all files. Returns false if out of memory. */
bool align_create(struct align *a, struct trace_file *files, size_t n_files, struct trace_records *records);
void align_free(struct align *a);
/* Prints a line that begins with # for each file but the first: the offset and its uncertainty. */
void align_print(FILE *out, const struct align *a, const struct trace_file *files);

#endif
