/* SPDX-License-Identifier: MIT */
/* Prints events as text: see print_text.h. */
#include "trace_reader/print_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/printable.h"
#include "trace_reader/value.h"

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

void print_columns(FILE *out, const struct print_text_style *style)
{
    fprintf(out, "# %10s%s %7s %4s  %-13s %s\n", "seconds", style->has_process ? " process" : "", "thread", "conn",
            "event", "fields");
}

/* Returns true for raw bytes, for the names ok and none, and for NULL pointers. Only `verbose` prints these values. */
static bool value_is_omitted(const struct value *v)
{
    return (v->name && (strcmp(v->name, "ok") == 0 || strcmp(v->name, "none") == 0)) || v->field->kind == KIND_BYTES ||
           (v->field->is_pointer && v->number == 0);
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

/* Prints a line such as "-- connection 3: 192.0.2.1:49152 -> 192.0.2.2:7174". The initiator is on the left. */
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

bool print_event_text(FILE *out, const struct print_text_style *style, const struct trace_record *r, double seconds)
{
    struct value_cursor c = { 0 };
    char text[VALUE_MAX_TEXT];
    struct value v;

    if (r->event && (strcmp(r->event->name, "connection") == 0 || strcmp(r->event->name, "ongoing") == 0))
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

void print_fields(char *text, size_t room, const struct trace_record *r)
{
    struct value_cursor c = { 0 };
    char field[VALUE_MAX_TEXT];
    size_t used = 0;
    struct value v;

    text[0] = '\0';
    while (used < room && value_next(r, &c, &v)) {
        if (!value_is_omitted(&v))
            used += (size_t)snprintf(text + used, room - used, "%s%s=%s", used ? " " : "", v.field->name,
                                     value_text(&v, field));
    }
}
