/* SPDX-License-Identifier: MIT */
/*
 * Implements a disk in a file, for a Linux process. When a write returns, the data are in the system's cache. So they
 * survive the end of the process, but not a loss of power. After a flush they survive both.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_disk {
    struct disk disk; /* first */
    int fd;
    pthread_mutex_t flush_lock;
    uint16_t flush_status; /* if not NVME_SUCCESS, a flush has failed and writes may be lost; guarded by flush_lock */
};

/* Returns the status for an error of a system call. `media` is the status for a failure of the medium. */
static uint16_t file_status(int error, uint16_t media)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: /* the limit of the file system, or of the process */
        return NVME_CAPACITY_EXCEEDED | NVME_DNR;
    case EROFS:
    case EPERM:
    case EACCES:
        return NVME_NAMESPACE_WRITE_PROTECTED | NVME_DNR;
    case ENOMEM:
    case ENOBUFS:
    case EAGAIN:
        return NVME_INTERNAL_ERROR; /* the host may try again */
    default:
        return media;
    }
}

static uint16_t file_read(struct disk *disk, uint64_t offset, void *buffer, uint32_t length)
{
    int fd = ((struct file_disk *)disk)->fd;

    for (uint32_t done = 0; done < length;) {
        ssize_t n = pread(fd, (uint8_t *)buffer + done, length - done, (off_t)(offset + done));

        if (n > 0)
            done += (uint32_t)n;
        else if (n == 0) /* the file was truncated */
            return NVME_LBA_OUT_OF_RANGE | NVME_DNR;
        else if (errno != EINTR)
            return file_status(errno, NVME_UNRECOVERED_READ_ERROR);
    }
    return NVME_SUCCESS;
}

static uint16_t file_write(struct disk *disk, uint64_t offset, const void *buffer, uint32_t length)
{
    int fd = ((struct file_disk *)disk)->fd;

    for (uint32_t done = 0; done < length;) {
        ssize_t n = pwrite(fd, (const uint8_t *)buffer + done, length - done, (off_t)(offset + done));

        if (n > 0)
            done += (uint32_t)n;
        else if (n == 0)
            return NVME_WRITE_FAULT;
        else if (errno != EINTR)
            return file_status(errno, NVME_WRITE_FAULT);
    }
    return NVME_SUCCESS;
}

/*
 * Fails for ever after one failure, because Linux reports an error of a write to the device only once. A later
 * fdatasync would succeed although data are lost. The lock is held during fdatasync, so that a flush of another thread
 * cannot succeed between the report and the change of flush_status. A retry by the host would fail, too.
 */
static uint16_t file_flush(struct disk *disk)
{
    struct file_disk *file = (struct file_disk *)disk;
    uint16_t status;

    pthread_mutex_lock(&file->flush_lock);
    if (file->flush_status == NVME_SUCCESS && fdatasync(file->fd)) {
        file->flush_status = file_status(errno, NVME_WRITE_FAULT) | NVME_DNR;
        host_log("a flush has failed: %s; completed writes may be lost, and all flushes fail until the target restarts",
                 strerror(errno));
    }
    status = file->flush_status;
    pthread_mutex_unlock(&file->flush_lock);
    return status;
}

/* Zeroes a range. Writes zeroes if the file system cannot zero a range without writing data. */
static uint16_t file_zero(struct disk *disk, uint64_t offset, uint64_t length, bool deallocate)
{
    static const uint8_t zeroes[65536];
    int mode = deallocate ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE : FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;

    if (fallocate(((struct file_disk *)disk)->fd, mode, (off_t)offset, (off_t)length) == 0)
        return NVME_SUCCESS;
    for (uint64_t done = 0; done < length;) {
        uint32_t part = length - done < sizeof zeroes ? (uint32_t)(length - done) : sizeof zeroes;
        uint16_t status = file_write(disk, offset + done, zeroes, part);

        if (status != NVME_SUCCESS)
            return status;
        done += part;
    }
    return NVME_SUCCESS;
}

static void file_close(struct disk *disk)
{
    struct file_disk *file = (struct file_disk *)disk;

    close(file->fd);
    pthread_mutex_destroy(&file->flush_lock);
    host_free(file);
}

/* Returns the size of a file or block device. Returns -1 and sets errno if `fd` is neither. */
static off_t file_size(int fd)
{
    struct stat st;

    if (fstat(fd, &st))
        return -1;
    if (S_ISREG(st.st_mode))
        return st.st_size;
    if (S_ISBLK(st.st_mode))
        return lseek(fd, 0, SEEK_END);
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    return -1;
}

static bool file_measure(struct disk *disk, uint64_t *size)
{
    off_t result = file_size(((struct file_disk *)disk)->fd);

    if (result < 0)
        host_log("the size of a disk cannot be read: %s", strerror(errno));
    *size = (uint64_t)result;
    return result >= 0;
}

/*
 * Returns the size of a file or block device, and locks it, because two targets that write to one file would destroy
 * its file system. Returns -1 and sets errno if `fd` is neither a file nor a block device, or if another process has
 * locked it.
 */
static off_t file_lock(int fd, bool is_read_only)
{
    if (flock(fd, (is_read_only ? LOCK_SH : LOCK_EX) | LOCK_NB) && errno == EWOULDBLOCK)
        return -1; /* other errors mean that the file system has no locks */
    return file_size(fd);
}

static const char *file_advice(int error)
{
    switch (error) {
    case ENOENT:
        return "; create it: truncate -s 64M FILE";
    case EWOULDBLOCK:
        return "; another process serves it";
    default:
        return "";
    }
}

/*
 * Returns the identity of a file, which is computed from its path. So another file at the same path counts as the same
 * disk.
 */
static uint64_t file_identity(const char *path)
{
    char *full = realpath(path, NULL);
    uint64_t identity = disk_hash(full ? full : path, strlen(full ? full : path), 0);

    free(full);
    return identity;
}

struct disk *disk_file_open(host_path path, bool is_read_only)
{
    static const struct disk_operations operations = {
        .read = file_read,
        .write = file_write,
        .flush = file_flush,
        .zero = file_zero,
        .measure = file_measure,
        .close = file_close,
    };
    int fd = open(path, (is_read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
    struct file_disk *file = NULL;
    off_t size = fd >= 0 ? file_lock(fd, is_read_only) : -1;

    if (size < 0)
        host_log("%s: %s%s", path, strerror(errno), file_advice(errno));
    else
        file = host_alloc(sizeof *file);
    if (!file) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    file->disk.operations = &operations;
    file->disk.size = (uint64_t)size;
    file->disk.identity = file_identity(path);
    file->disk.is_read_only = is_read_only;
    file->disk.may_wait = true;
    file->fd = fd;
    pthread_mutex_init(&file->flush_lock, NULL);
    return &file->disk;
}
