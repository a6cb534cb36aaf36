/* SPDX-License-Identifier: MIT */
/* Preloaded, it sets the system's time back by an hour for the program, as an administrator may do. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now)
{
    int error = (int)syscall(SYS_clock_gettime, id, now);

    if (!error && id == CLOCK_REALTIME)
        now->tv_sec -= 3600;
    return error;
}
