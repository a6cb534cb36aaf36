/* SPDX-License-Identifier: MIT */
/*
 * Aligns the clocks of trace files. Finds the connections whose two ends are in the files, and the frames that one end
 * sent and the other end received. A frame that seems to arrive before it was sent shows that the clocks differ. As in
 * NTP, the computed offset makes the minimum delays of both directions equal. This offset is wrong by at most half the
 * sum of the two minimum delays. Resets and closes of TCP narrow the range of possible offsets: if an expired time
 * limit made one end send a reset or a close, the other end cannot receive it before that time limit expired.
 *
 * The first file is the reference. The invariant: after align_create, the times that trace_record_realtime returns for
 * records of different files can be compared, and the records are sorted by these times.
 */
#ifndef NDKTRACE_ALIGN_H
#define NDKTRACE_ALIGN_H

#include <stdio.h>

#include "ends.h"

enum align_method {
    ALIGN_REFERENCE, /* the clock is not changed: the first file, or a file that shares no connection with the others */
    ALIGN_SAME,      /* the file has the same clock as an aligned file, so the offset is exact */
    ALIGN_MEASURED,  /* the offset is computed from frames of both directions */
    /*
     * the offset is computed from frames of one direction: the least offset with which no frame arrives before it was
     * sent
     */
    ALIGN_ONE_WAY,
};

struct align_clock {
    enum align_method method;
    int64_t offset_ns; /* the file's clock minus the clock of its reference, which usually is the first file */
    /* If has_estimate is true, the offset that was computed from frames. It is set even if the method is ALIGN_SAME. */
    bool has_estimate;
    int64_t estimate_ns, uncertainty_ns;
    size_t n_frames; /* number of frames from which the estimate was computed */
    size_t n_early;  /* number of frames that still seem to arrive before they were sent, because the clocks drift */
};

struct align {
    struct ends ends;
    /* For each record of a frame, the index of the record that the other end made of this frame, or END_NONE. */
    size_t *partner;
    size_t n_files;
    struct align_clock *clocks; /* one for each file */
};

/* Sorts the records by the aligned time, and sets offset_ns of all files. Returns false if out of memory. */
bool align_create(struct align *a, struct trace_file *files, size_t n_files, struct trace_records *records);
void align_free(struct align *a);
/* Prints the offset of each file except the first, and the uncertainty of this offset, in lines that begin with #. */
void align_print(FILE *out, const struct align *a, const struct trace_file *files);

#endif
