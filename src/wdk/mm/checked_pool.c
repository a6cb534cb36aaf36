/* SPDX-License-Identifier: MIT */
/* Blocks on record: see checked_pool.h. */
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
    FIELD = 64,              /* around a block from malloc */
    FREED_FILL = 0x6b,
    KEPT_BLOCKS = 8192,      /* freed ones */
    KEPT_OCTETS = 64 << 20,
    STACKS_SHOWN = 32        /* of what is left */
};

/* There if the program is run under AddressSanitizer, whichever part of it was built for that. */
extern void __asan_init(void) __attribute__((weak));

atomic_bool checked_pool_used;
bool checked_pool_under_asan;

static struct ticket_lock lock;
static struct pool_block *blocks;
static TAILQ_HEAD(freed, pool_block) freed = TAILQ_HEAD_INITIALIZER(freed);
static unsigned kept_blocks;
static size_t kept_octets;
static _Thread_local bool inside; /* this thread holds the lock: a fault now is not the driver's */

__attribute__((constructor(101))) static void look_for_asan(void)
{
    checked_pool_under_asan = __asan_init != NULL;
}

static void enter(void)
{
    ticket_lock_acquire(&lock);
    inside = true;
}

static void leave(void)
{
    inside = false;
    ticket_lock_release(&lock);
}

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

/* b is a copy: nothing is held. */
static void report(enum check_rule rule, const char *routine, const struct pool_block *b, uint64_t p3, uint64_t p4,
                   const char *what)
{
    char tag[5];

    if (!check_on())
        return;
    report_add_stack("allocated by", &b->allocated);
    if (b->freed.depth)
        report_add_stack("freed by", &b->freed);
    check_failed(rule, routine, (uintptr_t)b->start, b->size, p3, p4, "block %p of %zu octets, tag %s: %s",
                 (const void *)b->start, b->size, pool_tag_text(b->tag, tag), what);
}

static const char *first_other(const char *from, const char *to, int fill)
{
    if (from < to && *(const unsigned char *)from == fill && !memcmp(from, from + 1, (size_t)(to - from) - 1))
        return NULL; /* nearly always, and fast */
    while (from < to && *(const unsigned char *)from == fill)
        from++;
    return from < to ? from : NULL;
}

static const char *last_other(const char *from, const char *to, int fill)
{
    while (from < to && (unsigned char)to[-1] == fill)
        to--;
    return from < to ? to - 1 : NULL;
}

/* What surrounds a live block, or has been one. */
static void find_written(struct pool_block *b, const char **behind, const char **in_front)
{
    char *from = b->run ? b->run->data : b->raw, *to = b->run ? b->run->end : b->raw + b->raw_size;

    *behind = first_other(b->start + b->size, to, SPECIAL_FILL);
    *in_front = last_other(from, b->start, SPECIAL_FILL);
}

static void check_surroundings(const char *routine, struct pool_block *b)
{
    const char *behind, *in_front;

    if (b->reported || checked_pool_sanitized())
        return;
    find_written(b, &behind, &in_front);
    if (behind)
        report(CHECK_POOL_OVERRUN, routine, b, (uintptr_t)behind, 1, "written to behind its end");
    else if (in_front)
        report(CHECK_POOL_UNDERRUN, routine, b, (uintptr_t)in_front, 1, "written to in front of its start");
}

/* ---- Blocks from malloc ------------------------------------------------------------------------------------------ */

static bool heap_place(struct pool_block *b, size_t align, bool zero)
{
    size_t field = checked_pool_sanitized() ? 0 : FIELD > align ? FIELD : align;
    size_t size = b->size ? b->size : 1;
    void *raw;

    while (align < size && align < PAGE_SIZE) /* so that it lies in one page */
        align *= 2;
    if (field && field < align)
        field = align;
    if (posix_memalign(&raw, align, size + 2 * field))
        return false;
    b->raw = raw;
    b->raw_size = size + 2 * field;
    b->start = b->raw + field;
    if (field) {
        memset(b->raw, SPECIAL_FILL, field);
        memset(b->start + b->size, SPECIAL_FILL, b->raw_size - field - b->size);
    }
    if (zero)
        memset(b->start, 0, b->size);
    return true;
}

static const char *written_after_free(const struct pool_block *b)
{
    if (!b->raw || checked_pool_sanitized())
        return NULL;
    return first_other(b->start, b->start + b->size, FREED_FILL);
}

/* ---- On record --------------------------------------------------------------------------------------------------- */

static struct pool_block *on_record(const void *start)
{
    struct pool_block *b;

    HASH_FIND_PTR(blocks, &start, b);
    return b;
}

/* Under the lock. NULL, or a block whose memory was written to after it was freed: report it, then free() it. */
static struct pool_block *forget(struct pool_block *b)
{
    TAILQ_REMOVE(&freed, b, link);
    HASH_DEL(blocks, b);
    kept_blocks--;
    kept_octets -= b->size;
    if (b->run) {
        special_retire(b);
    } else if (!checked_pool_sanitized()) {
        if (written_after_free(b))
            return b;
        free(b->raw);
    }
    free(b);
    return NULL;
}

static void report_written(struct pool_block *b)
{
    report(CHECK_POOL_USE_AFTER_FREE, "pool", b, (uintptr_t)written_after_free(b), 1, "written to after it was freed");
}

/* So that what is kept stays within bounds. Nothing held. */
static void trim(void)
{
    struct pool_block *written;
    bool again;

    do {
        enter();
        again = kept_blocks > KEPT_BLOCKS || kept_octets > KEPT_OCTETS;
        written = again ? forget(TAILQ_FIRST(&freed)) : NULL;
        leave();
        if (written) {
            report_written(written);
            free(written->raw);
            free(written);
        }
    } while (again);
}

static bool special_place(struct pool_block *b, size_t align, bool zero)
{
    bool taken;

    enter();
    taken = special_alloc(b, align);
    leave();
    if (!taken || special_open(b, zero))
        return taken;
    enter();
    special_free(b);
    leave();
    return false;
}

/* Nothing held: it may take long, and others allocate as well. */
static bool place(struct pool_block *b, const struct pool_wish *wish)
{
    return (!checked_pool_sanitized() && special_place(b, wish->align, wish->zero)) ||
           heap_place(b, wish->align, wish->zero);
}

void *checked_pool_alloc(const struct pool_wish *wish)
{
    struct pool_block *b = calloc(1, sizeof *b), *old;

    if (!b)
        return NULL;
    *b = (struct pool_block){
        .size = wish->size,
        .tag = wish->tag,
        .tag_index = wish->tag_index,
        .counted = wish->counted,
        .paged = wish->paged,
        .live = true,
    };
    if (check_on())
        stack_capture(&b->allocated, __builtin_return_address(0));
    atomic_store_explicit(&checked_pool_used, true, memory_order_relaxed);
    if (!place(b, wish)) {
        free(b);
        return NULL;
    }
    enter();
    if (b->run)
        b->run->block = b;
    old = on_record(b->start);
    if (old) /* under AddressSanitizer alone: malloc gives out again what it has got back */
        (void)forget(old);
    HASH_ADD_PTR(blocks, start, b);
    leave();
    if (b->counted)
        pool_tag_count(b->tag_index, 1, (int64_t)b->size);
    return b->start;
}

/* The block's memory is out of use; it is kept for a while. */
static void put_away(struct pool_block *b)
{
    if (b->run)
        special_close(b);
    enter();
    if (checked_pool_sanitized())
        free(b->raw);
    else if (!b->run)
        memset(b->start, FREED_FILL, b->size);
    TAILQ_INSERT_TAIL(&freed, b, link);
    kept_blocks++;
    kept_octets += b->size;
    leave();
    trim();
}

/* b is a copy, as it was before. */
static void check_free(const char *routine, struct pool_block *b, uint32_t tag)
{
    char text[5];

    if (b->paged)
        irql_check_max(routine, APC_LEVEL);
    if (tag && tag != b->tag && check_on()) {
        report_add_stack("allocated by", &b->allocated);
        check_failed(CHECK_POOL_WRONG_TAG, routine, (uintptr_t)b->start, b->tag, tag, 0,
                     "block %p of %zu octets was allocated with another tag, %s", (void *)b->start, b->size,
                     pool_tag_text(b->tag, text));
    }
    inuse_check(routine, b->start, b->size);
    check_surroundings(routine, b);
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
    enter();
    b = on_record(start);
    twice = b && !b->live;
    if (b)
        copy = *b;
    if (b && b->live) {
        b->live = false; /* from here on a second free is one */
        b->freed = now;
    }
    leave();
    if (!b)
        return false;
    if (twice) {
        report(CHECK_POOL_DOUBLE_FREE, routine, &copy, 0, 0, "freed already");
        return true;
    }
    check_free(routine, &copy, tag);
    if (b->counted)
        pool_tag_count(b->tag_index, -1, -(int64_t)b->size);
    put_away(b);
    return true;
}

bool checked_pool_find(const void *address, struct pool_block *copy)
{
    struct special_run *r;
    struct pool_block *b;

    enter();
    r = special_run_at(address);
    b = r ? r->block : on_record(address);
    if (b && (!b->live || (uintptr_t)address - (uintptr_t)b->start >= b->size))
        b = NULL;
    if (b)
        *copy = *b;
    leave();
    return b != NULL;
}

void checked_pool_report_unknown(const char *routine, const void *address)
{
    struct pool_block around;

    if (checked_pool_find(address, &around))
        report(CHECK_POOL_BAD_ADDRESS, routine, &around, (uintptr_t)address, 0, "what is freed is not its start");
    else if (check_on())
        check_failed(CHECK_POOL_BAD_ADDRESS, routine, (uintptr_t)address, 0, 0, 0, "%p was never allocated", address);
}

/* ---- Touches of closed pages ------------------------------------------------------------------------------------- */

/* Which block it is about, and what was done: under the lock. NULL: none of those on record. */
static struct pool_block *touched_block(const char *at, enum check_rule *rule)
{
    struct special_run *r = special_run_at(at), *next;
    struct pool_block *b = r ? r->block : NULL;
    const char *end = b ? b->start + b->size : NULL;

    *rule = CHECK_POOL_USE_AFTER_FREE;
    if (b && b->live && at < b->start) {
        *rule = CHECK_POOL_UNDERRUN;
    } else if (r && at >= r->end) {
        /* The page between two blocks: nearer to which? */
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

static const char *what_was_done(enum check_rule rule, bool write)
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
    enter();
    r = special_run_at(address);
    ours = r && (!r->block || !r->block->live || (const char *)address < r->block->start ||
                 (const char *)address >= r->end);
    b = ours ? touched_block(address, &rule) : NULL;
    if (b) {
        b->reported = true;
        copy = *b;
    }
    leave();
    if (!ours)
        return false; /* an open page: something else is wrong */
    report(rule, "access", &copy, (uintptr_t)address, write, b ? what_was_done(rule, write) : "freed a good while ago");
    return special_open_page(address);
}

/* ---- What is left ------------------------------------------------------------------------------------------------ */

static void report_freed(void)
{
    struct pool_block *b, copy;
    bool found;

    if (checked_pool_sanitized())
        return;
    do {
        found = false;
        enter();
        TAILQ_FOREACH(b, &freed, link) {
            if (b->reported || !written_after_free(b))
                continue;
            b->reported = found = true;
            copy = *b;
            memset(b->start, FREED_FILL, b->size);
            break;
        }
        leave();
        if (found)
            report(CHECK_POOL_USE_AFTER_FREE, "pool", &copy, (uintptr_t)copy.start, 1, "written to after it was freed");
    } while (found);
}

static bool goes_through(const struct stack *s, const void *start, uint64_t size)
{
    for (int i = 0; i < s->depth; i++)
        if ((uintptr_t)s->frames[i] - (uintptr_t)start < size)
            return true;
    return false;
}

uint32_t checked_pool_report_of(FILE *out, const void *start, uint64_t size)
{
    uint32_t left = 0;
    char tag[5];

    report_freed();
    enter();
    for (struct pool_block *b = blocks; b; b = b->hh.next) {
        if (!b->live || !b->counted || !goes_through(&b->allocated, start, size) || ++left > STACKS_SHOWN)
            continue;
        fprintf(out, "left: block of pool %p of %zu octets, tag %s\n", (void *)b->start, b->size,
                pool_tag_text(b->tag, tag));
        stack_print(&b->allocated, out, "    ");
    }
    leave();
    if (left > STACKS_SHOWN)
        fprintf(out, "left: %u more blocks of pool\n", left - STACKS_SHOWN);
    return left;
}

void checked_pool_report(FILE *out)
{
    (void)checked_pool_report_of(out, NULL, UINT64_MAX);
}
