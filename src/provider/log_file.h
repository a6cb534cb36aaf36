/* SPDX-License-Identifier: MIT */
/*
 * Writes the log's lines to standard error, or to the file of ONDK_LOG. Any thread may call these functions, up to
 * DISPATCH_LEVEL.
 */
#ifndef PROVIDER_LOG_FILE_H
#define PROVIDER_LOG_FILE_H

#include <sys/types.h>

/*
 * Opens or creates the file. On success returns 0, and from then on lines go to the file. On failure returns an errno
 * value, and lines still go to standard error. Called once.
 */
int log_file_open(const char *name);
/*
 * Writes like write(2), but raises no signal. May wait for the disk if the file is a regular file. Does not wait for
 * anything else, for example the reader of a pipe. Returns -1 if nothing was written.
 */
ssize_t log_file_write(const char *bytes, size_t size);

#endif
