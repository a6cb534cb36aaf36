/* SPDX-License-Identifier: MIT */
/*
 * Records the MDLs that pending requests of the kernel use, for example those of WskReceive. While checks are on, a
 * report is made if such an MDL is unlocked, unmapped or freed, or if its buffer is freed.
 */
#ifndef WDK_MDL_USE_H
#define WDK_MDL_USE_H

#include "wdm.h"

struct mdl_use;

/*
 * Adds the MDLs of the first `bytes` bytes of the chain to *use, which is allocated if it is NULL. If out of memory,
 * the MDLs are not recorded. Must be called before mdl_use_begin.
 */
void mdl_use_add(struct mdl_use **use, const MDL *chain, SIZE_T bytes);

/* The request that uses the MDLs, for the report. */
struct mdl_user {
    const char *routine; /* the driver's call, for example "WskReceive" */
    const char *type;    /* type of the object, for example "WSK_SOCKET" */
    const void *object;
};
/* Begins the use, with the stack of the caller. `use` may be NULL: nothing is recorded then. */
void mdl_use_begin(struct mdl_use *use, const struct mdl_user *user);
/* Ends the use and frees the record. Must be called before the request completes. `use` may be NULL. */
void mdl_use_end(struct mdl_use *use);

/*
 * Reports CHECK_MDL_MISUSED if a pending request uses the MDL. Also reports if a pending request uses a partial MDL
 * (IoBuildPartialMdl) of the MDL's buffer, and the first page of the partial MDL is no longer locked. Must be called
 * after locked_pages_remove.
 */
void mdl_use_check_unlocked(const char *routine, const MDL *mdl);
/*
 * Reports CHECK_MDL_MISUSED if a pending request uses the MDL. Also reports if a pending request uses a partial MDL of
 * the MDL's buffer that shares the mapping of its source, and no MDL has a mapping of these pages any more. While
 * another MDL has a mapping of the same pages, that MDL may be the source, so the partial MDL is not reported. Must be
 * called after mapped_pages_remove.
 */
void mdl_use_check_unmapped(const char *routine, const MDL *mdl);

#endif
