/* SPDX-License-Identifier: MIT */
/* Writes pages: see html.h. page/model.js reads the data in the page, and describes their format. */
#include "html.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "html_diagnoses.h"
#include "html_json.h"
#include "html_links.h"
#include "html_page.h"
#include "trace_reader/value.h"

enum { HTML_MAX_BYTES = 1024 }; /* a page has at most this many bytes of a field, so that payloads do not fill it */

struct html_page {
    FILE *out;
    const struct traces *in;
    const struct filter *filter;
    size_t *event_of;  /* for each record, the index of its event in the page, or HTML_NO_EVENT */
    uint64_t begin_ns; /* time of day when the first trace began; the times of events are relative to it */
    bool ok;           /* false: out of memory */
};

static void html_string(struct html_page *p, const char *text)
{
    p->ok = p->ok && html_json_string(p->out, text);
}

static void html_member(struct html_page *p, const char *name, const char *text)
{
    p->ok = p->ok && html_json_member(p->out, name, text);
}

/* ---- files ---- */

static const char *html_date(uint64_t realtime_ns, char *text, size_t room)
{
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    char date[40] = "?";
    struct tm tm;

    if (gmtime_r(&seconds, &tm))
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(text, room, "%s.%06u UTC", date, (unsigned)(realtime_ns / 1000 % 1000000));
    return text;
}

/* Writes the offset of the file's clock, and how the offset was determined (align.h). */
static void html_clock(struct html_page *p, const struct align_clock *c)
{
    static const char *const methods[] = { [ALIGN_REFERENCE] = "reference",
                                           [ALIGN_SAME] = "same",
                                           [ALIGN_MEASURED] = "measured",
                                           [ALIGN_ONE_WAY] = "one-way" };

    fprintf(p->out,
            ",\"clock\":{\"method\":\"%s\",\"offset\":%" PRId64 ",\"estimate\":%" PRId64 ",\"uncertainty\":%" PRId64
            ",\"hasEstimate\":%s,\"frames\":%zu,\"early\":%zu}",
            methods[c->method], c->offset_ns, c->estimate_ns, c->uncertainty_ns, c->has_estimate ? "true" : "false",
            c->n_frames, c->n_early);
}

static void html_file(struct html_page *p, const struct trace_file *f, const struct align_clock *clock)
{
    char date[64];

    fputc('{', p->out);
    html_member(p, "path", f->path);
    fputc(',', p->out);
    html_member(p, "program", f->program);
    fputc(',', p->out);
    html_member(p, "host", f->host);
    fputc(',', p->out);
    html_member(p, "library", f->library);
    fputc(',', p->out);
    html_member(p, "begin", html_date(f->realtime_ns, date, sizeof date));
    fprintf(p->out, ",\"pid\":%" PRIu32 ",\"lost\":%" PRIu64 ",\"missing\":%zu,\"damaged\":%zu", f->pid, f->lost,
            f->missing, f->damaged);
    html_clock(p, clock);
    fputs(",\"threads\":{", p->out);
    for (size_t i = 0; i < f->n_threads; i++) {
        fprintf(p->out, "%s\"%" PRIu32 "\":", i ? "," : "", f->threads[i].id);
        html_string(p, f->threads[i].name);
    }
    fputs("}}", p->out);
}

/* ---- types of events ---- */

/* Returns the letter that page/model.js uses for the kind of field. */
static char html_kind(const struct schema_field *f)
{
    switch (f->kind) {
    case KIND_UNSIGNED:
        return 'n';
    case KIND_HEX:
        return f->is_pointer ? 'p' : 'x';
    case KIND_FLAGS:
        return 'f';
    case KIND_ADDR:
        return 'a';
    case KIND_TEXT:
        return 't';
    case KIND_BYTES:
        return 'b';
    case KIND_UNKNOWN:
        break;
    }
    return '?';
}

/* Writes a description of each event type in the file's schema, for example ["limit",["state","n"],["ms","n"]]. */
static void html_types(struct html_page *p, const struct trace_file *f)
{
    for (size_t i = 0; i < f->schema.n_events; i++) {
        const struct schema_event *e = &f->schema.events[i];

        fprintf(p->out, "%s\n[", i ? "," : "");
        html_string(p, e->name);
        for (size_t k = 0; k < e->n_fields; k++) {
            fputs(",[", p->out);
            html_string(p, e->fields[k].name);
            fprintf(p->out, ",\"%c\"]", html_kind(&e->fields[k]));
        }
        fputc(']', p->out);
    }
}

/* ---- events ---- */

/*
 * Writes a value. An unsigned number that is below 2^53 and has no name becomes a number, because JavaScript's numbers
 * are exact up to 2^53. Any other value becomes a string.
 */
static void html_value(struct html_page *p, const struct value *v)
{
    struct value shown = *v;
    char text[VALUE_MAX_TEXT], *hex;

    if (v->field->kind == KIND_UNSIGNED && !v->name && v->number < 1ull << 53) {
        fprintf(p->out, "%" PRIu64, v->number);
    } else if (v->field->kind == KIND_BYTES) {
        shown.size = v->size < HTML_MAX_BYTES ? v->size : HTML_MAX_BYTES;
        hex = malloc(2 * shown.size + 1);
        p->ok = p->ok && hex;
        if (!hex)
            return;
        value_hex(&shown, hex);
        fprintf(p->out, "\"%s\"", hex);
        free(hex);
    } else {
        html_string(p, value_text(v, text));
    }
}

/* Returns the index of the record's file in in->files. */
static size_t html_file_index(const struct html_page *p, const struct trace_record *r)
{
    return (size_t)(r->file - p->in->files);
}

/*
 * Writes an event as [file, nanoseconds, thread, connection, type, value...]. The type is negative if the schema lacks
 * the event.
 */
static void html_event(struct html_page *p, const struct trace_record *r)
{
    struct value_cursor c = { 0 };
    int64_t type = r->event ? r->event - r->file->schema.events : -1 - (int64_t)r->number;
    struct value v;

    fprintf(p->out, "[%zu,%" PRId64 ",%" PRIu32 ",%" PRIu32 ",%" PRId64, html_file_index(p, r),
            (int64_t)(trace_record_realtime(r) - p->begin_ns), r->thread, r->id, type);
    while (value_next(r, &c, &v)) {
        fputc(',', p->out);
        html_value(p, &v);
    }
    fputc(']', p->out);
}

static size_t html_events(struct html_page *p)
{
    const struct trace_records *records = &p->in->records;
    size_t written = 0;

    for (size_t i = 0; p->ok && i < records->count; i++) {
        const struct trace_record *r = &records->records[i];
        double seconds = (double)(int64_t)(trace_record_realtime(r) - p->begin_ns) / 1e9;

        p->event_of[i] = HTML_NO_EVENT;
        if (!filter_accepts(p->filter, r, seconds))
            continue;
        fputs(written ? ",\n" : "\n", p->out);
        p->event_of[i] = written++;
        html_event(p, r);
    }
    return written;
}

/* ---- meanings of values ---- */

/* Writes "NAME":[explanation, advice] for each value in the list. Omits values that have neither of the two texts. */
static void html_list(struct html_page *p, const struct schema_names *n)
{
    const char *separator = "";

    for (size_t i = 0; i < n->count; i++) {
        const struct schema_name *value = &n->names[i];

        if (!value->text && !value->advice)
            continue;
        fputs(separator, p->out);
        html_string(p, value->name);
        fputs(":[", p->out);
        html_string(p, value->text ? value->text : "");
        fputc(',', p->out);
        html_string(p, value->advice ? value->advice : "");
        fputc(']', p->out);
        separator = ",\n";
    }
}

static void html_meanings(struct html_page *p, const struct schema *s)
{
    for (size_t i = 0; i < s->n_lists; i++) {
        fputs(i ? ",\n" : "\n", p->out);
        html_string(p, s->lists[i].list);
        fputs(":{", p->out);
        html_list(p, &s->lists[i]);
        fputc('}', p->out);
    }
}

static size_t html_data(struct html_page *p)
{
    size_t written;
    char date[64];

    fputc('{', p->out);
    html_member(p, "version", TOOL_VERSION);
    fputc(',', p->out);
    html_member(p, "begin", html_date(p->begin_ns, date, sizeof date));
    fputs(",\"files\":[", p->out);
    for (size_t i = 0; i < p->in->n_files; i++) {
        fputs(i ? ",\n" : "\n", p->out);
        html_file(p, &p->in->files[i], &p->in->align.clocks[i]);
    }
    fputs("],\n\"types\":[", p->out);
    for (size_t i = 0; i < p->in->n_files; i++) {
        fputs(i ? ",\n[" : "\n[", p->out);
        html_types(p, &p->in->files[i]);
        fputc(']', p->out);
    }
    fputs("],\n\"meanings\":[", p->out);
    for (size_t i = 0; i < p->in->n_files; i++) {
        fputs(i ? ",\n{" : "\n{", p->out);
        html_meanings(p, &p->in->files[i].schema);
        fputc('}', p->out);
    }
    fputs("],\n\"events\":[", p->out);
    written = html_events(p);
    fputs("],\n", p->out);
    if (p->ok)
        html_links_write(p->out, &p->in->align, p->in->files, p->event_of);
    fputs(",\n", p->out);
    p->ok = p->ok && html_diagnoses_write(p->out, p->in, p->event_of);
    fputc('}', p->out);
    return written;
}

bool html_write(FILE *out, const struct traces *t, const struct filter *filter, size_t *written)
{
    struct html_page p = { .out = out, .in = t, .filter = filter, .begin_ns = traces_begin(t), .ok = true };

    *written = 0;
    p.event_of = calloc(t->records.count + 1, sizeof *p.event_of);
    if (!p.event_of)
        return false;
    fwrite(html_page_before_data, 1, html_page_before_data_size, out);
    *written = html_data(&p);
    fwrite(html_page_after_data, 1, html_page_after_data_size, out);
    free(p.event_of);
    return p.ok;
}
