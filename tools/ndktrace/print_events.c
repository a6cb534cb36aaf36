/* SPDX-License-Identifier: MIT */
/* Prints events as JSON or text: see print_events.h. */
#include "print_events.h"

#include <stdlib.h>

#include "json_output.h"
#include "trace_reader/value.h"

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
    return style->json ? print_json(out, r, seconds) : print_event_text(out, &style->text, r, seconds);
}
