/* SPDX-License-Identifier: MIT */
/*
 * Outstanding blocks and octets for each pool tag. Each thread counts for itself, so that a count costs no more than two
 * additions; what it allocated and another freed is negative there, and the sum is right.
 */
#ifndef WDK_POOL_TAGS_H
#define WDK_POOL_TAGS_H

#include <stdint.h>

enum { POOL_TAGS_MOST = 512 }; /* the last one counts for all tags that found no place */

struct pool_tag_sum {
    uint32_t tag;
    int64_t blocks, octets;
};

/* A tag's place, for good. */
unsigned pool_tag_index(uint32_t tag);
void pool_tag_count(unsigned index, int blocks, int64_t octets);
/* How many places there are so far. */
unsigned pool_tag_sums(struct pool_tag_sum sums[POOL_TAGS_MOST]);
/* As poolmon shows it: 'Fred' in the source is derF. text has room for 5. */
const char *pool_tag_text(uint32_t tag, char *text);

#endif
