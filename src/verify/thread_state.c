/* SPDX-License-Identifier: MIT */
/* Reads the state and the memory of other threads of the process: see thread_state.h. */
#define _GNU_SOURCE
#include "verify/thread_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SMALLEST_PAGE = 4096, MAX_PARTS = 32 };

static bool thread_has_ended(int thread)
{
    return syscall(SYS_tgkill, getpid(), thread, 0) && errno == ESRCH;
}

/* Returns true if /proc shows this process's PID namespace. A /proc of an outer namespace has other thread IDs. */
static bool thread_proc_is_own(void)
{
    char self[32], pid[32];
    ssize_t length = readlink("/proc/self", self, sizeof self - 1);

    if (length < 0)
        return false;
    self[length] = 0;
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    return !strcmp(self, pid);
}

/*
 * Reads what /proc shows for a thread: "number arguments... sp pc" if the thread waits, otherwise "running". Returns
 * false if this cannot be read.
 */
static bool thread_read_syscall(int thread, char *text, size_t room)
{
    char path[64];
    ssize_t length;
    int fd;

    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    length = read(fd, text, room - 1);
    close(fd);
    if (length <= 0)
        return false;
    text[length] = 0;
    return true;
}

/*
 * Removes the last word from the text, and returns it as a hexadecimal number. Returns 0 if the text has only one word.
 */
static uintptr_t thread_cut_number(char *text)
{
    char *word = strrchr(text, ' ');

    if (!word)
        return 0;
    *word = 0;
    return (uintptr_t)strtoull(word + 1, NULL, 16);
}

enum thread_state thread_get_registers(int thread, struct thread_registers *r)
{
    char text[256];

    if (thread_has_ended(thread))
        return THREAD_ENDED;
    if (!thread_proc_is_own() || !thread_read_syscall(thread, text, sizeof text))
        return THREAD_UNKNOWN;
    if (!strncmp(text, "running", strlen("running")))
        return THREAD_RUNS;
    r->pc = thread_cut_number(text);
    r->sp = thread_cut_number(text);
    return r->pc && r->sp ? THREAD_WAITS : THREAD_UNKNOWN;
}

/*
 * Copies memory in parts that do not cross a page boundary. The kernel copies each part completely or not at all, so
 * the copy ends at the first page that is not mapped.
 */
size_t thread_read_memory(uintptr_t from, void *to, size_t size)
{
    struct iovec local = { .iov_base = to }, parts[MAX_PARTS];
    unsigned long n = 0;
    long copied;

    while (n < MAX_PARTS && local.iov_len < size) {
        size_t room = SMALLEST_PAGE - from % SMALLEST_PAGE, rest = size - local.iov_len;
        size_t length = room < rest ? room : rest;

        parts[n++] = (struct iovec){ .iov_base = (void *)from,
                                     .iov_len = length }; /* NOLINT: another thread's memory */
        local.iov_len += length;
        from += length;
    }
    copied = syscall(SYS_process_vm_readv, getpid(), &local, 1ul, parts, n, 0ul);
    return copied < 0 ? 0 : (size_t)copied;
}
