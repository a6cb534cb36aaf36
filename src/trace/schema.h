/* SPDX-License-Identifier: MIT */
/* The text in a trace file that describes its events and their fields. docs/trace-format.md specifies it. */
#ifndef TRACE_SCHEMA_H
#define TRACE_SCHEMA_H

#include <stddef.h>

/* Writes the schema like snprintf: returns its length, and writes at most `room` bytes, including a 0. */
size_t schema_print(char *text, size_t room);

#endif
