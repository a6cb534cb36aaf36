/* SPDX-License-Identifier: MIT */
/*
 * The calls and callbacks that each thread is in, and the line that is held back. When a call begins, its line is held
 * back, and is written together with the result when the call returns. If anything else is printed before the return,
 * or LIVE_HOLD_MS have passed, the line is written without the result, and the result gets a line of its own. So the
 * lines are in the order of time, and at most one line is held back.
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

/* A call or a callback that has begun. */
struct live_frame {
    uint16_t type; /* the number of its event */
    bool is_callback;
    bool is_visible; /* the filter has passed it */
    uint64_t object;
    struct live_name name;     /* of the object */
    struct trace_text16 label; /* if the object has no name */
    uint64_t begin_ns;
};

struct live_thread {
    bool is_used;
    unsigned depth;    /* the number of frames */
    unsigned too_deep; /* calls in progress that began while all frames were in use */
    struct live_frame frames[LIVE_MAX_FRAMES];
};

/* Returns the calling thread's entry. If it has none, returns a new one if `may_begin`, else NULL. */
struct live_thread *live_thread_get(bool may_begin);
/* Returns the entry to the pool if the thread is in no call. */
void live_thread_put(struct live_thread *t);
/* Returns the number of frames that are visible. t may be NULL. */
unsigned live_thread_indent(const struct live_thread *t);

/* Adds a frame and returns it. Returns NULL if there are too many. */
struct live_frame *live_thread_push(struct live_thread *t);
/* Returns the innermost frame of a call of this type on this object, or NULL. Drops the frames inside of it. */
struct live_frame *live_thread_find(struct live_thread *t, uint16_t type, uint64_t object);
/* Returns the innermost frame of a callback with this object, or NULL. Drops the frames inside of it. */
struct live_frame *live_thread_find_callback(struct live_thread *t, uint64_t object);
/* If any thread is in a call of this type on this object, returns when the call began. Otherwise returns 0. */
uint64_t live_thread_find_begin(uint16_t type, uint64_t object);
/* Returns whether the thread is in a call of this type on this object. */
bool live_thread_is_in(const struct live_thread *t, uint16_t type, uint64_t object);

/* ---- the line that is held back ---- */

/* Holds the line of this frame back. None must be held back. */
void live_keep_line(const struct live_frame *f, const struct live_text *line);
/* If the line of this frame is held back, returns the line and no longer holds it back. Otherwise returns NULL. */
struct live_text *live_pop_line(const struct live_frame *f);
/* If a line is held back whose call began before this time, writes the line and marks it as unfinished. */
void live_flush_line(uint64_t before_ns);

#endif
