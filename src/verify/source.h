/* SPDX-License-Identifier: MIT */
/*
 * Checks that the data of a posted send or write does not change until the request has completed. In the verify mode
 * `full`, a checksum of the data is stored at the post and compared at the completion. A peer or another request may
 * also change the data. So a difference is reported only if neither of them can write to the memory.
 */
#ifndef VERIFY_SOURCE_H
#define VERIFY_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include <ndk/ndkpi.h>

enum { SOURCE_MAX_SGES = 16 }; /* maximum number of SGEs of a request for which a checksum is computed */

struct region;

/* The checksum of a request's data at the post. */
struct source {
    uint64_t sum;   /* checksum of the data; valid if has_sum is true */
    unsigned ended; /* value of `writers_ended` (see source.c) at the post */
    bool has_sum;
};

/*
 * Computes the checksum of a request's data. Sets has_sum to false if the check is off, or if the data is too short or
 * cannot be read.
 */
void source_set(struct source *source, const NDK_SGE *sgl, ULONG sges);
/* Returns true if the data can be read and its checksum differs from the stored checksum. */
bool source_has_changed(const struct source *source, const NDK_SGE *sgl, ULONG sges);
/*
 * Returns true if each SGE is in a registered region, and no peer or request could write to the data since the post. In
 * this case only the consumer can have changed the data. Acquires the proxies' lock.
 */
bool source_is_consumers(const struct source *source, const NDK_SGE *sgl, ULONG sges);

/* ---- Peers and requests that can write to the data ---- */

/* Stops all reports about changed data. Must be called if NDK may write to memory that is in no known region. */
void source_set_unknown_writers(void);
/* Records that a receive or read can write to the memory of `sge`, which has a token of the region. */
void source_add_sink(struct region *region, const NDK_SGE *sge);
/* Records that a peer can write to the region, because a registration or a window has the right of remote write. */
void source_set_remote_write(struct region *region);
/*
 * Clears the records about writes to the region. Runs when a registration ends, before the region's memory is removed.
 */
void source_end_region(struct region *region);

#endif
