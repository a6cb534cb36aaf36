/* SPDX-License-Identifier: MIT */
/*
 * Pages that stay resident, as in nonpaged pool. The first access to a page of malloc causes a page fault. A page fault
 * takes some hundred times as long as the access alone, and the threads of a process wait for each other during it.
 * Runs are resident when they are allocated. A single page becomes resident at its first use. Freed pages are never
 * returned to the host, so that they are still resident when they are allocated again.
 *
 * Single pages are for blocks of a quarter of a page or more, which malloc often places across two pages. Each thread
 * caches some single pages.
 */
#ifndef WDK_POOL_PAGES_H
#define WDK_POOL_PAGES_H

#include <stddef.h>

enum { POOL_PAGE = 4096, MAX_POOL_RUN_PAGES = 65 };

/* Returns a page, or NULL if out of memory. */
void *pool_page_alloc(void);
void pool_page_free(void *page);

/* Returns a run of 2 to MAX_POOL_RUN_PAGES consecutive pages, or NULL if out of memory. */
void *pool_run_alloc(size_t pages);
void pool_run_free(void *run, size_t pages);

/* Maps memory for the first runs, so that the first call of pool_run_alloc does not wait for the host. Idempotent. */
void pool_runs_prepare(void);

/* Makes the pages resident now. If the host cannot do that, each page becomes resident at its first access. */
void pool_make_resident(void *start, size_t size);

#endif
