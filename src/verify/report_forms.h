/* SPDX-License-Identifier: MIT */
/* Writes a report as text, JSON or JUnit. The caller of each function has locked the output. Nothing is allocated. */
#ifndef VERIFY_REPORT_FORMS_H
#define VERIFY_REPORT_FORMS_H

#include <time.h>

#include "verify/repeats.h"
#include "verify/report.h"

enum { MAX_EARLIER_STACKS = 2, MAX_NOTE = 256 };

struct earlier_stack {
    const char *title;
    struct stack stack;
};

struct report {
    struct breach breach;
    struct stack call;
    struct earlier_stack earlier[MAX_EARLIER_STACKS];
    int earlier_count;
    char notes[REPORT_NOTES][MAX_NOTE]; /* the notes of report_add_note; breach.object.notes points to them */
    uint32_t repeat;                    /* number of this report among the reports of its place, from 1; 0: not known */
    struct timespec time;
    const struct last_event *events; /* the latest events of the process */
    unsigned event_count;
    bool stops; /* the process stops after the report */
};

/* Prints a report as text. `head` prints the first lines of a breach. */
void report_print_text(FILE *out, const struct report *r, report_printer *head);
void report_print_repeated_text(FILE *out, const struct repeated *r);
/* These functions print parts of a report: the stack of the call, the earlier stacks, and the events. */
void report_print_call(FILE *out, const struct stack *call);
void report_print_earlier(FILE *out, const struct earlier_stack *earlier, int count);
void report_print_events(FILE *out, const struct last_event *events, unsigned count);

void report_print_json(FILE *out, const struct report *r);
void report_print_repeated_json(FILE *out, const struct repeated *r);

/*
 * Stores the events of the report for the JUnit file. Does nothing if events of an earlier report of the same rule are
 * stored, or if there is no room.
 */
void report_keep_junit_events(const struct report *r);
/*
 * Writes a JUnit file with one test case for each rule. The test case fails if the rule was broken. Returns false if
 * the file could not be written.
 */
bool report_write_junit(const char *path);

#endif
