/* SPDX-License-Identifier: MIT */
/*
 * Writes reports to a file: see report_file.h. The file is opened for each write. A descriptor that stayed open could
 * later refer to another file, because a program such as a daemon may close descriptors that it has not opened. The
 * stream has its own buffer, because a report may come from a signal handler, where nothing can be allocated.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "verify/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/verify_setting.h"

enum { BUFFER_SIZE = 1 << 14 };

static char file_path[VERIFY_MAX_NAME];
static FILE *file_stream;
static bool failure_is_printed;

bool report_file_copy_path(char *path, size_t room, const char *name, size_t length)
{
    char directory[VERIFY_MAX_NAME];
    int n;

    if (name[0] == '/' || !getcwd(directory, sizeof directory))
        n = snprintf(path, room, "%.*s", (int)length, name);
    else
        n = snprintf(path, room, "%s/%.*s", directory, (int)length, name);
    return n > 0 && (size_t)n < room;
}

/*
 * Opens the file to append to it. Returns -1 on failure. With O_NONBLOCK, the open of a named pipe without a reader
 * fails instead of blocking. Later writes may block.
 */
static int file_open_fd(void)
{
    int fd = open(file_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);

    if (fd >= 0)
        (void)fcntl(fd, F_SETFL, O_APPEND);
    else if (!failure_is_printed)
        dprintf(STDERR_FILENO, "openndk: reports go to standard error, because %s cannot be opened: %s\n", file_path,
                strerrordesc_np(errno));
    failure_is_printed = fd < 0;
    return fd;
}

static bool file_write_all(int fd, const char *text, size_t size)
{
    while (size) {
        ssize_t n = write(fd, text, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        size -= (size_t)n;
    }
    return true;
}

static ssize_t file_write(void *cookie, const char *text, size_t size)
{
    int saved = errno, fd = file_open_fd();
    bool complete = file_write_all(fd >= 0 ? fd : STDERR_FILENO, text, size);

    (void)cookie;
    if (!complete && fd >= 0)
        dprintf(STDERR_FILENO, "openndk: a report is not complete in %s: %s\n", file_path, strerrordesc_np(errno));
    if (fd >= 0)
        (void)close(fd);
    errno = saved;
    return (ssize_t)size; /* even if a write has failed, because otherwise the stream would keep the error */
}

static FILE *file_open_stream(void)
{
    static char buffer[BUFFER_SIZE];
    FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = file_write });

    if (stream)
        (void)setvbuf(stream, buffer, _IOFBF, sizeof buffer);
    return stream;
}

bool report_file_set(const char *name, size_t length)
{
    file_path[0] = '\0';
    failure_is_printed = false;
    if (!name)
        return true;
    if (!file_stream)
        file_stream = file_open_stream();
    if (file_stream && report_file_copy_path(file_path, sizeof file_path, name, length))
        return true;
    file_path[0] = '\0';
    return false;
}

FILE *report_file_stream(void)
{
    return file_path[0] ? file_stream : NULL;
}

const char *report_file_path(void)
{
    return file_path[0] ? file_path : NULL;
}
