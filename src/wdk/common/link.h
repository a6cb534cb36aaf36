/* SPDX-License-Identifier: MIT */
/* The kernel's own lists of LIST_ENTRY. A removed entry points to itself, so that another removal is harmless. */
#ifndef WDK_LINK_H
#define WDK_LINK_H

#include <stdbool.h>

#include "ntdef.h"

static inline void link_init(LIST_ENTRY *head)
{
    head->Flink = head->Blink = head;
}

static inline bool link_empty(const LIST_ENTRY *head)
{
    return head->Flink == head;
}

static inline void link_insert_before(LIST_ENTRY *at, LIST_ENTRY *entry)
{
    entry->Flink = at;
    entry->Blink = at->Blink;
    at->Blink->Flink = entry;
    at->Blink = entry;
}

static inline void link_remove(LIST_ENTRY *entry)
{
    entry->Flink->Blink = entry->Blink;
    entry->Blink->Flink = entry->Flink;
    link_init(entry);
}

#endif
