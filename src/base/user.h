/* SPDX-License-Identifier: MIT */
#ifndef BASE_USER_H
#define BASE_USER_H

#include <stdbool.h>

#include <sys/types.h>

/*
 * Returns true if `uid` is the user of this process. `uid` must come from the kernel, for example by SO_PEERCRED.
 * Returns false for the overflow user (65534) if the process's user namespace lacks users, because the kernel reports
 * each missing user as the overflow user.
 */
bool user_is_own(uid_t uid);

#endif
