/* SPDX-License-Identifier: MIT */
/*
 * Reports of broken rules: the mode, the report itself, and where it goes. A check calls verify_on() first and so costs
 * one load while verification is off.
 *
 * Only plain C types are used here, because the kernel surface (src/wdk) has other base types, and also reports through
 * this header.
 */
#ifndef VERIFY_REPORT_H
#define VERIFY_REPORT_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/private_export.h"
#include "verify/stack.h"

enum verify_mode {
    VERIFY_OFF,    /* no check is made */
    VERIFY_REPORT, /* a broken rule is reported, and the consumer continues as far as it can */
    VERIFY_STOP,   /* a broken rule is reported, then abort() */
};

/* enum verify_mode; VERIFY_OFF until verify_set_mode is called. */
extern atomic_int verify_mode PRIVATE_EXPORT(verify_mode);

static inline bool verify_on(void)
{
    return atomic_load_explicit(&verify_mode, memory_order_relaxed) != VERIFY_OFF;
}

void verify_set_mode(enum verify_mode mode) PRIVATE_EXPORT(verify_set_mode);

enum rule_kind {
    RULE_BREACH, /* the consumer breaks the contract */
    RULE_ADVICE, /* legal, but it fails or is slow on some providers: counted apart, and stops nothing */
};

/* A rule that a consumer can break. Each layer that reports has a table of its own. */
struct rule {
    const char *name;
    uint32_t bug_check;   /* the code with which Windows stops */
    const char *text;     /* what the documentation demands, not a quotation */
    const char *page;     /* title of Microsoft's page; NULL: none */
    const char *sentence; /* from that page, verbatim; NULL: none */
    const char *advice;   /* the way to fulfil the duty, in one line; NULL: none */
    enum rule_kind kind;
};

/* The rules of a layer. */
struct rule_table {
    const char *layer; /* "ndk" */
    const struct rule *rules;
    unsigned count;
    atomic_uint *reports; /* the number of reports of each rule */
    struct rule_table *next;
};

/*
 * Adds a layer's table of rules, whose reports are counted and listed. The table must stay valid until the process
 * ends.
 */
void report_add_rules(struct rule_table *table) PRIVATE_EXPORT(report_add_rules);
/* Returns the first table; the others follow by `next`. */
const struct rule_table *report_rules(void);

/* Returns the rule with this name, or NULL if there is none. The name has `length` bytes. */
const struct rule *report_find_rule(const char *name, size_t length);
/*
 * Makes these rules advice, at most VERIFY_MAX_ADVICE. Undoes earlier calls. Does not change the counts of earlier
 * reports.
 */
void report_set_advice(const struct rule *const *rules, size_t count);
/* Returns the kind of the rule. A rule that report_set_advice has made advice is RULE_ADVICE. */
enum rule_kind report_rule_kind(const struct rule *rule);

enum { REPORT_NOTES = 8 };

/* The object that a report is about, and its history. All pointers must be valid until the report. */
struct report_object {
    const void *object;              /* the pointer that the consumer has; NULL: none */
    const char *type;                /* "NDK_QP" */
    const struct stack *created_by;  /* NULL: unknown */
    const char *notes[REPORT_NOTES]; /* "connected to 10.0.0.1:4420"; the first NULL ends them */
};

/* A broken rule, as the printer receives it. The message is valid only during the call of the printer. */
struct breach {
    const struct rule *rule;
    const char *routine;         /* "NdkSend" */
    uint64_t parameters[4];      /* the parameters of Windows' bug check */
    const char *message;         /* what was seen */
    struct report_object object; /* set by report_set_object */
};

/*
 * Reports a broken rule with the stack of the consumer's call: formats the message, writes the report, counts it, and
 * calls the callback. If the same rule was reported before for the same routine and place, the function may count the
 * breach without writing a report: see report_set_max_written. In mode VERIFY_STOP the function does not return,
 * unless the rule is an advice. The caller must hold no lock that writing or the callback needs. Allocates nothing.
 */
__attribute__((format(printf, 7, 8))) void report_breach(const struct rule *rule, const char *routine, uint64_t p1,
                                                         uint64_t p2, uint64_t p3, uint64_t p4, const char *format, ...)
    PRIVATE_EXPORT(report_breach);
/* Like report_breach, with a va_list. The written stack begins at the return address `by`. */
__attribute__((format(printf, 3, 0))) void report_breach_args(const struct breach *breach, const void *by,
                                                              const char *format, va_list args)
    PRIVATE_EXPORT(report_breach_args);

/*
 * Like report_breach, with the stack of an earlier call in place of the calling thread's. Used if a call breaks a rule
 * after it began, for example because it waits too long.
 */
__attribute__((format(printf, 3, 4))) void report_breach_at(const struct breach *breach, const struct stack *call,
                                                            const char *format, ...);

/* Sets the object of this thread's next report. *object is copied. */
void report_set_object(const struct report_object *object) PRIVATE_EXPORT(report_set_object);
/*
 * Adds a line to the history of the object of this thread's next report. The line follows the notes that
 * report_set_object has copied. A line is cut after 255 characters. The history has at most REPORT_NOTES lines; further
 * lines are left out.
 */
__attribute__((format(printf, 1, 2))) void report_add_note(const char *format, ...);

/*
 * Adds an earlier stack to this thread's next report, which can have at most two earlier stacks. The title is for
 * example "closed by". The caller does not add the stack of the object's creation: it is written if there is room.
 */
void report_add_stack(const char *title, const struct stack *s) PRIVATE_EXPORT(report_add_stack);

/* Returns how many breaches have been reported, including those that were counted only. */
uint32_t report_count(void) PRIVATE_EXPORT(report_count);
/* Returns how many advices have been reported. */
uint32_t report_advice_count(void);

enum report_format {
    REPORT_TEXT,
    REPORT_JSON, /* one object a line */
};
void report_set_format(enum report_format format);
enum report_format report_get_format(void);

/* Sets how many reports of the same place are written; 1 by default. Further reports are only counted. */
void report_set_max_written(uint32_t max);
uint32_t report_get_max_written(void);

/* Sets the status with which the process ends if a rule was broken. 0 keeps the program's own status. */
void report_set_exit_status(uint32_t status);
uint32_t report_get_exit_status(void);

/*
 * Writes a line for each place whose number of reports has grown. Growth is counted from the last report or line that
 * was written for the place, because repeated reports of a place are only counted.
 */
void report_write_repeats(void);

/*
 * Sets the JUnit file that is written at the end of the process, unless nothing was checked. If `name` is NULL, no file
 * is written. The name has `length` bytes. Returns false if the name is too long.
 */
bool report_set_junit(const char *name, size_t length);

/*
 * Sets the file to which reports and numbers of repeats are appended. If `name` is NULL, reports and numbers go to the
 * stream. Other texts always go to the stream. The name has `length` bytes. Returns false if the name is too long, or
 * if out of memory.
 */
bool report_set_file(const char *name, size_t length);

/* Prints the first lines of a breach as text. The caller has locked the output, and prints the rest afterwards. */
typedef void report_printer(FILE *out, const struct breach *breach);
/* Replaces the printer, which by default prints rule, routine and message. It is not called for an advice. */
void report_set_printer(report_printer *printer) PRIVATE_EXPORT(report_set_printer);

enum { REPORT_EVENTS = 20 };

/* An event that the process has recorded before a report (ONDK_TRACE). */
struct report_event {
    double seconds; /* since the recording began */
    uint32_t thread, connection;
    bool is_related; /* to the object of the report */
    char name[32];
    char fields[208]; /* "from=IDLE event=start to=TCP_CONNECTING" */
};

/*
 * Stores the process's last events, and returns their number. `object` is the object of the report, or NULL. Must
 * allocate nothing.
 */
typedef unsigned report_events(const void *object, struct report_event events[REPORT_EVENTS]);
/* Adds the last events of the process to each report. */
void report_set_events(report_events *events);

/*
 * Sets the stream that reports go to; NULL means standard error. The caller owns the stream and must keep it open: at
 * the end of the process, the numbers of repeated reports are written to it. A breach that was reported on the earlier
 * stream is reported on the new stream, too, if it occurs again.
 */
void report_set_output(FILE *out) PRIVATE_EXPORT(report_set_output);
FILE *report_output(void) PRIVATE_EXPORT(report_output);
/*
 * Called when the host, for example a driver, has written text to the output. `open` is true if the text has no line
 * end. The next report then ends the line first.
 */
void report_set_line_open(bool open) PRIVATE_EXPORT(report_set_line_open);
bool report_is_line_open(void) PRIVATE_EXPORT(report_is_line_open);

/*
 * For a report that is no breach, for example a bug check. report_begin locks the output and returns it. The caller
 * then prints the report. report_end prints the stacks, which begin at the return address `by`, and flushes and unlocks
 * the output. `entry` is the routine that the consumer called, or NULL if that routine is not known.
 */
FILE *report_begin(void) PRIVATE_EXPORT(report_begin);
void report_end(FILE *out, const void *by, const char *entry) PRIVATE_EXPORT(report_end);

#endif
