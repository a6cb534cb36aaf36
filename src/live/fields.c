/* SPDX-License-Identifier: MIT */
/*
 * Formats the fields of an event: see fields.h. If a value of a call has a name, only this name is printed, as in the
 * source of a C program: STATUS_PENDING, not status=STATUS_PENDING. An object is printed as its short name. The field's
 * name precedes the short name only if the field's name adds information.
 */
#include "live/fields.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "live/object.h"

bool live_is_driver_call(uint16_t number)
{
    return number == TRACE_TYPE_DriverEntry || number == TRACE_TYPE_DriverUnload;
}

bool live_is_step(uint16_t number)
{
    return number < TRACE_TYPE_returned;
}

bool live_returns_token(uint16_t number)
{
    return number >= TRACE_TYPE_NdkGetLocalTokenFromMr && number <= TRACE_TYPE_NdkGetPrivilegedMemoryRegionToken;
}

/* ---- values ---- */

static uint64_t live_value_number(const uint8_t *bytes, size_t size)
{
    uint64_t number = 0;

    /* The bytes have the machine's order. On a big-endian machine, the shift below moves them to the low end. */
    memcpy(&number, bytes, size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    number >>= 64 - 8 * size;
#endif
    return number;
}

static void live_add_addr(struct live_text *t, const struct trace_addr *a)
{
    const bool is_v6 = a->family == 6;
    unsigned port = (unsigned)a->port[0] << 8 | a->port[1];
    char host[INET6_ADDRSTRLEN] = "?";

    if (!a->family) {
        live_text_add(t, "none");
        return;
    }
    (void)inet_ntop(is_v6 ? AF_INET6 : AF_INET, a->host, host, sizeof host);
    if (is_v6 && a->scope)
        live_text_add(t, "[%s%%%" PRIu32 "]:%u", host, a->scope, port);
    else
        live_text_add(t, is_v6 ? "[%s]:%u" : "%s:%u", host, port);
}

/* Adds the names of the flags, and the flags without a name as a number. */
static void live_add_flags(struct live_text *t, int names, uint64_t flags)
{
    trace_next_name next = names == SCHEMA_NO_NAMES ? NULL : schema_names((enum trace_names)names);
    const char *name, *separator = "";
    unsigned bits;

    for (unsigned i = 0; next && (name = next(i, &bits)) != NULL; i++) {
        if (!bits || (flags & bits) != bits)
            continue;
        flags &= ~(uint64_t)bits;
        live_text_add(t, "%s%s", separator, name);
        separator = "|";
    }
    if (flags)
        live_text_add(t, "%s0x%" PRIx64, separator, flags);
}

void live_text_add_status(struct live_text *t, uint32_t status)
{
    const char *name = schema_value_name(TRACE_NAMES_status, status);

    if (name)
        live_text_add(t, "%s", name);
    else
        live_text_add(t, "0x%08" PRIX32, status);
}

void live_text_add_information(struct live_text *t, uint64_t information)
{
    const struct live_name name = live_object_find(information);

    live_text_add(t, "information=");
    if (name.number)
        live_text_add_object(t, &name, information);
    else
        live_text_add(t, information <= UINT32_MAX ? "%" PRIu64 : "0x%" PRIx64, information);
}

/* ---- fields ---- */

static bool live_is_number(enum schema_field_kind kind)
{
    return kind != SCHEMA_KIND_addr && kind != SCHEMA_KIND_text16 && kind != SCHEMA_KIND_bytes;
}

static bool live_is_hex(enum schema_field_kind kind)
{
    return kind == SCHEMA_KIND_x8 || kind == SCHEMA_KIND_x16 || kind == SCHEMA_KIND_x32 || kind == SCHEMA_KIND_x64;
}

/*
 * Returns true if the field is a result, not an argument. A status is a result in an event that has a duration, and in
 * the event `result`.
 */
static bool live_is_result(const struct live_event *e, const struct schema_event_field *f)
{
    if (f->kind == SCHEMA_KIND_status)
        return live_has_field(e, "duration") || e->type->number == TRACE_TYPE_result;
    if (!strcmp(f->name, "token"))
        return live_returns_token(e->type->number);
    return f->kind == SCHEMA_KIND_bytes || f->kind == SCHEMA_KIND_ns || !strcmp(f->name, "created");
}

/* Returns true if the field is not printed when its value is 0. */
static bool live_is_omitted(const struct schema_event_field *f)
{
    static const char *const names[] = { "minor",       "offset",    "in",     "out",       "bytes",
                                         "information", "data_size", "reason", "operation", "mode" };
    const char *name = f->names == SCHEMA_NO_NAMES ? NULL : schema_value_name((enum trace_names)f->names, 0);

    if (f->kind == SCHEMA_KIND_ptr || f->kind == SCHEMA_KIND_flags || f->kind == SCHEMA_KIND_text16 ||
        !strcmp(f->name, "code") || (name && !strcmp(name, "ok")))
        return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(names[i], f->name))
            return true;
    return false;
}

static void live_add_pointer(struct live_text *t, const struct live_event *e, const struct schema_event_field *f,
                             uint64_t address)
{
    bool is_object = !strcmp(f->name, "object");
    enum live_type type = is_object ? live_object_type(e->type->number) : live_field_type(f->name);
    struct live_name name = type == LIVE_none ? live_object_find(address) : live_object_name(type, address);

    if (!is_object && (!name.number || strcmp(live_type_name(type), f->name)) && strcmp(e->type->name, f->name))
        live_text_add(t, "%s=", f->name);
    live_text_add_object(t, &name, address);
}

static void live_add_number(struct live_text *t, const struct live_event *e, const struct schema_event_field *f,
                            uint64_t number)
{
    const char *name = f->names == SCHEMA_NO_NAMES ? NULL : schema_value_name((enum trace_names)f->names, number);

    if (f->kind == SCHEMA_KIND_ptr)
        live_add_pointer(t, e, f, number);
    else if (f->kind == SCHEMA_KIND_status)
        live_text_add_status(t, (uint32_t)number);
    else if (!strcmp(f->name, "information"))
        live_text_add_information(t, number);
    else if (f->kind == SCHEMA_KIND_flags)
        live_add_flags(t, f->names, number);
    else if (name)
        live_text_add(t, "%s%s%s", live_is_step(e->type->number) ? f->name : "",
                      live_is_step(e->type->number) ? "=" : "", name);
    else
        live_text_add(t, live_is_hex(f->kind) ? "%s=0x%" PRIx64 : "%s=%" PRIu64, f->name, number);
}

/*
 * Returns true if the field is a context that the verifier has passed to the provider in place of the consumer's
 * context.
 */
static bool live_is_verifiers(const struct schema_event_field *f, uint64_t context)
{
    if (!live_has_proxies())
        return false;
    return !strcmp(f->name, "context") || (!strcmp(f->name, "qp_context") && !live_object_find(context).number);
}

/* Adds `separator` and the field. If the field is omitted, adds nothing and returns false. */
static bool live_add_field(struct live_text *t, const struct live_event *e, const struct schema_event_field *f,
                           const uint8_t *bytes, const char *separator)
{
    uint64_t number = live_is_number(f->kind) ? live_value_number(bytes, schema_field_size(f->kind)) : *bytes;
    struct trace_addr addr;

    if (live_is_result(e, f) || live_is_verifiers(f, number) || (!number && live_is_omitted(f)) ||
        (f == e->type->fields && live_is_driver_call(e->type->number)))
        return false;
    live_text_add(t, "%s", separator);
    if (f->kind == SCHEMA_KIND_text16) {
        live_text_add_safely(t, (const char *)bytes, strnlen((const char *)bytes, sizeof(struct trace_text16)));
    } else if (f->kind == SCHEMA_KIND_addr) {
        memcpy(&addr, bytes, sizeof addr);
        live_text_add(t, "%s=", f->name);
        live_add_addr(t, &addr);
    } else {
        live_add_number(t, e, f, number);
    }
    return true;
}

void live_text_add_fields(struct live_text *t, const struct live_event *e)
{
    const uint8_t *at = e->fields;
    const char *separator = "";

    for (size_t i = 0; i < e->type->n_fields; i++) {
        const struct schema_event_field *f = &e->type->fields[i];

        if (live_add_field(t, e, f, at, separator))
            separator = ", ";
        at += schema_field_size(f->kind);
    }
}

/*
 * If the field `name` is a number, returns its bytes and sets *size to its size. Returns NULL if the event has no such
 * field.
 */
static const uint8_t *live_find_field(const struct live_event *e, const char *name, size_t *size)
{
    const uint8_t *at = e->fields;

    for (size_t i = 0; i < e->type->n_fields; i++) {
        const struct schema_event_field *f = &e->type->fields[i];

        *size = schema_field_size(f->kind);
        if (live_is_number(f->kind) && !strcmp(f->name, name))
            return at;
        at += *size;
    }
    return NULL;
}

uint64_t live_field_number(const struct live_event *e, const char *name)
{
    size_t size;
    const uint8_t *bytes = live_find_field(e, name, &size);

    return bytes ? live_value_number(bytes, size) : 0;
}

bool live_has_field(const struct live_event *e, const char *name)
{
    size_t size;

    return live_find_field(e, name, &size) != NULL;
}
