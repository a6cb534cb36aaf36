/* SPDX-License-Identifier: MIT */
/* Reads and prints the values of fields: see value.h. */
#include "trace_reader/value.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

/* Reads an unsigned little-endian number of `size` bytes. */
static uint64_t value_number(const uint8_t *bytes, size_t size)
{
    uint64_t number = 0;

    for (size_t i = size; i > 0; i--)
        number = number << 8 | bytes[i - 1];
    return number;
}

bool value_next(const struct trace_record *r, struct value_cursor *c, struct value *v)
{
    const struct schema_field *f;
    size_t left = r->size - c->at;

    if (!r->event || c->index == r->event->n_fields)
        return false;
    f = &r->event->fields[c->index];
    if (f->kind == KIND_UNKNOWN || left < f->size)
        return false;
    *v = (struct value){ .field = f, .bytes = r->fields + c->at, .size = f->size };
    c->at += f->size;
    c->index++;
    switch (f->kind) {
    case KIND_BYTES:
        v->size = (size_t)value_number(v->bytes, f->size);
        if (v->size > r->size - c->at)
            return false;
        v->bytes += f->size;
        c->at += v->size;
        break;
    case KIND_UNSIGNED:
    case KIND_HEX:
        v->number = value_number(v->bytes, f->size);
        v->name = schema_name_of(f->names, v->number);
        break;
    case KIND_FLAGS:
        v->number = value_number(v->bytes, f->size);
        break;
    case KIND_ADDR:
    case KIND_TEXT:
    case KIND_UNKNOWN:
        break;
    }
    return true;
}

bool value_find(const struct trace_record *r, const char *name, struct value *v)
{
    struct value_cursor c = { 0 };

    while (value_next(r, &c, v))
        if (strcmp(v->field->name, name) == 0)
            return true;
    return false;
}

static void value_addr(const struct value *v, char *text, size_t room)
{
    bool is_v6 = v->bytes[0] == 6;
    unsigned port = (unsigned)v->bytes[2] << 8 | v->bytes[3];
    uint32_t scope = (uint32_t)value_number(v->bytes + 20, 4);
    char host[INET6_ADDRSTRLEN] = "?", suffix[16] = "";

    if (v->bytes[0] != 4 && !is_v6) {
        snprintf(text, room, "unknown");
        return;
    }
    (void)inet_ntop(is_v6 ? AF_INET6 : AF_INET, v->bytes + 4, host, sizeof host);
    if (is_v6 && scope)
        snprintf(suffix, sizeof suffix, "%%%" PRIu32, scope);
    snprintf(text, room, is_v6 ? "[%s%s]:%u" : "%s%s:%u", host, suffix, port);
}

/*
 * Writes the names of the flags that are set, and the remaining bits as a hexadecimal number, with | between them. A
 * name may stand for several bits. It is written if all its bits are set and no earlier name has covered them.
 */
static void value_flags(const struct value *v, char *text, size_t room)
{
    const struct schema_names *names = v->field->names;
    uint64_t left = v->number;
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; names && i < names->count && used < room; i++) {
        uint32_t bits = names->names[i].value;

        if (!bits || (left & bits) != bits)
            continue;
        left &= ~(uint64_t)bits;
        used += (size_t)snprintf(text + used, room - used, "%s%s", used ? "|" : "", names->names[i].name);
    }
    if (used < room && left)
        snprintf(text + used, room - used, "%s0x%" PRIx64, used ? "|" : "", left);
    else if (!used)
        snprintf(text, room, "0");
}

const char *value_text(const struct value *v, char text[VALUE_MAX_TEXT])
{
    switch (v->field->kind) {
    case KIND_ADDR:
        value_addr(v, text, VALUE_MAX_TEXT);
        break;
    case KIND_TEXT:
        (void)printable_copy(text, VALUE_MAX_TEXT, (const char *)v->bytes, strnlen((const char *)v->bytes, v->size));
        break;
    case KIND_BYTES:
        snprintf(text, VALUE_MAX_TEXT, "%zu", v->size);
        break;
    case KIND_FLAGS:
        value_flags(v, text, VALUE_MAX_TEXT);
        break;
    case KIND_UNSIGNED:
    case KIND_HEX:
    case KIND_UNKNOWN:
        if (v->name)
            (void)printable_copy(text, VALUE_MAX_TEXT, v->name, strlen(v->name));
        else
            snprintf(text, VALUE_MAX_TEXT, v->field->kind == KIND_HEX ? "0x%" PRIx64 : "%" PRIu64, v->number);
        break;
    }
    return text;
}

void value_hex(const struct value *v, char *text)
{
    for (size_t i = 0; i < v->size; i++)
        snprintf(text + 2 * i, 3, "%02x", v->bytes[i]);
    text[2 * v->size] = '\0';
}
