/* SPDX-License-Identifier: MIT */
/*
 * Writes to the log's descriptor. There are two invariants. First, a write waits only for the disk of a regular file,
 * because a thread that serves connections may write. Second, no line is written to another file of the program, except
 * in the race that "The descriptor" describes.
 *
 * Waiting. Other processes often share the open file description of standard error, so O_NONBLOCK must not be set for
 * it. A write can wait even after poll has reported room: a terminal or pipe may have room for less than a line, or
 * another process may write first. So a check before the write is not enough. For each type of file,
 * log_file_write_once uses a call that does not wait.
 *
 * The descriptor. A program may close descriptors that are not its own, as daemons do. The number of the log's
 * descriptor may then refer to another file of the program. So each write first checks that the descriptor still refers
 * to the file that was opened. If the descriptor refers to another file, the log's file is opened again. If the program
 * replaces the descriptor between the check and the write, one line can still be written to the program's file.
 *
 * Signals. A pipe without a reader (SIGPIPE), the limit of a file's size (SIGXFSZ) or a terminal that stops writers in
 * the background (SIGTTOU) must not end or stop the program. SIGPIPE and SIGXFSZ are blocked during the write, then
 * discarded. If SIGTTOU is blocked, the terminal accepts the line and sends no signal.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "provider/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/spin.h"

struct log_descriptor {
    int fd;
    dev_t device;
    ino_t inode;
};

static struct {
    atomic_bool is_named; /* false: lines go to standard error, and the other members are unused */
    struct spin lock;     /* guards `opened`; a leaf lock */
    struct log_descriptor opened;
    char path[PATH_MAX]; /* the absolute path; empty if the path is too long or unknown */
} file;

/*
 * Opens the file to append lines. Fails if the file is a named pipe without a reader (O_NONBLOCK). Returns 0 or an
 * errno.
 */
static int log_file_open_path(const char *path, struct log_descriptor *d)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666), above;
    struct stat now;

    if (fd < 0)
        return errno;
    if (fd <= STDERR_FILENO) { /* descriptors 0 to 2 are reserved for the program's streams */
        above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(fd);
        fd = above;
    }
    if (fd < 0)
        return errno;
    if (fstat(fd, &now)) {
        close(fd);
        return EBADF;
    }
    *d = (struct log_descriptor){ .fd = fd, .device = now.st_dev, .inode = now.st_ino };
    return 0;
}

/* Stores an absolute path, because the program may change its directory before the file must be opened again. */
static void log_file_set_path(const char *name)
{
    char directory[PATH_MAX] = "";
    int n;

    if (name[0] != '/' && !getcwd(directory, sizeof directory))
        return;
    n = snprintf(file.path, sizeof file.path, "%s%s%s", directory, *directory ? "/" : "", name);
    if (n < 0 || (size_t)n >= sizeof file.path)
        file.path[0] = '\0';
}

int log_file_open(const char *name)
{
    int error = log_file_open_path(name, &file.opened);

    if (error)
        return error;
    log_file_set_path(name);
    fork_guard(&file.lock);
    atomic_store_explicit(&file.is_named, true, memory_order_release);
    return 0;
}

/*
 * Returns true if d->fd still refers to the file that was opened. Sets *mode to st_mode of the file to which d->fd
 * refers.
 */
static bool log_file_is_same(const struct log_descriptor *d, mode_t *mode)
{
    struct stat now;

    if (fstat(d->fd, &now))
        return false;
    *mode = now.st_mode;
    return now.st_dev == d->device && now.st_ino == d->inode;
}

/*
 * Opens the log's file again, because the program has closed lost->fd. The number lost->fd may now belong to another
 * file of the program. If several threads call this function at the same time, only the first thread's descriptor is
 * used. Returns false if *d is not usable.
 */
static bool log_file_reopen(const struct log_descriptor *lost, struct log_descriptor *d)
{
    bool is_first;

    if (!file.path[0] || log_file_open_path(file.path, d))
        return false;
    spin_lock(&file.lock);
    is_first = file.opened.fd == lost->fd && file.opened.device == lost->device && file.opened.inode == lost->inode;
    if (is_first)
        file.opened = *d;
    spin_unlock(&file.lock);
    if (!is_first)
        close(d->fd); /* this line is lost */
    return is_first;
}

/* Returns the descriptor of the log, and sets *mode to the st_mode of its file. Returns -1 if no file is usable. */
static int log_file_get(mode_t *mode)
{
    struct log_descriptor d, again;
    struct stat now;

    if (!atomic_load_explicit(&file.is_named, memory_order_acquire)) {
        if (fstat(STDERR_FILENO, &now))
            return -1;
        *mode = now.st_mode;
        return STDERR_FILENO;
    }
    spin_lock(&file.lock);
    d = file.opened;
    spin_unlock(&file.lock);
    if (log_file_is_same(&d, mode))
        return d.fd;
    return log_file_reopen(&d, &again) && log_file_is_same(&again, mode) ? again.fd : -1;
}

/*
 * Opens the file of fd again with O_NONBLOCK, and writes to the new descriptor. O_NONBLOCK is not set for fd, because
 * other processes may share fd's open file description.
 */
static ssize_t log_file_write_reopened(int fd, const char *bytes, size_t size)
{
    char path[32];
    ssize_t n;
    int own;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own < 0)
        return -1;
    n = write(own, bytes, size);
    close(own);
    return n;
}

static ssize_t log_file_write_once(int fd, mode_t mode, const char *bytes, size_t size)
{
    struct iovec iov = { (void *)(uintptr_t)bytes, size };
    ssize_t n;

    if (S_ISREG(mode))
        return write(fd, bytes, size);
    if (S_ISSOCK(mode))
        return send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (S_ISFIFO(mode)) {
        n = pwritev2(fd, &iov, 1, -1, RWF_NOWAIT);
        if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) /* EOPNOTSUPP: a named pipe, or before Linux 6.4 */
            return n;
    }
    if (fcntl(fd, F_GETFL) & O_NONBLOCK)
        return write(fd, bytes, size);
    return log_file_write_reopened(fd, bytes, size);
}

ssize_t log_file_write(const char *bytes, size_t size)
{
    static const struct timespec at_once = { 0 };
    sigset_t discarded, blocked, before, pending;
    mode_t mode;
    ssize_t n;
    int fd = log_file_get(&mode), err;

    if (fd < 0)
        return -1;
    sigemptyset(&discarded);
    sigaddset(&discarded, SIGPIPE);
    sigaddset(&discarded, SIGXFSZ);
    (void)sigpending(&pending);
    if (sigismember(&pending, SIGPIPE))
        sigdelset(&discarded, SIGPIPE); /* an earlier SIGPIPE that is pending belongs to the program */
    if (sigismember(&pending, SIGXFSZ))
        sigdelset(&discarded, SIGXFSZ);
    blocked = discarded;
    sigaddset(&blocked, SIGTTOU);
    (void)pthread_sigmask(SIG_BLOCK, &blocked, &before);
    do
        n = log_file_write_once(fd, mode, bytes, size);
    while (n < 0 && errno == EINTR);
    err = errno;
    if (n < 0 && (err == EPIPE || err == EFBIG))
        (void)sigtimedwait(&discarded, NULL, &at_once);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return n;
}
