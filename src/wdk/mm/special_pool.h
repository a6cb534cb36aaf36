/* SPDX-License-Identifier: MIT */
/*
 * Special pool: each block has pages of its own and ends at a page that is closed (up to the alignment); freed blocks'
 * pages are closed. One reservation of address space holds them all, so that a fault tells at once whose it is.
 *
 * Callers serialise all but special_contains, special_open and special_close: those change mappings, which takes too
 * long for others to wait for.
 */
#ifndef WDK_SPECIAL_POOL_H
#define WDK_SPECIAL_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool_block;

enum { SPECIAL_PAGE = 4096, SPECIAL_FILL = 0xa5 };

/* A power of two of pages and the closed one behind them. */
struct special_run {
    struct special_run *next; /* of those that nobody has */
    char *base;
    unsigned order;
    char *data;               /* the open pages: from here to end */
    char *end;
    struct pool_block *block; /* NULL: nobody has it */
    atomic_bool opened;       /* by special_open_page */
};

/* Where the block shall begin, and its run, which does not name it yet. False: no room, or too large. */
bool special_alloc(struct pool_block *block, size_t align);
/* Its pages; the octets around it, in them, are SPECIAL_FILL. False: no memory. */
bool special_open(const struct pool_block *block, bool zero);
/* That came to nothing. */
void special_free(struct pool_block *block);
/* Closes the pages of a block. */
void special_close(struct pool_block *block);
/* The block's run is anybody's. */
void special_retire(struct pool_block *block);

/* How many blocks at most at once; without a call what the host's limit of mappings allows. */
void special_limit(unsigned blocks);

/* Any thread, also in a signal handler. */
bool special_contains(const void *address);
/* NULL: not yet used. */
struct special_run *special_run_at(const void *address);
bool special_open_page(const void *address);

#endif
