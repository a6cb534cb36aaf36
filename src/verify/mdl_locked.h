/* SPDX-License-Identifier: MIT */
/* The check that the memory of an MDL chain is locked or nonpaged. */
#ifndef VERIFY_MDL_LOCKED_H
#define VERIFY_MDL_LOCKED_H

#include "verify/proxy.h"

static inline unsigned mdl_flags(const MDL *mdl)
{
    return (unsigned short)mdl->MdlFlags;
}

/* Returns the first MDL of those that describe `length` bytes whose memory may be paged, or NULL. */
const MDL *mdl_find_unlocked(const MDL *mdl, SIZE_T length);
/* Reports such an MDL of a call on p. The MDL itself is not read. */
void mdl_report_unlocked(const struct proxy *p, const char *routine, const MDL *mdl, unsigned flags);
void mdl_check_locked(const struct proxy *p, const char *routine, const MDL *mdl, SIZE_T length);

#endif
