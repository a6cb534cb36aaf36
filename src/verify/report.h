/* SPDX-License-Identifier: MIT */
/*
 * Reports broken rules: the mode of the checks, the report itself, and the output. A check calls verify_on() first, and
 * so costs one load while verification is off.
 *
 * This header uses only plain C types, because it is included by the kernel surface (src/wdk), which has other base
 * types.
 */
#ifndef VERIFY_REPORT_H
#define VERIFY_REPORT_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/last_event.h"
#include "base/private_export.h"
#include "verify/open_line.h"
#include "verify/stack.h"

enum verify_mode {
    VERIFY_OFF,    /* no check is made */
    VERIFY_REPORT, /* a broken rule is reported, and the consumer continues as far as it can */
    VERIFY_STOP,   /* a broken rule is reported, then abort() */
};

/* The current enum verify_mode. It is VERIFY_OFF until verify_set_mode is called. */
extern atomic_int verify_mode PRIVATE_EXPORT(verify_mode);

static inline bool verify_on(void)
{
    return atomic_load_explicit(&verify_mode, memory_order_relaxed) != VERIFY_OFF;
}

void verify_set_mode(enum verify_mode mode) PRIVATE_EXPORT(verify_set_mode);

enum rule_kind {
    RULE_BREACH, /* the consumer breaks the contract */
    RULE_ADVICE, /* legal, but fails or is slow on some providers; has its own counter, and never stops the process */
};

/* A rule that a consumer can break. Each layer that reports has its own table of rules. */
struct rule {
    const char *name;
    uint32_t bug_check;   /* code of the bug check with which Windows stops for this error */
    const char *text;     /* what the documentation demands, in this project's words */
    const char *page;     /* title of Microsoft's page about the rule; NULL: none */
    const char *sentence; /* sentence of that page, verbatim; NULL: none */
    const char *advice;   /* how to follow the rule, in one line; NULL: none */
    enum rule_kind kind;
};

/* A layer's table of rules. */
struct rule_table {
    const char *layer; /* name of the layer, for example "ndk" */
    const struct rule *rules;
    unsigned count;
    atomic_uint *reports; /* number of reports of each rule */
    struct rule_table *next;
};

/*
 * Adds a layer's table of rules. The reports of its rules are then counted and listed. The table must stay valid until
 * the process ends.
 */
void report_add_rules(struct rule_table *table) PRIVATE_EXPORT(report_add_rules);
/* Returns the first table. Each table points to the next by `next`. */
const struct rule_table *report_rules(void);

/* Returns the rule whose name is the `length` bytes at `name`, or NULL if there is none. */
const struct rule *report_find_rule(const char *name, size_t length);
/*
 * Makes the given rules advice, so that a report about them never stops the process: see RULE_ADVICE. Replaces the
 * rules of earlier calls. `count` is at most VERIFY_MAX_ADVICE. The counts of earlier reports do not change.
 */
void report_set_advice(const struct rule *const *rules, size_t count);
/* Returns the kind of the rule. If report_set_advice has made the rule advice, the kind is RULE_ADVICE. */
enum rule_kind report_rule_kind(const struct rule *rule);
/* Returns true if the rule is one of the kernel's rules for drivers, and false if it is about NDK. */
bool report_is_kernel_rule(const struct rule *rule);

enum { REPORT_NOTES = 8 };

/* The object that a report is about, and its history. All pointers must be valid until the report is made. */
struct report_object {
    const void *object; /* address of the object that the consumer has; NULL: the report is about no object */
    const char *type;   /* for example "NDK_QP" */
    const struct stack *created_by;  /* stack of the call that created the object; NULL: not known */
    const char *notes[REPORT_NOTES]; /* lines such as "connected to 10.0.0.1:4420"; the first NULL ends the list */
};

/* A broken rule, as the printer receives it. `message` is valid only during the call of the printer. */
struct breach {
    const struct rule *rule;
    const char *routine;         /* name of the called routine, for example "NdkSend" */
    uint64_t parameters[4];      /* parameters p1 to p4 of Windows' bug check: see rules.h */
    const char *message;         /* what the check has found */
    struct report_object object; /* set by report_set_object */
};

/*
 * Reports a broken rule with the stack of the consumer's call: formats the message, writes the report, counts it, and
 * calls the program's callback. If the maximum of report_set_max_written is reached for the place (see repeats.h), the
 * report is counted and not written. Does not return if the mode is VERIFY_STOP and the rule is no advice. The caller
 * must not hold a lock that the output or the callback acquires. Allocates nothing.
 */
__attribute__((format(printf, 7, 8))) void report_breach(const struct rule *rule, const char *routine, uint64_t p1,
                                                         uint64_t p2, uint64_t p3, uint64_t p4, const char *format, ...)
    PRIVATE_EXPORT(report_breach);
/* Works like report_breach, but with a va_list. The written stack begins at the return address `by`. */
__attribute__((format(printf, 3, 0))) void report_breach_args(const struct breach *breach, const void *by,
                                                              const char *format, va_list args)
    PRIVATE_EXPORT(report_breach_args);

/*
 * Works like report_breach, but with `call`, the stack of an earlier call. Used if a call breaks a rule after it began,
 * for example because it waits too long.
 */
__attribute__((format(printf, 3, 4))) void report_breach_at(const struct breach *breach, const struct stack *call,
                                                            const char *format, ...);

/* Sets the object of the next report of this thread. *object is copied. */
void report_set_object(const struct report_object *object) PRIVATE_EXPORT(report_set_object);
/*
 * Adds a line to the history of the object in the next report of this thread. The line follows the notes of
 * report_set_object, and is cut after 255 characters. The history has at most REPORT_NOTES lines; further lines are
 * dropped.
 */
__attribute__((format(printf, 1, 2))) void report_add_note(const char *format, ...);

/*
 * Adds the stack of an earlier call to the next report of this thread, which can have at most two such stacks. `title`
 * is for example "closed by". The caller need not add the stack of the object's creation: report_breach adds that stack
 * if there is room.
 */
void report_add_stack(const char *title, const struct stack *s) PRIVATE_EXPORT(report_add_stack);

/* Returns the number of reports about broken rules, including reports that were only counted. */
uint32_t report_count(void) PRIVATE_EXPORT(report_count);
/* Returns the number of reports about advice, including reports that were only counted. */
uint32_t report_advice_count(void);

enum report_format {
    REPORT_TEXT,
    REPORT_JSON, /* one JSON object on each line */
};
void report_set_format(enum report_format format);
enum report_format report_get_format(void);

/* Sets how many reports of the same place are written, which is 1 by default. Further reports are only counted. */
void report_set_max_written(uint32_t max);
uint32_t report_get_max_written(void);

/* Sets the status with which the process exits if a rule was broken. With 0 the program's own status remains. */
void report_set_exit_status(uint32_t status);
uint32_t report_get_exit_status(void);

/*
 * Writes a line for each place that was reported again since its last written report or line. These later reports were
 * only counted.
 */
void report_write_repeats(void);

/*
 * Sets the JUnit file that is written when the process exits. The file is not written if nothing was checked, or if
 * `name` is NULL. The name has `length` bytes. Returns false if the name is too long.
 */
bool report_set_junit(const char *name, size_t length);

/*
 * Sets the file to which reports and lines about repeats are appended. If `name` is NULL, they go to the stream of
 * report_set_output. All other texts always go to that stream. The name has `length` bytes. Returns false if the name
 * is too long or if out of memory.
 */
bool report_set_file(const char *name, size_t length);

/*
 * Prints the first lines of a breach as text. The caller has locked the output, and prints the rest of the report
 * afterwards.
 */
typedef void report_printer(FILE *out, const struct breach *breach);
/* Replaces the printer. The default printer prints rule, routine and message. No printer is called for an advice. */
void report_set_printer(report_printer *printer) PRIVATE_EXPORT(report_set_printer);

enum { REPORT_EVENTS = 20 };

/*
 * Stores the latest events of the process in `events`, and returns their number. `object` is the object of the report,
 * or NULL. Must not allocate.
 */
typedef unsigned report_events(const void *object, struct last_event events[REPORT_EVENTS]);
/* Sets the function that supplies the latest events of the process, which are added to each report. */
void report_set_events(report_events *events);

/*
 * Sets the stream to which reports go. NULL means standard error. The caller owns the stream and must never close it,
 * because the lines about repeats are written when the process exits. If a place was reported on the earlier stream,
 * its next report is written to the new stream, too.
 */
void report_set_output(FILE *out) PRIVATE_EXPORT(report_set_output);
FILE *report_output(void) PRIVATE_EXPORT(report_output);
/*
 * A text that is no report, for example a bug check, is printed between report_begin and report_end. report_begin locks
 * the output and returns it. The caller then prints its text. report_end prints the calling thread's stack, which
 * begins at the return address `by`, the stacks of report_add_stack, and the latest events. Then report_end flushes and
 * unlocks the output. `entry` is the routine that the consumer has called, or NULL if it is not known.
 */
FILE *report_begin(void) PRIVATE_EXPORT(report_begin);
void report_end(FILE *out, const void *by, const char *entry) PRIVATE_EXPORT(report_end);

#endif
