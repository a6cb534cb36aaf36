/* SPDX-License-Identifier: MIT */
/* Writes parts of sentences: names of states, frames, messages and addresses, and paragraphs in lines. */
#ifndef NDKTRACE_WORDS_H
#define NDKTRACE_WORDS_H

#include <stdio.h>

#include "story.h"

/* Writes a number and a noun: words_count(out, 1, "byte") writes "1 byte". */
void words_count(FILE *out, uint64_t n, const char *noun);

/*
 * Returns a text for the event that a connection in this state waits for, for example "the server's MPA reply". Returns
 * NULL if the connection waits for nothing.
 */
const char *words_awaited(const char *state);
/*
 * Returns the subject and verb for the text of words_awaited, for example "its NdkConnect waits for". Returns NULL if
 * nothing waits.
 */
const char *words_call_awaited(const char *state);
/* Writes a description of an FPDU, for example "message 3 (a send of 64 bytes)". */
void words_fpdu(FILE *out, const struct story *s, size_t record);
/*
 * Writes a description of the message that begins with frame `i` of the list. The description is that of words_fpdu,
 * but with the size of all frames of the message.
 */
void words_message(FILE *out, const struct story *s, const struct end_list *list, size_t i);
/* Writes the event's first bytes in quotes. Replaces bytes that are not printable ASCII by dots. */
void words_bytes(FILE *out, const struct story *s, size_t record);
/* Writes a call's status, for example "STATUS_IO_TIMEOUT", or its number if the schema has no name for it. */
void words_status(FILE *out, const struct call *c);
/* Writes the address in a field of the record, or "an unknown address". */
void words_address(FILE *out, const struct story *s, size_t record, const char *field);
/* Writes a process and its host, for example "failing_program, process 4552 on client". */
void words_process(FILE *out, const struct trace_file *f);
/*
 * Writes a text that describes a connection as `side` sees it, for example a text of the trace's schema. Replaces "this
 * side" and "the peer" by "the client" and "the server", because the reader sees both sides.
 */
void words_sides(FILE *out, const struct story_side *side, const char *text, size_t size);
/* Writes a duration with a suitable unit, for example "8.2 ms". */
void words_duration(FILE *out, double seconds);

enum { WORDS_WIDTH = 100 };
/* A space at which words_wrap does not break the line. */
#define WORDS_SPACE "\037"
/* Prints the text in lines. The first line begins with `first`; each other line begins with `rest` spaces. */
void words_wrap(FILE *out, const char *first, int rest, const char *text);

/* A string to which the tool writes with fprintf. */
struct words {
    FILE *file;
    char *text;
    size_t size;
};
/* Opens an empty text. Returns false if out of memory. */
bool words_open(struct words *w);
/* Closes the stream. Returns the text, which the caller must free, or NULL if out of memory. */
char *words_close(struct words *w);

#endif
