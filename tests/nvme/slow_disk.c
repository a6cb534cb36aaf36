/* SPDX-License-Identifier: MIT */
/*
 * A library for LD_PRELOAD. Writes at the start of a file wait while the file in the environment variable
 * NVME_DISK_GATE exists.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    const char *gate = getenv("NVME_DISK_GATE");

    while (gate && offset == 0 && access(gate, F_OK) == 0)
        usleep(1000);
    return syscall(SYS_pwrite64, fd, data, size, offset);
}
