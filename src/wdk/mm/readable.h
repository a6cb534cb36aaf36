/* SPDX-License-Identifier: MIT */
/* Can memory be read? Asked of the host's kernel, which does not fault. */
#ifndef WDK_READABLE_H
#define WDK_READABLE_H

#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The eight octets at address: the call copies them in before it refuses an operation that does not exist. */
static inline bool readable(const void *address)
{
    enum { NO_SUCH_OPERATION = -1, SET_SIZE = 8 };
    int kept = errno;
    bool can = syscall(SYS_rt_sigprocmask, NO_SUCH_OPERATION, address, NULL, SET_SIZE) < 0 && errno == EINVAL;

    errno = kept;
    return can && address;
}

#endif
