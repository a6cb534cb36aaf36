/* SPDX-License-Identifier: MIT */
/*
 * Parses the schema of a trace file, which lists the events and their fields. docs/trace-format.md specifies the
 * schema's text. The invariant: the parser accepts any text, and skips lines that it does not recognize. It fails only
 * if memory runs out.
 */
#ifndef TRACE_READER_SCHEMA_H
#define TRACE_READER_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum schema_kind { KIND_UNSIGNED, KIND_HEX, KIND_ADDR, KIND_TEXT, KIND_BYTES, KIND_FLAGS, KIND_UNKNOWN };

struct schema_names {
    const char *list;
    size_t count;
    struct schema_name {
        uint32_t value;
        const char *name;
        const char *text, *advice; /* sentences that explain the value; NULL: the schema has none */
    } * names;
};

struct schema_field {
    const char *name;
    enum schema_kind kind;
    bool is_pointer; /* the field contains the address of an object */
    /*
     * Size of the field in bytes. A KIND_BYTES field consists of a length and the bytes; `size` is then the size of the
     * length.
     */
    size_t size;
    const struct schema_names *names; /* NULL: the values have no names */
};

struct schema_event {
    uint32_t number;
    const char *name;
    size_t n_fields;
    struct schema_field *fields;
};

struct schema {
    char *text; /* printable ASCII; all names and texts of the schema point into this memory */
    size_t n_events, n_lists, n_texts;
    struct schema_event *events;
    struct schema_names *lists;
};

/* Copies `size` bytes of `text` and parses the copy. Returns false if out of memory. */
bool schema_parse(struct schema *s, const char *text, size_t size);
void schema_free(struct schema *s);
/* Returns the event with this number, or NULL if the schema has none. */
const struct schema_event *schema_find(const struct schema *s, uint32_t number);
/* Returns the entry of `names` for the value, or NULL if the value has no name. `names` may be NULL. */
const struct schema_name *schema_find_name(const struct schema_names *names, uint64_t value);
/* Returns the name of the value, or NULL if it has none. `names` may be NULL. */
const char *schema_name_of(const struct schema_names *names, uint64_t value);

#endif
