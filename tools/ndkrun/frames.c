/* SPDX-License-Identifier: MIT */
/* Prints the stacks of threads: see frames.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "frames.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { MAX_FRAMES = 48, HANDLER_FRAMES = 2, ANSWER_STEP_MS = 20, ANSWER_STEPS = 50 };

static void *frames[MAX_FRAMES];
static int depth;
static atomic_bool answered; /* true after the signal handler has filled `frames` and `depth` */

static const char *frames_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

void frames_print_line(FILE *out, int number, const char *at)
{
    Dl_info place;

    if (dladdr(at, &place) && place.dli_fname)
        fprintf(out, "    #%d %s (%s+0x%zx)\n", number, place.dli_sname ? place.dli_sname : "?",
                frames_file_name(place.dli_fname), (size_t)(at - (const char *)place.dli_fbase));
}

static void frames_capture(int number)
{
    int saved = errno;

    (void)number;
    depth = backtrace(frames, MAX_FRAMES);
    atomic_store(&answered, true);
    errno = saved;
}

static bool frames_request(pthread_t thread)
{
    struct sigaction action = { .sa_handler = frames_capture, .sa_flags = SA_RESTART };
    void *first[1];

    (void)backtrace(first, 1); /* loads the unwinder now, because a signal handler must not load it */
    atomic_store(&answered, false);
    if (sigaction(SIGURG, &action, NULL) || pthread_kill(thread, SIGURG))
        return false;
    for (int i = 0; i < ANSWER_STEPS && !atomic_load(&answered); i++)
        poll(NULL, 0, ANSWER_STEP_MS);
    return atomic_load(&answered);
}

/* Returns true if the module is a library of OpenNDK, the C library or a sanitizer's runtime. */
static bool frames_is_below_driver(const char *module)
{
    static const char *const starts[] = { "libopenndk", "libc.so", "libc-", "libasan", "libtsan", "libubsan" };

    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (!strncmp(module, starts[i], strlen(starts[i])))
            return true;
    return false;
}

/*
 * Returns an address inside the instruction at which the frame stopped. In an outer frame this is the return address
 * minus 1, because a return address is after its call instruction.
 */
static const char *frames_at(int i)
{
    return (const char *)frames[i] - (i > HANDLER_FRAMES);
}

void frames_print_thread(FILE *out, pthread_t thread)
{
    const char *called = NULL;
    int first = HANDLER_FRAMES;
    Dl_info place;

    if (!frames_request(thread)) {
        fprintf(out, "    (the thread does not print its stack)\n");
        return;
    }
    while (first < depth && dladdr(frames_at(first), &place) && place.dli_fname &&
           frames_is_below_driver(frames_file_name(place.dli_fname))) {
        called = place.dli_sname ? place.dli_sname : called;
        first++;
    }
    if (first == depth)
        first = HANDLER_FRAMES;
    else if (called)
        fprintf(out, "    %s called by\n", called);
    for (int i = first; i < depth; i++)
        frames_print_line(out, i - first, frames_at(i));
}
