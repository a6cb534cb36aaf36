/* SPDX-License-Identifier: MIT */
/*
 * Checks the memory of an MDL chain: whether it is locked or nonpaged, whether it may be written, and whether a pending
 * call uses it.
 */
#ifndef VERIFY_MDL_LOCKED_H
#define VERIFY_MDL_LOCKED_H

#include "verify/proxy.h"

static inline unsigned mdl_flags(const MDL *mdl)
{
    return (unsigned short)mdl->MdlFlags;
}

/* Examines the MDLs that contain the first `length` bytes. Returns the first MDL whose memory may be paged, or NULL. */
const MDL *mdl_find_unlocked(const MDL *mdl, SIZE_T length);
/*
 * Reports an MDL that mdl_find_unlocked has found in a call of `routine` on p. `flags` are the MDL's flags. *mdl is not
 * read, because the MDL may be freed already.
 */
void mdl_report_unlocked(const struct proxy *p, const char *routine, const MDL *mdl, unsigned flags);
/* Reports the chain if a pending call of the calling thread uses one of the chain's MDLs. */
void mdl_check_pending(const struct proxy *p, const char *routine, const MDL *mdl);
void mdl_check_locked(const struct proxy *p, const char *routine, const MDL *mdl, SIZE_T length);
/*
 * Examines the MDLs that contain the first `length` bytes. Returns true if each of these MDLs was locked with
 * IoReadAccess.
 */
bool mdl_is_read_only(const MDL *mdl, SIZE_T length);

#endif
