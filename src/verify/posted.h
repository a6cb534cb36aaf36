/* SPDX-License-Identifier: MIT */
/*
 * Records of posted requests that are outstanding. The provider receives contexts of this layer: the proxy as
 * QPContext, and the record as RequestContext. NdkGetCqResults(Ex) restores the consumer's contexts and frees the
 * record. A request with NDK_OP_FLAG_SILENT_SUCCESS has no record, because nothing reports its success. If no record is
 * free, a request has no record either, and the provider receives the consumer's own RequestContext.
 */
#ifndef VERIFY_POSTED_H
#define VERIFY_POSTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ndk/ndkpi.h>

#include "base/spin.h"
#include "verify/verify.h"

enum { POSTED_MAX_SGES = 4 }; /* only the first SGEs of a request are watched */

struct posted_record;
struct posted_chunk;

/* The records of one queue. */
struct posted {
    struct spin lock;
    struct posted_chunk *chunks; /* the newest first */
    struct posted_record *free;
    unsigned record_count;
    unsigned used; /* how many records of the newest chunk were ever used */
    unsigned outstanding;
    bool retired;      /* the queue is closed */
    UINT32 privileged; /* the privileged token; an SGE with this token has a logical address */
};

void posted_init(struct posted *posted, UINT32 privileged_token);
void posted_fini(struct posted *posted);
/* Allocates records for a queue with room for `depth` requests. If out of memory, some requests will have no record. */
void posted_reserve(struct posted *posted, size_t depth);

/*
 * Records a request before it is posted. Returns the RequestContext for the provider: the record, or `context` if the
 * request has no record.
 */
void *posted_add(struct posted *posted, const char *routine, void *context, const NDK_SGE *sgl, ULONG sges,
                 ULONG flags);
/*
 * Must be called after the provider's function for the post, which returned `status`. If the post failed, frees the
 * record, because no result will come. Returns `status`.
 */
NTSTATUS posted_end_post(struct posted *posted, void *context, NTSTATUS status);
/* Replaces a record by the consumer's context and frees it. Returns false if *context is not a record. */
bool posted_complete(struct posted *posted, void **context);
/* Called when the queue is closed. Frees all records as soon as none of them is outstanding. */
void posted_retire(struct posted *posted);

/* Finds an outstanding request that uses memory in [start, start + size). Returns false if there is none. */
bool posted_find_use(struct posted *posted, const void *start, size_t size, struct verify_use *use);
/*
 * Returns the routine that posted a request with a logical address in [first, first + size), and sets *at to that
 * address. Returns NULL if there is none.
 */
const char *posted_find_logical_use(struct posted *posted, uint64_t first, uint64_t size, uint64_t *at);

/* Returns how many pages are contiguous, from the first one on. */
ULONG posted_page_run(const NDK_LOGICAL_ADDRESS *pages, ULONG count);
/* Fills at most POSTED_MAX_SGES SGEs, one for each run of contiguous pages. Returns how many. */
ULONG posted_page_sges(const struct posted *posted, const NDK_LOGICAL_ADDRESS *pages, ULONG count, NDK_SGE *sges);

#endif
