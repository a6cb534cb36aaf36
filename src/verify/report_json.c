/* SPDX-License-Identifier: MIT */
/*
 * Writes reports as JSON, one object on each line. Addresses are strings, because some readers of JSON support only
 * 63-bit numbers. docs/verify.md lists the keys.
 */
#include "base/json.h"
#include "verify/report_forms.h"

static void json_put_rule(FILE *out, const struct rule *rule, const char *routine)
{
    fprintf(out, "\"kind\":\"%s\",", report_rule_kind(rule) == RULE_ADVICE ? "advice" : "breach");
    json_put_text(out, "rule", rule->name);
    fputc(',', out);
    json_put_text(out, "text", rule->text);
    fputc(',', out);
    json_put_text(out, "page", rule->page);
    fputc(',', out);
    json_put_text(out, "sentence", rule->sentence);
    fputc(',', out);
    json_put_text(out, "advice", rule->advice);
    fputc(',', out);
    json_put_text(out, "routine", routine);
}

static void json_put_breach(FILE *out, const struct breach *b)
{
    json_put_rule(out, b->rule, b->routine);
    fputc(',', out);
    json_put_text(out, "message", b->message);
    fprintf(out, ",\"bug_check\":%u,\"parameters\":[", (unsigned)b->rule->bug_check);
    for (int i = 0; i < 4; i++)
        fprintf(out, "%s\"0x%llx\"", i ? "," : "", (unsigned long long)b->parameters[i]);
    fputc(']', out);
}

static void json_put_object(FILE *out, const struct report_object *o)
{
    fputs(",\"object\":", out);
    if (o->object) {
        fprintf(out, "{\"address\":\"%p\",", o->object);
        json_put_text(out, "type", o->type);
        fputc('}', out);
    } else {
        fputs("null", out);
    }
    fputs(",\"history\":[", out);
    for (int i = 0; o->object && i < REPORT_NOTES && o->notes[i]; i++) {
        if (i)
            fputc(',', out);
        json_put_string(out, o->notes[i]);
    }
    fputc(']', out);
}

static void json_put_frame(FILE *out, const struct stack *s, int i)
{
    struct stack_frame frame;

    stack_get_frame(s, i, &frame);
    fprintf(out, "{\"address\":\"%p\",", frame.address);
    json_put_text(out, "function", frame.function);
    fprintf(out, ",\"offset\":%zu,", frame.offset);
    json_put_text(out, "file", frame.line.line ? frame.line.file : NULL);
    fprintf(out, ",\"line\":%u,", frame.line.line);
    json_put_text(out, "module", frame.module);
    fprintf(out, ",\"module_offset\":%zu}", frame.module_offset);
}

static void json_put_stack(FILE *out, const char *title, const struct stack *s)
{
    const char *entry;
    int first = stack_first_frame(s, &entry);

    fputc('{', out);
    json_put_text(out, "title", title);
    fputc(',', out);
    json_put_text(out, "called", entry);
    fputs(",\"frames\":[", out);
    for (int i = first; i < s->depth; i++) {
        if (i > first)
            fputc(',', out);
        json_put_frame(out, s, i);
    }
    fputs("]}", out);
}

static void json_put_event(FILE *out, const struct last_event *e)
{
    fprintf(out, "{\"seconds\":%.9f,\"thread\":%u,\"connection\":", e->seconds, (unsigned)e->thread);
    if (e->connection)
        fprintf(out, "%u,", (unsigned)e->connection);
    else
        fputs("null,", out);
    json_put_text(out, "event", e->name);
    fputc(',', out);
    json_put_text(out, "fields", e->fields);
    fprintf(out, ",\"related\":%s}", e->is_related ? "true" : "false");
}

void report_print_json(FILE *out, const struct report *r)
{
    fputs("{\"event\":\"report\",", out);
    json_put_breach(out, &r->breach);
    json_put_object(out, &r->breach.object);
    fputs(",\"stacks\":[", out);
    json_put_stack(out, "call", &r->call);
    for (int i = 0; i < r->earlier_count; i++) {
        fputc(',', out);
        json_put_stack(out, r->earlier[i].title, &r->earlier[i].stack);
    }
    fputs("],\"events\":[", out);
    for (unsigned i = 0; i < r->event_count; i++) {
        if (i)
            fputc(',', out);
        json_put_event(out, &r->events[i]);
    }
    fprintf(out, "],\"time\":%lld.%09ld,\"repeat\":%u}\n", (long long)r->time.tv_sec, r->time.tv_nsec,
            (unsigned)r->repeat);
}

void report_print_repeated_json(FILE *out, const struct repeated *r)
{
    fputs("{\"event\":\"repeated\",", out);
    json_put_rule(out, r->rule, r->routine);
    fputc(',', out);
    json_put_text(out, "message", r->first_message);
    fputc(',', out);
    json_put_text(out, "place", r->place[0] ? r->place : NULL);
    fprintf(out, ",\"count\":%u}\n", (unsigned)r->count);
}
