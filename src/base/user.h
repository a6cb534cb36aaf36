/* SPDX-License-Identifier: MIT */
#ifndef BASE_USER_H
#define BASE_USER_H

#include <stdbool.h>

#include <sys/types.h>

/*
 * Is the user whom the kernel reports, for example as a peer's (SO_PEERCRED), the user of this process? False for the
 * overflow user, 65534, if this process is in a user namespace without some users: the kernel reports each of those as
 * the overflow user.
 */
bool user_is_own(uid_t uid);

#endif
