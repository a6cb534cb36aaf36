/* SPDX-License-Identifier: MIT */
/*
 * Writes the JUnit file, with one test case for each rule. If the rule was broken, the test case has a failure with a
 * line for each place. If the rule is an advice, these lines are in the test case's output, and the test case does not
 * fail. The file is written with dprintf, because abort() may follow a report in a signal handler, where a stream
 * cannot be allocated.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "verify/report_forms.h"

enum { MAX_JUNIT_RULES = 8 };

/* The events that preceded the first report of a rule. */
static struct junit_events {
    const struct rule *rule;
    unsigned count;
    struct last_event events[REPORT_EVENTS];
} junit_events[MAX_JUNIT_RULES];
static unsigned junit_event_rules;

void report_keep_junit_events(const struct report *r)
{
    struct junit_events *e;

    for (unsigned i = 0; i < junit_event_rules; i++)
        if (junit_events[i].rule == r->breach.rule)
            return;
    if (junit_event_rules == MAX_JUNIT_RULES || !r->event_count)
        return;
    e = &junit_events[junit_event_rules++];
    e->rule = r->breach.rule;
    e->count = r->event_count;
    memcpy(e->events, r->events, r->event_count * sizeof *r->events);
}

static bool junit_is_plain(char c)
{
    return (unsigned char)c >= 0x20 && c != 0x7f && !strchr("<>&\"", c);
}

/* Writes text to the file. Replaces the characters that XML interprets or does not allow. */
static void junit_put(int fd, const char *text)
{
    while (*text) {
        int plain = 0;

        while (text[plain] && junit_is_plain(text[plain]))
            plain++;
        dprintf(fd, "%.*s", plain, text);
        text += plain;
        if (*text && strchr("<>&\"", *text))
            dprintf(fd, "&#%d;", *text++);
        else if (*text)
            dprintf(fd, "%c", *text++ == '\n' ? '\n' : ' ');
    }
}

static void junit_put_attribute(int fd, const char *name, const char *value)
{
    dprintf(fd, " %s=\"", name);
    junit_put(fd, value);
    dprintf(fd, "\"");
}

/* Writes a line for each place at which the rule was broken. */
static void junit_put_places(int fd, const struct rule *rule)
{
    for (struct repeated *r = repeats_next(NULL); r; r = repeats_next(r)) {
        if (r->rule != rule)
            continue;
        junit_put(fd, r->routine);
        dprintf(fd, ": ");
        junit_put(fd, r->first_message);
        dprintf(fd, "; %u times at ", (unsigned)r->count);
        junit_put(fd, r->place[0] ? r->place : "an unknown place");
        dprintf(fd, "\n");
    }
}

static void junit_put_events(int fd, const struct rule *rule)
{
    for (unsigned i = 0; i < junit_event_rules; i++) {
        if (junit_events[i].rule != rule)
            continue;
        dprintf(fd, "last events before the first report: seconds, thread, connection, event\n");
        for (unsigned k = 0; k < junit_events[i].count; k++) {
            const struct last_event *e = &junit_events[i].events[k];

            dprintf(fd, "%.6f %u %u ", e->seconds, (unsigned)e->thread, (unsigned)e->connection);
            junit_put(fd, e->name);
            dprintf(fd, " ");
            junit_put(fd, e->fields);
            dprintf(fd, "\n");
        }
    }
}

static void junit_put_rule(int fd, const char *layer, const struct rule *rule, unsigned reports)
{
    bool is_advice = report_rule_kind(rule) == RULE_ADVICE;
    const char *element = is_advice ? "system-out" : "failure";

    dprintf(fd, "  <testcase");
    junit_put_attribute(fd, "classname", layer);
    junit_put_attribute(fd, "name", rule->name);
    if (!reports) {
        dprintf(fd, "/>\n");
        return;
    }
    dprintf(fd, ">\n    <%s", element);
    if (!is_advice) {
        junit_put_attribute(fd, "message", rule->text);
        junit_put_attribute(fd, "type", rule->name);
    }
    dprintf(fd, ">");
    junit_put_places(fd, rule);
    junit_put_events(fd, rule);
    dprintf(fd, "</%s>\n  </testcase>\n", element);
}

static void junit_count(unsigned *tests, unsigned *failures)
{
    *tests = *failures = 0;
    for (const struct rule_table *t = report_rules(); t; t = t->next) {
        *tests += t->count;
        for (unsigned i = 0; i < t->count; i++)
            *failures += report_rule_kind(&t->rules[i]) == RULE_BREACH && atomic_load(&t->reports[i]) > 0;
    }
}

bool report_write_junit(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    unsigned tests, failures;

    if (fd < 0)
        return false;
    junit_count(&tests, &failures);
    dprintf(fd, "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n");
    dprintf(fd, "<testsuite name=\"openndk verify\" tests=\"%u\" failures=\"%u\" errors=\"0\">\n", tests, failures);
    for (const struct rule_table *t = report_rules(); t; t = t->next)
        for (unsigned i = 0; i < t->count; i++)
            junit_put_rule(fd, t->layer, &t->rules[i], atomic_load(&t->reports[i]));
    bool complete = dprintf(fd, "</testsuite>\n") > 0;

    return close(fd) == 0 && complete;
}
