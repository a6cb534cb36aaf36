/* SPDX-License-Identifier: MIT */
/* The forms in which a report is written. The caller has locked the output in all functions. Nothing is allocated. */
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
    char notes[REPORT_NOTES][MAX_NOTE]; /* the notes of report_add_note; breach.object points at them */
    uint32_t repeat;                    /* the number of this report at its place, from 1; 0: unknown */
    struct timespec time;
    const struct report_event *events; /* the last events of the process */
    unsigned event_count;
};

/* `head` prints the first lines of a breach. */
void report_print_text(FILE *out, const struct report *r, report_printer *head);
void report_print_repeated_text(FILE *out, const struct repeated *r);
/* Print the stacks and the events of a report. */
void report_print_call(FILE *out, const struct stack *call);
void report_print_earlier(FILE *out, const struct earlier_stack *earlier, int count);
void report_print_events(FILE *out, const struct report_event *events, unsigned count);

void report_print_json(FILE *out, const struct report *r);
void report_print_repeated_json(FILE *out, const struct repeated *r);

/* Stores the report's events for the JUnit file, if the rule has none yet and there is room. */
void report_keep_junit_events(const struct report *r);
/*
 * Writes a JUnit file with a test case for each rule, which fails if the rule was broken. Returns false if the file
 * could not be written.
 */
bool report_write_junit(const char *path);

#endif
