/* SPDX-License-Identifier: MIT */
/* Reads trace files: see trace_file.h. */
#include "trace_reader/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 224,
    SEGMENT_HEADER = 16,
    EVENT_HEADER = 16,
    MAX_SCHEMA = 1 << 20,
    MAX_SEGMENT = 1 << 24,
    MAX_SEGMENTS = 1 << 20,
    MAX_TRIES = 100, /* maximum number of tries to copy a segment that is overwritten meanwhile */
    EVENT_THREAD = 1,
};

static uint32_t trace_get32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t trace_get64(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

/*
 * Reads up to `size` bytes at the file's offset `offset`. Returns the number of bytes that were read. This is less than
 * `size` at the end of the file or after an error.
 */
static size_t trace_pread(const struct trace_file *f, void *to, size_t size, uint64_t offset)
{
    size_t got = 0;

    while (got < size) {
        ssize_t n = pread(f->fd, (char *)to + got, size - got, (off_t)(offset + got));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return got;
}

/* ---- header ---- */

static bool trace_file_fail(char *error, size_t room, const char *why)
{
    snprintf(error, room, "%s", why);
    return false;
}

static bool trace_file_read_schema(struct trace_file *f, const uint8_t *header, char *error, size_t room)
{
    uint32_t offset = trace_get32(header + 28), size = trace_get32(header + 32);
    char *text;
    size_t got;
    bool ok;

    if (size > MAX_SCHEMA)
        return trace_file_fail(error, room, "damaged: its schema is too long");
    text = malloc(size + 1);
    if (!text)
        return trace_file_fail(error, room, "out of memory");
    got = trace_pread(f, text, size, offset);
    text[got] = '\0';
    ok = schema_parse(&f->schema, text, strlen(text));
    free(text);
    return ok || trace_file_fail(error, room, "out of memory");
}

static bool trace_file_read_header(struct trace_file *f, char *error, size_t room)
{
    uint8_t header[HEADER_BYTES];

    if (trace_pread(f, header, sizeof header, 0) != sizeof header || memcmp(header, "ONDKTRCE", 8) != 0)
        return trace_file_fail(error, room, "not a trace file");
    if (trace_get32(header + 8) != 0x01020304)
        return trace_file_fail(error, room, "a trace file of a machine with another byte order");
    if (trace_get32(header + 12) != 1)
        return trace_file_fail(error, room, "a trace file of a newer version");
    f->header_size = trace_get32(header + 16);
    f->segment_size = trace_get32(header + 20);
    f->segment_count = trace_get32(header + 24);
    f->pid = trace_get32(header + 36);
    f->realtime_ns = trace_get64(header + 40);
    f->monotonic_ns = trace_get64(header + 48);
    f->lost = trace_get64(header + 56);
    memcpy(f->program, header + 64, 64);
    memcpy(f->host, header + 128, 64);
    memcpy(f->library, header + 192, 32);
    if (f->segment_size < SEGMENT_HEADER || f->segment_size > MAX_SEGMENT || f->segment_count > MAX_SEGMENTS)
        return trace_file_fail(error, room, "damaged: its segments have an impossible size or number");
    return trace_file_read_schema(f, header, error, room);
}

/*
 * Initializes *f from the file's header. Requires that f->fd and f->is_borrowed are set. On failure, closes *f, writes
 * the reason to `error` and returns false.
 */
static bool trace_file_init(struct trace_file *f, char *error, size_t room)
{
    if (!trace_file_read_header(f, error, room)) {
        trace_file_close(f);
        return false;
    }
    f->states = calloc(f->segment_count + 1, sizeof *f->states);
    f->copy = malloc(f->segment_size);
    if (f->states && f->copy)
        return true;
    trace_file_close(f);
    return trace_file_fail(error, room, "out of memory");
}

bool trace_file_open_fd(struct trace_file *f, int fd, char *error, size_t room)
{
    *f = (struct trace_file){ .fd = fd, .path = "" };
    return trace_file_init(f, error, room);
}

bool trace_file_borrow_fd(struct trace_file *f, int fd, char *error, size_t room)
{
    *f = (struct trace_file){ .fd = fd, .is_borrowed = true, .path = "" };
    return trace_file_init(f, error, room);
}

bool trace_file_open(struct trace_file *f, const char *path, char *error, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat now;

    if (fd < 0)
        return trace_file_fail(error, room, strerror(errno));
    if (fstat(fd, &now) || !S_ISREG(now.st_mode)) {
        close(fd);
        return trace_file_fail(error, room, "not a file");
    }
    if (!trace_file_open_fd(f, fd, error, room))
        return false;
    f->path = path;
    return true;
}

void trace_file_close(struct trace_file *f)
{
    schema_free(&f->schema);
    free(f->states);
    free(f->copy);
    free(f->threads);
    if (!f->is_borrowed)
        close(f->fd);
    f->states = NULL;
    f->copy = NULL;
    f->threads = NULL;
    f->n_threads = 0;
    f->fd = -1;
}

/* ---- events ---- */

static bool records_add(struct trace_records *r, const struct trace_record *record)
{
    size_t room = r->room ? 2 * r->room : 1024;
    struct trace_record *grown;

    if (r->count == r->room) {
        grown = reallocarray(r->records, room, sizeof *grown);
        if (!grown)
            return false;
        r->records = grown;
        r->room = room;
    }
    r->records[r->count] = *record;
    r->records[r->count].order = r->count;
    r->count++;
    return true;
}

/* Copies the bytes to memory that exists as long as the records. Returns the copy, or NULL if out of memory. */
static uint8_t *records_copy(struct trace_records *r, const uint8_t *bytes, size_t size)
{
    uint8_t **copies = reallocarray(r->copies, r->n_copies + 1, sizeof *copies), *copy;

    if (!copies)
        return NULL;
    r->copies = copies;
    copy = malloc(size ? size : 1);
    if (!copy)
        return NULL;
    memcpy(copy, bytes, size);
    copies[r->n_copies++] = copy;
    return copy;
}

/*
 * Parses the event at bytes + *at, and adds the event's size to *at. `bytes` has `size` bytes. Returns false if *at is
 * `size`, or if no complete event begins at bytes + *at.
 */
static bool segment_next(const struct trace_file *f, const uint8_t *bytes, size_t size, size_t *at,
                         struct trace_record *r)
{
    uint16_t total, number;

    if (size - *at < EVENT_HEADER)
        return false;
    memcpy(&total, bytes + *at, sizeof total);
    if (total < EVENT_HEADER || total % 8 || total > size - *at)
        return false;
    memcpy(&number, bytes + *at + 2, sizeof number);
    r->number = number;
    r->id = trace_get32(bytes + *at + 4);
    r->time_ns = trace_get64(bytes + *at + 8);
    r->size = (uint32_t)total - EVENT_HEADER;
    r->fields = bytes + *at + EVENT_HEADER;
    r->event = schema_find(&f->schema, number);
    *at += total;
    return true;
}

/* If the record is a thread event, sets *thread to the thread that recorded the next events, and returns true. */
static bool segment_handle_thread(const struct trace_record *r, uint32_t *thread)
{
    if (r->number != EVENT_THREAD || r->size < sizeof *thread)
        return false;
    *thread = trace_get32(r->fields);
    return true;
}

/* Stores the name of a thread. `r` is a thread event, which has the thread's ID and name. */
static void trace_file_name_thread(struct trace_file *f, const struct trace_record *r)
{
    uint32_t thread = trace_get32(r->fields);
    size_t len = r->size - sizeof thread, i = 0;
    struct trace_thread *grown = f->threads;

    while (i < f->n_threads && f->threads[i].id != thread)
        i++;
    if (i == TRACE_FILE_MAX_THREADS)
        return;
    if (i == f->n_threads)
        grown = reallocarray(f->threads, f->n_threads + 1, sizeof *grown);
    if (!grown)
        return; /* out of memory: the thread stays without a name */
    f->threads = grown;
    f->n_threads += i == f->n_threads;
    len = len < TRACE_FILE_THREAD_NAME - 1 ? len : TRACE_FILE_THREAD_NAME - 1;
    grown[i] = (struct trace_thread){ .id = thread };
    memcpy(grown[i].name, r->fields + sizeof thread, len);
}

/*
 * Appends the events in bytes[0] to bytes[size - 1] to *out. If these bytes do not end with a complete event, sets
 * state->is_damaged to true. Returns false if out of memory.
 */
static bool segment_parse(struct trace_file *f, struct trace_segment_state *state, const uint8_t *bytes, size_t size,
                          struct trace_records *out)
{
    struct trace_record r = { .file = f };
    size_t at = 0;

    while (segment_next(f, bytes, size, &at, &r)) {
        r.thread = state->thread;
        if (segment_handle_thread(&r, &state->thread))
            trace_file_name_thread(f, &r);
        else if (!records_add(out, &r))
            return false;
    }
    state->is_damaged = at < size;
    return true;
}

/*
 * Copies the events of the segment to f->copy. Returns their size in bytes. Returns 0 if the segment has no events
 * newer than *state, if it is overwritten again and again, or if it begins after the end of the file.
 */
static size_t segment_copy(struct trace_file *f, uint32_t index, const struct trace_segment_state *state,
                           uint64_t *sequence)
{
    uint64_t offset = f->header_size + (uint64_t)index * f->segment_size;

    for (int tries = 0; tries < MAX_TRIES; tries++) {
        uint8_t header[SEGMENT_HEADER], again[SEGMENT_HEADER];
        size_t size = f->segment_size - SEGMENT_HEADER;

        if (trace_pread(f, header, sizeof header, offset) != sizeof header)
            return 0;
        *sequence = trace_get64(header);
        if (trace_get32(header + 8) < size)
            size = trace_get32(header + 8);
        if (*sequence == 0 || (*sequence == state->sequence && size <= state->used))
            return 0;
        __sync_synchronize(); /* barrier: the size is read first, then the events */
        size = trace_pread(f, f->copy, size, offset + SEGMENT_HEADER);
        __sync_synchronize(); /* barrier: the events are read first, then the header again */
        /*
         * While threads append events to the segment, the sequence number stays the same and the size only grows.
         * After any other change, the segment has been emptied, and the copy may mix old and new events.
         */
        if (trace_pread(f, again, sizeof again, offset) == sizeof again && trace_get64(again) == *sequence &&
            trace_get32(again + 8) >= trace_get32(header + 8))
            return size;
    }
    return 0;
}

static bool segment_read(struct trace_file *f, uint32_t index, struct trace_records *out)
{
    struct trace_segment_state *state = &f->states[index];
    uint64_t sequence;
    size_t size = segment_copy(f, index, state, &sequence), end;
    struct trace_record r;
    uint8_t *fresh;
    bool ok = true;

    if (size == 0)
        return true;
    if (sequence != state->sequence)
        *state = (struct trace_segment_state){ .sequence = sequence };
    if (size <= state->used || state->is_damaged)
        return true;
    for (end = state->used; segment_next(f, f->copy, size, &end, &r);)
        ; /* finds the end of the valid events; the bytes after that end are damaged, so they are not copied */
    if (end > state->used) {
        fresh = records_copy(out, f->copy + state->used, end - state->used);
        ok = fresh && segment_parse(f, state, fresh, end - state->used, out);
    }
    state->is_damaged = end < size;
    state->used = (uint32_t)size;
    f->damaged += state->is_damaged;
    return ok;
}

bool trace_file_read(struct trace_file *f, struct trace_records *out)
{
    uint8_t lost[8];
    struct stat now;

    if (trace_pread(f, lost, sizeof lost, 56) == sizeof lost)
        f->lost = trace_get64(lost);
    f->missing = 0;
    for (uint32_t i = 0; i < f->segment_count; i++) {
        uint64_t end = f->header_size + (uint64_t)(i + 1) * f->segment_size;

        if (!segment_read(f, i, out))
            return false;
        if (fstat(f->fd, &now) == 0 && (uint64_t)now.st_size < end) {
            f->missing = f->segment_count - i;
            break;
        }
    }
    return true;
}

void trace_file_for_each(struct trace_file *f, trace_visit visit, void *context)
{
    static const struct trace_segment_state unread;
    struct trace_record r = { .file = f };
    uint64_t sequence;

    for (uint32_t i = 0; i < f->segment_count; i++) {
        size_t size = segment_copy(f, i, &unread, &sequence), at = 0;

        r.thread = 0;
        while (segment_next(f, f->copy, size, &at, &r)) {
            r.order = (uint64_t)i * f->segment_size + at;
            if (!segment_handle_thread(&r, &r.thread))
                visit(context, &r);
        }
    }
}

static bool trace_pwrite(int out, const void *from, size_t size, uint64_t offset)
{
    size_t put = 0;

    while (put < size) {
        ssize_t n = pwrite(out, (const char *)from + put, size - put, (off_t)(offset + put));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        put += (size_t)n;
    }
    return true;
}

/* Copies the header and the schema, which never change. Returns false if a write failed. */
static bool trace_file_save_header(const struct trace_file *f, int out)
{
    char part[4096];

    for (uint64_t at = 0; at < f->header_size;) {
        size_t left = f->header_size - at < sizeof part ? (size_t)(f->header_size - at) : sizeof part;
        size_t size = trace_pread(f, part, left, at);

        if (size == 0)
            break;
        if (!trace_pwrite(out, part, size, at))
            return false;
        at += size;
    }
    return true;
}

bool trace_file_save(struct trace_file *f, int out)
{
    static const struct trace_segment_state unread;

    if (!trace_file_save_header(f, out))
        return false;
    for (uint32_t i = 0; i < f->segment_count; i++) {
        uint64_t sequence, offset = f->header_size + (uint64_t)i * f->segment_size;
        size_t size = segment_copy(f, i, &unread, &sequence);
        uint32_t committed = (uint32_t)size;
        uint8_t header[SEGMENT_HEADER] = { 0 };

        if (size == 0)
            continue;
        memcpy(header, &sequence, sizeof sequence);
        memcpy(header + sizeof sequence, &committed, sizeof committed);
        if (!trace_pwrite(out, header, sizeof header, offset) ||
            !trace_pwrite(out, f->copy, size, offset + SEGMENT_HEADER))
            return false;
    }
    return ftruncate(out, (off_t)(f->header_size + (uint64_t)f->segment_count * f->segment_size)) == 0;
}

static int records_compare(const void *left, const void *right)
{
    const struct trace_record *a = left, *b = right;
    uint64_t at = trace_record_realtime(a), bt = trace_record_realtime(b);

    if (at != bt)
        return at < bt ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void trace_records_sort(struct trace_records *r)
{
    if (r->count)
        qsort(r->records, r->count, sizeof *r->records, records_compare);
}

void trace_records_free(struct trace_records *r)
{
    for (size_t i = 0; i < r->n_copies; i++)
        free(r->copies[i]);
    free(r->copies);
    free(r->records);
    *r = (struct trace_records){ 0 };
}
