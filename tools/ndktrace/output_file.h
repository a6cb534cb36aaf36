/* SPDX-License-Identifier: MIT */
/* The file that html and pcap write. Its path may be "-", which is standard output. */
#ifndef NDKTRACE_OUTPUT_FILE_H
#define NDKTRACE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

bool output_file_is_stdout(const char *path);
/*
 * Creates or overwrites the file. Returns NULL after a message. A trace file is not overwritten, because its truncation
 * would end a process that records to it.
 */
FILE *output_file_create(const char *path);
/* Closes the file. Returns COMMAND_OK, or COMMAND_LOST after a message if not all of it was written. */
int output_file_close(const char *path, FILE *out);

#endif
