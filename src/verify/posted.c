/* SPDX-License-Identifier: MIT */
/* Records of posted requests: see posted.h. Records are allocated with the queue, so that a post never allocates. */
#include <stdlib.h>

#include "verify/posted.h"
#include "verify/rules.h"

enum { MAX_RECORDS = 16384 }; /* of one queue */

struct posted_record {
    struct posted_record *next; /* in the list of free records */
    const char *routine;        /* NULL while the record is not in use */
    void *context;
    ULONG sges;
    struct {
        const void *start;
        ULONG length;
        bool logical;
    } sge[POSTED_MAX_SGES];
};

struct posted_chunk {
    struct posted_chunk *next;
    unsigned count;
    struct posted_record all[];
};

void posted_init(struct posted *posted, UINT32 privileged_token)
{
    spin_init(&posted->lock);
    posted->privileged = privileged_token;
}

static void posted_free_chunks(struct posted_chunk *first)
{
    for (struct posted_chunk *next; first; first = next) {
        next = first->next;
        free(first);
    }
}

void posted_fini(struct posted *posted)
{
    posted_free_chunks(posted->chunks);
}

/*
 * Returns how many records a queue needs: more than its depth, because a slot of the queue can be used again before the
 * consumer has polled the result.
 */
static unsigned posted_records_for(size_t depth)
{
    return (unsigned)(depth > MAX_RECORDS / 2 ? MAX_RECORDS : 2 * depth);
}

static void posted_push_free(struct posted *posted, struct posted_record *record)
{
    record->next = posted->free;
    posted->free = record;
}

/* Puts the unused records of the newest chunk into the free list, then adds the chunk. Requires the lock. */
static void posted_add_chunk(struct posted *posted, struct posted_chunk *chunk)
{
    while (posted->chunks && posted->used < posted->chunks->count)
        posted_push_free(posted, &posted->chunks->all[posted->used++]);
    chunk->next = posted->chunks;
    posted->chunks = chunk;
    posted->used = 0;
    posted->record_count += chunk->count;
}

void posted_reserve(struct posted *posted, size_t depth)
{
    struct posted_chunk *chunk;
    unsigned wanted = posted_records_for(depth), had;

    spin_lock(&posted->lock);
    had = posted->record_count;
    spin_unlock(&posted->lock);
    if (wanted <= had)
        return;
    chunk = calloc(1, sizeof *chunk + (wanted - had) * sizeof chunk->all[0]);
    if (!chunk)
        return;
    chunk->count = wanted - had;
    spin_lock(&posted->lock);
    if (!posted->retired && posted->record_count == had) {
        posted_add_chunk(posted, chunk);
        chunk = NULL;
    }
    spin_unlock(&posted->lock);
    free(chunk); /* not NULL if another thread has added records or closed the queue meanwhile */
}

/* ---- posts and results ---- */

static void posted_fill(struct posted_record *record, const char *routine, void *context, const NDK_SGE *sgl,
                        ULONG sges, UINT32 privileged)
{
    record->routine = routine;
    record->context = context;
    record->sges = sgl ? (sges < POSTED_MAX_SGES ? sges : POSTED_MAX_SGES) : 0;
    for (ULONG i = 0; i < record->sges; i++) {
        record->sge[i].start = sgl[i].VirtualAddress;
        record->sge[i].length = sgl[i].Length;
        record->sge[i].logical = sgl[i].MemoryRegionToken == privileged;
    }
}

void *posted_add(struct posted *posted, const char *routine, void *context, const NDK_SGE *sgl, ULONG sges, ULONG flags)
{
    struct posted_record *record = NULL;

    if (!verify_on() || flags & NDK_OP_FLAG_SILENT_SUCCESS)
        return context;
    spin_lock(&posted->lock);
    if (posted->free) {
        record = posted->free;
        posted->free = record->next;
    } else if (posted->chunks && posted->used < posted->chunks->count) {
        record = &posted->chunks->all[posted->used++];
    }
    if (record) {
        posted->outstanding++;
        posted_fill(record, routine, context, sgl, flags & NDK_OP_FLAG_INLINE ? 0 : sges, posted->privileged);
    }
    spin_unlock(&posted->lock);
    return record ? record : context;
}

/* If the queue is closed and no record is outstanding, returns the chunks for the caller to free. Requires the lock. */
static struct posted_chunk *posted_detach_if_idle(struct posted *posted)
{
    struct posted_chunk *chunks = posted->chunks;

    if (!posted->retired || posted->outstanding > 0)
        return NULL;
    posted->chunks = NULL;
    posted->free = NULL;
    posted->record_count = posted->used = 0;
    return chunks;
}

static bool posted_is_record(const struct posted *posted, const struct posted_record *record)
{
    for (const struct posted_chunk *c = posted->chunks; c; c = c->next)
        if ((uintptr_t)record - (uintptr_t)c->all < c->count * sizeof *record)
            return true;
    return false;
}

bool posted_complete(struct posted *posted, void **context)
{
    struct posted_record *record = *context;
    struct posted_chunk *idle = NULL;
    bool known;

    spin_lock(&posted->lock);
    known = posted_is_record(posted, record);
    if (known) {
        *context = record->context;
        record->routine = NULL;
        posted_push_free(posted, record);
        posted->outstanding--;
        idle = posted_detach_if_idle(posted);
    }
    spin_unlock(&posted->lock);
    posted_free_chunks(idle);
    return known;
}

void posted_retire(struct posted *posted)
{
    struct posted_chunk *idle;

    spin_lock(&posted->lock);
    posted->retired = true;
    idle = posted_detach_if_idle(posted);
    spin_unlock(&posted->lock);
    posted_free_chunks(idle);
}

NTSTATUS posted_end_post(struct posted *posted, void *context, NTSTATUS status)
{
    if (!NT_SUCCESS(status))
        (void)posted_complete(posted, &context);
    return status;
}

/* ---- memory in use ---- */

static bool posted_ranges_overlap(const void *a, size_t a_size, const void *b, size_t b_size)
{
    return (uintptr_t)a - (uintptr_t)b < b_size || (uintptr_t)b - (uintptr_t)a < a_size;
}

static const char *record_find_use(const struct posted_record *record, const void *start, size_t size, const void **at)
{
    *at = record->context;
    if ((uintptr_t)record->context - (uintptr_t)start < size)
        return "context of a posted request that has not completed";
    for (ULONG i = 0; i < record->sges; i++) {
        *at = record->sge[i].start;
        if (record->sge[i].length && !record->sge[i].logical &&
            posted_ranges_overlap(record->sge[i].start, record->sge[i].length, start, size))
            return "buffer of a posted request that has not completed";
    }
    return NULL;
}

bool posted_find_use(struct posted *posted, const void *start, size_t size, struct verify_use *use)
{
    const char *what = NULL, *routine = NULL;
    const void *at = NULL;
    unsigned unseen;

    spin_lock(&posted->lock);
    unseen = posted->outstanding;
    for (const struct posted_chunk *c = posted->chunks; c && unseen > 0 && !what; c = c->next)
        for (unsigned i = 0; i < c->count && unseen > 0 && !what; i++)
            if (c->all[i].routine) {
                what = record_find_use(&c->all[i], start, size, &at);
                routine = c->all[i].routine;
                unseen--;
            }
    spin_unlock(&posted->lock);
    if (what)
        *use = (struct verify_use){
            .rule = &verify_rules[RULE_CONTEXT_FREED], .object = at, .what = what, .routine = routine
        };
    return what != NULL;
}

/* ---- logical addresses ---- */

ULONG posted_page_run(const NDK_LOGICAL_ADDRESS *pages, ULONG count)
{
    ULONG n = 1;

    while (n < count && pages[n].QuadPart == pages[n - 1].QuadPart + PAGE_SIZE)
        n++;
    return n;
}

ULONG posted_page_sges(const struct posted *posted, const NDK_LOGICAL_ADDRESS *pages, ULONG count, NDK_SGE *sges)
{
    ULONG n = 0, run;

    for (ULONG i = 0; pages && i < count && n < POSTED_MAX_SGES; i += run) {
        run = posted_page_run(pages + i, count - i);
        sges[n++] = (NDK_SGE){ .LogicalAddress = pages[i],
                               .Length = run * PAGE_SIZE,
                               .MemoryRegionToken = posted->privileged };
    }
    return n;
}

static bool record_uses_logical(const struct posted_record *record, uint64_t first, uint64_t size, uint64_t *at)
{
    for (ULONG i = 0; i < record->sges; i++) {
        *at = (uintptr_t)record->sge[i].start;
        if (record->sge[i].logical && record->sge[i].length &&
            (*at - first < size || first - *at < record->sge[i].length))
            return true;
    }
    return false;
}

const char *posted_find_logical_use(struct posted *posted, uint64_t first, uint64_t size, uint64_t *at)
{
    const char *routine = NULL;

    spin_lock(&posted->lock);
    for (const struct posted_chunk *c = posted->chunks; c && !routine; c = c->next)
        for (unsigned i = 0; i < c->count && !routine; i++)
            if (c->all[i].routine && record_uses_logical(&c->all[i], first, size, at))
                routine = c->all[i].routine;
    spin_unlock(&posted->lock);
    return routine;
}
