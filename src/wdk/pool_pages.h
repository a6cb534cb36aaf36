/* SPDX-License-Identifier: MIT */
/*
 * Single pages for blocks that take most of one: malloc seldom gives such a block without its lying across two. Each
 * thread keeps some, the rest is everybody's; they stay with the process.
 */
#ifndef WDK_POOL_PAGES_H
#define WDK_POOL_PAGES_H

enum { POOL_PAGE = 4096 };

/* At a page's start; NULL: no memory. */
void *pool_page_take(void);
void pool_page_give(void *page);

#endif
