/* SPDX-License-Identifier: MIT */
/*
 * Keeps records of posted requests: see posted.h. The records are allocated with the queue, so that a post never
 * allocates. A new request gets the first record in the free list. If the list is empty, the request gets a record that
 * was never used. So the memory of a record is not touched before it is needed, unless the queue grows.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verify/call.h"
#include "verify/posted.h"
#include "verify/rules.h"

enum {
    MAX_RECORDS = 65536,  /* maximum number of records of one queue */
    MAX_BYTES = 16 << 20, /* maximum size of the records of one queue, in bytes */
    SPARE_RECORDS = 16,   /* number of additional records, because a consumer may post more than its queue can hold */
    /*
     * Minimum number of SGEs in a record, even if the queue allows fewer. The record of an NdkFastRegister stores its
     * pages as SGEs.
     */
    MIN_ROOM = 4,
};

struct posted_chunk {
    struct posted_chunk *next;
    unsigned count;
    size_t record_size;
    _Alignas(struct posted_record) char all[];
};

static struct posted_record *chunk_record(struct posted_chunk *chunk, unsigned i)
{
    return (struct posted_record *)(void *)(chunk->all + i * chunk->record_size);
}

static bool chunk_contains(const struct posted_chunk *chunk, const void *context)
{
    uintptr_t offset = (uintptr_t)context - (uintptr_t)chunk->all;

    return offset < chunk->count * chunk->record_size && offset % chunk->record_size == 0;
}

static void posted_free_chunks(struct posted_chunk *first)
{
    for (struct posted_chunk *next; first; first = next) {
        next = first->next;
        free(first);
    }
}

static unsigned posted_records_for(size_t depth)
{
    return (unsigned)(depth > MAX_RECORDS - SPARE_RECORDS ? MAX_RECORDS : depth + SPARE_RECORDS);
}

/* Returns the number of SGEs in a record. It is limited so that the records of a queue need at most MAX_BYTES. */
static ULONG posted_room_for(size_t depth, ULONG sges)
{
    size_t most = (MAX_BYTES / posted_records_for(depth) - sizeof(struct posted_record)) / sizeof(NDK_SGE);

    if (sges < MIN_ROOM)
        sges = MIN_ROOM;
    return sges < most ? sges : (ULONG)most;
}

void posted_init(struct posted *posted, UINT32 privileged_token, size_t depth, ULONG sges)
{
    spin_init(&posted->lock);
    TAILQ_INIT(&posted->outstanding);
    TAILQ_INIT(&posted->free);
    posted->privileged = privileged_token;
    posted->room = posted_room_for(depth, sges);
    if (depth > 0)
        posted_reserve(posted, depth);
}

void posted_fini(struct posted *posted)
{
    posted_free_chunks(posted->chunks);
}

/*
 * Adds `chunk`. From now on new records come from this chunk. Moves the unused records of the earlier chunk to the free
 * list. Requires the lock.
 */
static void posted_add_chunk(struct posted *posted, struct posted_chunk *chunk)
{
    while (posted->chunks && posted->used < posted->chunks->count) {
        struct posted_record *record = chunk_record(posted->chunks, posted->used++);

        TAILQ_INSERT_TAIL(&posted->free, record, list);
    }
    chunk->next = posted->chunks;
    posted->chunks = chunk;
    posted->used = 0;
    posted->record_count += chunk->count;
}

void posted_reserve(struct posted *posted, size_t depth)
{
    size_t record_size = sizeof(struct posted_record) + posted->room * sizeof(NDK_SGE);
    struct posted_chunk *chunk;
    unsigned wanted = posted_records_for(depth), had;

    spin_lock(&posted->lock);
    had = posted->record_count;
    spin_unlock(&posted->lock);
    if (wanted <= had)
        return;
    chunk = calloc(1, sizeof *chunk + (wanted - had) * record_size);
    if (!chunk)
        return;
    chunk->count = wanted - had;
    chunk->record_size = record_size;
    spin_lock(&posted->lock);
    if (!posted->retired && posted->record_count == had) {
        posted_add_chunk(posted, chunk);
        chunk = NULL;
    }
    spin_unlock(&posted->lock);
    free(chunk); /* not NULL if another thread has meanwhile added records or closed the queue */
}

/* ---- posts and results ---- */

uint64_t posted_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool record_is_silent(const struct posted_record *record)
{
    return record->flags & NDK_OP_FLAG_SILENT_SUCCESS;
}

/* Stores one SGE in the record for each sequence of contiguous pages. */
static void record_fill_pages(struct posted_record *record, const struct posted *posted, const struct post *post)
{
    ULONG run;

    for (ULONG i = 0; i < post->page_count && record->sges < posted->room; i += run) {
        run = posted_page_run(post->pages + i, post->page_count - i);
        record->sge[record->sges++] = (NDK_SGE){ .LogicalAddress = post->pages[i],
                                                 .Length = run * PAGE_SIZE,
                                                 .MemoryRegionToken = posted->privileged };
    }
}

static void record_fill(struct posted_record *record, const struct posted *posted, const struct post *post)
{
    record->routine = post->routine;
    record->context = post->context;
    record->by = post->by;
    record->place = posted->posts;
    record->posted_ms = posted_now_ms();
    record->flags = post->flags;
    record->counted = record->done = record->reported = false;
    record->source = post->source;
    record->length = post->length;
    record->sges = 0;
    if (post->pages)
        record_fill_pages(record, posted, post);
    if (!post->sgl || post->flags & NDK_OP_FLAG_INLINE)
        return;
    record->sges = post->sges < posted->room ? post->sges : posted->room;
    record->source.has_sum = post->source.has_sum && record->sges == post->sges;
    memcpy(record->sge, post->sgl, record->sges * sizeof record->sge[0]);
}

/* Subtracts the request from *posted->users, if it is counted. Requires the lock. */
static void posted_uncount(struct posted *posted, struct posted_record *record)
{
    if (!record->counted)
        return;
    record->counted = false;
    atomic_fetch_sub(posted->users, 1);
    if (record_is_silent(record))
        atomic_fetch_sub(&posted->counted_silent, 1);
}

/* Adds the request to *posted->users. Requires the lock. */
static void posted_count(struct posted *posted, struct posted_record *record, struct post *post)
{
    record->counted = true;
    post->users = atomic_fetch_add(posted->users, 1) + 1;
    if (record_is_silent(record))
        atomic_fetch_add(&posted->counted_silent, 1);
}

/* Moves a record from the outstanding records to the free records. Requires the lock. */
static void posted_remove(struct posted *posted, struct posted_record *record)
{
    TAILQ_REMOVE(&posted->outstanding, record, list);
    TAILQ_INSERT_HEAD(&posted->free, record, list);
    posted->count--;
    posted->silent -= record_is_silent(record);
    posted_uncount(posted, record);
    record->routine = NULL;
}

/*
 * Returns a record for a new request. If no record is free and the oldest outstanding request is silent, returns that
 * request's record: the consumer has posted more silent requests than the queue can hold. Otherwise returns NULL if no
 * record is free. Requires the lock.
 */
static struct posted_record *posted_unused_record(struct posted *posted)
{
    struct posted_record *oldest = TAILQ_FIRST(&posted->outstanding), *record;

    if (TAILQ_EMPTY(&posted->free) && posted->chunks && posted->used < posted->chunks->count)
        return chunk_record(posted->chunks, posted->used++);
    if (TAILQ_EMPTY(&posted->free) && oldest && record_is_silent(oldest))
        posted_remove(posted, oldest);
    record = TAILQ_FIRST(&posted->free);
    if (record)
        TAILQ_REMOVE(&posted->free, record, list);
    return record;
}

void posted_begin(struct posted *posted, struct post *post)
{
    struct posted_record *record;

    post->passed = post->context;
    if (!verify_on()) {
        /* The post is not recorded. The chain ends here, because the post may be the chain's last one. */
        chain_end(&posted->chain);
        return;
    }
    spin_lock(&posted->lock);
    posted->posts++;
    if (post->flags & NDK_OP_FLAG_DEFER && !posted->ended)
        chain_add(&posted->chain, post);
    else
        chain_end(&posted->chain);
    post->before = posted->ended ? 0 : posted->count;
    post->silent_before = posted->ended ? 0 : posted->silent;
    record = posted->retired ? NULL : posted_unused_record(posted);
    if (record) {
        record_fill(record, posted, post);
        TAILQ_INSERT_TAIL(&posted->outstanding, record, list);
        posted->count++;
        posted->silent += record_is_silent(record);
        post->passed = record;
        post->place = record->place;
        if (posted->users && !posted->ended)
            posted_count(posted, record, post);
    }
    spin_unlock(&posted->lock);
}

/*
 * If the queue is closed and no record is outstanding, detaches the chunks and returns them; the caller frees them.
 * Otherwise returns NULL. Requires the lock.
 */
static struct posted_chunk *posted_detach_if_idle(struct posted *posted)
{
    struct posted_chunk *chunks = posted->chunks;

    if (!posted->retired || posted->count > 0)
        return NULL;
    posted->chunks = NULL;
    TAILQ_INIT(&posted->free);
    posted->record_count = posted->used = 0;
    return chunks;
}

static struct posted_record *posted_record_of(const struct posted *posted, void *context)
{
    for (const struct posted_chunk *c = posted->chunks; c; c = c->next)
        if (chunk_contains(c, context))
            return context;
    return NULL;
}

/* Frees the records of all silent requests that come directly before `record`. Requires the lock. */
static void posted_remove_silent_before(struct posted *posted, struct posted_record *record)
{
    struct posted_record *before;

    while ((before = TAILQ_PREV(record, posted_list, list)) && record_is_silent(before))
        posted_remove(posted, before);
}

bool posted_complete(struct posted *posted, void **context)
{
    struct posted_chunk *idle = NULL;
    struct posted_record *record;

    spin_lock(&posted->lock);
    record = posted_record_of(posted, *context);
    if (record)
        *context = record->context;
    if (record && record->routine) {
        posted_remove_silent_before(posted, record);
        posted_remove(posted, record);
        idle = posted_detach_if_idle(posted);
    }
    spin_unlock(&posted->lock);
    posted_free_chunks(idle);
    return record != NULL;
}

/* Copies the record to *copy. Returns false if the request's buffers need no check. Requires the lock. */
static bool posted_copy_record(const struct posted *posted, const struct posted_record *record,
                               struct posted_copy *copy)
{
    if (posted->ended || record->done || record->reported)
        return false;
    *copy = (struct posted_copy){ .routine = record->routine, .by = record->by, .source = record->source };
    for (ULONG i = 0; i < record->sges; i++) {
        if (record->sge[i].Length == 0)
            continue;
        if (copy->sges < SOURCE_MAX_SGES && record->sge[i].MemoryRegionToken != posted->privileged)
            copy->sge[copy->sges++] = record->sge[i];
        else
            copy->source.has_sum = false;
    }
    return true;
}

bool posted_has_ended(struct posted *posted)
{
    bool ended;

    spin_lock(&posted->lock);
    ended = posted->ended;
    spin_unlock(&posted->lock);
    return ended;
}

bool posted_copy_silent_before(struct posted *posted, void *context, struct posted_copy *copy)
{
    struct posted_record *record, *before = NULL;
    bool copied = false;

    spin_lock(&posted->lock);
    record = posted_record_of(posted, context);
    if (record && record->routine)
        before = TAILQ_PREV(record, posted_list, list);
    if (before && record_is_silent(before) && posted_copy_record(posted, before, copy)) {
        posted_remove(posted, before);
        copied = true;
    }
    spin_unlock(&posted->lock);
    return copied;
}

bool posted_copy_completed(struct posted *posted, void *context, struct posted_copy *copy)
{
    const struct posted_record *record;
    bool copied;

    spin_lock(&posted->lock);
    record = posted_record_of(posted, context);
    copied = record && record->routine && posted_copy_record(posted, record, copy);
    spin_unlock(&posted->lock);
    return copied;
}

uint64_t posted_place(struct posted *posted, void *context)
{
    const struct posted_record *record;
    uint64_t place;

    spin_lock(&posted->lock);
    record = posted_record_of(posted, context);
    place = record && record->routine ? record->place : 0;
    spin_unlock(&posted->lock);
    return place;
}

NTSTATUS posted_end(struct posted *posted, struct post *post, NTSTATUS status)
{
    struct posted_record *record = post->passed;
    struct posted_chunk *idle = NULL;

    if (NT_SUCCESS(status))
        return status;
    chain_end(&posted->chain);
    post->users = 0;
    if (!post->place)
        return status;
    spin_lock(&posted->lock);
    /* If the queue was closed meanwhile, the record may already be free. */
    if (posted_record_of(posted, record) && record->routine && record->place == post->place) {
        posted_remove(posted, record);
        idle = posted_detach_if_idle(posted);
    }
    spin_unlock(&posted->lock);
    posted_free_chunks(idle);
    return status;
}

void posted_set_ended(struct posted *posted)
{
    struct posted_record *record;

    spin_lock(&posted->lock);
    posted->ended = true;
    chain_end(&posted->chain);
    TAILQ_FOREACH (record, &posted->outstanding, list) {
        if (!record_is_silent(record))
            continue;
        record->done = true;
        posted_uncount(posted, record);
    }
    spin_unlock(&posted->lock);
}

void posted_uncount_silent(struct posted *posted)
{
    struct posted_record *record;

    if (atomic_load_explicit(&posted->counted_silent, memory_order_relaxed) == 0)
        return;
    spin_lock(&posted->lock);
    /* Begins with the newest request, because the counted silent requests are the newest requests. */
    TAILQ_FOREACH_REVERSE (record, &posted->outstanding, posted_list, list) {
        if (atomic_load(&posted->counted_silent) == 0)
            break;
        if (record_is_silent(record))
            posted_uncount(posted, record);
    }
    spin_unlock(&posted->lock);
}

void posted_uncount_all(struct posted *posted)
{
    struct posted_record *record;

    spin_lock(&posted->lock);
    posted->ended = true;
    TAILQ_FOREACH (record, &posted->outstanding, list)
        posted_uncount(posted, record);
    spin_unlock(&posted->lock);
}

void posted_get_rest(struct posted *posted, struct posted_rest *rest)
{
    memset(rest, 0, sizeof *rest);
    spin_lock(&posted->lock);
    if (!posted->ended) {
        rest->signalled = posted->count - posted->silent;
        rest->deferred = atomic_load_explicit(&posted->chain.count, memory_order_relaxed);
        rest->routine = posted->chain.routine;
        rest->context = posted->chain.context;
        rest->thread = posted->chain.thread;
    }
    spin_unlock(&posted->lock);
}

void posted_retire(struct posted *posted)
{
    struct posted_chunk *idle;

    posted_set_ended(posted);
    spin_lock(&posted->lock);
    posted->retired = true;
    idle = posted_detach_if_idle(posted);
    spin_unlock(&posted->lock);
    posted_free_chunks(idle);
}

void posted_drop(struct posted *posted)
{
    struct posted_chunk *idle = NULL;
    struct posted_record *record;

    spin_lock(&posted->lock);
    if (posted->retired) {
        while ((record = TAILQ_FIRST(&posted->outstanding)))
            posted_remove(posted, record);
        idle = posted_detach_if_idle(posted);
    }
    spin_unlock(&posted->lock);
    posted_free_chunks(idle);
}

/* ---- memory in use ---- */

bool posted_find(struct posted *posted, posted_match *match, void *context)
{
    struct posted_record *record;

    spin_lock(&posted->lock);
    TAILQ_FOREACH (record, &posted->outstanding, list)
        if (!record->done && match(context, posted, record))
            break;
    spin_unlock(&posted->lock);
    return record != NULL;
}

struct use_search {
    const void *start;
    size_t size;
    struct verify_use *use;
};

static bool ranges_overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
    return a - b < b_size || b - a < a_size;
}

static bool use_set(struct verify_use *use, enum verify_rule rule, const struct posted_record *record, const void *at,
                    const char *what)
{
    *use = (struct verify_use){ .rule = &verify_rules[rule],
                                .object = at,
                                .what = what,
                                .routine = record->routine,
                                .by = { .depth = 1, .entry = record->routine } };
    use->by.frames[0] = (void *)(uintptr_t)record->by;
    return true;
}

/*
 * Returns true if the request uses the memory of the search, and describes the use in *s->use. Skips the context of a
 * silent request, because that context is used only if the request fails.
 */
static bool record_find_use(void *context, const struct posted *posted, struct posted_record *record)
{
    const struct use_search *s = context;

    if (!record_is_silent(record) && (uintptr_t)record->context - (uintptr_t)s->start < s->size)
        return use_set(s->use, RULE_CONTEXT_FREED, record, record->context,
                       "context of a posted request that has not completed");
    for (ULONG i = 0; i < record->sges; i++) {
        const NDK_SGE *sge = &record->sge[i];

        if (sge->Length && sge->MemoryRegionToken != posted->privileged &&
            ranges_overlap((uintptr_t)sge->VirtualAddress, sge->Length, (uintptr_t)s->start, s->size)) {
            record->reported = true;
            return use_set(s->use, RULE_BUFFER_FREED, record, sge->VirtualAddress,
                           "buffer of a posted request that has not completed");
        }
    }
    return false;
}

bool posted_find_use(struct posted *posted, const void *start, size_t size, struct verify_use *use)
{
    struct use_search search = { start, size, use };

    return posted_find(posted, record_find_use, &search);
}

/* ---- logical addresses ---- */

ULONG posted_page_run(const NDK_LOGICAL_ADDRESS *pages, ULONG count)
{
    ULONG n = 1;

    while (n < count && pages[n].QuadPart == pages[n - 1].QuadPart + PAGE_SIZE)
        n++;
    return n;
}

struct logical_search {
    uint64_t first, size;
    const char *routine; /* name of the routine that posted the found request */
    uint64_t at;
};

static bool record_find_logical(void *context, const struct posted *posted, struct posted_record *record)
{
    struct logical_search *s = context;

    for (ULONG i = 0; i < record->sges; i++) {
        s->at = (uint64_t)record->sge[i].LogicalAddress.QuadPart;
        if (record->sge[i].MemoryRegionToken == posted->privileged && record->sge[i].Length &&
            ranges_overlap(s->at, record->sge[i].Length, s->first, s->size)) {
            s->routine = record->routine;
            return true;
        }
    }
    return false;
}

const char *posted_find_logical_use(struct posted *posted, uint64_t first, uint64_t size, uint64_t *at)
{
    struct logical_search search = { .first = first, .size = size };

    (void)posted_find(posted, record_find_logical, &search);
    *at = search.at;
    return search.routine;
}
