/* SPDX-License-Identifier: MIT */
/*
 * Blocks on record: who allocated and who freed them, and what was done to them that must not be. Freed blocks stay on
 * record, and out of use, for a while.
 *
 * A block lies in special pool (special_pool.h) where there is room for it: the first touch beyond it or after its end
 * is reported where it happens. Otherwise it comes from malloc between two fields that are looked at when it is freed.
 * Under AddressSanitizer it is malloc's alone, which the sanitizer watches.
 */
#ifndef WDK_CHECKED_POOL_H
#define WDK_CHECKED_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/queue.h>
#include <uthash.h>

#include "verify/stack.h"
#include "wdk/common/check.h"

struct special_run;

struct pool_block {
    char *start;
    size_t size;
    uint32_t tag;
    unsigned tag_index;
    bool counted, paged;
    bool live;                /* else freed, and kept for a while */
    bool reported;            /* somebody wrote beyond it: that has been said */
    struct stack allocated, freed;
    struct special_run *run;  /* special pool */
    char *raw;                /* else what malloc gave, */
    size_t raw_size;
    UT_hash_handle hh;        /* by start */
    TAILQ_ENTRY(pool_block) link;
};

struct pool_wish {
    size_t size, align; /* align: a power of two, 16 at least, PAGE at most */
    uint32_t tag;
    unsigned tag_index;
    bool counted, paged, zero;
};

/* Has a block ever been put on record? */
extern atomic_bool checked_pool_used __attribute__((visibility("hidden")));

/* Is the program run under AddressSanitizer? Settled before anything is allocated. */
extern bool checked_pool_under_asan __attribute__((visibility("hidden")));

static inline bool checked_pool_sanitized(void)
{
    return checked_pool_under_asan;
}

static inline bool checked_pool_wanted(void)
{
    return check_on() || checked_pool_sanitized();
}

/* NULL: no memory. Counts it, if it counts. */
void *checked_pool_alloc(const struct pool_wish *wish);

/*
 * Frees and counts. False: it is not on record. tag 0 fits all. Reports what is wrong, in the words of the rules; a
 * block that is freed already stays as it is.
 */
bool checked_pool_free(const char *routine, void *start, uint32_t tag);

/* Nothing of this pool begins there: says so. */
void checked_pool_report_unknown(const char *routine, const void *address);

/* The block that the address lies in, while it is live: a copy. */
bool checked_pool_find(const void *address, struct pool_block *copy);

/* Live blocks that count, with their stacks; freed ones that were written to are reported. */
void checked_pool_report(FILE *out);
/* Those alone that code in [start, start + size) has allocated; returns how many. */
uint32_t checked_pool_report_of(FILE *out, const void *start, uint64_t size);

/*
 * The touch of a page that is closed: reports it and opens the page. False: no block of this pool. From a signal
 * handler.
 */
bool checked_pool_handle_fault(const void *address, bool write);

#endif
