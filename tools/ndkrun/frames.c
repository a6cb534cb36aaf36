/* SPDX-License-Identifier: MIT */
/*
 * Prints the stacks of threads: see frames.h. A thread that is running captures its stack itself, in a signal handler.
 * The invariant: a handler that runs after its requester has stopped waiting changes nothing that a later request uses.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "frames.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verify/thread_frames.h"

enum { MAX_FRAMES = 48, HANDLER_FRAMES = 2, ANSWER_STEP_MS = 20, ANSWER_STEPS = 50, RUNNING_TRIES = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `frames` and `depth`, and serializes requests */
static void *frames[MAX_FRAMES];
static int depth;

/*
 * The request to a thread to capture its stack. `request` is the thread's ID times four, plus one of the states below.
 * The requester sets REQUESTED. The thread's signal handler changes REQUESTED to CAPTURING, fills the two variables
 * below, and sets CAPTURED. When the requester stops waiting, it changes REQUESTED to 0. A handler that does not find
 * REQUESTED with its own thread's ID does nothing, because the request is over.
 */
static atomic_long request;
enum { REQUESTED = 1, CAPTURING, CAPTURED, STATES };
static void *captured[MAX_FRAMES];
static int captured_depth;

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

static long frames_word(int thread, int state)
{
    return (long)thread * STATES + state;
}

static bool frames_step(long from, long to)
{
    return atomic_compare_exchange_strong(&request, &from, to);
}

static void frames_capture(int number)
{
    int saved = errno, thread = gettid();

    (void)number;
    if (frames_step(frames_word(thread, REQUESTED), frames_word(thread, CAPTURING))) {
        captured_depth = backtrace(captured, MAX_FRAMES);
        atomic_store(&request, frames_word(thread, CAPTURED));
    }
    errno = saved;
}

/* Begins a request. Returns false if the thread of an earlier request is still inside the handler. */
static bool frames_begin(int thread)
{
    long before = atomic_load(&request);

    return before % STATES != CAPTURING && frames_step(before, frames_word(thread, REQUESTED));
}

/* Waits until the thread has captured its stack, and copies the stack to `frames`. Returns false after a second. */
static bool frames_wait(int thread)
{
    long done = frames_word(thread, CAPTURED);

    for (int i = 0; i < ANSWER_STEPS && atomic_load(&request) != done; i++)
        poll(NULL, 0, ANSWER_STEP_MS);
    if (atomic_load(&request) != done)
        return false;
    memcpy(frames, captured, sizeof frames);
    depth = captured_depth;
    return true;
}

/*
 * Makes the thread capture its stack in a handler of the signal `number`, and copies the stack to `frames`. Returns
 * false if the thread does not answer within a second; a later answer has no effect. Requires the lock.
 */
static bool frames_request(int thread, int number)
{
    struct sigaction action = { .sa_handler = frames_capture, .sa_flags = SA_RESTART };
    void *first[1];
    bool is_captured;

    (void)backtrace(first, 1); /* loads the unwinder now, because a signal handler must not load it */
    if (!frames_begin(thread))
        return false;
    is_captured = !sigaction(number, &action, NULL) && !syscall(SYS_tgkill, getpid(), thread, number) &&
                  frames_wait(thread);
    (void)frames_step(frames_word(thread, REQUESTED), 0);
    return is_captured;
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
 * Returns an address inside the instruction at which frame `i` stopped. frames[innermost] is such an address. frames[i]
 * of an outer frame is a return address, which is just after the call instruction, so the function subtracts 1.
 */
static const char *frames_at(int i, int innermost)
{
    return (const char *)frames[i] - (i > innermost);
}

/* Prints the frames from frames[innermost] on, beginning with the driver's innermost function. */
static void frames_print(FILE *out, int innermost)
{
    const char *called = NULL;
    int first = innermost;
    Dl_info place;

    while (first < depth && dladdr(frames_at(first, innermost), &place) && place.dli_fname &&
           frames_is_below_driver(frames_file_name(place.dli_fname))) {
        called = place.dli_sname ? place.dli_sname : called;
        first++;
    }
    if (first == depth)
        first = innermost;
    else if (called)
        fprintf(out, "    %s called by\n", called);
    for (int i = first; i < depth; i++)
        frames_print_line(out, i - first, frames_at(i, innermost));
}

void frames_print_thread(FILE *out, int thread)
{
    pthread_mutex_lock(&lock);
    if (frames_request(thread, SIGURG))
        frames_print(out, HANDLER_FRAMES);
    else
        fprintf(out, "    (the thread does not print its stack)\n");
    pthread_mutex_unlock(&lock);
}

/* ---- All threads ------------------------------------------------------------------------------------------------ */

/*
 * Copies the stack of a thread of this process to `frames`. Sets *innermost to the index of the thread's innermost
 * function. If the thread is running, sets *runs to true and sends SIGPROF. The thread then captures its stack itself,
 * in the signal's handler. OpenNDK's threads do not block SIGPROF. Returns false if the stack could not be captured.
 */
static bool frames_capture_task(int thread, bool *runs, int *innermost)
{
    *runs = false;
    *innermost = 0;
    for (int i = 0; i < RUNNING_TRIES; i++) {
        depth = thread_frames(thread, frames, MAX_FRAMES);
        if (depth != THREAD_FRAMES_RUNS)
            return depth > 0;
        poll(NULL, 0, 1);
    }
    *runs = true;
    *innermost = HANDLER_FRAMES;
    return frames_request(thread, SIGPROF);
}

/* Returns true if one of the captured frames is in a module with the file name of one of these files. */
static bool frames_are_in(const char *const *files, uint32_t count, int innermost)
{
    Dl_info place;

    for (int i = innermost; i < depth; i++) {
        if (!dladdr(frames_at(i, innermost), &place) || !place.dli_fname)
            continue;
        for (uint32_t k = 0; k < count; k++)
            if (!strcmp(frames_file_name(files[k]), frames_file_name(place.dli_fname)))
                return true;
    }
    return false;
}

uint32_t frames_print_drivers(FILE *out, const char *const *files, uint32_t count)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    uint32_t n = 0;
    bool runs;
    int innermost;

    pthread_mutex_lock(&lock);
    while (tasks && (task = readdir(tasks))) {
        int thread = atoi(task->d_name);

        if (thread <= 0 || thread == gettid() || !frames_capture_task(thread, &runs, &innermost) ||
            !frames_are_in(files, count, innermost))
            continue;
        fprintf(out, "  thread %d %s in:\n", thread, runs ? "runs" : "waits");
        frames_print(out, innermost);
        n++;
    }
    pthread_mutex_unlock(&lock);
    if (tasks)
        closedir(tasks);
    return n;
}
