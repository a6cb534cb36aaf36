/* SPDX-License-Identifier: MIT */
/* The check that the memory of inline data can be read at the caller's IRQL. */
#ifndef VERIFY_INLINE_DATA_H
#define VERIFY_INLINE_DATA_H

#include "verify/posted.h"
#include "verify/proxy.h"

/* Called before a post: reports inline data in paged memory at DISPATCH_LEVEL. */
void inline_data_check(const struct proxy *queue, const struct post *post);

#endif
