/* SPDX-License-Identifier: MIT */
/* Prints events as text and as JSON: see print_events.h. */
#include "print_events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json_output.h"
#include "printable.h"
#include "value.h"

static void print_text(FILE *out, const char *text)
{
    char copy[4 * 64 + 1];

    (void)printable_copy(copy, sizeof copy, text, strnlen(text, 64));
    fputs(copy, out);
}

void print_file(FILE *out, const struct trace_file *f)
{
    time_t seconds = (time_t)(f->realtime_ns / 1000000000);
    char date[40] = "?";
    struct tm tm;

    if (gmtime_r(&seconds, &tm))
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm);
    fputs("# ", out);
    print_text(out, f->program);
    fprintf(out, ", process %" PRIu32 " on ", f->pid);
    print_text(out, f->host);
    fprintf(out, ", traced from %s.%06u UTC on\n", date, (unsigned)(f->realtime_ns / 1000 % 1000000));
}

void print_skipped(FILE *out, const struct trace_file *f)
{
    if (f->lost)
        fprintf(out, "# lost: %" PRIu64 " events, because more threads recorded than there are segments\n", f->lost);
    if (f->missing)
        fprintf(out, "# the file is truncated: %zu of %" PRIu32 " segments are missing or incomplete\n", f->missing,
                f->segment_count);
    if (f->damaged)
        fprintf(out, "# the file is damaged: the rest of %zu segments was skipped\n", f->damaged);
}

/* ---- text ---- */

void print_columns(FILE *out, const struct print_style *style)
{
    fprintf(out, "# %10s%s %7s %4s  %-13s %s\n", "seconds", style->has_process ? " process" : "", "thread", "conn",
            "event", "fields");
}

/* Does a line of text omit the value, because it means that nothing is special? */
static bool value_is_omitted(const struct value *v)
{
    return (v->name && (strcmp(v->name, "ok") == 0 || strcmp(v->name, "none") == 0)) || v->field->kind == KIND_BYTES;
}

static bool print_bytes(FILE *out, const struct value *v)
{
    char *hex = malloc(2 * v->size + 1);

    if (!hex)
        return false;
    value_hex(v, hex);
    fputs(hex, out);
    free(hex);
    return true;
}

/* Prints for example "-- connection 3: 192.0.2.1:49152 -> 192.0.2.2:7174". The initiator is on the left. */
static void print_connection(FILE *out, const struct trace_record *r)
{
    char local[VALUE_MAX_TEXT], remote[VALUE_MAX_TEXT];
    struct value role, from, to;

    if (!value_find(r, "role", &role) || !value_find(r, "local", &from) || !value_find(r, "remote", &to))
        return;
    (void)value_text(&from, local);
    (void)value_text(&to, remote);
    fprintf(out, "-- connection %" PRIu32 ": %s -> %s\n", r->id, role.number ? local : remote,
            role.number ? remote : local);
}

static bool print_line(FILE *out, const struct print_style *style, const struct trace_record *r, double seconds)
{
    struct value_cursor c = { 0 };
    char text[VALUE_MAX_TEXT];
    struct value v;

    if (r->event && strcmp(r->event->name, "connection") == 0)
        print_connection(out, r);
    fprintf(out, "%12.6f", seconds);
    if (style->has_process)
        fprintf(out, " %7" PRIu32, r->file->pid);
    fprintf(out, " %7" PRIu32, r->thread);
    snprintf(text, sizeof text, "%" PRIu32, r->id);
    fprintf(out, " %4s  ", r->id ? text : "-");
    if (r->event)
        fprintf(out, "%-13s", r->event->name);
    else
        fprintf(out, "event-%-7" PRIu32, r->number);
    while (value_next(r, &c, &v)) {
        if (value_is_omitted(&v) && !style->verbose)
            continue;
        fprintf(out, " %s=", v.field->name);
        if (v.field->kind != KIND_BYTES)
            fputs(value_text(&v, text), out);
        else if (!print_bytes(out, &v))
            return false;
    }
    fputc('\n', out);
    return true;
}

/* ---- JSON ---- */

static json_t *value_json(const struct value *v)
{
    char text[VALUE_MAX_TEXT];
    char *hex;
    json_t *json;

    if (v->field->kind == KIND_BYTES) {
        hex = malloc(2 * v->size + 1);
        if (!hex)
            return NULL;
        value_hex(v, hex);
        json = json_string(hex);
        free(hex);
        return json;
    }
    if (v->field->kind == KIND_UNSIGNED && !v->name && v->number <= INT64_MAX)
        return json_integer((json_int_t)v->number);
    return json_output_text(value_text(v, text));
}

static bool print_json(FILE *out, const struct trace_record *r, double seconds)
{
    json_t *line = json_output_begin("ndktrace", 1), *fields = json_object();
    struct value_cursor c = { 0 };
    struct value v;
    bool ok = line && fields;

    while (ok && value_next(r, &c, &v))
        ok = json_object_set_new(fields, v.field->name, value_json(&v)) == 0;
    ok = ok && json_object_set_new(line, "seconds", json_real(seconds)) == 0 &&
         json_object_set_new(line, "time_ns", json_integer((json_int_t)trace_record_realtime(r))) == 0 &&
         json_object_set_new(line, "process", json_integer(r->file->pid)) == 0 &&
         json_object_set_new(line, "thread", json_integer(r->thread)) == 0 &&
         json_object_set_new(line, "connection", r->id ? json_integer(r->id) : json_null()) == 0 &&
         json_object_set_new(line, "event", json_output_text(r->event ? r->event->name : NULL)) == 0 &&
         json_object_set(line, "fields", fields) == 0;
    if (ok)
        (void)json_output_write(out, line, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_decref(fields);
    json_decref(line);
    return ok;
}

bool print_event(FILE *out, const struct print_style *style, const struct trace_record *r, double seconds)
{
    return style->json ? print_json(out, r, seconds) : print_line(out, style, r, seconds);
}
