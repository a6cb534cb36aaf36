/* SPDX-License-Identifier: MIT */
/* Opens and closes the file that html, pcap and perfetto write. Its path may be "-", which is standard output. */
#ifndef NDKTRACE_OUTPUT_FILE_H
#define NDKTRACE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

bool output_file_is_stdout(const char *path);
/*
 * Creates or overwrites the file. Only the file's owner may then access it: the access rights of others on an existing
 * file are removed. Refuses to overwrite a trace file, because truncating the file would end a process that records to
 * it. On failure prints a message and returns NULL.
 */
FILE *output_file_create(const char *path);
/*
 * Closes the file. Returns COMMAND_OK. If a part of the output could not be written, prints a message and returns
 * COMMAND_LOST.
 */
int output_file_close(const char *path, FILE *out);

#endif
