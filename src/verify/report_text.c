/* SPDX-License-Identifier: MIT */
/* Writes reports as text for people. */
#include "verify/report_forms.h"
#include "verify/stop_hint.h"

static _Atomic(const char *) hint_option, hint_name;

void report_set_stop_hint(const char *option, const char *name)
{
    atomic_store(&hint_name, name);
    atomic_store(&hint_option, option);
}

static void text_print_stop_hint(FILE *out, const struct rule *rule)
{
    const char *option = atomic_load(&hint_option);

    if (option)
        fprintf(out, "  to continue after this rule: %s,advice=%s; after all rules: %s report\n", option, rule->name,
                atomic_load(&hint_name));
}

static void text_print_rule(FILE *out, const struct rule *rule)
{
    fprintf(out, "  rule: %s\n", rule->text);
    if (rule->page && rule->sentence)
        fprintf(out, "  page %s: \"%s\"\n", rule->page, rule->sentence);
    else if (rule->page)
        fprintf(out, "  page %s\n", rule->page);
}

static void text_print_object(FILE *out, const struct report_object *o)
{
    if (!o->object)
        return;
    fprintf(out, "  object: %s %p\n", o->type, o->object);
    for (int i = 0; i < REPORT_NOTES && o->notes[i]; i++)
        fprintf(out, "    %s\n", o->notes[i]);
}

void report_print_call(FILE *out, const struct stack *call)
{
    stack_print(call, out, "    ");
}

void report_print_earlier(FILE *out, const struct earlier_stack *earlier, int count)
{
    for (int i = 0; i < count; i++) {
        fprintf(out, "  %s\n", earlier[i].title);
        stack_print(&earlier[i].stack, out, "    ");
    }
}

void report_print_events(FILE *out, const struct last_event *events, unsigned count)
{
    bool has_related = false;

    for (unsigned i = 0; i < count; i++)
        has_related = has_related || events[i].is_related;
    if (count)
        fprintf(out, "  last events: seconds, thread, connection, event%s\n",
                has_related ? "; those with * are of the object" : "");
    for (unsigned i = 0; i < count; i++) {
        const struct last_event *e = &events[i];
        char connection[16] = "-";

        if (e->connection)
            snprintf(connection, sizeof connection, "%u", (unsigned)e->connection);
        fprintf(out, "  %c %12.6f %7u %4s  %-13s%s%s\n", e->is_related ? '*' : ' ', e->seconds, (unsigned)e->thread,
                connection, e->name, e->fields[0] ? " " : "", e->fields);
    }
}

void report_print_text(FILE *out, const struct report *r, report_printer *head)
{
    const struct breach *b = &r->breach;

    if (report_rule_kind(b->rule) == RULE_ADVICE)
        fprintf(out, "*** %s advice: %s in %s: %s\n", report_is_kernel_rule(b->rule) ? "driver" : "NDK", b->rule->name,
                b->routine, b->message);
    else
        head(out, b);
    text_print_rule(out, b->rule);
    text_print_object(out, &b->object);
    report_print_call(out, &r->call);
    report_print_earlier(out, r->earlier, r->earlier_count);
    report_print_events(out, r->events, r->event_count);
    if (b->rule->advice)
        fprintf(out, "  advice: %s\n", b->rule->advice);
    if (r->stops)
        text_print_stop_hint(out, b->rule);
}

void report_print_repeated_text(FILE *out, const struct repeated *r)
{
    fprintf(out, "*** reported again: %s in %s: %u times in all%s%s\n", r->rule->name, r->routine, (unsigned)r->count,
            r->place[0] ? " at " : "", r->place);
}
