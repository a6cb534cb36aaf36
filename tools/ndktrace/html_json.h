/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON into an HTML page. The invariant: the output is printable UTF-8 without <, > and &, so no text can end
 * the element that contains the JSON, or act as markup.
 */
#ifndef NDKTRACE_HTML_JSON_H
#define NDKTRACE_HTML_JSON_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Writes a string in quotes. Bytes that are not printable UTF-8 are written as \xNN, as in printable.h. Returns false
 * if out of memory.
 */
bool html_json_string(FILE *out, const char *text);
/* Writes "name": and a string. Returns false if out of memory. */
bool html_json_member(FILE *out, const char *name, const char *text);

#endif
