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

/* A rule that a consumer can break. Each layer that reports has a table of its own. */
struct rule {
    const char *name;
    uint32_t bug_check; /* the code with which Windows stops */
    const char *text;   /* what the documentation demands */
};

/* A broken rule, as the printer receives it. The message is valid only during the call of the printer. */
struct breach {
    const struct rule *rule;
    const char *routine;    /* "NdkSend" */
    uint64_t parameters[4]; /* the parameters of Windows' bug check */
    const char *message;    /* what was seen */
};

/*
 * Reports a broken rule with the stack of the caller: formats the message, calls the printer, and counts the report. In
 * mode VERIFY_STOP the function does not return. The caller must hold no lock that printing needs. Allocates nothing.
 */
__attribute__((format(printf, 7, 8))) void report_breach(const struct rule *rule, const char *routine, uint64_t p1,
                                                         uint64_t p2, uint64_t p3, uint64_t p4, const char *format, ...)
    PRIVATE_EXPORT(report_breach);
/* Like report_breach, with a va_list. The printed stack begins at the return address `by`. */
__attribute__((format(printf, 3, 0))) void report_breach_args(const struct breach *breach, const void *by,
                                                              const char *format, va_list args)
    PRIVATE_EXPORT(report_breach_args);

/*
 * Adds an earlier stack to this thread's next report, which can have at most two earlier stacks. The title is for
 * example "closed by".
 */
void report_add_stack(const char *title, const struct stack *s) PRIVATE_EXPORT(report_add_stack);

/* Returns how many breaches have been reported. */
uint32_t report_count(void) PRIVATE_EXPORT(report_count);

/* Prints a breach. The caller has locked the output, and prints the breach's stacks afterwards. */
typedef void report_printer(FILE *out, const struct breach *breach);
/* Replaces the printer, which by default prints routine, message and the rule's text. */
void report_set_printer(report_printer *printer) PRIVATE_EXPORT(report_set_printer);

/* Sets the stream that reports go to; NULL means standard error. The caller owns the stream and must keep it open. */
void report_set_output(FILE *out) PRIVATE_EXPORT(report_set_output);
FILE *report_output(void) PRIVATE_EXPORT(report_output);

/*
 * Print a report of another form, for example a bug check. report_begin locks the output and returns it. report_end
 * prints the stacks from the return address `by` on, flushes and unlocks. `entry` is the routine that the consumer
 * called, or NULL if that routine is not known.
 */
FILE *report_begin(void) PRIVATE_EXPORT(report_begin);
void report_end(FILE *out, const void *by, const char *entry) PRIVATE_EXPORT(report_end);

#endif
