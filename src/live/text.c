/* SPDX-License-Identifier: MIT */
/* Builds and writes lines: see text.h. Nothing is allocated. */
#include "live/text.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"

void live_text_add(struct live_text *t, const char *format, ...)
{
    size_t room = sizeof t->bytes - t->used;
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(t->bytes + t->used, room, format, arguments);
    va_end(arguments);
    if (n > 0)
        t->used += (size_t)n < room ? (size_t)n : room - 1;
}

void live_text_add_safely(struct live_text *t, const char *bytes, size_t len)
{
    t->used += printable_copy(t->bytes + t->used, sizeof t->bytes - t->used, bytes, len);
}

/* Adds value / unit and the name of the unit. Adds one decimal if value / unit is less than 10. */
static void live_text_add_scaled(struct live_text *t, uint64_t value, uint64_t unit, const char *name)
{
    uint64_t tenths = value / (unit / 10);

    if (tenths < 100)
        live_text_add(t, "%" PRIu64 ".%u %s", tenths / 10, (unsigned)(tenths % 10), name);
    else
        live_text_add(t, "%" PRIu64 " %s", tenths / 10, name);
}

void live_text_add_duration(struct live_text *t, uint64_t ns)
{
    if (ns < 1000)
        live_text_add(t, "%" PRIu64 " ns", ns);
    else if (ns < 1000000)
        live_text_add_scaled(t, ns, 1000, "us");
    else if (ns < 1000000000)
        live_text_add_scaled(t, ns, 1000000, "ms");
    else
        live_text_add_scaled(t, ns, 1000000000, "s");
}

/*
 * Handles a write to standard error that has failed with `error`. Returns true if the caller must write again. If
 * standard error is non-blocking and full, first waits until there is room.
 */
static bool live_text_wait(int error)
{
    struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };

    if (error != EINTR && error != EAGAIN)
        return false;
    if (error == EAGAIN)
        (void)poll(&fd, 1, -1);
    return true;
}

void live_text_write(const struct live_text *t)
{
    char line[LIVE_MAX_LINE + 1];
    size_t size = t->used + 1, done = 0;

    memcpy(line, t->bytes, t->used);
    line[t->used] = '\n';
    while (done < size) {
        ssize_t n = write(STDERR_FILENO, line + done, size - done);

        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || !live_text_wait(errno))
            return;
    }
}
