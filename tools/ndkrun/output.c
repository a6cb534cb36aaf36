/* SPDX-License-Identifier: MIT */
/* Processes a stream line by line: see output.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "output.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "live/live.h"
#include "symbol.h"
#include "verify/open_line.h"

enum { MAX_LINE = 4096, MAX_WHOLE = MAX_LINE + 2700 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char line[MAX_LINE];
static size_t length;
static const char *awaited;
static atomic_bool matched, hint_printed, lost;

static void output_put(const char *text, size_t size)
{
    while (size) {
        ssize_t n = write(STDERR_FILENO, text, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            atomic_store(&lost, true);
            return;
        }
        text += n;
        size -= (size_t)n;
    }
}

/* Writes a line, or a part of a long line. Replaces control characters. */
static void output_put_safely(const char *text, size_t size)
{
    static char safe[PRINTABLE_MAX_GROWTH * MAX_WHOLE + 2];
    bool ends = size && text[size - 1] == '\n';
    size_t made;

    size -= ends;
    size -= ends && size && text[size - 1] == '\r'; /* removes the carriage return of a Windows line end */
    made = printable_copy(safe, sizeof safe - 1, text, size);
    if (ends)
        safe[made++] = '\n';
    output_put(safe, made);
}

/*
 * Writes a stack frame with its function, file and line: "#3 name at file.c:56 (driver.so+0x1234)" instead of
 * "#3 name+0x12 (driver.so+0x1234)". If `name` is inlined, also writes a line "inlined by other at file.c:78" for each
 * function that contains the inlined code.
 */
static void output_put_frame(const char *number, const char *place)
{
    char module[256], text[2600], whole[MAX_WHOLE], *rest;
    unsigned long offset;
    int head;

    if (sscanf(place, "(%255[^+)]+%lx)", module, &offset) != 2 || !symbol_find(module, offset, text, sizeof text)) {
        output_put_safely(line, length);
        return;
    }
    head = (int)(strchr(number, ' ') - line);
    rest = text;
    output_put_safely(whole,
                      (size_t)snprintf(whole, sizeof whole, "%.*s %s %s", head, line, strsep(&rest, "\n"), place));
    while (rest)
        output_put_safely(whole,
                          (size_t)snprintf(whole, sizeof whole, "%*s inlined by %s\n", head, "", strsep(&rest, "\n")));
}

static void output_put_line(void)
{
    const char *number = line + strspn(line, " "), *place = strrchr(line, '(');

    if (awaited && strstr(line, awaited))
        atomic_store(&matched, true);
    if (number[0] != '#' || !strchr(number, ' ') || !place || !strstr(place, "+0x")) {
        output_put_safely(line, length);
        return;
    }
    if (!symbol_tool() && !strstr(number, " at ") && !atomic_exchange(&hint_printed, true)) {
        static const char words[] = "ndkrun: install binutils (addr2line) for files and lines in stacks\n";
        output_put(words, sizeof words - 1);
    }
    output_put_frame(number, place);
}

/* Ends the line if the latest text of a driver has no line end. The next text is not a driver's, and begins a line. */
static void output_end_driver_line(void)
{
    if (!report_is_line_open())
        return;
    report_set_line_open(false);
    line[length++] = '\n';
    line[length] = '\0';
    output_put_line();
    length = 0;
}

static ssize_t output_write(void *cookie, const char *text, size_t size)
{
    (void)cookie;
    live_before_text();
    pthread_mutex_lock(&lock);
    output_end_driver_line();
    for (size_t i = 0; i < size; i++) {
        line[length++] = text[i];
        if (text[i] == '\n' || length == MAX_LINE - 1) {
            line[length] = '\0';
            output_put_line();
            length = 0;
        }
    }
    pthread_mutex_unlock(&lock);
    return (ssize_t)size;
}

FILE *output_open(const char *text)
{
    FILE *out = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = output_write });

    awaited = text;
    if (out)
        setvbuf(out, NULL, _IOLBF, MAX_LINE);
    return out;
}

bool output_lost(void)
{
    return atomic_load(&lost);
}

bool output_has_match(void)
{
    return atomic_load(&matched);
}

void output_forget_match(void)
{
    atomic_store(&matched, false);
}
