/* SPDX-License-Identifier: MIT */
/*
 * Implements the log: the level, the program's callback, and the form of lines. provider/log_file.c writes the lines.
 *
 * Threads. Any thread may write lines. A line that cannot be written at once is lost and counted. A callback runs with
 * no lock held.
 *
 * Removal of a callback. running[] has two counts of running callbacks. `side` is the index of the count for new calls.
 * ondk_log_set replaces the callback and changes `side`, then waits until the count for the former callback is 0. The
 * invariant: calls of two different callbacks are never in the same count.
 *
 * Fork. The child keeps level, callback and file. A callback that has called fork still runs in the child. The
 * callbacks of other threads do not run there, so the child does not count them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "provider/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/owner.h"
#include "base/spin.h"
#include "ndk/nt.h"
#include "provider/log_file.h"

enum { MAX_TEXT = 1024, MAX_PREFIX = 96, REMOVAL_POLL_NS = 200000, COUNT_INTERVAL_NS = 1000000000 };

_Atomic uint32_t log_level = ONDK_LOG_WARN;

static struct {
    struct spin lock; /* guards the members up to `running`; a leaf lock */
    ondk_log_callback callback;
    void *context;
    uint32_t level; /* equal to log_level */
    unsigned side;
    unsigned running[2];        /* number of callbacks in progress, for each value of `side` */
    uint32_t environment_level; /* the level of ONDK_LOG; constant after log_start */
    atomic_bool is_torn;        /* the file ends in the middle of a line */
    /*
     * left_out is the number of lines that were left out since log_report_left_out last reported the number. counted_ns
     * is the time when log_count_is_due last returned true.
     */
    _Atomic uint64_t left_out, counted_ns;
} sink = { .level = ONDK_LOG_WARN, .environment_level = ONDK_LOG_WARN };

static _Thread_local bool log_in_callback;
static _Thread_local unsigned log_callback_side; /* the index in running[] of this thread's callback */

static const char *const level_names[] = {
    [ONDK_LOG_ERROR] = "error",
    [ONDK_LOG_WARN] = "warn",
    [ONDK_LOG_INFO] = "info",
    [ONDK_LOG_DEBUG] = "debug",
};

/* ---- standard error or a file ---- */

struct log_date {
    int year, month, day;
};

/* Converts days to a date. gmtime_r is not used, because another thread may hold its lock during fork. */
static struct log_date log_date_of(int64_t days_since_1970)
{
    int64_t days = days_since_1970 + 719468; /* since 0000-03-01, so that a leap day is the last day of its year */
    int64_t era = days / 146097, day_of_era = days % 146097;
    int64_t year = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day_of_year + 2) / 153; /* 0: March */

    return (struct log_date){
        .year = (int)(era * 400 + year + (month >= 10)),
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .day = (int)(day_of_year - (153 * month + 2) / 5 + 1),
    };
}

/*
 * Writes the prefix of a line, for example "2026-11-23T15:33:15.123456Z openndk[4711/4713] info: ". Returns the length
 * of the prefix.
 */
static size_t log_put_prefix(char *at, uint32_t level)
{
    struct timespec now = { 0 };
    struct log_date date;
    int seconds, n;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    date = log_date_of(now.tv_sec / 86400);
    seconds = (int)(now.tv_sec % 86400);
    n = snprintf(at, MAX_PREFIX, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ openndk[%d/%d] %s: ", date.year, date.month,
                 date.day, seconds / 3600, seconds / 60 % 60, seconds % 60, (int)(now.tv_nsec / 1000), (int)getpid(),
                 (int)gettid(), level_names[level]);
    return n < MAX_PREFIX ? (size_t)n : MAX_PREFIX - 1;
}

/* Writes the line to standard error or to the file. Returns false if the line is lost. */
static bool log_put(uint32_t level, const char *text)
{
    char line[1 + MAX_PREFIX + MAX_TEXT + 1];
    char *begin = line + 1;
    bool was_torn;
    size_t len;
    ssize_t n;

    len = log_put_prefix(begin, level);
    len += (size_t)snprintf(begin + len, MAX_TEXT, "%s", text);
    begin[len++] = '\n';
    was_torn = atomic_exchange_explicit(&sink.is_torn, false, memory_order_relaxed);
    if (was_torn) {
        *--begin = '\n';
        len++;
    }
    n = log_file_write(begin, len);
    if (n > 0 ? (size_t)n < len : was_torn)
        atomic_store_explicit(&sink.is_torn, true, memory_order_relaxed);
    return n == (ssize_t)len;
}

/* ---- the callback ---- */

/*
 * Passes the line to the program's callback. Returns false if there is no callback; the caller then writes the line. If
 * this thread is already in the callback, or the level is off now, returns true without a call.
 */
static bool log_call(uint32_t level, const char *text)
{
    ondk_log_callback callback;
    bool wanted;
    void *context;
    unsigned side;

    if (log_in_callback) {
        log_leave_out();
        return true;
    }
    spin_lock(&sink.lock);
    callback = sink.callback;
    context = sink.context;
    side = sink.side;
    wanted = level <= sink.level; /* log_level may have changed since the caller read it */
    if (callback && wanted)
        sink.running[side]++;
    spin_unlock(&sink.lock);
    if (!callback || !wanted)
        return !wanted;
    log_callback_side = side;
    log_in_callback = true;
    callback(context, level, text);
    log_in_callback = false;
    spin_lock(&sink.lock);
    sink.running[side]--;
    spin_unlock(&sink.lock);
    return true;
}

/*
 * Waits until running[side] is 0. Requires the lock. Releases the lock while it waits, and returns with the lock held.
 */
static void log_wait_for_side(unsigned side)
{
    static const struct timespec pause = { .tv_nsec = REMOVAL_POLL_NS };

    while (sink.running[side]) {
        spin_unlock(&sink.lock);
        (void)nanosleep(&pause, NULL);
        spin_lock(&sink.lock);
    }
}

int32_t ondk_log_set(uint32_t level, ondk_log_callback callback, void *context)
{
    unsigned old;

    if (level > ONDK_LOG_DEBUG)
        return STATUS_INVALID_PARAMETER;
    if (log_in_callback)
        return STATUS_INVALID_DEVICE_STATE;
    log_start();
    spin_lock(&sink.lock);
    while (sink.running[!sink.side]) /* another ondk_log_set still waits for the former callback */
        log_wait_for_side(!sink.side);
    old = sink.side;
    sink.side = !old;
    sink.callback = callback;
    sink.context = context;
    sink.level = level == ONDK_LOG_DEFAULT ? sink.environment_level : level;
    atomic_store_explicit(&log_level, sink.level, memory_order_relaxed);
    log_wait_for_side(old);
    spin_unlock(&sink.lock);
    return STATUS_SUCCESS;
}

/* ---- lines ---- */

static bool log_deliver(uint32_t level, const char *text)
{
    return log_call(level, text) || log_put(level, text);
}

void log_leave_out(void)
{
    atomic_fetch_add_explicit(&sink.left_out, 1, memory_order_relaxed);
}

/* Returns true if at least one second has passed since this function last returned true. */
static bool log_count_is_due(void)
{
    uint64_t now = owner_clock(NULL), last = atomic_load_explicit(&sink.counted_ns, memory_order_relaxed);

    return now - last >= COUNT_INTERVAL_NS && atomic_compare_exchange_strong(&sink.counted_ns, &last, now);
}

void log_report_left_out(uint32_t level, bool is_due)
{
    char text[MAX_TEXT];
    uint64_t count;

    if (log_in_callback || !atomic_load_explicit(&sink.left_out, memory_order_relaxed))
        return;
    if (!log_count_is_due() && !is_due)
        return;
    count = atomic_exchange_explicit(&sink.left_out, 0, memory_order_relaxed);
    if (!count)
        return;
    snprintf(text, sizeof text, "%llu lines before this one were left out", (unsigned long long)count);
    if (!log_deliver(level, text))
        atomic_fetch_add_explicit(&sink.left_out, count, memory_order_relaxed);
}

/* Writes one line. Replaces each character that is not printable by a question mark. */
static void log_write_line(uint32_t level, char *text)
{
    int err = errno;

    for (char *c = text; *c; c++) {
        if (*c < ' ' || *c > '~')
            *c = '?';
    }
    log_report_left_out(level, false);
    if (!log_deliver(level, text))
        log_leave_out();
    errno = err;
}

void log_line(uint32_t level, const char *format, ...)
{
    char text[MAX_TEXT];
    va_list args;

    if (!log_is_on(level))
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_write_line(level, text);
}

void log_lines(uint32_t level, const char *text)
{
    const char *end;

    for (; (end = strchr(text, '\n')) != NULL; text = end + 1)
        log_line(level, "%.*s", (int)(end - text), text);
}

/* ---- ONDK_LOG ---- */

bool log_parse(const char *value, uint32_t *level, const char **file)
{
    const char *comma = strchr(value, ',');
    size_t len = comma ? (size_t)(comma - value) : strlen(value);

    *file = comma ? comma + 1 : NULL;
    for (uint32_t i = ONDK_LOG_ERROR; i <= ONDK_LOG_DEBUG; i++) {
        *level = i;
        if (strlen(level_names[i]) == len && !memcmp(level_names[i], value, len))
            return !comma || **file;
    }
    return false;
}

static void log_on_fork_child(void)
{
    sink.running[0] = sink.running[1] = 0;
    if (log_in_callback)
        sink.running[log_callback_side] = 1;
}

static void log_read_environment(void)
{
    const char *value = secure_getenv("ONDK_LOG"), *file;
    uint32_t level;
    int error;

    fork_guard(&sink.lock);
    fork_on_child(log_on_fork_child);
    if (!value || !log_parse(value, &level, &file))
        return; /* ondk_config_check_environment reports a wrong value */
    spin_lock(&sink.lock);
    sink.level = sink.environment_level = level;
    spin_unlock(&sink.lock);
    atomic_store_explicit(&log_level, level, memory_order_relaxed);
    error = file ? log_file_open(file) : 0;
    if (error)
        log_line(ONDK_LOG_ERROR, "ONDK_LOG: the log goes to standard error, because %s cannot be opened: %s", file,
                 strerrordesc_np(error));
}

void log_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, log_read_environment);
}
