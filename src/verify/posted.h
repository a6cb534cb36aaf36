/* SPDX-License-Identifier: MIT */
/*
 * Which posted requests are outstanding. The provider receives contexts of this layer: the queue pair's is its proxy, a
 * request's is its record. NdkGetCqResults(Ex) restores the consumer's contexts and ends the record. A request without
 * a record carries the consumer's own context, which comes back as it is: one with NDK_OP_FLAG_SILENT_SUCCESS, because
 * nothing reports its success, and one for which no record is free.
 */
#ifndef VERIFY_POSTED_H
#define VERIFY_POSTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ndk/ndkpi.h>

#include "base/spin.h"
#include "verify/verify.h"

enum { POSTED_MAX_SGES = 4 }; /* of a request, that are watched */

struct posted_record;
struct posted_chunk;

/* The requests of one queue. */
struct posted {
    struct spin lock;
    struct posted_chunk *chunks; /* the newest first */
    struct posted_record *free;
    unsigned record_count;
    unsigned used;               /* records of the newest chunk that were ever used */
    unsigned outstanding;
    bool retired;
    UINT32 privileged;           /* the token whose addresses are logical ones */
};

void posted_init(struct posted *posted, UINT32 privileged_token);
void posted_fini(struct posted *posted);
/* Prepares records for a queue of this depth. Without memory the requests beyond have no record. */
void posted_reserve(struct posted *posted, size_t depth);

/* Returns the context to post with: a record, or the consumer's context. */
void *posted_add(struct posted *posted, const char *routine, void *context, const NDK_SGE *sgl, ULONG sges,
                 ULONG flags);
/* After the provider's post, which returned status: a refused request gets no result. Returns status. */
NTSTATUS posted_end_post(struct posted *posted, void *context, NTSTATUS status);
/* Replaces a record by the consumer's context and ends it. Returns false for any other context, which stays. */
bool posted_complete(struct posted *posted, void **context);
/* The queue is closed: the records are freed with the last result. */
void posted_retire(struct posted *posted);

/* Finds a request that uses memory of [start, start + size). */
bool posted_find_use(struct posted *posted, const void *start, size_t size, struct verify_use *use);
/* Returns the routine that posted a request with a logical address of [first, first + size); NULL if there is none. */
const char *posted_find_logical_use(struct posted *posted, uint64_t first, uint64_t size, uint64_t *at);

/* Returns how many of the pages, from the first on, follow one another. */
ULONG posted_page_run(const NDK_LOGICAL_ADDRESS *pages, ULONG count);
/* Fills sges, of POSTED_MAX_SGES, with the runs of a fast registration's pages; returns how many. */
ULONG posted_page_sges(const struct posted *posted, const NDK_LOGICAL_ADDRESS *pages, ULONG count, NDK_SGE *sges);

#endif
