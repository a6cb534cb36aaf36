/* SPDX-License-Identifier: MIT */
/* Opens and closes the output file of html, pcap and perfetto: see output_file.h. */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "trace_reader/trace_file.h"

static void output_file_fail(const char *path, const char *why)
{
    fprintf(stderr, "ndktrace: %s: %s\n", path, why);
}

bool output_file_is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

static bool output_file_is_trace(const char *path)
{
    struct trace_file f;
    char error[256];

    if (!trace_file_open(&f, path, error, sizeof error))
        return false;
    trace_file_close(&f);
    return true;
}

/*
 * Removes the access rights of group and others from the file, and truncates the file to 0 bytes. Leaves a pipe or a
 * device unchanged. Returns NULL, or a text that describes the failure.
 */
static const char *output_file_prepare(int fd)
{
    static char why[128];
    struct stat file;

    if (fstat(fd, &file))
        return strerror(errno);
    if (!S_ISREG(file.st_mode))
        return NULL;
    if (file.st_mode & (S_IRWXG | S_IRWXO) && fchmod(fd, S_IRUSR | S_IWUSR)) {
        snprintf(why, sizeof why, "other users may access this file (mode %04o), and the mode cannot be changed: %s",
                 (unsigned)(file.st_mode & 07777), strerror(errno));
        return why;
    }
    return ftruncate(fd, 0) ? strerror(errno) : NULL;
}

/*
 * Opens the file so that only its owner can access it, because the output may contain recorded payload. On failure
 * prints a message and returns NULL.
 */
static FILE *output_file_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const char *why = fd < 0 ? strerror(errno) : output_file_prepare(fd);
    FILE *out = why ? NULL : fdopen(fd, "w");

    if (out)
        return out;
    output_file_fail(path, why ? why : strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return NULL;
}

FILE *output_file_create(const char *path)
{
    if (output_file_is_stdout(path))
        return stdout;
    if (output_file_is_trace(path)) {
        output_file_fail(path, "this is a trace file, and is not overwritten");
        return NULL;
    }
    return output_file_open(path);
}

int output_file_close(const char *path, FILE *out)
{
    bool ok = fflush(out) == 0 && !ferror(out);

    if (!output_file_is_stdout(path))
        ok = fclose(out) == 0 && ok;
    if (ok)
        return COMMAND_OK;
    output_file_fail(path, "not all of the output was written");
    return COMMAND_LOST;
}
