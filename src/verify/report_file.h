/* SPDX-License-Identifier: MIT */
/*
 * Writes reports to a file instead of the stream, if ONDK_VERIFY names one. The caller of each function has locked the
 * output.
 */
#ifndef VERIFY_REPORT_FILE_H
#define VERIFY_REPORT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Sets the file to which reports are appended. The name has `length` bytes. If `name` is NULL, no file is set. The file
 * is created when the first report is written. If the name is too long or memory ran out, returns false, and reports go
 * to the stream of report_set_output.
 */
bool report_file_set(const char *name, size_t length);

/* Returns the stream that writes to the file, or NULL if no file is set. A write to the stream allocates nothing. */
FILE *report_file_stream(void);

/* Returns the absolute path of the file, or NULL if no file is set. */
const char *report_file_path(void);

/*
 * Copies a file name of `length` bytes to `path`, and makes it absolute, because the program may change its directory
 * before the file is opened. Returns false if `path` has not enough room.
 */
bool report_file_copy_path(char *path, size_t room, const char *name, size_t length);

#endif
