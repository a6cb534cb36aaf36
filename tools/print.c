/* SPDX-License-Identifier: MIT */
/* Prints the output of the tools: see print.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "print.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/provider.h"
#include "openndk/adapter.h"
#include "openndk/reason.h"
#include "base/printable.h"
#include "terminal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the streams */
static FILE *main_stream, *log_stream;
static const char *log_name;
static _Thread_local const char *prefix = "";
static bool lost; /* some output could not be written, and a message has reported this */

void print_set_stream(FILE *stream)
{
    main_stream = stream;
}

void print_set_prefix(const char *text)
{
    prefix = text;
}

bool print_open_log(const char *file, bool append)
{
    log_name = file;
    log_stream = fopen(file, append ? "ae" : "we");
    if (!log_stream)
        fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, file, strerror(errno));
    return log_stream != NULL;
}

/* Reports only the first failure, because on a full disk, for example, all further output fails, too. */
static void print_report_loss(const char *name)
{
    if (!lost)
        fprintf(stderr, "%s: %s: %s: not all of the output was written\n", program_invocation_short_name, name,
                strerror(errno));
    lost = true;
}

static void print_flush_locked(FILE *stream, const char *name)
{
    if (fflush(stream) != 0 || ferror(stream))
        print_report_loss(name);
}

void print_flush(FILE *stream, const char *name)
{
    pthread_mutex_lock(&lock);
    print_flush_locked(stream, name);
    pthread_mutex_unlock(&lock);
}

bool print_close(void)
{
    progress_clear();
    print_flush(stdout, "standard output");
    if (log_stream && fclose(log_stream) != 0)
        print_report_loss(log_name);
    log_stream = NULL;
    return !lost;
}

/* Returns the line with its prefix, escaped, in memory that the caller frees. Returns NULL if out of memory. */
static char *print_format(const char *format, va_list args)
{
    char *text, *line, *safe;

    if (vasprintf(&text, format, args) < 0)
        return NULL;
    if (asprintf(&line, "%s%s", prefix, text) < 0)
        line = NULL;
    safe = line ? printable_dup(line) : NULL;
    free(line);
    free(text);
    return safe;
}

/* Writes a line to the stream and to the log file. The stream gets the style if it is a terminal. */
static void print_styled(enum terminal_style style, const char *format, va_list args)
{
    FILE *streams[2] = { main_stream ? main_stream : stdout, log_stream };
    char *line = print_format(format, args);

    pthread_mutex_lock(&lock);
    progress_clear();
    for (int i = 0; i < 2 && streams[i]; i++) {
        bool has_style = style != STYLE_NONE && i == 0;
        if (has_style)
            fputs(terminal_style(streams[i], style), streams[i]);
        fputs(line ? line : "a line is missing: out of memory", streams[i]);
        if (has_style)
            fputs(terminal_style(streams[i], STYLE_NONE), streams[i]);
        fputc('\n', streams[i]);
        print_flush_locked(streams[i], i ? log_name : "standard output");
    }
    pthread_mutex_unlock(&lock);
    free(line);
}

void print_line(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_styled(STYLE_NONE, format, args);
    va_end(args);
}

void print_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_styled(STYLE_RED, format, args);
    va_end(args);
}

void print_title(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_styled(STYLE_BOLD, format, args);
    va_end(args);
}

bool print_is_lost(void)
{
    bool is_lost;

    pthread_mutex_lock(&lock);
    is_lost = lost;
    pthread_mutex_unlock(&lock);
    return is_lost;
}

static void print_status(const char *step, NTSTATUS status)
{
    print_error("%s failed: %s (0x%08X)", step, ondk_status_name(status), (unsigned)status);
}

void print_failed(const char *step, NTSTATUS status)
{
    print_failed_for(step, status, 0);
}

void print_failed_for(const char *step, NTSTATUS status, uint32_t reason)
{
    if (!consumer_reason_is_openndk(reason)) {
        print_failed_advice(step, status, ondk_status_advice(status));
        if (reason)
            print_line("  the provider's code: 0x%08X", (unsigned)reason);
        return;
    }
    print_status(step, status);
    print_line("  reason 0x%08X %s: %s", (unsigned)reason, ondk_reason_name(reason), ondk_reason_text(reason));
    print_line("  %s", ondk_reason_advice(reason));
}

void print_failed_advice(const char *step, NTSTATUS status, const char *advice)
{
    print_status(step, status);
    print_line("  %s", advice);
}

void print_step_failed(const struct consumer *c, const char *step, NTSTATUS status)
{
    print_failed_for(step, status, c->connector ? consumer_connector_reason(c->connector) : 0);
}
