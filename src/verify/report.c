/* SPDX-License-Identifier: MIT */
/*
 * Prints one report at a time: the lock is held from a report's first line to its last, so that the reports of two
 * threads never mix. Nothing is allocated, because a report may come from a signal handler.
 */
#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>

#include "verify/report.h"

enum { MAX_MESSAGE = 1024, MAX_EARLIER_STACKS = 2 };

atomic_int verify_mode = VERIFY_OFF;

static atomic_uint breach_count;
static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *output; /* output_lock guards `output` and breach_printer */

struct earlier_stack {
    const char *title;
    struct stack stack;
};

static _Thread_local struct earlier_stack earlier_stacks[MAX_EARLIER_STACKS];
static _Thread_local int earlier_stack_count;

static void report_print_breach(FILE *out, const struct breach *b)
{
    fprintf(out, "*** NDK rule broken: %s in %s: %s\n  rule: %s\n", b->rule->name, b->routine, b->message,
            b->rule->text);
}

static report_printer *breach_printer = report_print_breach;

void verify_set_mode(enum verify_mode mode)
{
    atomic_store(&verify_mode, (int)mode);
}

uint32_t report_count(void)
{
    return atomic_load(&breach_count);
}

void report_set_printer(report_printer *printer)
{
    pthread_mutex_lock(&output_lock);
    breach_printer = printer;
    pthread_mutex_unlock(&output_lock);
}

void report_set_output(FILE *out)
{
    pthread_mutex_lock(&output_lock);
    output = out;
    pthread_mutex_unlock(&output_lock);
}

FILE *report_output(void)
{
    FILE *out;

    pthread_mutex_lock(&output_lock);
    out = output ? output : stderr;
    pthread_mutex_unlock(&output_lock);
    return out;
}

void report_add_stack(const char *title, const struct stack *s)
{
    if (earlier_stack_count < MAX_EARLIER_STACKS)
        earlier_stacks[earlier_stack_count++] = (struct earlier_stack){ title, *s };
}

FILE *report_begin(void)
{
    pthread_mutex_lock(&output_lock);
    return output ? output : stderr;
}

void report_end(FILE *out, const void *by, const char *entry)
{
    struct stack now;

    stack_capture(&now, by);
    now.entry = entry;
    stack_print(&now, out, "    ");
    for (int i = 0; i < earlier_stack_count; i++) {
        fprintf(out, "  %s\n", earlier_stacks[i].title);
        stack_print(&earlier_stacks[i].stack, out, "    ");
    }
    earlier_stack_count = 0;
    fflush(out);
    pthread_mutex_unlock(&output_lock);
}

void report_breach_args(const struct breach *breach, const void *by, const char *format, va_list args)
{
    struct breach printed = *breach;
    char message[MAX_MESSAGE];
    FILE *out;

    (void)vsnprintf(message, sizeof message, format, args);
    printed.message = message;
    out = report_begin();
    breach_printer(out, &printed);
    /* A name in lower case is not a routine: it describes an action, for example "access" or "a dispatch routine". */
    report_end(out, by, isupper((unsigned char)breach->routine[0]) ? breach->routine : NULL);
    atomic_fetch_add(&breach_count, 1);
    if (atomic_load(&verify_mode) == VERIFY_STOP)
        abort();
}

void report_breach(const struct rule *rule, const char *routine, uint64_t p1, uint64_t p2, uint64_t p3, uint64_t p4,
                   const char *format, ...)
{
    struct breach breach = { .rule = rule, .routine = routine, .parameters = { p1, p2, p3, p4 } };
    va_list args;

    va_start(args, format);
    report_breach_args(&breach, __builtin_return_address(0), format, args);
    va_end(args);
}
