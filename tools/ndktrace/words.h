/* SPDX-License-Identifier: MIT */
/* Words for people: what a state waits for, what a frame is, and paragraphs of a text. */
#ifndef NDKTRACE_WORDS_H
#define NDKTRACE_WORDS_H

#include <stdio.h>

#include "story.h"

/* Writes a number and a noun: words_count(out, 1, "byte") writes "1 byte". */
void words_count(FILE *out, uint64_t n, const char *noun);

/*
 * Returns what a connection in this state waits for, for example "the server's MPA reply". Returns NULL if the
 * connection waits for nothing.
 */
const char *words_awaited(const char *state);
/*
 * Returns the words before words_awaited's: which call or connection waits, for example "its NdkConnect waits for".
 * Returns NULL if nothing waits.
 */
const char *words_call_awaited(const char *state);
/* Writes what an FPDU is: "a send of 64 bytes (message 3)". */
void words_fpdu(FILE *out, const struct story *s, size_t record);
/*
 * Writes what a message is. The message begins with frame `i` of the list. Like words_fpdu, but with the size of all
 * frames of the message.
 */
void words_message(FILE *out, const struct story *s, const struct end_list *list, size_t i);
/* Writes the first bytes of the event in quotes. Replaces bytes that are not printable ASCII by points. */
void words_bytes(FILE *out, const struct story *s, size_t record);
/* Writes a status, for example "STATUS_IO_TIMEOUT", or its number if the schema has no name. */
void words_status(FILE *out, const struct call *c);
/* Writes the side's address, or "an unknown address". */
void words_address(FILE *out, const struct story *s, size_t record, const char *field);
/* Writes "failing_program, process 4552 on client". */
void words_process(FILE *out, const struct trace_file *f);
/*
 * Writes a text of the library. Replaces "this side" and "the peer" by "the client" and "the server", because the
 * reader has both traces. `side` is the side that reported the text.
 */
void words_sides(FILE *out, const struct story_side *side, const char *text, size_t size);
/* Writes a duration with a fitting unit: "0.8 ms". */
void words_duration(FILE *out, double seconds);

enum { WORDS_WIDTH = 100 };
/* A space at which words_wrap does not break the line. */
#define WORDS_SPACE "\037"
/* Prints the text in lines. The first line begins with `first`, each other line with `rest` spaces. */
void words_wrap(FILE *out, const char *first, int rest, const char *text);

/* A text in memory that is written with fprintf. */
struct words {
    FILE *file;
    char *text;
    size_t size;
};
/* Returns false if out of memory. */
bool words_open(struct words *w);
/* Returns the text, which the caller frees, or NULL if out of memory. */
char *words_close(struct words *w);

#endif
