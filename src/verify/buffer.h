/* SPDX-License-Identifier: MIT */
/* Checks the rule buffer-missing: a buffer with a length above zero is not NULL. */
#ifndef VERIFY_BUFFER_H
#define VERIFY_BUFFER_H

#include "verify/proxy.h"

/*
 * Reports that a buffer is NULL. `count` is the length, or the number of elements, that the consumer has passed. `what`
 * names the buffer in the report, for example "private data".
 */
void buffer_report_missing(const struct proxy *p, const char *routine, const char *what, uint64_t count);

/*
 * Reports the call of `routine` on p if `buffer` is NULL but `count` is not 0. `what` is as for buffer_report_missing.
 */
static inline void buffer_check(const struct proxy *p, const char *routine, const void *buffer, uint64_t count,
                                const char *what)
{
    if (!buffer && count && verify_on())
        buffer_report_missing(p, routine, what, count);
}

#endif
