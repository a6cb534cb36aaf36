/* SPDX-License-Identifier: MIT */
/*
 * Pool while checks are on. Records every block with the stacks that allocated and freed it, and reports misuse. A
 * freed block stays in a quarantine: its memory is not reused until 8192 more blocks or 64 MiB were freed. Reports are
 * printed while no lock is held.
 *
 * A block lies in special pool (special_pool.h) if there is room. An access outside of the block or after its free is
 * then reported at once. Otherwise the block comes from malloc, between two guard areas that are checked when the block
 * is freed. Under AddressSanitizer every block comes from malloc without guards, because the sanitizer finds wrong
 * accesses.
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
    bool live;     /* false: freed, and in quarantine */
    bool reported; /* a report about this block exists: of an access outside the block, or of a use after free */
    struct stack allocated, freed;
    struct special_run *run; /* NULL if the block is not in special pool */
    char *raw;               /* if `run` is NULL: memory from malloc for the block and its guard areas */
    size_t raw_size;
    UT_hash_handle hh; /* entry of a hash table whose key is `start` */
    TAILQ_ENTRY(pool_block) link;
};

struct pool_request {
    size_t size, align; /* align: a power of two, from 16 to PAGE_SIZE */
    uint32_t tag;
    unsigned tag_index;
    bool counted, paged, zero;
};

/* Becomes true when the first block is recorded. Before, checked_pool_free need not be called. */
extern atomic_bool checked_pool_used __attribute__((visibility("hidden")));

/* True if the program runs under AddressSanitizer. A constructor sets this before the first allocation. */
extern bool checked_pool_under_asan __attribute__((visibility("hidden")));

/* Returns true if new blocks must be recorded. */
static inline bool checked_pool_is_on(void)
{
    return check_on() || checked_pool_under_asan;
}

/*
 * Allocates and records a block. If request->counted is true, counts the block for its tag. Returns NULL if out of
 * memory.
 */
void *checked_pool_alloc(const struct pool_request *request);

/*
 * Frees the block that begins at `start`, and reports misuse of the block. `tag` 0 matches every tag. If the block is
 * already freed, only reports this. Returns false if no recorded block begins at `start`.
 */
bool checked_pool_free(const char *routine, void *start, uint32_t tag);

/* Reports that the driver frees `address`, where no block begins. */
void checked_pool_report_unknown(const char *routine, const void *address);

/*
 * Copies the record of the live block that contains the address. A block outside of special pool is found only by its
 * start. Returns false if no such block is found.
 */
bool checked_pool_find(const void *address, struct pool_block *copy);
/*
 * Works like checked_pool_find, for a freed block in quarantine. Returns false under AddressSanitizer, where malloc may
 * have allocated the block's memory again.
 */
bool checked_pool_find_freed(const void *address, struct pool_block *copy);

/*
 * Prints the blocks that the driver has not freed, with the stacks that allocated them. Omits blocks of pool_alloc,
 * for example MDLs, because they are not counted for a tag. Also reports quarantined blocks that were written to.
 */
void checked_pool_report(FILE *out);
/*
 * Works like checked_pool_report, but prints only blocks that code in [start, start + size) has allocated. Returns the
 * number of these blocks.
 */
uint32_t checked_pool_report_of(FILE *out, const void *start, uint64_t size);

/*
 * Called by the signal handler for a fault at `address` in special pool. If the page should be inaccessible, reports
 * the fault, makes the page accessible, and returns true: the access can be repeated. Returns false if the fault has
 * another reason, or if the page cannot be made accessible.
 */
bool checked_pool_handle_fault(const void *address, bool write);

#endif
