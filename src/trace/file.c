/* SPDX-License-Identifier: MIT */
/*
 * Creates trace files, and rings in memory. There are two invariants. First, an existing file is replaced only if it is
 * a trace file of the same user, and no process records to it any more. Second, all space of a file is allocated when
 * it is created, because a write to a mapped page without space would end the program.
 *
 * A process that records has a lock on its file (flock). The process keeps the descriptor open for the lock and for
 * readers (trace/attach.h). To replace an old trace file, the process locks it, removes it, and creates a new file. So
 * a reader can go on reading the old file.
 *
 * A ring is a file in memory with seals. No process can change its size, or write to it except through a mapping that
 * exists already.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "trace/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "openndk/version.h"
#include "trace/schema.h"

enum { FILE_PAGE = 4096, FILE_MIB = 1 << 20, FILE_MAX_TRIES = 100 };

/* ---- the name ---- */

/* file_locked_by returns this reason if another copy of this library records to the file, in this same process. */
static const char file_is_own[] = "this process records to it";

/* Returns the reason why the lock of the trace file cannot be acquired, as text for the user. */
static const char *file_locked_by(int fd)
{
    uint32_t pid;

    if (pread(fd, &pid, sizeof pid, offsetof(struct trace_file_header, pid)) == (ssize_t)sizeof pid &&
        pid == (uint32_t)getpid())
        return file_is_own;
    return "another process records to it; %p in the name becomes the process ID";
}

/*
 * If the existing file `path` must not be replaced, returns the reason. Otherwise acquires its lock and returns NULL.
 */
static const char *file_refusal(int fd, const char *path)
{
    char magic[sizeof TRACE_MAGIC - 1];
    struct stat opened, named;

    if (fstat(fd, &opened) || !S_ISREG(opened.st_mode) || opened.st_uid != geteuid() || opened.st_nlink != 1)
        return "it exists, and is not a trace file of this user";
    if (pread(fd, magic, sizeof magic, 0) != (ssize_t)sizeof magic || memcmp(magic, TRACE_MAGIC, sizeof magic) != 0)
        return "it exists, and is not a trace file";
    if (flock(fd, LOCK_EX | LOCK_NB))
        return errno == EWOULDBLOCK ? file_locked_by(fd) : strerrordesc_np(errno);
    if (lstat(path, &named) || named.st_dev != opened.st_dev || named.st_ino != opened.st_ino)
        return "another process replaces it";
    return NULL;
}

/*
 * Removes an old trace file. Returns NULL if no file has this name afterwards, otherwise the reason why the file
 * remains.
 */
static const char *file_remove_old(const char *path)
{
    int fd = descriptors_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    const char *refusal;

    if (fd < 0)
        return errno == ENOENT ? NULL : strerrordesc_np(errno);
    refusal = file_refusal(fd, path);
    if (!refusal && unlink(path))
        refusal = strerrordesc_np(errno);
    descriptors_close(fd);
    return refusal;
}

/*
 * Creates an empty file and locks it. Returns its descriptor. On failure, sets *problem to the reason and returns -1.
 */
static int file_open_new(const char *path, const char **problem)
{
    int fd;

    *problem = file_remove_old(path);
    if (*problem)
        return -1;
    fd = descriptors_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        *problem = strerrordesc_np(errno);
    else
        (void)flock(fd, LOCK_EX | LOCK_NB); /* if the file system lacks locks, file_refusal refuses every file */
    return fd;
}

/* ---- the contents ---- */

static void file_copy_text(char *out, size_t room, const char *text)
{
    size_t len = strnlen(text, room - 1);

    memcpy(out, text, len);
    out[len] = '\0';
}

static uint64_t file_clock_ns(clockid_t clock)
{
    struct timespec now = { 0 };

    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void file_fill_header(struct trace_file_header *h, size_t header_size, size_t schema_size, size_t size)
{
    char host[sizeof h->host] = "";

    h->byte_order = TRACE_BYTE_ORDER;
    h->version = TRACE_VERSION;
    h->header_size = (uint32_t)header_size;
    h->segment_size = TRACE_SEGMENT_SIZE;
    h->segment_count = (uint32_t)((size - header_size) / TRACE_SEGMENT_SIZE);
    h->schema_offset = sizeof *h;
    h->schema_size = (uint32_t)schema_size;
    h->pid = (uint32_t)getpid();
    h->realtime_ns = file_clock_ns(CLOCK_REALTIME);
    h->monotonic_ns = file_clock_ns(CLOCK_MONOTONIC);
    (void)gethostname(host, sizeof host - 1);
    file_copy_text(h->host, sizeof h->host, host);
    file_copy_text(h->program, sizeof h->program, program_invocation_short_name);
    file_copy_text(h->library, sizeof h->library, OPENNDK_VERSION_STRING);
    (void)schema_print((char *)(h + 1), schema_size + 1);
    memcpy(h->magic, TRACE_MAGIC, sizeof h->magic); /* written last, because a file without it is no trace file */
}

/*
 * Allocates the space of the file. Returns 0 or the error number. Tries again if a signal, for example a profiler's,
 * has interrupted fallocate.
 */
static int file_allocate(int fd, size_t size)
{
    for (int tries = 0; tries < FILE_MAX_TRIES; tries++) {
        if (!fallocate(fd, 0, 0, (off_t)size))
            return 0;
        if (errno != EINTR)
            return errno;
    }
    return EINTR;
}

/*
 * Sets the file's size and maps the file. Returns the mapping. On failure, sets *problem to the reason and returns
 * NULL.
 */
static void *file_map(int fd, size_t size, const char **problem)
{
    struct rlimit limit;
    void *mapping = MAP_FAILED;
    int err = 0;

    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < size)
        err = EFBIG; /* without this check the kernel would send SIGXFSZ */
    if (!err)
        err = file_allocate(fd, size);
    if (!err)
        mapping = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!err && mapping == MAP_FAILED)
        err = errno;
    if (err)
        *problem = strerrordesc_np(err);
    return err ? NULL : mapping;
}

/*
 * Adds the seals of a ring. Before Linux 5.1 a process that opens the ring again can still write to it, but cannot
 * truncate it.
 */
static void file_seal(int fd)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

    if (fcntl(fd, F_ADD_SEALS, seals | F_SEAL_FUTURE_WRITE) != 0)
        (void)fcntl(fd, F_ADD_SEALS, seals);
}

static int file_open(const struct trace_setting *setting, const char **problem)
{
    int fd;

    if (!setting->is_ring)
        return file_open_new(setting->path, problem);
    fd = descriptors_memfd("openndk-trace");
    if (fd < 0)
        *problem = strerrordesc_np(errno);
    return fd;
}

void trace_file_discard(const struct trace_setting *setting, struct trace_mapping *mapping)
{
    if (mapping->header)
        (void)munmap(mapping->header, mapping->size);
    if (mapping->fd >= 0 && !setting->is_ring)
        (void)unlink(setting->path);
    if (mapping->fd >= 0)
        descriptors_close(mapping->fd);
    *mapping = (struct trace_mapping){ .fd = -1 };
}

bool trace_file_create(const struct trace_setting *setting, struct trace_mapping *out, char *problem, size_t room)
{
    size_t schema_size = schema_print(NULL, 0);
    size_t header_size = (sizeof(struct trace_file_header) + schema_size + FILE_PAGE) / FILE_PAGE * FILE_PAGE;
    const char *why = NULL;

    *out = (struct trace_mapping){ .fd = file_open(setting, &why),
                                   .size = header_size + (size_t)setting->mib * FILE_MIB };
    if (out->fd >= 0)
        out->header = file_map(out->fd, out->size, &why);
    if (out->header) {
        file_fill_header(out->header, header_size, schema_size, out->size);
        if (setting->is_ring)
            file_seal(out->fd);
        return true;
    }
    trace_file_discard(setting, out);
    if (why == file_is_own)
        problem[0] = '\0';
    else
        snprintf(problem, room, "ONDK_TRACE: nothing is traced, because %s cannot be created: %s",
                 setting->is_ring ? "the ring in memory" : setting->path, why);
    return false;
}
