/* SPDX-License-Identifier: MIT */
/* The values of an event's fields. */
#ifndef TRACE_READER_VALUE_H
#define TRACE_READER_VALUE_H

#include "trace_reader/trace_file.h"

struct value {
    const struct schema_field *field;
    uint64_t number;      /* of the kinds UNSIGNED, HEX and FLAGS */
    const char *name;     /* the number's name, or NULL */
    const uint8_t *bytes; /* of the other kinds */
    size_t size;
};

/* A place in an event's fields. Begin with { 0 }. */
struct value_cursor {
    size_t index, at;
};

/* Reads the next value. Returns false if the event has no further value. */
bool value_next(const struct trace_record *r, struct value_cursor *c, struct value *v);
/* Reads the value of the field with this name. Returns false if the event has no such field. */
bool value_find(const struct trace_record *r, const char *name, struct value *v);

enum { VALUE_MAX_TEXT = 160 };
/*
 * Writes the value in readable form to `text`, and returns `text`. For a KIND_BYTES value, writes how many bytes it
 * has, not the bytes themselves.
 */
const char *value_text(const struct value *v, char text[VALUE_MAX_TEXT]);
/* Writes the bytes as hexadecimal digits to `text`, which has room for 2 * v->size + 1 bytes. */
void value_hex(const struct value *v, char *text);

#endif
