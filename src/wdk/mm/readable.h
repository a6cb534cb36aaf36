/* SPDX-License-Identifier: MIT */
/* Tests whether this process can read memory without a fault. The test lets the host's kernel read the memory. */
#ifndef WDK_READABLE_H
#define WDK_READABLE_H

#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Tests the 8 bytes at `address`. The system call requests an operation that does not exist. So the kernel reads the
 * bytes, and then refuses the operation.
 */
static inline bool address_is_readable(const void *address)
{
    enum { NO_SUCH_OPERATION = -1, SET_SIZE = 8 };
    int saved_errno = errno;
    bool is_readable = syscall(SYS_rt_sigprocmask, NO_SUCH_OPERATION, address, NULL, SET_SIZE) < 0 && errno == EINVAL;

    errno = saved_errno;
    return is_readable && address;
}

#endif
