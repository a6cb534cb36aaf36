/* SPDX-License-Identifier: MIT */
/* Writes JSON trace events: see perfetto_json.h. */
#include "perfetto_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "html_json.h"
#include "trace_reader/value.h"

/* First track number for tracks that are no threads; the kernel's thread IDs are less. */
enum { PERFETTO_FIRST_TID = 1000000000 };

bool perfetto_end(struct perfetto *p)
{
    fputs("\n]}\n", p->out);
    free(p->tracks);
    return !p->is_out_of_memory;
}

/*
 * Returns the number that the output uses for the file's process. This is the process ID, or another number if an
 * earlier file has the same ID.
 */
static uint32_t perfetto_pid(const struct perfetto *p, const struct trace_file *file)
{
    size_t index = (size_t)(file - p->traces->files);

    for (size_t i = 0; i < index; i++)
        if (p->traces->files[i].pid == file->pid)
            return (uint32_t)(PERFETTO_FIRST_TID + index);
    return file->pid;
}

static bool perfetto_has_tid(const struct perfetto *p, uint64_t tid)
{
    for (size_t i = 0; i < p->n_tracks; i++)
        if (p->tracks[i].tid == tid)
            return true;
    return false;
}

struct perfetto_track perfetto_find_track(struct perfetto *p, const struct trace_file *file, uint64_t id)
{
    struct perfetto_track track = { .file = file, .id = id, .pid = perfetto_pid(p, file) }, *grown;

    for (size_t i = p->n_tracks; i > 0; i--)
        if (p->tracks[i - 1].file == file && p->tracks[i - 1].id == id)
            return p->tracks[i - 1];
    track.tid = id < PERFETTO_FIRST_TID && !perfetto_has_tid(p, id) ? (uint32_t)id : p->next_tid++;
    if (p->n_tracks == p->room) {
        grown = reallocarray(p->tracks, 2 * p->room + 64, sizeof *grown);
        if (!grown) {
            p->is_out_of_memory = true;
            return track;
        }
        p->tracks = grown;
        p->room = 2 * p->room + 64;
    }
    p->tracks[p->n_tracks++] = track;
    return track;
}

void perfetto_begin(struct perfetto *p, FILE *out, const struct traces *traces)
{
    memset(p, 0, sizeof *p);
    p->out = out;
    p->traces = traces;
    p->begin_ns = traces_begin(traces);
    p->next_tid = PERFETTO_FIRST_TID;
    for (size_t i = 0; i < traces->n_files; i++)
        p->processes[i] = perfetto_find_track(p, &traces->files[i], traces->files[i].pid);
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
}

/* ---- events ---- */

void perfetto_event(struct perfetto *p, char type, const struct perfetto_track *track, uint64_t time_ns,
                    const char *name)
{
    uint64_t ns = time_ns > p->begin_ns ? time_ns - p->begin_ns : 0;

    fprintf(p->out, "%s\n{\"ph\":\"%c\",\"ts\":%" PRIu64 ".%03u,\"pid\":%" PRIu32 ",\"tid\":%" PRIu32,
            p->n_events++ ? "," : "", type, ns / 1000, (unsigned)(ns % 1000), track->pid, track->tid);
    if (!name)
        return;
    fputs(",\"name\":", p->out);
    p->is_out_of_memory |= !html_json_string(p->out, name);
}

void perfetto_close_event(struct perfetto *p)
{
    fputc('}', p->out);
}

/* Writes a value as a number if every JSON reader can store the number exactly, otherwise as a string. */
static void perfetto_value(struct perfetto *p, const struct value *v)
{
    char text[VALUE_MAX_TEXT];

    if (v->field->kind == KIND_UNSIGNED && !v->name && v->number < UINT64_C(1) << 53)
        fprintf(p->out, "%" PRIu64, v->number);
    else
        p->is_out_of_memory |= !html_json_string(p->out, value_text(v, text));
}

void perfetto_args(struct perfetto *p, const struct trace_record *r)
{
    struct value_cursor c = { 0 };
    struct value v;
    bool is_first = true;

    fputs(",\"args\":{", p->out);
    while (value_next(r, &c, &v)) {
        if (v.field->kind == KIND_BYTES)
            continue;
        fputs(is_first ? "" : ",", p->out);
        is_first = false;
        p->is_out_of_memory |= !html_json_string(p->out, v.field->name);
        fputc(':', p->out);
        perfetto_value(p, &v);
    }
    fputc('}', p->out);
}

void perfetto_name(struct perfetto *p, const char *what, const struct perfetto_track *track, const char *name)
{
    perfetto_event(p, 'M', track, 0, what);
    fputs(",\"args\":{\"name\":", p->out);
    p->is_out_of_memory |= !html_json_string(p->out, name);
    fputc('}', p->out);
    perfetto_close_event(p);
}
