/* SPDX-License-Identifier: MIT */
/*
 * Makes the reports, one at a time. The lock is held from the first line of a report to its last line, so that the
 * reports of two threads never mix. Nothing is allocated, because a report may come from a signal handler. If a signal
 * handler interrupts a report of its own thread, the handler's report is written inside the interrupted one.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/verify_setting.h"
#include "verify/report_callback.h"
#include "verify/report_file.h"
#include "verify/report_forms.h"
#include "verify/rules.h"

enum { MAX_MESSAGE = 1024, MAX_JUNIT_PATH = 4096 };

atomic_int verify_mode = VERIFY_OFF;

static atomic_uint breach_count, advice_count;
static atomic_bool line_open; /* the latest text that the host has written to the output does not end with a line end */
static _Atomic(struct rule_table *) tables = &verify_rule_table;
static _Atomic(const struct rule *) made_advice[VERIFY_MAX_ADVICE]; /* the rules of report_set_advice; NULL: none */

static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local unsigned output_locked; /* number of times that this thread has locked output_lock */
static FILE *output;                         /* NULL: standard error; output_lock guards this and the variables below */
static enum report_format output_format = REPORT_TEXT;
static uint32_t max_written = 1;
static _Atomic uint32_t exit_status;
static char junit_path[MAX_JUNIT_PATH];
/* ID of the process that made the latest report or set the JUnit file. In a child of fork, this may be the parent. */
static pid_t reporting_process;

static report_events *event_source;
static struct last_event last_events[REPORT_EVENTS];

/* The object, the notes and the stacks for the next report of this thread. */
static _Thread_local struct {
    struct report_object object;
    char notes[REPORT_NOTES][MAX_NOTE];
    int note_count;
    struct earlier_stack stacks[MAX_EARLIER_STACKS];
    int stack_count;
} next;

static void report_print_breach_head(FILE *out, const struct breach *b)
{
    fprintf(out, "*** NDK rule broken: %s in %s: %s\n", b->rule->name, b->routine, b->message);
}

static report_printer *breach_printer = report_print_breach_head;

void verify_set_mode(enum verify_mode mode)
{
    atomic_store(&verify_mode, (int)mode);
}

/* ---- the output ---- */

static FILE *report_lock(void)
{
    if (!output_locked++)
        pthread_mutex_lock(&output_lock);
    return output ? output : stderr;
}

static void report_unlock(void)
{
    if (!--output_locked)
        pthread_mutex_unlock(&output_lock);
}

void report_set_printer(report_printer *printer)
{
    (void)report_lock();
    breach_printer = printer;
    report_unlock();
}

void report_set_events(report_events *events)
{
    (void)report_lock();
    event_source = events;
    report_unlock();
}

/* Stores the latest events of the process in last_events. Returns their number. The caller has locked the output. */
static unsigned report_read_events(const void *object)
{
    return event_source ? event_source(object, last_events) : 0;
}

void report_set_format(enum report_format format)
{
    (void)report_lock();
    output_format = format;
    report_unlock();
}

enum report_format report_get_format(void)
{
    enum report_format format;

    (void)report_lock();
    format = output_format;
    report_unlock();
    return format;
}

void report_set_max_written(uint32_t max)
{
    (void)report_lock();
    max_written = max;
    report_unlock();
}

void report_set_exit_status(uint32_t status)
{
    exit_status = status;
}

uint32_t report_get_exit_status(void)
{
    return exit_status;
}

uint32_t report_get_max_written(void)
{
    uint32_t max;

    (void)report_lock();
    max = max_written;
    report_unlock();
    return max;
}

void report_set_output(FILE *out)
{
    (void)report_lock();
    output = out;
    repeats_start_output();
    report_unlock();
}

FILE *report_output(void)
{
    FILE *out = report_lock();

    report_unlock();
    return out;
}

void report_set_line_open(bool open)
{
    atomic_store(&line_open, open);
}

bool report_is_line_open(void)
{
    return atomic_load(&line_open);
}

/*
 * If the host's latest text does not end with a line end, writes one, so that a report begins on a line of its own. The
 * caller has locked the output.
 */
static void report_end_line(FILE *locked)
{
    if (atomic_exchange(&line_open, false))
        fputc('\n', locked);
}

/*
 * Returns the stream for reports: the file of report_set_file, or `locked` if there is none. `locked` is the stream
 * that report_lock has returned.
 */
static FILE *report_stream(FILE *locked)
{
    FILE *file = report_file_stream();

    return file ? file : locked;
}

bool report_set_file(const char *name, size_t length)
{
    bool ok;

    (void)report_lock();
    ok = report_file_set(name, length);
    repeats_start_output();
    report_unlock();
    return ok;
}

bool report_set_junit(const char *name, size_t length)
{
    char path[MAX_JUNIT_PATH] = "";

    if (name && !report_file_copy_path(path, sizeof path, name, length))
        return false;
    (void)report_lock();
    memcpy(junit_path, path, sizeof path);
    reporting_process = getpid();
    report_unlock();
    return true;
}

/* ---- rules and counts ---- */

void report_add_rules(struct rule_table *table)
{
    struct rule_table *last = atomic_load(&tables);

    (void)report_lock();
    while (last->next)
        last = last->next;
    last->next = table;
    report_unlock();
}

const struct rule_table *report_rules(void)
{
    return atomic_load(&tables);
}

const struct rule *report_find_rule(const char *name, size_t length)
{
    for (const struct rule_table *t = report_rules(); t; t = t->next)
        for (unsigned i = 0; i < t->count; i++)
            if (strlen(t->rules[i].name) == length && !memcmp(t->rules[i].name, name, length))
                return &t->rules[i];
    return NULL;
}

void report_set_advice(const struct rule *const *rules, size_t count)
{
    for (size_t i = 0; i < VERIFY_MAX_ADVICE; i++)
        atomic_store(&made_advice[i], i < count ? rules[i] : NULL);
}

enum rule_kind report_rule_kind(const struct rule *rule)
{
    for (size_t i = 0; i < VERIFY_MAX_ADVICE; i++)
        if (atomic_load(&made_advice[i]) == rule)
            return RULE_ADVICE;
    return rule->kind;
}

/* Returns the table that contains the rule, or NULL if the table was not added. */
static const struct rule_table *report_rule_table(const struct rule *rule)
{
    const struct rule_table *t = report_rules();

    while (t && !(rule >= t->rules && rule < t->rules + t->count))
        t = t->next;
    return t;
}

bool report_is_kernel_rule(const struct rule *rule)
{
    const struct rule_table *t = report_rule_table(rule);

    return t && !strcmp(t->layer, "kernel");
}

static void report_count_rule(const struct rule *rule)
{
    const struct rule_table *t = report_rule_table(rule);

    if (t)
        atomic_fetch_add(&t->reports[rule - t->rules], 1);
    atomic_fetch_add(report_rule_kind(rule) == RULE_ADVICE ? &advice_count : &breach_count, 1);
}

uint32_t report_count(void)
{
    return atomic_load(&breach_count);
}

uint32_t report_advice_count(void)
{
    return atomic_load(&advice_count);
}

/* ---- a report ---- */

void report_set_object(const struct report_object *object)
{
    next.object = *object;
}

void report_add_note(const char *format, ...)
{
    va_list args;

    if (next.note_count == REPORT_NOTES)
        return;
    va_start(args, format);
    (void)vsnprintf(next.notes[next.note_count++], MAX_NOTE, format, args);
    va_end(args);
}

void report_add_stack(const char *title, const struct stack *s)
{
    if (next.stack_count < MAX_EARLIER_STACKS)
        next.stacks[next.stack_count++] = (struct earlier_stack){ title, *s };
}

FILE *report_begin(void)
{
    FILE *out = report_lock();

    report_end_line(out);
    return out;
}

void report_end(FILE *out, const void *by, const char *entry)
{
    struct stack now;

    stack_capture(&now, by);
    now.entry = entry;
    report_print_call(out, &now);
    report_print_earlier(out, next.stacks, next.stack_count);
    report_print_events(out, last_events, report_read_events(NULL));
    next.stack_count = 0;
    fflush(out);
    report_unlock();
}

/* Appends the notes of report_add_note to the notes of report_set_object. */
static void report_move_notes(struct report *r)
{
    const char **notes = r->breach.object.notes;
    int n = 0;

    while (n < REPORT_NOTES && notes[n])
        n++;
    for (int i = 0; i < next.note_count && n < REPORT_NOTES; i++, n++) {
        memcpy(r->notes[i], next.notes[i], MAX_NOTE);
        notes[n] = r->notes[i];
    }
    next.note_count = 0;
}

/* Moves the object, the notes and the stacks of this thread's next report to *r. */
static void report_move_next(struct report *r)
{
    const struct stack *created_by;

    if (next.object.object)
        r->breach.object = next.object;
    report_move_notes(r);
    created_by = r->breach.object.created_by;
    if (created_by && created_by->depth)
        report_add_stack("created by", created_by);
    memcpy(r->earlier, next.stacks, sizeof r->earlier);
    r->earlier_count = next.stack_count;
    next.stack_count = 0;
    next.object = (struct report_object){ .object = NULL };
}

/*
 * Counts the report and writes it. If r->stops is false, writes the report only if its place is in the table, and if
 * fewer than max_written reports of that place were written.
 */
static void report_write_breach(struct report *r)
{
    FILE *out = report_stream(report_lock());
    struct repeated *repeated = repeats_add(&r->breach, &r->call);

    reporting_process = getpid();
    r->repeat = repeated ? repeated->count : 0;
    if (r->stops || (repeated && repeated->written < max_written)) {
        if (!report_file_path())
            report_end_line(out);
        r->event_count = report_read_events(r->breach.object.object);
        r->events = last_events;
        report_keep_junit_events(r);
        if (output_format == REPORT_JSON)
            report_print_json(out, r);
        else
            report_print_text(out, r, breach_printer);
        fflush(out);
        if (repeated) {
            repeated->written++;
            repeated->listed = repeated->count;
        }
    }
    report_count_rule(r->breach.rule);
    report_unlock();
}

/*
 * Writes the JUnit file. Writes no file if nothing was checked, because a file without a failure means that no rule was
 * broken.
 */
static void report_write_junit_file(void)
{
    (void)report_lock();
    if (junit_path[0] && (verify_on() || report_count()) && !report_write_junit(junit_path)) {
        fprintf(stderr, "openndk: cannot write %s: %s\n", junit_path, strerrordesc_np(errno));
        fflush(stderr);
    }
    report_unlock();
}

/* Prints why the process ends, if the report is in a file. */
static void report_print_stop(const struct breach *b)
{
    FILE *out = report_lock();

    if (report_file_path()) {
        fprintf(out, "openndk: rule %s is broken in %s; the report is in %s\n", b->rule->name, b->routine,
                report_file_path());
        fflush(out);
    }
    report_unlock();
}

/* Makes a report of the breach *given, with the stack `call`. */
__attribute__((format(printf, 3, 0))) static void report_make(const struct breach *given, const struct stack *call,
                                                              const char *format, va_list args)
{
    struct report r = { .breach = *given, .call = *call };
    char message[MAX_MESSAGE];

    (void)vsnprintf(message, sizeof message, format, args);
    r.breach.message = message;
    r.stops = report_rule_kind(given->rule) == RULE_BREACH && atomic_load(&verify_mode) == VERIFY_STOP;
    (void)clock_gettime(CLOCK_REALTIME, &r.time);
    report_move_next(&r);
    report_write_breach(&r);
    report_call_back(&r);
    if (r.stops) {
        report_print_stop(given);
        report_write_junit_file();
        abort();
    }
}

/*
 * Returns `routine`, or NULL if `routine` is not the name of a routine. A name in lower case describes an action, for
 * example "access".
 */
static const char *report_entry(const char *routine)
{
    return isupper((unsigned char)routine[0]) ? routine : NULL;
}

void report_breach_args(const struct breach *breach, const void *by, const char *format, va_list args)
{
    struct stack call;

    stack_capture(&call, by);
    call.entry = report_entry(breach->routine);
    report_make(breach, &call, format, args);
}

void report_breach(const struct rule *rule, const char *routine, uint64_t p1, uint64_t p2, uint64_t p3, uint64_t p4,
                   const char *format, ...)
{
    struct breach breach = { .rule = rule, .routine = routine, .parameters = { p1, p2, p3, p4 } };
    struct stack call;
    va_list args;

    stack_capture_call(&call, __builtin_return_address(0));
    if (!call.entry)
        call.entry = report_entry(routine);
    va_start(args, format);
    report_make(&breach, &call, format, args);
    va_end(args);
}

void report_breach_at(const struct breach *breach, const struct stack *call, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    report_make(breach, call, format, args);
    va_end(args);
}

/* ---- repeated reports ---- */

void report_write_repeats(void)
{
    FILE *out = report_stream(report_lock());

    for (struct repeated *r = repeats_next(NULL); r; r = repeats_next(r)) {
        if (r->listed == r->count)
            continue;
        r->listed = r->count;
        if (output_format == REPORT_JSON)
            report_print_repeated_json(out, r);
        else
            report_print_repeated_text(out, r);
    }
    if (repeats_without_place() && output_format == REPORT_TEXT)
        fprintf(out, "*** %u reports of further places are not listed\n", (unsigned)repeats_without_place());
    fflush(out);
    report_unlock();
}

/*
 * Runs when the process exits. Writes the JUnit file and the lines about repeats. A child of fork writes nothing if all
 * reports were made by its parent.
 */
__attribute__((destructor)) static void report_at_exit(void)
{
    uint32_t status = report_get_exit_status();

    if (reporting_process != getpid())
        return;
    report_write_repeats();
    report_write_junit_file();
    if (status && report_count()) {
        fflush(NULL); /* because _exit does not flush the streams */
        _exit((int)status);
    }
}
