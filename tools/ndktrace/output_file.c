/* SPDX-License-Identifier: MIT */
/* Writes the output of html and pcap: see output_file.h. */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
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

/* Opens the file for its owner alone, because the output may contain recorded payload. Returns NULL with errno set. */
static FILE *output_file_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), error;
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (fd >= 0 && !out) {
        error = errno;
        (void)close(fd);
        errno = error;
    }
    return out;
}

FILE *output_file_create(const char *path)
{
    FILE *out;

    if (output_file_is_stdout(path))
        return stdout;
    if (output_file_is_trace(path)) {
        output_file_fail(path, "this is a trace file, and is not overwritten");
        return NULL;
    }
    out = output_file_open(path);
    if (!out)
        output_file_fail(path, strerror(errno));
    return out;
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
