/* SPDX-License-Identifier: MIT */
/* Records the blocks of pool: see checked_pool.h. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/inuse.h"
#include "wdk/common/ticket_lock.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/checked_pool.h"
#include "wdk/mm/pool_tags.h"
#include "wdk/mm/special_pool.h"

enum {
    GUARD = 64, /* minimum size in bytes of each of the two guard areas, in front of and behind a block from malloc */
    FREED_FILL = 0x6b,
    MAX_QUARANTINE_BLOCKS = 8192,
    MAX_QUARANTINE_BYTES = 64 << 20,
    MAX_STACKS = 32 /* maximum number of stacks in a report of live blocks */
};

/* Defined if any part of the program was built with AddressSanitizer. */
extern void __asan_init(void) __attribute__((weak));

atomic_bool checked_pool_used;
bool checked_pool_under_asan;

static struct ticket_lock lock;
static struct pool_block *blocks;
static TAILQ_HEAD(, pool_block) quarantine = TAILQ_HEAD_INITIALIZER(quarantine);
static unsigned quarantine_blocks;
static size_t quarantine_bytes;
static _Thread_local bool inside; /* this thread holds the lock, so a fault of this thread is not the driver's */

__attribute__((constructor(101))) static void checked_pool_detect_asan(void)
{
    checked_pool_under_asan = __asan_init != NULL;
}

static void checked_pool_lock(void)
{
    ticket_lock_acquire(&lock);
    inside = true;
}

static void checked_pool_unlock(void)
{
    inside = false;
    ticket_lock_release(&lock);
}

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

/*
 * Reports misuse of b. The caller must not hold the lock, so b must be a copy or a block that is no longer recorded.
 */
static void block_report(enum check_rule rule, const char *routine, const struct pool_block *b, uint64_t p3,
                         uint64_t p4, const char *what)
{
    char tag[5];

    if (!check_on())
        return;
    report_add_stack("allocated by", &b->allocated);
    if (b->freed.depth)
        report_add_stack("freed by", &b->freed);
    check_failed(rule, routine, (uintptr_t)b->start, b->size, p3, p4, "block %p of %zu bytes, tag %s: %s",
                 (const void *)b->start, b->size, pool_tag_text(b->tag, tag), what);
}

/* Returns the first byte in [from, to) that is not `fill`, or NULL. */
static const char *fill_first_change(const char *from, const char *to, int fill)
{
    if (from < to && *(const unsigned char *)from == fill && !memcmp(from, from + 1, (size_t)(to - from) - 1))
        return NULL; /* the usual case: memcmp is faster than the loop */
    while (from < to && *(const unsigned char *)from == fill)
        from++;
    return from < to ? from : NULL;
}

static const char *fill_last_change(const char *from, const char *to, int fill)
{
    while (from < to && (unsigned char)to[-1] == fill)
        to--;
    return from < to ? to - 1 : NULL;
}

/*
 * Sets *behind to the first changed byte behind the block, and *in_front to the last changed byte in front of the
 * block. Sets a pointer to NULL if there is no such byte.
 */
static void block_find_written(struct pool_block *b, const char **behind, const char **in_front)
{
    char *from = b->run ? b->run->data : b->raw, *to = b->run ? b->run->end : b->raw + b->raw_size;

    *behind = fill_first_change(b->start + b->size, to, SPECIAL_FILL);
    *in_front = fill_last_change(from, b->start, SPECIAL_FILL);
}

static void block_check_surroundings(const char *routine, struct pool_block *b)
{
    const char *behind, *in_front;

    if (b->reported || checked_pool_under_asan)
        return;
    block_find_written(b, &behind, &in_front);
    if (behind)
        block_report(CHECK_POOL_OVERRUN, routine, b, (uintptr_t)behind, 1, "written to behind its end");
    else if (in_front)
        block_report(CHECK_POOL_UNDERRUN, routine, b, (uintptr_t)in_front, 1, "written to in front of its start");
}

/* ---- Blocks from malloc ------------------------------------------------------------------------------------------ */

static bool block_place_in_heap(struct pool_block *b, size_t align, bool zero)
{
    size_t guard = checked_pool_under_asan ? 0 : GUARD > align ? GUARD : align;
    size_t size = b->size ? b->size : 1;
    void *raw;

    while (align < size && align < PAGE_SIZE) /* a block smaller than a page must not cross a page boundary */
        align *= 2;
    if (guard && guard < align)
        guard = align;
    if (posix_memalign(&raw, align, size + 2 * guard))
        return false;
    b->raw = raw;
    b->raw_size = size + 2 * guard;
    b->start = b->raw + guard;
    if (guard) {
        memset(b->raw, SPECIAL_FILL, guard);
        memset(b->start + b->size, SPECIAL_FILL, b->raw_size - guard - b->size);
    }
    if (zero)
        memset(b->start, 0, b->size);
    return true;
}

static const char *block_written_after_free(const struct pool_block *b)
{
    if (!b->raw || checked_pool_under_asan)
        return NULL;
    return fill_first_change(b->start, b->start + b->size, FREED_FILL);
}

/* ---- The record and the quarantine ------------------------------------------------------------------------------- */

static struct pool_block *block_find(const void *start)
{
    struct pool_block *b;

    HASH_FIND_PTR(blocks, &start, b);
    return b;
}

/*
 * Removes the block from the quarantine. If the driver has written to the freed block, returns it; the caller then
 * reports and frees it without the lock. Otherwise frees the block and returns NULL. Requires the lock.
 */
static struct pool_block *quarantine_remove(struct pool_block *b)
{
    TAILQ_REMOVE(&quarantine, b, link);
    HASH_DEL(blocks, b);
    quarantine_blocks--;
    quarantine_bytes -= b->size;
    if (b->run) {
        special_retire(b);
    } else if (!checked_pool_under_asan) {
        if (block_written_after_free(b))
            return b;
        free(b->raw);
    }
    free(b);
    return NULL;
}

static void block_report_written(struct pool_block *b)
{
    block_report(CHECK_POOL_USE_AFTER_FREE, "pool", b, (uintptr_t)block_written_after_free(b), 1,
                 "written to after it was freed");
}

static void quarantine_trim(void)
{
    struct pool_block *written;
    bool again;

    do {
        checked_pool_lock();
        again = quarantine_blocks > MAX_QUARANTINE_BLOCKS || quarantine_bytes > MAX_QUARANTINE_BYTES;
        written = again ? quarantine_remove(TAILQ_FIRST(&quarantine)) : NULL;
        checked_pool_unlock();
        if (written) {
            block_report_written(written);
            free(written->raw);
            free(written);
        }
    } while (again);
}

static bool block_place_in_special(struct pool_block *b, size_t align, bool zero)
{
    bool allocated;

    checked_pool_lock();
    allocated = special_alloc(b, align);
    checked_pool_unlock();
    if (!allocated || special_open(b, zero))
        return allocated;
    checked_pool_lock();
    special_free(b);
    checked_pool_unlock();
    return false;
}

/*
 * Allocates the memory of the block, in special pool if possible. Called without the lock, because it may take long to
 * make pages accessible.
 */
static bool block_place(struct pool_block *b, const struct pool_request *request)
{
    return (!checked_pool_under_asan && block_place_in_special(b, request->align, request->zero)) ||
           block_place_in_heap(b, request->align, request->zero);
}

void *checked_pool_alloc(const struct pool_request *request)
{
    struct pool_block *b = calloc(1, sizeof *b), *old;

    if (!b)
        return NULL;
    *b = (struct pool_block){
        .size = request->size,
        .tag = request->tag,
        .tag_index = request->tag_index,
        .counted = request->counted,
        .paged = request->paged,
        .live = true,
    };
    if (check_on())
        stack_capture(&b->allocated, __builtin_return_address(0));
    atomic_store_explicit(&checked_pool_used, true, memory_order_relaxed);
    if (!block_place(b, request)) {
        free(b);
        return NULL;
    }
    checked_pool_lock();
    if (b->run)
        b->run->block = b;
    old = block_find(b->start);
    if (old) /* only with AddressSanitizer, when malloc reuses the memory of a quarantined block */
        (void)quarantine_remove(old);
    HASH_ADD_PTR(blocks, start, b);
    checked_pool_unlock();
    if (b->counted)
        pool_tag_count(b->tag_index, 1, (int64_t)b->size);
    return b->start;
}

static void quarantine_add(struct pool_block *b)
{
    if (b->run)
        special_close(b);
    checked_pool_lock();
    if (checked_pool_under_asan)
        free(b->raw);
    else if (!b->run)
        memset(b->start, FREED_FILL, b->size);
    TAILQ_INSERT_TAIL(&quarantine, b, link);
    quarantine_blocks++;
    quarantine_bytes += b->size;
    checked_pool_unlock();
    quarantine_trim();
}

/* Reports misuse of a block that is being freed. b is a copy of the record, made before the free. */
static void block_check_free(const char *routine, struct pool_block *b, uint32_t tag)
{
    char text[5];

    if (b->paged)
        irql_check_max(routine, APC_LEVEL);
    if (tag && tag != b->tag && check_on()) {
        report_add_stack("allocated by", &b->allocated);
        check_failed(CHECK_POOL_WRONG_TAG, routine, (uintptr_t)b->start, b->tag, tag, 0,
                     "block %p of %zu bytes was allocated with another tag, %s", (void *)b->start, b->size,
                     pool_tag_text(b->tag, text));
    }
    inuse_check_block(routine, &(struct inuse_block){ b->start, b->size, pool_tag_text(b->tag, text), &b->allocated });
    block_check_surroundings(routine, b);
}

bool checked_pool_free(const char *routine, void *start, uint32_t tag)
{
    struct pool_block *b, copy;
    struct stack now;
    bool twice;

    if (check_on())
        stack_capture(&now, __builtin_return_address(0));
    else
        now.depth = 0;
    checked_pool_lock();
    b = block_find(start);
    twice = b && !b->live;
    if (b)
        copy = *b;
    if (b && b->live) {
        b->live = false; /* a second free of the block is reported from now on */
        b->freed = now;
    }
    checked_pool_unlock();
    if (!b)
        return false;
    if (twice) {
        block_report(CHECK_POOL_DOUBLE_FREE, routine, &copy, 0, 0, "freed already");
        return true;
    }
    block_check_free(routine, &copy, tag);
    if (b->counted)
        pool_tag_count(b->tag_index, -1, -(int64_t)b->size);
    quarantine_add(b);
    return true;
}

static bool block_copy_at(const void *address, bool live, struct pool_block *copy)
{
    struct special_run *r;
    struct pool_block *b;

    checked_pool_lock();
    r = special_run_at(address);
    b = r ? r->block : block_find(address);
    if (b && (b->live != live || (uintptr_t)address - (uintptr_t)b->start >= b->size))
        b = NULL;
    if (b)
        *copy = *b;
    checked_pool_unlock();
    return b != NULL;
}

bool checked_pool_find(const void *address, struct pool_block *copy)
{
    return block_copy_at(address, true, copy);
}

bool checked_pool_find_freed(const void *address, struct pool_block *copy)
{
    return !checked_pool_under_asan && block_copy_at(address, false, copy);
}

void checked_pool_report_unknown(const char *routine, const void *address)
{
    struct pool_block around;

    if (checked_pool_find(address, &around))
        block_report(CHECK_POOL_BAD_ADDRESS, routine, &around, (uintptr_t)address, 0, "what is freed is not its start");
    else if (check_on())
        check_failed(CHECK_POOL_BAD_ADDRESS, routine, (uintptr_t)address, 0, 0, 0, "%p was never allocated", address);
}

/* ---- Accesses to closed pages ------------------------------------------------------------------------------------ */

/*
 * Returns the block that a faulting access at the address `at` belongs to, and sets *rule to the broken rule. Returns
 * NULL if that block is no longer recorded. Requires the lock.
 */
static struct pool_block *fault_find_block(const char *at, enum check_rule *rule)
{
    struct special_run *r = special_run_at(at), *next;
    struct pool_block *b = r ? r->block : NULL;
    const char *end = b ? b->start + b->size : NULL;

    *rule = CHECK_POOL_USE_AFTER_FREE;
    if (b && b->live && at < b->start) {
        *rule = CHECK_POOL_UNDERRUN;
    } else if (r && at >= r->end) {
        /*
         * The access was to the guard page between two runs. The nearer block is reported. A freed block in front of
         * the guard page counts as one page away.
         */
        next = special_run_at(at + SPECIAL_PAGE);
        *rule = CHECK_POOL_OVERRUN;
        if (next && next != r && next->block && next->block->live &&
            (!b || next->block->start - at < (b->live ? at - end : SPECIAL_PAGE))) {
            *rule = CHECK_POOL_UNDERRUN;
            b = next->block;
        } else if (b && !b->live) {
            *rule = CHECK_POOL_USE_AFTER_FREE;
        }
    }
    return b;
}

static const char *fault_describe(enum check_rule rule, bool write)
{
    if (rule == CHECK_POOL_OVERRUN)
        return write ? "written to behind its end" : "read behind its end";
    if (rule == CHECK_POOL_UNDERRUN)
        return write ? "written to in front of its start" : "read in front of its start";
    return write ? "written to after it was freed" : "read after it was freed";
}

bool checked_pool_handle_fault(const void *address, bool write)
{
    struct pool_block copy = { .start = NULL }, *b;
    struct special_run *r;
    enum check_rule rule = CHECK_POOL_USE_AFTER_FREE;
    bool ours;

    if (inside)
        return false;
    checked_pool_lock();
    r = special_run_at(address);
    ours = r &&
           (!r->block || !r->block->live || (const char *)address < r->block->start || (const char *)address >= r->end);
    b = ours ? fault_find_block(address, &rule) : NULL;
    if (b) {
        b->reported = true;
        copy = *b;
    }
    checked_pool_unlock();
    if (!ours)
        return false; /* the address is in a live block, or not in special pool: the fault has another reason */
    block_report(rule, "access", &copy, (uintptr_t)address, write,
                 b ? fault_describe(rule, write) : "freed a good while ago");
    return special_open_page(address);
}

/* ---- The report of live blocks ----------------------------------------------------------------------------------- */

static void quarantine_report(void)
{
    struct pool_block *b, copy;
    bool found;

    if (checked_pool_under_asan)
        return;
    do {
        found = false;
        checked_pool_lock();
        TAILQ_FOREACH (b, &quarantine, link) {
            if (b->reported || !block_written_after_free(b))
                continue;
            b->reported = found = true;
            copy = *b;
            memset(b->start, FREED_FILL, b->size);
            break;
        }
        checked_pool_unlock();
        if (found)
            block_report(CHECK_POOL_USE_AFTER_FREE, "pool", &copy, (uintptr_t)copy.start, 1,
                         "written to after it was freed");
    } while (found);
}

uint32_t checked_pool_report_of(FILE *out, const void *start, uint64_t size)
{
    uint32_t count = 0;
    char tag[5];

    quarantine_report();
    checked_pool_lock();
    for (struct pool_block *b = blocks; b; b = b->hh.next) {
        if (!b->live || !b->counted || !stack_has_frame_in(&b->allocated, start, size) || ++count > MAX_STACKS)
            continue;
        fprintf(out, "left: block of pool %p of %zu bytes, tag %s\n", (void *)b->start, b->size,
                pool_tag_text(b->tag, tag));
        stack_print(&b->allocated, out, "    ");
    }
    checked_pool_unlock();
    if (count > MAX_STACKS)
        fprintf(out, "left: %u more blocks of pool\n", count - MAX_STACKS);
    return count;
}

void checked_pool_report(FILE *out)
{
    (void)checked_pool_report_of(out, NULL, UINT64_MAX);
}
