/* SPDX-License-Identifier: MIT */
/*
 * Stores the calls and callbacks in which each thread is, and the line that is held back. When a call begins, its line
 * is held back. When the call returns, the line is written together with the result. If anything else is printed before
 * the return, or LIVE_HOLD_MS have passed, the line is written without the result, and the result has its own line. So
 * the lines are in the order of time, and at most one line is held back.
 *
 * All functions require the lock of print.c.
 */
#ifndef LIVE_THREAD_H
#define LIVE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "live/object.h"
#include "live/text.h"
#include "trace/events.h"

enum { LIVE_THREADS = 128, LIVE_MAX_FRAMES = 16, LIVE_HOLD_MS = 500 };

/* A call or callback that has begun and not returned. */
struct live_frame {
    uint16_t type; /* number of the event that has begun the call or callback */
    bool is_callback;
    bool is_visible; /* the filter has selected it */
    uint64_t object;
    struct live_name name;     /* short name of the object */
    struct trace_text16 label; /* printed in place of the name, if the object has no name */
    uint64_t begin_ns;
};

struct live_thread {
    bool is_used;
    unsigned depth;    /* number of frames */
    unsigned too_deep; /* number of calls in progress without a frame, because all frames were in use */
    struct live_frame frames[LIVE_MAX_FRAMES];
};

/*
 * Returns the entry of the calling thread. If the thread has no entry and `may_begin` is true, allocates one. Returns
 * NULL if there is no entry.
 */
struct live_thread *live_thread_get(bool may_begin);
/* Frees the entry if its thread is in no call. */
void live_thread_put(struct live_thread *t);
/* Returns the number of visible frames. t may be NULL. */
unsigned live_thread_indent(const struct live_thread *t);

/* Adds a frame and returns it. Returns NULL if all frames are in use. */
struct live_frame *live_thread_push(struct live_thread *t);
/*
 * Returns the innermost frame of a call of this type on this object, and removes the frames inside of it. Returns NULL
 * if there is no such frame.
 */
struct live_frame *live_thread_find(struct live_thread *t, uint16_t type, uint64_t object);
/*
 * Returns the innermost frame of a callback about this object, and removes the frames inside of it. Returns NULL if
 * there is no such frame.
 */
struct live_frame *live_thread_find_callback(struct live_thread *t, uint64_t object);
/*
 * Returns the time at which a call of this type on this object began, in any thread. Returns 0 if no thread is in such
 * a call.
 */
uint64_t live_thread_find_begin(uint16_t type, uint64_t object);
/* Returns true if the thread is in a call of this type on this object. t may be NULL. */
bool live_thread_is_in(const struct live_thread *t, uint16_t type, uint64_t object);

/* ---- the line that is held back ---- */

/* Holds back the line of the frame `f`. Requires that no other line is held back. */
void live_keep_line(const struct live_frame *f, const struct live_text *line);
/* If the line of the frame `f` is held back, returns it. It is then no longer held back. Otherwise returns NULL. */
struct live_text *live_pop_line(const struct live_frame *f);
/* Writes the line that is held back, marked as unfinished, if its call has begun before `before_ns`. */
void live_flush_line(uint64_t before_ns);

#endif
