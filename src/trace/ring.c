/* SPDX-License-Identifier: MIT */
/*
 * Appends events to the segments of a mapped file. The invariant: a segment has at most one writer, the thread that has
 * set its `owned`. So an event needs only plain stores, and then one release store to `committed`.
 *
 * A thread takes over a segment when it records its first event, and when its segment is full. Segments are used in
 * turn, so the next one has the oldest events. A segment that a thread still owns is skipped. If the segment of a
 * thread that ends has room left, the next thread that needs a segment continues it. If all segments are owned, the
 * event is lost and counted.
 *
 * Readers can read at any time. `sequence` is 0 while a segment is being taken over, and gets a new number before the
 * first event. A reader that finds the same number before and after its copy has read a consistent segment.
 *
 * A writer relies only on private memory, not on the content of the mapping, because another process may write to the
 * file.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "trace/ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fork.h"
#include "trace/trace.h"

static atomic_bool ring_on;

struct ring_owner {
    atomic_bool owned;
    uint32_t used; /* number of bytes of events when the last owner left the segment; guarded by `owned` */
};

static struct {
    struct trace_file_header *file;
    uint8_t *segments;
    uint32_t segment_count;
    struct ring_owner *owners; /* one element for each segment */
    /*
     * The number of tries to take over a segment so far. The next try is for the segment with the index next %
     * segment_count.
     */
    _Atomic uint64_t next;
    _Atomic uint64_t sequence;   /* the latest sequence number that a segment has got */
    _Atomic uint32_t left_over;  /* 1 + index of a segment whose thread has ended; 0: none */
    pthread_key_t on_thread_end; /* destructor of this key releases the segment of a thread that ends */
} ring;

/* The segment of one thread. */
struct ring_writer {
    uint8_t *at, *end; /* place of the next event, and end of the segment; both are NULL if the thread has no segment */
    struct trace_segment *segment;
    uint32_t index;
    unsigned generation; /* fork_generation of the process that took over the segment; a child must not use *segment */
};

static _Thread_local struct ring_writer ring_writer;

/* ---- segments ---- */

static uint32_t ring_used(const struct ring_writer *w)
{
    return (uint32_t)(w->at - (uint8_t *)(w->segment + 1));
}

static bool ring_try_own(uint32_t index)
{
    bool is_free = false;

    return atomic_compare_exchange_strong_explicit(&ring.owners[index].owned, &is_free, true, memory_order_acquire,
                                                   memory_order_relaxed);
}

/*
 * Ends the thread's ownership of the writer's segment. `has_ended` is true if the thread ends. The next thread that
 * needs a segment then continues this one.
 */
static void ring_release(struct ring_writer *w, bool has_ended)
{
    struct ring_owner *owner = &ring.owners[w->index];

    owner->used = ring_used(w);
    atomic_store_explicit(&owner->owned, false, memory_order_release);
    if (has_ended)
        atomic_store_explicit(&ring.left_over, w->index + 1, memory_order_relaxed);
    w->at = w->end = NULL;
}

static void ring_use(struct ring_writer *w, uint32_t index, uint32_t used)
{
    w->segment = (struct trace_segment *)(ring.segments + (size_t)index * TRACE_SEGMENT_SIZE);
    w->at = (uint8_t *)(w->segment + 1) + used;
    w->end = (uint8_t *)w->segment + TRACE_SEGMENT_SIZE;
    w->index = index;
    w->generation = fork_generation();
}

/* Empties the writer's segment and gives it a new sequence number. */
static void ring_begin_segment(struct ring_writer *w)
{
    struct trace_segment *s = w->segment;
    uint64_t sequence = atomic_fetch_add_explicit(&ring.sequence, 1, memory_order_relaxed) + 1;

    atomic_store_explicit(&s->sequence, 0, memory_order_relaxed);
    atomic_store_explicit(&s->committed, 0, memory_order_relaxed);
    /*
     * A reader that has read a byte of a new event must not read the old sequence number afterwards. New events are
     * written with plain stores. This fence orders them after the two stores above.
     */
    __sync_synchronize();
    atomic_store_explicit(&s->sequence, sequence, memory_order_release);
}

/*
 * Takes over the segment of a thread that has ended, and continues it. Returns false if there is none, or if fewer than
 * `room` bytes are left.
 */
static bool ring_acquire_left_over(struct ring_writer *w, size_t room)
{
    uint32_t left_over = atomic_load_explicit(&ring.left_over, memory_order_relaxed);

    if (!left_over)
        return false;
    left_over = atomic_exchange_explicit(&ring.left_over, 0, memory_order_relaxed);
    if (!left_over || !ring_try_own(left_over - 1))
        return false;
    ring_use(w, left_over - 1, ring.owners[left_over - 1].used);
    if ((size_t)(w->end - w->at) >= room)
        return true;
    ring_release(w, false);
    return false;
}

/*
 * Takes over a segment that no thread owns. If there are several, takes over the one with the oldest events. Returns
 * false if all segments are owned.
 */
static bool ring_acquire_oldest(struct ring_writer *w)
{
    for (uint32_t tries = 0; tries < ring.segment_count; tries++) {
        uint64_t turn = atomic_fetch_add_explicit(&ring.next, 1, memory_order_relaxed);
        uint32_t index = (uint32_t)(turn % ring.segment_count);

        if (ring_try_own(index)) {
            ring_use(w, index, 0);
            ring_begin_segment(w);
            return true;
        }
    }
    return false;
}

/* ---- events ---- */

static size_t ring_event_size(size_t fields)
{
    return (sizeof(struct trace_event) + fields + TRACE_ALIGNMENT - 1) & ~(size_t)(TRACE_ALIGNMENT - 1);
}

/*
 * Writes an event to the writer's segment: its fields, and `len` bytes that follow the fields. Requires that the
 * segment has room for the event.
 */
static inline void ring_write(struct ring_writer *w, uint64_t time_ns, uint16_t type, uint32_t id, const void *fields,
                              size_t size, const void *bytes, size_t len)
{
    struct trace_event *e = (struct trace_event *)w->at;
    size_t total = ring_event_size(size + len);

    *e = (struct trace_event){ .size = (uint16_t)total, .type = type, .id = id, .time_ns = time_ns };
    memcpy(e + 1, fields, size);
    if (len)
        memcpy((uint8_t *)(e + 1) + size, bytes, len);
    memset((uint8_t *)(e + 1) + size + len, 0, total - sizeof *e - size - len);
    w->at += total;
    atomic_store_explicit(&w->segment->committed, ring_used(w), memory_order_release);
}

static void ring_write_thread(struct ring_writer *w, uint64_t time_ns)
{
    struct trace_fields_thread fields = { .thread = (uint32_t)syscall(SYS_gettid) };
    char name[16] = "";

    (void)pthread_getname_np(pthread_self(), name, sizeof name);
    fields.name = trace_text16(name);
    ring_write(w, time_ns, TRACE_TYPE_thread, 0, &fields, sizeof fields, NULL, 0);
}

/*
 * Takes over a segment with room for an event of `total` bytes, and appends a thread event with the time `time_ns`.
 * Returns false if nothing is recorded or no segment is free.
 */
static __attribute__((noinline)) bool ring_make_room(struct ring_writer *w, uint64_t time_ns, size_t total)
{
    if (!atomic_load_explicit(&ring_on, memory_order_acquire)) /* makes the stores of ring_start visible */
        return false;
    if (w->at && w->generation == fork_generation())
        ring_release(w, false);
    w->at = w->end = NULL;
    total += ring_event_size(sizeof(struct trace_fields_thread));
    if (!ring_acquire_left_over(w, total) && !ring_acquire_oldest(w)) {
        atomic_fetch_add_explicit(&ring.file->lost, 1, memory_order_relaxed);
        return false;
    }
    /* If this call fails, nothing releases the segment when the thread ends. */
    (void)pthread_setspecific(ring.on_thread_end, w);
    ring_write_thread(w, time_ns);
    return true;
}

void ring_append(uint64_t time_ns, uint16_t type, uint32_t id, const void *fields, size_t size, const void *bytes,
                 size_t len)
{
    struct ring_writer *w = &ring_writer;
    size_t total = ring_event_size(size + len);

    if (!atomic_load_explicit(&ring_on, memory_order_relaxed))
        return;
    if ((size_t)(w->end - w->at) < total || w->generation != fork_generation()) {
        if (!ring_make_room(w, time_ns, total))
            return;
    }
    ring_write(w, time_ns, type, id, fields, size, bytes, len);
}

/* ---- beginning and end ---- */

static void ring_handle_thread_end(void *argument)
{
    struct ring_writer *w = argument;

    if (w->at && w->generation == fork_generation())
        ring_release(w, true);
}

/* Stops the recording in a child of fork, before fork returns, because the file belongs to the parent. */
static void ring_stop_in_child(void)
{
    atomic_store(&ring_on, false);
}

/* Deletes the key when the library is unloaded, because the key's destructor is then no longer in memory. */
__attribute__((destructor)) static void ring_unload(void)
{
    if (ring.file)
        (void)pthread_key_delete(ring.on_thread_end);
}

bool ring_is_on(void)
{
    return atomic_load_explicit(&ring_on, memory_order_acquire);
}

bool ring_start(struct trace_file_header *file)
{
    struct ring_owner *owners = calloc(file->segment_count, sizeof *owners);

    /*
     * If ring.file is set, this process is a child of fork. It keeps the parent's key of thread-specific data. It
     * replaces the parent's array of owners, and does not free that array.
     */
    if (!owners || (!ring.file && pthread_key_create(&ring.on_thread_end, ring_handle_thread_end))) {
        free(owners);
        return false;
    }
    ring.segments = (uint8_t *)file + file->header_size;
    ring.segment_count = file->segment_count;
    ring.owners = owners;
    atomic_store(&ring.next, 0);
    atomic_store(&ring.sequence, 0);
    atomic_store(&ring.left_over, 0);
    ring.file = file;
    fork_on_child(ring_stop_in_child);
    atomic_store(&ring_on, true);
    return true;
}
