/* SPDX-License-Identifier: MIT */
/* Stores the calls that threads are in: see thread.h. An entry is in use only while its thread is in a call. */
#include "live/thread.h"

#include <stddef.h>

static struct live_thread live_threads[LIVE_THREADS];
static _Thread_local struct live_thread *live_thread_current;

struct live_thread *live_thread_get(bool may_begin)
{
    if (live_thread_current || !may_begin)
        return live_thread_current;
    for (unsigned i = 0; i < LIVE_THREADS; i++) {
        struct live_thread *t = &live_threads[i];

        if (t->is_used)
            continue;
        t->is_used = true;
        t->depth = t->too_deep = 0;
        live_thread_current = t;
        return t;
    }
    return NULL;
}

void live_thread_put(struct live_thread *t)
{
    if (!t || t->depth)
        return;
    t->is_used = false;
    live_thread_current = NULL;
}

unsigned live_thread_indent(const struct live_thread *t)
{
    unsigned visible = 0;

    for (unsigned i = 0; t && i < t->depth; i++)
        visible += t->frames[i].is_visible;
    return visible;
}

struct live_frame *live_thread_push(struct live_thread *t)
{
    if (t->depth == LIVE_MAX_FRAMES) {
        t->too_deep++;
        return NULL;
    }
    return &t->frames[t->depth++];
}

/* Removes the frames inside frame `i`: their calls ended by an exception, without a return. Returns frame `i`. */
static struct live_frame *live_thread_unwind(struct live_thread *t, unsigned i)
{
    if (i + 1 < t->depth)
        live_flush_line(UINT64_MAX);
    t->depth = i + 1;
    return &t->frames[i];
}

/* Counts the return of a call that has no frame. Returns false if all calls in progress have frames. */
static bool live_thread_pop_frameless(struct live_thread *t)
{
    if (!t->too_deep)
        return false;
    t->too_deep--;
    return true;
}

struct live_frame *live_thread_find(struct live_thread *t, uint16_t type, uint64_t object)
{
    if (live_thread_pop_frameless(t))
        return NULL;
    for (unsigned i = t->depth; i-- > 0;)
        if (t->frames[i].type == type && t->frames[i].object == object)
            return live_thread_unwind(t, i);
    return NULL;
}

struct live_frame *live_thread_find_callback(struct live_thread *t, uint64_t object)
{
    if (live_thread_pop_frameless(t))
        return NULL;
    for (unsigned i = t->depth; i-- > 0;)
        if (t->frames[i].is_callback && t->frames[i].object == object)
            return live_thread_unwind(t, i);
    return NULL;
}

uint64_t live_thread_find_begin(uint16_t type, uint64_t object)
{
    for (unsigned i = 0; i < LIVE_THREADS; i++) {
        const struct live_thread *t = &live_threads[i];

        for (unsigned k = 0; t->is_used && k < t->depth; k++)
            if (t->frames[k].type == type && t->frames[k].object == object && !t->frames[k].is_callback)
                return t->frames[k].begin_ns;
    }
    return 0;
}

bool live_thread_is_in(const struct live_thread *t, uint16_t type, uint64_t object)
{
    for (unsigned i = 0; t && i < t->depth; i++)
        if (t->frames[i].type == type && t->frames[i].object == object)
            return true;
    return false;
}

/* ---- the line that is held back ---- */

static struct {
    const struct live_frame *frame; /* frame of the line that is held back; NULL: none is held back */
    struct live_text line;
} live_held;

void live_keep_line(const struct live_frame *f, const struct live_text *line)
{
    live_held.frame = f;
    live_held.line = *line;
}

struct live_text *live_pop_line(const struct live_frame *f)
{
    if (live_held.frame != f)
        return NULL;
    live_held.frame = NULL;
    return &live_held.line;
}

void live_flush_line(uint64_t before_ns)
{
    if (!live_held.frame || live_held.frame->begin_ns >= before_ns)
        return;
    live_held.frame = NULL;
    live_text_add(&live_held.line, " ...");
    live_text_write(&live_held.line);
}
