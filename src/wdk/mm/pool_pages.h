/* SPDX-License-Identifier: MIT */
/*
 * Pages that are there when they are given out, as non-paged pool is: their first touch costs no more than any other.
 * malloc would leave it to the host to bring in each page at its first touch, which is some hundred times as slow, and
 * during which threads of one process wait for each other. Pages that were given back stay with the process.
 *
 * Single ones are for blocks that take most of one: malloc seldom gives such a block without its lying across two. Each
 * thread keeps some, the rest is everybody's.
 */
#ifndef WDK_POOL_PAGES_H
#define WDK_POOL_PAGES_H

#include <stddef.h>

enum { POOL_PAGE = 4096, POOL_RUN_MOST = 65 };

/* At a page's start; NULL: no memory. */
void *pool_page_alloc(void);
void pool_page_free(void *page);

/* Several in a row: 2 to POOL_RUN_MOST. */
void *pool_run_alloc(size_t pages);
void pool_run_free(void *run, size_t pages);

/* So that the first runs do not wait for the host. */
void pool_runs_prepare(void);

/* Brings them in at once; where the host cannot do that, the first touch does. */
void pool_make_resident(void *start, size_t size);

#endif
