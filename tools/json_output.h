/* SPDX-License-Identifier: MIT */
/* Creates and writes the JSON objects that the tools print. */
#ifndef TOOLS_JSON_OUTPUT_H
#define TOOLS_JSON_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * Returns a new object that begins with "tool", the tool's "version", and "format". "format" is a number that increases
 * when a member changes its meaning, but not when members are added. Returns NULL if out of memory.
 */
json_t *json_output_begin(const char *tool, int format);
/*
 * Returns a JSON string. A text that is not UTF-8 is escaped as in printable.h. Returns JSON's null if `text` is NULL.
 * Returns a NULL pointer if out of memory.
 */
json_t *json_output_text(const char *text);
/*
 * Writes the object and a line break. All output is ASCII, so that no text in the object can control a terminal.
 * `flags` are those of json_dumpf. Returns false if the object is NULL, or if it is not written completely.
 */
bool json_output_write(FILE *out, const json_t *object, size_t flags);

#endif
