/* SPDX-License-Identifier: MIT */
/*
 * Messages whose number hosts decide, for example about connections. Their rate is limited, so that a hostile host can
 * neither fill the log nor slow the target down with messages.
 */
#ifndef NVME_TARGET_LOG_H
#define NVME_TARGET_LOG_H

#include "host.h"

enum {
    LOG_BURST = 50,        /* number of messages that may be printed without a pause */
    LOG_INTERVAL_MS = 500, /* after the burst, one message is permitted in each interval of this length */
};

struct log_limit {
    struct host_lock lock; /* guards the next members; no lock is acquired after this one */
    uint64_t refilled_ms;
    uint32_t n_left, n_suppressed;
};

void log_limit_init(struct log_limit *limit);
void log_limit_fini(struct log_limit *limit);
/* Prints the message as host_log does, or counts it if there were too many. */
#ifdef TARGET_DRIVER
void log_limited(struct log_limit *limit, const char *format, ...);
#else
void log_limited(struct log_limit *limit, const char *format, ...) __attribute__((format(printf, 2, 3)));
#endif
/*
 * Prints how many messages were suppressed since the last report. Prints nothing if there were none, or if no message
 * is permitted now.
 */
void log_report(struct log_limit *limit);

#endif
