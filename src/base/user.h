/* SPDX-License-Identifier: MIT */
#ifndef BASE_USER_H
#define BASE_USER_H

#include <stdbool.h>

#include <sys/types.h>

/*
 * Returns true if `uid`, which the kernel has reported (for example by SO_PEERCRED), is the user of this process.
 * Exception: if the process's user namespace does not have all users, returns false for the overflow user (65534),
 * because the kernel reports every missing user as the overflow user.
 */
bool user_is_own(uid_t uid);

#endif
