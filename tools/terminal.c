/* SPDX-License-Identifier: MIT */
/* Prints colours and progress: see terminal.h. */
#include "terminal.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "monotonic.h"

enum { FIRST_PROGRESS_MS = 2000, PROGRESS_INTERVAL_MS = 200, MAX_PROGRESS = 160 };

const char *terminal_style(FILE *stream, enum terminal_style style)
{
    static const char *const sequences[] = {
        [STYLE_NONE] = "\033[0m", [STYLE_BOLD] = "\033[1m",   [STYLE_DIM] = "\033[2m",
        [STYLE_RED] = "\033[31m", [STYLE_GREEN] = "\033[32m", [STYLE_YELLOW] = "\033[33m",
    };
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    if ((no_color && *no_color) || !term || strcmp(term, "dumb") == 0 || !isatty(fileno(stream)))
        return "";
    return sequences[style];
}

/* ---- progress ---- */

static struct {
    pthread_mutex_t lock;
    bool is_started, is_shown;
    int64_t next_ms; /* the earliest time at which the progress line may be shown */
} progress = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void progress_write_locked(const char *line)
{
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
    progress.is_shown = true;
}

void progress_show(const char *format, ...)
{
    int64_t now = monotonic_ms();
    char line[MAX_PROGRESS];
    va_list args;

    if (!isatty(STDERR_FILENO))
        return;
    pthread_mutex_lock(&progress.lock);
    if (!progress.is_started)
        progress.next_ms = now + FIRST_PROGRESS_MS;
    progress.is_started = true;
    if (now >= progress.next_ms) {
        va_start(args, format);
        vsnprintf(line, sizeof line, format, args);
        va_end(args);
        progress_write_locked(line);
        progress.next_ms = now + PROGRESS_INTERVAL_MS;
    }
    pthread_mutex_unlock(&progress.lock);
}

void progress_clear(void)
{
    pthread_mutex_lock(&progress.lock);
    if (progress.is_shown)
        fputs("\r\033[K", stderr);
    progress.is_shown = false;
    pthread_mutex_unlock(&progress.lock);
}

/* ---- progress of a call that blocks ---- */

static struct {
    pthread_t thread;
    pthread_cond_t change;
    bool is_running, is_ended; /* is_ended is guarded by progress.lock */
    char text[MAX_PROGRESS];
} ticker = { .change = PTHREAD_COND_INITIALIZER };

static void *ticker_run(void *context)
{
    struct timespec next;
    char line[MAX_PROGRESS + 32];

    (void)context;
    clock_gettime(CLOCK_REALTIME, &next);
    pthread_mutex_lock(&progress.lock);
    for (unsigned seconds = 0; !ticker.is_ended;) {
        next.tv_sec++;
        while (!ticker.is_ended && pthread_cond_timedwait(&ticker.change, &progress.lock, &next) != ETIMEDOUT)
            ;
        if (!ticker.is_ended && ++seconds * 1000 >= FIRST_PROGRESS_MS) {
            snprintf(line, sizeof line, "%s: %u s", ticker.text, seconds);
            progress_write_locked(line);
        }
    }
    pthread_mutex_unlock(&progress.lock);
    return NULL;
}

void progress_begin(const char *format, ...)
{
    va_list args;

    if (!isatty(STDERR_FILENO) || ticker.is_running)
        return;
    va_start(args, format);
    vsnprintf(ticker.text, sizeof ticker.text, format, args);
    va_end(args);
    ticker.is_ended = false;
    ticker.is_running = pthread_create(&ticker.thread, NULL, ticker_run, NULL) == 0;
}

void progress_end(void)
{
    if (!ticker.is_running)
        return;
    pthread_mutex_lock(&progress.lock);
    ticker.is_ended = true;
    pthread_cond_signal(&ticker.change);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(ticker.thread, NULL);
    ticker.is_running = false;
    progress_clear();
}
