/* SPDX-License-Identifier: MIT */
/*
 * Special pool: each block has pages of its own, followed by a closed page, which allows no access. The block ends as
 * near to the closed page as its alignment permits. When a block is freed, its pages are closed, too. All blocks lie in
 * one reservation of address space, so that the fault handler finds the block of a faulting address.
 *
 * Callers serialise all functions except special_contains, special_open, special_close and special_open_page. The last
 * three change mappings, which takes too long under the caller's lock.
 */
#ifndef WDK_SPECIAL_POOL_H
#define WDK_SPECIAL_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool_block;

enum { SPECIAL_PAGE = 4096, SPECIAL_FILL = 0xa5 };

/* 1 << order pages, followed by a guard page, which cannot be accessed. */
struct special_run {
    struct special_run *next; /* in the list of free runs */
    char *base;
    unsigned order;
    char *data; /* the block's pages extend from here to `end` */
    char *end;
    struct pool_block *block; /* set by the caller of special_alloc; NULL: the run is free */
    atomic_bool opened;       /* special_open_page has made a page of the run accessible */
};

/*
 * The caller calls special_alloc and special_open for each block. It calls special_close when the block is freed, and
 * special_retire when the block's quarantine ends. special_alloc sets block->start and block->run. It returns false if
 * the block is too large, the limit is reached, or the reservation has no room.
 */
bool special_alloc(struct pool_block *block, size_t align);
/*
 * Makes the block's pages accessible, and fills the bytes around the block with SPECIAL_FILL. Returns false if out of
 * memory.
 */
bool special_open(const struct pool_block *block, bool zero);
/* Undoes special_alloc after special_open has failed. */
void special_free(struct pool_block *block);
void special_close(struct pool_block *block);
/* Allows special_alloc to reuse the pages of a freed block. */
void special_retire(struct pool_block *block);

/* Returns true if the address lies in the reservation. Any thread may call this function, even in a signal handler. */
bool special_contains(const void *address);
/* Returns the run that contains the address, even if that run is free. Returns NULL if no run has used that page. */
struct special_run *special_run_at(const void *address);
/*
 * Makes the page that contains the address accessible. The page must belong to a run. Returns false if the host refuses
 * this.
 */
bool special_open_page(const void *address);

#endif
