/* SPDX-License-Identifier: MIT */
/*
 * Compares users: see user.h. All users that a user namespace does not contain appear as one user, the overflow user.
 * If this process's namespace contains all users (/proc/self/uid_map), the overflow user is a user like any other. The
 * invariant: if /proc cannot be read, the overflow user is not regarded as the user of this process.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/user.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/descriptors.h"

enum { USER_OVERFLOW = 65534 };
static const unsigned user_all = 4294967295; /* size of a user namespace that contains all users */

/* Reads the beginning of a file into `text`. If this fails, the text is empty. */
static void user_read(const char *path, char text[64])
{
    int fd = descriptors_open(path, O_RDONLY, 0);
    ssize_t n = fd < 0 ? 0 : read(fd, text, 63);

    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        descriptors_close(fd);
}

static bool user_is_overflow(uid_t uid)
{
    unsigned overflow = USER_OVERFLOW;
    char text[64];

    user_read("/proc/sys/kernel/overflowuid", text);
    (void)sscanf(text, "%u", &overflow);
    return uid == overflow;
}

static bool user_namespace_has_all(void)
{
    unsigned inside, outside, count;
    char text[64];

    user_read("/proc/self/uid_map", text);
    return sscanf(text, "%u %u %u", &inside, &outside, &count) == 3 && count == user_all;
}

bool user_is_own(uid_t uid)
{
    return uid == geteuid() && (!user_is_overflow(uid) || user_namespace_has_all());
}
