/* SPDX-License-Identifier: MIT */
/*
 * The data of posted sends and writes, which must not change until the request has completed. In the verify mode
 * `full`, a checksum of the data is stored at the post and compared at the completion. A peer or another request may
 * change the data, too, so a difference is reported only if no region lets them write there.
 */
#ifndef VERIFY_SOURCE_H
#define VERIFY_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include <ndk/ndkpi.h>

enum { SOURCE_MAX_SGES = 16 }; /* no checksum is computed for a request with more SGEs */

struct region;

/* The data of a request at its post. */
struct source {
    uint64_t sum;   /* a checksum of the data, valid if has_sum is true */
    unsigned ended; /* the value of source_writers_ended at the post */
    bool has_sum;
};

/*
 * Sets the sum of a request's data. There is none if the check is off, or if the data is too small or cannot be read.
 */
void source_set(struct source *source, const NDK_SGE *sgl, ULONG sges);
/* Returns true if the data is readable and differs from the sum. */
bool source_has_changed(const struct source *source, const NDK_SGE *sgl, ULONG sges);
/*
 * Returns true if only the consumer can have changed the data since the post: each SGE is in a registered region, and
 * nothing else could write to this memory. Acquires the proxies' lock.
 */
bool source_is_consumers(const struct source *source, const NDK_SGE *sgl, ULONG sges);

/* ---- Others that write to the data ---- */

/* Called if NDK may write to memory that no known region contains. From now on, changed data is not reported. */
void source_set_unknown_writers(void);
/* Called for the SGE of a receive or read that has the region's token. */
void source_add_sink(struct region *region, const NDK_SGE *sge);
/* Called for a registration, or a window, with the right of remote write. */
void source_set_remote_write(struct region *region);
/* Called when a registration ends, before the region's memory is removed. */
void source_end_region(struct region *region);

#endif
