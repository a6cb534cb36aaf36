/* SPDX-License-Identifier: MIT */
/* Writes the log's lines to standard error, or to the file of ONDK_LOG. Any thread, up to DISPATCH_LEVEL. */
#ifndef PROVIDER_LOG_FILE_H
#define PROVIDER_LOG_FILE_H

#include <sys/types.h>

/*
 * Opens the file, to which the lines then go. Creates the file if it does not exist. If the file cannot be opened,
 * returns an errno value, and lines still go to standard error. Otherwise returns 0. Called once.
 */
int log_file_open(const char *name);
/*
 * Does what write(2) does, but waits only for the disk of a regular file, and causes no signal. Returns -1 if nothing
 * was written.
 */
ssize_t log_file_write(const char *bytes, size_t size);

#endif
