/* SPDX-License-Identifier: MIT */
/*
 * Writes the JSON trace event format, which ui.perfetto.dev reads. The output has one object for each event, with ph
 * (the type), ts (the time in microseconds), pid, tid and name. These functions number processes and tracks themselves,
 * because processes of two hosts may have the same ID.
 */
#ifndef NDKTRACE_PERFETTO_JSON_H
#define NDKTRACE_PERFETTO_JSON_H

#include <stdio.h>

#include "traces.h"

struct perfetto_track {
    const struct trace_file *file;
    uint64_t id; /* the ID of a thread, or PERFETTO_END plus the index of a connection's end */
    uint32_t pid, tid;
};

#define PERFETTO_END (UINT64_C(1) << 32)

struct perfetto {
    FILE *out;
    const struct traces *traces;
    uint64_t begin_ns;
    size_t n_events, n_tracks, room;
    struct perfetto_track *tracks;
    struct perfetto_track processes[TRACES_MAX_FILES]; /* for each file, the track of its first thread */
    uint32_t next_tid;
    bool is_out_of_memory;
};

void perfetto_begin(struct perfetto *p, FILE *out, const struct traces *traces);
/* Ends the output. Returns false if memory ran out at any time. The caller must check the stream for write errors. */
bool perfetto_end(struct perfetto *p);
/*
 * Returns the track with this `id`, which is a thread's ID, or PERFETTO_END plus the index of a connection's end. Adds
 * the track if it does not exist.
 */
struct perfetto_track perfetto_find_track(struct perfetto *p, const struct trace_file *file, uint64_t id);

/*
 * Begins an event. The caller may then write further members, and must call perfetto_close_event. If `name` is NULL,
 * the event has no name.
 */
void perfetto_event(struct perfetto *p, char type, const struct perfetto_track *track, uint64_t time_ns,
                    const char *name);
/* Writes the member "args", which contains the record's fields. */
void perfetto_args(struct perfetto *p, const struct trace_record *r);
void perfetto_close_event(struct perfetto *p);
/* Writes the name of a process, a thread or another track. `what` is "process_name" or "thread_name". */
void perfetto_name(struct perfetto *p, const char *what, const struct perfetto_track *track, const char *name);

#endif
