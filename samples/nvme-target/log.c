/* SPDX-License-Identifier: MIT */
/*
 * Limits the rate of messages: see log.h. Invariant: each message is either printed, or counted in a number that is
 * printed.
 */
#include "log.h"

#include <stdarg.h>

void log_limit_init(struct log_limit *limit)
{
    host_lock_init(&limit->lock);
    limit->refilled_ms = host_now_ms();
    limit->n_left = LOG_BURST;
    limit->n_suppressed = 0;
}

void log_limit_fini(struct log_limit *limit)
{
    host_lock_fini(&limit->lock);
}

/* Adds to n_left the number of messages that have become permitted since the last call. Requires limit->lock. */
static void log_refill(struct log_limit *limit)
{
    uint64_t n = (host_now_ms() - limit->refilled_ms) / LOG_INTERVAL_MS;

    limit->refilled_ms += n * LOG_INTERVAL_MS;
    limit->n_left = n < LOG_BURST - limit->n_left ? limit->n_left + (uint32_t)n : LOG_BURST;
}

/*
 * Returns true if a message may be printed. *n_suppressed is then the number of suppressed messages to report. `is_new`
 * is true if the caller has a message of its own; the message is counted as suppressed if it may not be printed.
 */
static bool log_begin(struct log_limit *limit, bool is_new, uint32_t *n_suppressed)
{
    bool may_print;

    host_lock_acquire(&limit->lock);
    log_refill(limit);
    may_print = limit->n_left > 0 && (is_new || limit->n_suppressed > 0);
    if (may_print) {
        limit->n_left--;
        *n_suppressed = limit->n_suppressed;
        limit->n_suppressed = 0;
    } else if (is_new) {
        limit->n_suppressed++;
    }
    host_lock_release(&limit->lock);
    return may_print;
}

static void log_suppressed(uint32_t n_suppressed)
{
    if (n_suppressed)
        host_log("%u messages were suppressed, because there were too many", n_suppressed);
}

void log_limited(struct log_limit *limit, const char *format, ...)
{
    uint32_t n_suppressed;
    va_list list;

    if (!log_begin(limit, true, &n_suppressed))
        return;
    log_suppressed(n_suppressed);
    va_start(list, format);
    host_vlog(format, list);
    va_end(list);
}

void log_report(struct log_limit *limit)
{
    uint32_t n_suppressed;

    if (log_begin(limit, false, &n_suppressed))
        log_suppressed(n_suppressed);
}
