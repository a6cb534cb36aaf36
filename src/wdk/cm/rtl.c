/* SPDX-License-Identifier: MIT */
/* The registry by path: see wdm/zw.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/cm/registry.h"
#include "wdk/common/text.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"

#define QUERY_TAG 'qrtR'

static PCWSTR const roots[RTL_REGISTRY_MAXIMUM] = {
    L"",
    L"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\",
    L"\\Registry\\Machine\\System\\CurrentControlSet\\Control\\",
    L"\\Registry\\Machine\\Software\\Microsoft\\Windows NT\\CurrentVersion\\",
    L"\\Registry\\Machine\\Hardware\\DeviceMap\\",
    L"\\Registry\\User\\.Default\\",
};

static struct reg_key *open_text(struct reg_key *from, PCWSTR root, PCWSTR path, enum registry_make make,
                                 NTSTATUS *status)
{
    UNICODE_STRING whole = { 0 };
    struct reg_key *key;
    size_t octets = (text_wide_length(root) + text_wide_length(path)) * sizeof(WCHAR);

    if (octets > UNICODE_STRING_MAX_BYTES) {
        *status = STATUS_OBJECT_NAME_INVALID;
        return NULL;
    }
    whole.MaximumLength = (USHORT)octets;
    whole.Buffer = malloc(octets + sizeof(WCHAR));
    if (!whole.Buffer) {
        *status = STATUS_NO_MEMORY;
        return NULL;
    }
    (void)RtlAppendUnicodeToString(&whole, root);
    (void)RtlAppendUnicodeToString(&whole, path);
    key = registry_open(from, &whole, make, NULL, status);
    free(whole.Buffer);
    return key;
}

/* With a reference. With RTL_REGISTRY_HANDLE the path is a handle. */
static struct reg_key *open_relative(const char *routine, ULONG relative, PCWSTR path, enum registry_make make,
                                     NTSTATUS *status)
{
    irql_check_max(routine, PASSIVE_LEVEL);
    if (relative & RTL_REGISTRY_HANDLE)
        return handle_lookup((HANDLE)(uintptr_t)path, registry_key_type, status);
    relative &= ~RTL_REGISTRY_OPTIONAL;
    if (relative >= RTL_REGISTRY_MAXIMUM) {
        *status = STATUS_INVALID_PARAMETER;
        return NULL;
    }
    return open_text(NULL, roots[relative], path ? path : L"", make, status);
}

/* ---- One value or key ------------------------------------------------------------------------------------------- */

static NTSTATUS open_and_close(const char *routine, ULONG relative, PCWSTR path, enum registry_make make)
{
    NTSTATUS status;
    struct reg_key *key = open_relative(routine, relative, path, make, &status);

    if (key)
        ob_unref(key);
    return status;
}

NTSTATUS RtlCheckRegistryKey(ULONG RelativeTo, PWSTR Path)
{
    return open_and_close("RtlCheckRegistryKey", RelativeTo, Path, REGISTRY_MAKE_NONE);
}

NTSTATUS RtlCreateRegistryKey(ULONG RelativeTo, PWSTR Path)
{
    return open_and_close("RtlCreateRegistryKey", RelativeTo, Path, REGISTRY_MAKE_LAST);
}

NTSTATUS RtlWriteRegistryValue(ULONG RelativeTo, PCWSTR Path, PCWSTR ValueName, ULONG ValueType, PVOID ValueData,
                               ULONG ValueLength)
{
    NTSTATUS status;
    struct reg_key *key = open_relative("RtlWriteRegistryValue", RelativeTo, Path, REGISTRY_MAKE_LAST, &status);
    UNICODE_STRING name;

    if (!key)
        return status;
    RtlInitUnicodeString(&name, ValueName);
    registry_lock();
    status = registry_set(key, &name, ValueType, ValueData, ValueLength);
    registry_unlock();
    ob_unref(key);
    return status;
}

NTSTATUS RtlDeleteRegistryValue(ULONG RelativeTo, PCWSTR Path, PCWSTR ValueName)
{
    NTSTATUS status;
    struct reg_key *key = open_relative("RtlDeleteRegistryValue", RelativeTo, Path, REGISTRY_MAKE_NONE, &status);
    UNICODE_STRING name;

    if (!key)
        return status;
    RtlInitUnicodeString(&name, ValueName);
    registry_lock();
    status = registry_remove_value(key, &name);
    registry_unlock();
    ob_unref(key);
    return status;
}

/* ---- A table of queries ----------------------------------------------------------------------------------------- */

/* What the driver gave for all of the table. */
struct query {
    PVOID context;
    const WCHAR *environment;
};

/* A value as it is handed to the driver: the tree may change meanwhile. Strings have a terminator behind them. */
struct found {
    PWSTR name;
    ULONG type, size;
    void *data;
};

static void drop(struct found *f)
{
    free(f->name);
    free(f->data);
}

static bool copy_found(struct found *f, const WCHAR *name, ULONG type, const void *data, ULONG size)
{
    size_t n = text_wide_length(name);

    *f = (struct found){ malloc((n + 1) * sizeof(WCHAR)), type, size, calloc(1, (size_t)size + 2 * sizeof(WCHAR)) };
    if (!f->name || !f->data) {
        drop(f);
        return false;
    }
    memcpy(f->name, name, (n + 1) * sizeof(WCHAR));
    if (size)
        memcpy(f->data, data, size);
    return true;
}

static bool is_text(ULONG type)
{
    return type == REG_SZ || type == REG_EXPAND_SZ;
}

/* Without the terminator. */
static ULONG text_size(const void *text, ULONG size)
{
    const WCHAR *s = text;
    ULONG n = 0;

    while ((n + 1) * sizeof(WCHAR) <= size && s[n])
        n++;
    return n * (ULONG)sizeof(WCHAR);
}

/* A list is handed over whole: its strings with their terminators, without that of the list. */
static NTSTATUS direct_text(const struct found *f, PUNICODE_STRING out)
{
    ULONG units = f->size / sizeof(WCHAR);
    ULONG size = f->type != REG_MULTI_SZ ? text_size(f->data, f->size) : units ? (units - 1) * sizeof(WCHAR) : 0;

    if (size + sizeof(WCHAR) > UNICODE_STRING_MAX_BYTES)
        return STATUS_BUFFER_TOO_SMALL;
    if (!out->Buffer) {
        out->Buffer = ExAllocatePoolWithTag(PagedPool, size + sizeof(WCHAR), QUERY_TAG);
        if (!out->Buffer)
            return STATUS_NO_MEMORY;
        out->MaximumLength = (USHORT)(size + sizeof(WCHAR));
    } else if (size + sizeof(WCHAR) > out->MaximumLength) {
        return STATUS_BUFFER_TOO_SMALL;
    }
    out->Length = (USHORT)size;
    memcpy(out->Buffer, f->data, size);
    out->Buffer[size / sizeof(WCHAR)] = 0;
    return STATUS_SUCCESS;
}

/*
 * Up to four octets go where EntryContext points. More need a buffer whose first LONG is its size, negative (the data
 * alone), or its size (then size, type and data are written).
 */
static NTSTATUS direct_data(const struct found *f, void *out)
{
    LONG room;

    if (f->size <= sizeof(ULONG)) {
        memcpy(out, f->data, f->size);
        return STATUS_SUCCESS;
    }
    memcpy(&room, out, sizeof room);
    if (room < 0) {
        if (0 - (ULONG)room < f->size)
            return STATUS_BUFFER_TOO_SMALL;
        memcpy(out, f->data, f->size);
        return STATUS_SUCCESS;
    }
    if ((ULONG)room < 2 * sizeof(ULONG) + f->size)
        return STATUS_BUFFER_TOO_SMALL;
    memcpy(out, &f->size, sizeof f->size);
    memcpy((char *)out + sizeof(ULONG), &f->type, sizeof f->type);
    memcpy((char *)out + 2 * sizeof(ULONG), f->data, f->size);
    return STATUS_SUCCESS;
}

static NTSTATUS direct(const RTL_QUERY_REGISTRY_TABLE *entry, const struct found *f)
{
    ULONG wanted = entry->DefaultType >> RTL_QUERY_REGISTRY_TYPECHECK_SHIFT;

    if (entry->Flags & RTL_QUERY_REGISTRY_TYPECHECK && wanted != REG_NONE && wanted != f->type)
        return STATUS_OBJECT_TYPE_MISMATCH;
    return is_text(f->type) || f->type == REG_MULTI_SZ ? direct_text(f, entry->EntryContext)
                                                      : direct_data(f, entry->EntryContext);
}

static bool expand(struct found *f, const WCHAR *environment)
{
    size_t units;
    WCHAR *text = registry_expand(f->data, text_size(f->data, f->size) / sizeof(WCHAR), environment, &units);

    if (!text)
        return false;
    free(f->data);
    f->data = text;
    f->size = (ULONG)((units + 1) * sizeof(WCHAR));
    return true;
}

/* Each string of a list on its own, unless the driver wants the list. */
static NTSTATUS hand_over(const RTL_QUERY_REGISTRY_TABLE *entry, struct found *f, const struct query *query)
{
    NTSTATUS status = STATUS_SUCCESS;
    char *at, *end;

    if (f->type == REG_EXPAND_SZ && !(entry->Flags & RTL_QUERY_REGISTRY_NOEXPAND) && !expand(f, query->environment))
        return STATUS_NO_MEMORY;
    at = f->data;
    end = at + f->size;
    if (entry->Flags & RTL_QUERY_REGISTRY_DIRECT)
        return direct(entry, f);
    if (f->type != REG_MULTI_SZ || entry->Flags & RTL_QUERY_REGISTRY_NOEXPAND) {
        ULONG type = f->type == REG_EXPAND_SZ && !(entry->Flags & RTL_QUERY_REGISTRY_NOEXPAND) ? REG_SZ : f->type;

        return entry->QueryRoutine(f->name, type, f->data, f->size, query->context, entry->EntryContext);
    }
    while (at < end && !status) {
        ULONG size = text_size(at, (ULONG)(end - at));

        if (!size)
            break;
        status = entry->QueryRoutine(f->name, REG_SZ, at, size + sizeof(WCHAR), query->context, entry->EntryContext);
        at += size + sizeof(WCHAR);
    }
    return status == STATUS_BUFFER_TOO_SMALL ? STATUS_SUCCESS : status;
}

/* Terminators included; a list ends with an empty string. */
static ULONG default_size(ULONG type, const WCHAR *text)
{
    ULONG units = 0;

    if (type == REG_MULTI_SZ)
        while (text[units])
            units += (ULONG)text_wide_length(text + units) + 1;
    else if (is_text(type))
        units = (ULONG)text_wide_length(text);
    return type == REG_MULTI_SZ || is_text(type) ? (units + 1) * (ULONG)sizeof(WCHAR) : 0;
}

static NTSTATUS hand_default(const RTL_QUERY_REGISTRY_TABLE *entry, const struct query *query)
{
    ULONG type = entry->Flags & RTL_QUERY_REGISTRY_TYPECHECK ? entry->DefaultType & 0xffffff : entry->DefaultType;
    ULONG size = entry->DefaultLength;
    struct found f;
    NTSTATUS status;

    if (entry->Flags & RTL_QUERY_REGISTRY_REQUIRED)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    if (type == REG_NONE)
        return STATUS_SUCCESS;
    if (!size && entry->DefaultData)
        size = default_size(type, entry->DefaultData);
    if (!copy_found(&f, entry->Name, type, entry->DefaultData, size))
        return STATUS_NO_MEMORY;
    status = hand_over(entry, &f, query);
    drop(&f);
    return status;
}

static NTSTATUS query_one(struct reg_key *key, const RTL_QUERY_REGISTRY_TABLE *entry, const struct query *query)
{
    UNICODE_STRING name;
    struct reg_value *v;
    struct found f;
    NTSTATUS status;
    bool copied;

    RtlInitUnicodeString(&name, entry->Name);
    registry_lock();
    v = registry_find(key, &name);
    copied = v && copy_found(&f, entry->Name, v->type, v->data, v->size);
    registry_unlock();
    if (!v)
        return hand_default(entry, query);
    if (!copied)
        return STATUS_NO_MEMORY;
    status = hand_over(entry, &f, query);
    drop(&f);
    if (!status && entry->Flags & RTL_QUERY_REGISTRY_DELETE) {
        registry_lock();
        (void)registry_remove_value(key, &name);
        registry_unlock();
    }
    return status;
}

/* The value at `index`, which may be gone by now. */
static bool copy_at(struct reg_key *key, ULONG index, struct found *f, bool *memory)
{
    struct reg_value *v;
    bool copied = false;

    registry_lock();
    for (v = key->values; v && index; v = v->next)
        index--;
    if (v)
        copied = copy_found(f, v->name.Buffer, v->type, v->data, v->size);
    registry_unlock();
    *memory = !v || copied;
    return copied;
}

static NTSTATUS query_all(struct reg_key *key, const RTL_QUERY_REGISTRY_TABLE *entry, const struct query *query)
{
    NTSTATUS status = STATUS_SUCCESS;
    bool memory = true, any = false;
    struct found f;

    for (ULONG i = 0; !status && copy_at(key, i, &f, &memory); i++) {
        status = hand_over(entry, &f, query);
        drop(&f);
        any = true;
    }
    if (!memory)
        return STATUS_NO_MEMORY;
    return !any && entry->Flags & RTL_QUERY_REGISTRY_REQUIRED ? STATUS_OBJECT_NAME_NOT_FOUND : status;
}

static bool is_last(const RTL_QUERY_REGISTRY_TABLE *entry)
{
    return !entry->QueryRoutine && !(entry->Flags & (RTL_QUERY_REGISTRY_SUBKEY | RTL_QUERY_REGISTRY_DIRECT));
}

static NTSTATUS query_entry(struct reg_key *top, struct reg_key **at, const RTL_QUERY_REGISTRY_TABLE *entry,
                            const struct query *query)
{
    NTSTATUS status;

    if (entry->Flags & RTL_QUERY_REGISTRY_DIRECT &&
        (!entry->Name || entry->QueryRoutine ||
         entry->Flags & (RTL_QUERY_REGISTRY_SUBKEY | RTL_QUERY_REGISTRY_NOVALUE)))
        return STATUS_INVALID_PARAMETER;
    if (entry->Flags & (RTL_QUERY_REGISTRY_TOPKEY | RTL_QUERY_REGISTRY_SUBKEY) && *at != top) {
        ob_unref(*at);
        *at = top;
    }
    if (entry->Flags & RTL_QUERY_REGISTRY_SUBKEY) {
        struct reg_key *sub = open_text(top, L"", entry->Name ? entry->Name : L"", REGISTRY_MAKE_NONE, &status);

        if (!sub)
            return entry->Flags & RTL_QUERY_REGISTRY_REQUIRED ? status : STATUS_SUCCESS;
        *at = sub;
        return entry->QueryRoutine ? query_all(sub, entry, query) : STATUS_SUCCESS;
    }
    if (entry->Flags & RTL_QUERY_REGISTRY_NOVALUE)
        return entry->QueryRoutine(NULL, REG_NONE, NULL, 0, query->context, entry->EntryContext);
    return entry->Name ? query_one(*at, entry, query) : query_all(*at, entry, query);
}

NTSTATUS RtlQueryRegistryValues(ULONG RelativeTo, PCWSTR Path, PRTL_QUERY_REGISTRY_TABLE QueryTable, PVOID Context,
                                PVOID Environment)
{
    NTSTATUS status;
    struct reg_key *top = open_relative("RtlQueryRegistryValues", RelativeTo, Path, REGISTRY_MAKE_NONE, &status),
                   *at = top;
    struct query query = { Context, Environment };

    if (!top)
        return status;
    for (; !is_last(QueryTable) && !status; QueryTable++)
        status = query_entry(top, &at, QueryTable, &query);
    if (at != top)
        ob_unref(at);
    ob_unref(top);
    return status;
}
