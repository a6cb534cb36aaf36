/* SPDX-License-Identifier: MIT */
/*
 * Records the pages of an adapter's logical address mappings in a hash table, so that a post can check an address
 * without searching all mappings.
 */
#ifndef VERIFY_LOGICAL_H
#define VERIFY_LOGICAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <ndk/ndkpi.h>

#include "base/spin.h"

struct proxy;
struct logical_page;
LIST_HEAD(logical_bucket, logical_page);
struct logical_mapping;

struct logical_pages {
    LIST_ENTRY(logical_pages) link; /* in the list `adapters` of logical.c */
    struct spin lock;
    struct logical_bucket *buckets; /* NULL until the first mapping is built */
    unsigned bucket_count;          /* number of buckets, a power of two */
    uint64_t page_count;
    LIST_HEAD(, logical_mapping) mappings;
    bool is_incomplete; /* true: a mapping could not be recorded, so every address counts as mapped */
};

void logical_init(struct logical_pages *l);
void logical_fini(struct logical_pages *l);
/* Records a mapping that NdkBuildLAM has built. */
void logical_add(struct logical_pages *l, const NDK_LOGICAL_ADDRESS_MAPPING *lam);
/*
 * Makes every address count as mapped from now on. Must be called if a mapping cannot be recorded, because memory ran
 * out or the completion of NdkBuildLAM is not observed.
 */
void logical_set_incomplete(struct logical_pages *l);
/* Removes the record of a mapping. Must run before NdkReleaseLAM. Does nothing if the mapping has no record. */
void logical_remove(struct logical_pages *l, const NDK_LOGICAL_ADDRESS_MAPPING *lam);
/*
 * Returns the index of the first page that is not aligned or is in no mapping. Returns `count` if there is no such
 * page. The mappings of all adapters are searched, because two adapter objects may stand for the same hardware.
 */
ULONG logical_find_foreign(struct logical_pages *l, const NDK_LOGICAL_ADDRESS *pages, ULONG count);
/*
 * Returns true if the first and the last byte of the range are each in a mapping of some adapter. Requires that length
 * is not 0.
 */
bool logical_contains(struct logical_pages *l, uint64_t address, uint64_t length);

#endif
