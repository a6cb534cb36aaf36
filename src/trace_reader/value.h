/* SPDX-License-Identifier: MIT */
/* Reads the values of an event's fields. */
#ifndef TRACE_READER_VALUE_H
#define TRACE_READER_VALUE_H

#include "trace_reader/trace_file.h"

struct value {
    const struct schema_field *field;
    uint64_t number;      /* value of a field of the kinds UNSIGNED, HEX and FLAGS */
    const char *name;     /* name of the number; NULL: none */
    const uint8_t *bytes; /* value of a field of any other kind */
    size_t size;
};

/* A position in the fields of an event. Must be { 0 } before the first call of value_next. */
struct value_cursor {
    size_t index, at;
};

/* Reads the next value of the record. Returns false if there is none. */
bool value_next(const struct trace_record *r, struct value_cursor *c, struct value *v);
/* Reads the value of the field `name`. Returns false if the event has no such field. */
bool value_find(const struct trace_record *r, const char *name, struct value *v);

enum { VALUE_MAX_TEXT = 160 };
/* Writes the value to `text` in readable form. Returns `text`. For a KIND_BYTES value, writes the number of bytes. */
const char *value_text(const struct value *v, char text[VALUE_MAX_TEXT]);
/* Writes the bytes of the value as hexadecimal digits to `text`, which has room for 2 * v->size + 1 characters. */
void value_hex(const struct value *v, char *text);

#endif
